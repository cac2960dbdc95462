"""Caches of analysis results: weak by node, so they live exactly as long as the plans that they describe."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from planner.tree import Node

N = TypeVar("N", bound=Node)
R = TypeVar("R")


def per_node(function: Callable[[N], R]) -> Callable[[N], R]:
    """Remember the result of a function of one node. Sound because nodes are immutable and compare by identity."""
    cache: WeakKeyDictionary[N, R] = WeakKeyDictionary()

    @wraps(function)
    def cached(node: N) -> R:
        try:
            return cache[node]
        except KeyError:
            result = cache[node] = function(node)
            return result

    return cached


def bottom_up(function: Callable[[N], R]) -> Callable[[N], R]:
    """Like `per_node`, for functions of a plan that ask for the results of its `inputs`: those are computed first.

    So the function's own recursion is never more than one call deep, however deep the plan is.
    """
    cache: WeakKeyDictionary[N, R] = WeakKeyDictionary()

    @wraps(function)
    def cached(node: N) -> R:
        try:
            return cache[node]
        except KeyError:
            pass
        stack = [node]
        while stack:
            current = stack[-1]
            if current in cache:
                stack.pop()
                continue
            pending = [child for child in current.inputs if child not in cache]  # type: ignore[attr-defined]
            if pending:
                stack.extend(pending)
                continue
            cache[current] = function(current)
            stack.pop()
        return cache[node]

    return cached

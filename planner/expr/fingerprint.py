"""Structural identity of expressions: equal expressions get equal numbers, in linear time and without recursion."""

from __future__ import annotations

from typing import Any

from planner.expr.nodes import Assign, Expr, SortKey
from planner.tree import Node


class Fingerprints:
    """Numbers expressions by structure. Valid for the life of this object; plans inside of subqueries count by identity."""

    __slots__ = ("_kept", "_known", "_of")

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], int] = {}
        self._of: dict[int, int] = {}
        self._kept: list[Node] = []

    def of(self, node: Node) -> int:
        """The number of an expression; two expressions have the same number exactly if they have the same structure."""
        found = self._of.get(id(node))
        if found is not None:
            return found
        stack = [node]
        while stack:
            current = stack[-1]
            if id(current) in self._of:
                stack.pop()
                continue
            if not isinstance(current, (Expr, Assign, SortKey)):
                self._remember(current, ("identity", id(current)))
                continue
            pending = [child for child in current.children if id(child) not in self._of]
            if pending:
                stack.extend(pending)
                continue
            stack.pop()
            self._remember(current, self._structure(current))
        return self._of[id(node)]

    def _structure(self, node: Node) -> tuple[Any, ...]:
        parts: list[Any] = [type(node)]
        for name in node.FIELDS:
            value = getattr(node, name)
            if name in node.CHILD_FIELDS and value is not None:
                if value.__class__ is tuple:
                    value = tuple(self._of[id(child)] for child in value)
                else:
                    value = ("child", self._of[id(value)])
            elif isinstance(value, float):
                value = repr(value)  # 0.0 and -0.0 differ; NaN equals itself
            parts.append((type(value), value))
        return tuple(parts)

    def _remember(self, node: Node, structure: tuple[Any, ...]) -> None:
        self._kept.append(node)  # an id is only unique while its object lives
        self._of[id(node)] = self._known.setdefault(structure, len(self._known))


def same_structure(a: Node, b: Node) -> bool:
    """Whether two expressions are the same up to object identity."""
    if a is b:
        return True
    fingerprints = Fingerprints()
    return fingerprints.of(a) == fingerprints.of(b)

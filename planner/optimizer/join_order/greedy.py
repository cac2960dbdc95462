"""Greedy operator ordering over a join graph."""

from __future__ import annotations

from planner.expr.nodes import Expr
from planner.expr.predicates import all_of
from planner.join_kind import JoinKind
from planner.logical.nodes import Join, LogicalPlan
from planner.optimizer.join_order.graph import JoinGraph, Sizes


def cost_of(shape: object, sizes: Sizes) -> tuple[int, float]:
    """The relations of a join tree, and the sum of the sizes of its joins. Remembers sizes of the sets on the way."""
    results: list[tuple[int, float]] = []
    stack: list[object] = [shape]
    while stack:
        current = stack.pop()
        if current is None:
            (b, cost_b), (a, cost_a) = results.pop(), results.pop()
            sizes.rows.setdefault(a | b, sizes.joined(a, b))
            results.append((a | b, cost_a + cost_b + sizes.rows[a | b]))
        elif isinstance(current, tuple):
            stack += (None, current[1], current[0])
        else:
            assert isinstance(current, int)
            results.append((1 << current, 0.0))
    return results[0]


def greedy_shape(graph: JoinGraph, sizes: Sizes) -> object:
    """A join tree: of all pairs that are connected, the one with the smallest result is joined first, and so on.

    Cross products come last, the smallest first. Ties are decided by the smaller inputs, then by the written order.
    """
    shapes: dict[int, object] = {1 << index: index for index in range(len(graph.relations))}
    pairs: dict[tuple[int, int], tuple[bool, float, float, int, int]] = {}

    def rate(a: int, b: int) -> None:
        if (a & -a) > (b & -b):
            a, b = b, a
        inputs = sizes.rows[a] + sizes.rows[b]
        pairs[a, b] = (not sizes.connected(a, b), sizes.joined(a, b), inputs, a & -a, b & -b)

    sets = list(shapes)
    for index, a in enumerate(sets):
        for b in sets[index + 1 :]:
            rate(a, b)
    while len(shapes) > 1:
        a, b = min(pairs, key=pairs.__getitem__)
        union = a | b
        sizes.rows[union] = pairs[a, b][1]
        if sizes.rows[a] < sizes.rows[b]:
            a, b = b, a  # the larger input on the left, where it is probed
        shapes[union] = (shapes.pop(a), shapes.pop(b))
        pairs = {pair: rating for pair, rating in pairs.items() if not (a in pair or b in pair)}
        for other in shapes:
            if other != union:
                rate(union, other)
    return shapes.popitem()[1]


def build(shape: object, graph: JoinGraph) -> LogicalPlan:
    """The joins of a tree; every conjunct is part of the first join that has all its columns."""
    pending = list(graph.terms)
    results: list[tuple[int, LogicalPlan]] = []
    stack: list[object] = [shape]
    while stack:
        current = stack.pop()
        if isinstance(current, int):
            results.append((1 << current, graph.relations[current]))
        elif current is None:
            (b, right), (a, left) = results.pop(), results.pop()
            union = a | b
            here: list[Expr] = [term.expr for term in pending if not term.relations & ~union]
            pending = [term for term in pending if term.relations & ~union]
            results.append((union, Join(left, right, JoinKind.INNER, all_of(here))))
        else:
            assert isinstance(current, tuple)
            stack += (None, current[1], current[0])
    return results[0][1]

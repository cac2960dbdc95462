"""The plan of the cheapest tree."""

from __future__ import annotations

from planner.expr.nodes import Expr
from planner.expr.predicates import all_of
from planner.join_kind import JoinKind
from planner.logical.nodes import Filter, Join, LogicalPlan
from planner.optimizer.join_order.conflicts import Edge
from planner.optimizer.join_order.search import Search


def build(search: Search) -> LogicalPlan:
    """The joins of the search's tree of all relations; every conjunct is part of the first join that has all its relations.

    Of equalities of one class one is enough, what the query says before what was derived. Conjuncts that can raise come last, in
    the topmost join if it is an inner one.
    """
    graph = search.graph
    pending = [edge for edge in search.edges if edge.kind is JoinKind.INNER and edge.terms]
    results: list[LogicalPlan] = []
    stack: list[tuple[int, bool]] = [(search.all, False)]
    while stack:
        relations, ready = stack.pop()
        tree = search.trees[relations]
        if not tree.left:
            results.append(graph.relations[relations.bit_length() - 1])
            continue
        if not ready:
            stack += ((relations, True), (tree.right, False), (tree.left, False))
            continue
        right, left = results.pop(), results.pop()
        if tree.operator is not None:
            results.append(Join(left, right, tree.operator.kind, all_of(tree.operator.terms)))
            continue
        here = [edge for edge in pending if not edge.tes & ~relations]
        pending = [edge for edge in pending if edge.tes & ~relations]
        raising = graph.raising if relations == search.all else []
        results.append(Join(left, right, JoinKind.INNER, all_of(_needed(here, left), raising)))
    (plan,) = results
    if graph.raising and search.trees[search.all].operator is not None:
        return Filter(plan, all_of(graph.raising))
    return plan


def _needed(edges: list[Edge], left: LogicalPlan) -> list[Expr]:
    """Equalities of columns come first, in the order of the left input's columns: no matter how the query was written."""
    keys: list[Edge] = []
    rest: list[Edge] = []
    seen: set[int] = set()
    for edge in sorted(edges, key=lambda edge: edge.derived):
        if edge.same < 0 or edge.same not in seen:
            seen.add(edge.same)
            (rest if edge.columns is None else keys).append(edge)
    if len(keys) > 1:
        place = {column.id: at for at, column in enumerate(left.columns)}
        keys.sort(key=lambda edge: min(place.get(column.id, len(place)) for column in edge.columns or ()))
    return [term for edge in keys + rest for term in edge.terms]

"""A region of inner joins as a graph: relations, and conjuncts over them."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.analysis.can_raise import can_raise
from planner.analysis.cardinality import CardinalityAnalysis
from planner.analysis.estimates import Estimate
from planner.analysis.free_columns import free_columns, output_ids
from planner.analysis.join_size import equality_share
from planner.analysis.keys import at_most_one_row
from planner.analysis.selectivity import Predicates
from planner.expr.nodes import ColumnRef, Compare, CompareOp, Expr, conjuncts
from planner.expr.predicates import is_trivial
from planner.expr.substitute import rename
from planner.join_kind import JoinKind
from planner.logical.nodes import Join, LogicalPlan, Project
from planner.schema import Column

Shape = "int | tuple[Shape, Shape]"
"""A join tree: the number of a relation, or a pair of trees."""


@dataclass(slots=True)
class Term:
    """A conjunct and the set of relations (as bits) that it is about. `keys`: the two columns of an equality of columns."""

    expr: Expr
    relations: int
    keys: tuple[int, int] | None


@dataclass(slots=True)
class JoinGraph:
    """`renamed` gives for columns of the region (by id) the relation's column that they stand for; others are themselves."""

    relations: list[LogicalPlan] = field(default_factory=list)
    terms: list[Term] = field(default_factory=list)
    raising: list[Expr] = field(default_factory=list)
    renamed: dict[int, Column] = field(default_factory=dict)
    shape: object = 0


def is_region(plan: LogicalPlan) -> bool:
    return isinstance(plan, Join) and plan.kind is JoinKind.INNER


def region_below(plan: LogicalPlan) -> LogicalPlan | None:
    """The join of a region that `plan` is, or only renames."""
    while isinstance(plan, Project) and all(isinstance(assign.expr, ColumnRef) for assign in plan.assigns):
        plan = plan.input
    return plan if is_region(plan) else None


def extract(root: Join) -> JoinGraph:
    """The region whose topmost join is `root`. Projections that only rename are seen through."""
    graph = JoinGraph()
    conditions: list[Expr] = []
    results: list[object] = []
    stack: list[LogicalPlan | None] = [root]
    while stack:
        current = stack.pop()
        if current is None:
            right, left = results.pop(), results.pop()
            results.append((left, right))
            continue
        join = region_below(current)
        if join is None:
            results.append(len(graph.relations))
            graph.relations.append(current)
            continue
        while isinstance(current, Project):
            for assign in current.assigns:
                assert isinstance(assign.expr, ColumnRef)
                if assign.column.id != assign.expr.column.id:
                    graph.renamed[assign.column.id] = assign.expr.column
            current = current.input
        assert isinstance(join, Join)
        conditions.extend(conjuncts(join.condition))
        stack += (None, join.right, join.left)
    graph.shape = results[0]
    _settle_renaming(graph)
    _place(graph, [term for term in conditions if not is_trivial(term)])
    return graph


def _settle_renaming(graph: JoinGraph) -> None:
    """Follow chains of renaming to their ends."""
    for id, column in graph.renamed.items():
        while column.id in graph.renamed:
            column = graph.renamed[column.id]
        graph.renamed[id] = column


def _place(graph: JoinGraph, conditions: list[Expr]) -> None:
    bit_of: dict[int, int] = {}
    for index, relation in enumerate(graph.relations):
        for id in output_ids(relation):
            bit_of[id] = 1 << index
    for condition in conditions:
        expr = rename(condition, graph.renamed)
        if can_raise(expr):
            graph.raising.append(expr)
            continue
        relations = 0
        for id in free_columns(expr):
            relations |= bit_of.get(id, 0)
        graph.terms.append(Term(expr, relations, _key_columns(expr, bit_of)))


def _key_columns(expr: Expr, bit_of: dict[int, int]) -> tuple[int, int] | None:
    if isinstance(expr, Compare) and expr.op in (CompareOp.EQ, CompareOp.NOT_DISTINCT):
        if isinstance(expr.left, ColumnRef) and isinstance(expr.right, ColumnRef):
            a, b = expr.left.column.id, expr.right.column.id
            if bit_of.get(a) != bit_of.get(b):
                return a, b
    return None


class Sizes:
    """Estimated sizes of joins of sets of relations (as bits)."""

    def __init__(self, graph: JoinGraph, cardinality: CardinalityAnalysis) -> None:
        self._estimates: list[Estimate] = [cardinality.estimate(relation) for relation in graph.relations]
        self.rows = {1 << index: estimate.rows for index, estimate in enumerate(self._estimates)}
        self.one_row = {1 << i for i, relation in enumerate(graph.relations) if at_most_one_row(relation)}
        columns = {}
        for estimate in self._estimates:
            columns.update(estimate.columns)
        predicates = Predicates(columns)
        # Equalities between the same two relations are estimated together: composite keys are not independent.
        pairs: dict[int, list[tuple[int, int]]] = {}
        self._filters: list[tuple[int, float]] = []
        for term in graph.terms:
            if term.keys is not None:
                a, b = term.keys
                low = term.relations & -term.relations
                in_low = a in output_ids(graph.relations[low.bit_length() - 1])
                pairs.setdefault(term.relations, []).append((a, b) if in_low else (b, a))
            else:
                self._filters.append((term.relations, predicates.selectivity(term.expr)))
        self._edges: list[tuple[int, float]] = []
        for relations, keys in pairs.items():
            low = relations & -relations
            described = [(columns.get(a), columns.get(b)) for a, b in keys]
            share = equality_share(described, self.rows[low], self.rows[relations ^ low])
            self._edges.append((relations, share))

    def connected(self, a: int, b: int) -> bool:
        """Whether joining two disjoint sets is no cross product: an equality relates them, or a filter, with a single row."""
        union = a | b
        if any(not mask & ~union and mask & a and mask & b for mask, _ in self._edges):
            return True
        if a in self.one_row or b in self.one_row:
            return any(not mask & ~union and mask & a and mask & b for mask, _ in self._filters)
        return False

    def joined(self, a: int, b: int) -> float:
        """Rows of the join of two disjoint sets whose sizes are known."""
        rows = self.rows[a] * self.rows[b]
        union = a | b
        for masks in (self._edges, self._filters):
            for mask, share in masks:
                if not mask & ~union and mask & ~a and mask & ~b:
                    rows *= share
        return max(rows, 1.0) if rows else rows

"""A region of joins: its relations, and the tree of operators over them as it was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.expr.nodes import ColumnRef, Expr, conjuncts
from planner.expr.predicates import is_trivial
from planner.expr.substitute import rename
from planner.join_kind import JoinKind
from planner.logical.nodes import Join, LogicalPlan, Project
from planner.schema import Column

REORDERED = frozenset((JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI))
_ONLY_INNER = frozenset((JoinKind.INNER,))
_LEFT_ROWS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
"""Joins that commute with a filter of their left input."""
_MOST_MIXED = 60
"""Conflicts are detected between all pairs of operators: in a larger region than this all but inner joins are borders."""


@dataclass(slots=True, eq=False)
class Operator:
    """A join of a region. Sets of relations are bits; an operand that is a number is a relation.

    `island`: a number that inner joins have in common which are neighbours in the tree; every other join has its own.
    """

    join: Join
    left: Operator | int
    right: Operator | int
    left_set: int
    right_set: int
    island: int
    terms: tuple[Expr, ...] = ()

    @property
    def kind(self) -> JoinKind:
        return self.join.kind

    @property
    def relations(self) -> int:
        return self.left_set | self.right_set


@dataclass(slots=True)
class JoinGraph:
    """`operators` are in post-order, the last one is the root. `renamed` gives for columns of the region (by id) the column of
    a relation that they stand for; others are themselves. `bit_of` gives the relation of a column as a bit."""

    relations: list[LogicalPlan]
    operators: list[Operator] = field(default_factory=list)
    raising: list[Expr] = field(default_factory=list)
    renamed: dict[int, Column] = field(default_factory=dict)
    bit_of: dict[int, int] = field(default_factory=dict)

    @property
    def root(self) -> Operator:
        return self.operators[-1]

    @property
    def only_inner(self) -> bool:
        return all(operator.kind is JoinKind.INNER for operator in self.operators)

    def relations_of(self, expr: Expr) -> int:
        relations = 0
        for id in free_columns(expr):
            relations |= self.bit_of.get(id, 0)
        return relations


def is_region(plan: LogicalPlan) -> bool:
    """Whether a plan is a join that can be the root of a region."""
    if not isinstance(plan, Join) or plan.kind not in REORDERED:
        return False
    return plan.kind is JoinKind.INNER or not can_raise(plan.condition)


def extract(root: Join) -> JoinGraph:
    """The region whose topmost join is `root`. Projections that only rename are seen through.

    Conjuncts that can raise are left out of the operators and wait until all is joined, where they see the fewest rows. That is
    right for an inner join if only joins lie above it that keep the rows of its side as they are; another one is a border.
    """
    graph = _extract(root, REORDERED)
    if len(graph.relations) > _MOST_MIXED and not graph.only_inner and root.kind is JoinKind.INNER:
        graph = _extract(root, _ONLY_INNER)
    return graph


def _extract(root: Join, kinds: frozenset[JoinKind]) -> JoinGraph:
    found: list[LogicalPlan] = []
    joins: list[Join] = []
    shape: list[int | Join] = []  # post-order: relations by number, joins
    renamed: dict[int, Column] = {}
    stack: list[tuple[LogicalPlan, bool] | Join] = [(root, True)]
    while stack:
        item = stack.pop()
        if isinstance(item, Join):
            shape.append(item)
            continue
        plan, pulls = item
        join = _join_below(plan)
        if join is None or (join is not root and not _belongs(join, kinds, pulls)):
            shape.append(len(found))
            found.append(plan)
            continue
        while isinstance(plan, Project):
            for assign in plan.assigns:
                assert isinstance(assign.expr, ColumnRef)
                if assign.column.id != assign.expr.column.id:
                    renamed[assign.column.id] = assign.expr.column
            plan = plan.input
        joins.append(join)
        stack += (join, (join.right, pulls and join.kind is JoinKind.INNER), (join.left, pulls and join.kind in _LEFT_ROWS))
    _settle(renamed)
    # Numbered by their columns and not by their place: the same region has the same numbers in whatever order it is written.
    order = sorted(range(len(found)), key=lambda index: (min(output_ids(found[index]), default=0), index))
    number = {old: new for new, old in enumerate(order)}
    graph = JoinGraph([found[old] for old in order], renamed=renamed)
    for index, relation in enumerate(graph.relations):
        for id in output_ids(relation):
            graph.bit_of[id] = 1 << index
    _add_operators(graph, [number[item] if isinstance(item, int) else item for item in shape])
    return graph


def _join_below(plan: LogicalPlan) -> Join | None:
    """The join that `plan` is, or only renames."""
    while isinstance(plan, Project) and all(isinstance(assign.expr, ColumnRef) for assign in plan.assigns):
        plan = plan.input
    return plan if isinstance(plan, Join) else None


def _belongs(join: Join, kinds: frozenset[JoinKind], pulls: bool) -> bool:
    """Whether a join is part of the region above it. `pulls`: conjuncts may be evaluated at the root instead of here."""
    if join.kind not in kinds:
        return False
    if not can_raise(join.condition):
        return True
    if join.kind is not JoinKind.INNER or not pulls:
        return False
    left, right = output_ids(join.left), output_ids(join.right)
    safe = [free_columns(term) for term in conjuncts(join.condition) if not can_raise(term)]
    return any(used & left and used & right for used in safe)  # without one, its place would be taken by a cross product


def _settle(renamed: dict[int, Column]) -> None:
    """Follow chains of renaming to their ends."""
    for id, column in renamed.items():
        while column.id in renamed:
            column = renamed[column.id]
        renamed[id] = column


def _add_operators(graph: JoinGraph, shape: list[int | Join]) -> None:
    operands: list[Operator | int] = []
    for item in shape:
        if isinstance(item, int):
            operands.append(item)
            continue
        right, left = operands.pop(), operands.pop()
        terms: list[Expr] = []
        for term in conjuncts(item.condition):
            if not is_trivial(term):
                term = rename(term, graph.renamed)
                (graph.raising if can_raise(term) else terms).append(term)
        operator = Operator(item, left, right, set_of(left), set_of(right), len(graph.operators), tuple(terms))
        graph.operators.append(operator)
        operands.append(operator)
    for operator in reversed(graph.operators):
        for operand in (operator.left, operator.right):
            if isinstance(operand, Operator) and operand.kind is operator.kind is JoinKind.INNER:
                operand.island = operator.island


def set_of(operand: Operator | int) -> int:
    """The relations of an operand."""
    return 1 << operand if isinstance(operand, int) else operand.relations


def bits(relations: int) -> Iterator[int]:
    """The relations of a set, each as a set, the lowest first."""
    while relations:
        low = relations & -relations
        yield low
        relations ^= low

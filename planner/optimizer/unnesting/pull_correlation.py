"""Removing correlation by moving the predicates that use outer columns up into the join."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.expr.nodes import Assign, ColumnRef, Compare, CompareOp, Expr, conjunction, conjuncts
from planner.expr.substitute import reference, rename
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Filter, Join, LogicalPlan, Project, Sort, pass_through
from planner.schema import Column, ColumnAllocator

Outer = frozenset[int]


@dataclass(slots=True)
class Pulled:
    """A plan without outer columns, and the predicates that it lost. It gives its old columns and those the predicates use."""

    plan: LogicalPlan
    predicates: list[Expr] = field(default_factory=list)


def pull_correlation(plan: LogicalPlan, outer: Outer, allocator: ColumnAllocator) -> Pulled | None:
    """Move all predicates over `outer` columns out of `plan`; None where an operator does not allow it.

    An operator whose expressions can raise does not let predicates pass: it would see rows that they keep away from it.
    """
    if not free_columns(plan) & outer:
        return Pulled(plan)
    match plan:
        case Filter():
            return _pull_from_filter(plan, outer, allocator)
        case Project():
            return _pull_from_project(plan, outer, allocator)
        case Sort():
            return pull_correlation(plan.input, outer, allocator)  # nobody sees the order of a subquery
        case Aggregate():
            return _pull_from_aggregate(plan, outer, allocator)
        case Join():
            return _pull_from_join(plan, outer, allocator)
    return None


def _split(predicate: Expr, outer: Outer) -> tuple[list[Expr], list[Expr]]:
    """The conjuncts without and with outer columns."""
    local: list[Expr] = []
    correlated: list[Expr] = []
    for term in conjuncts(predicate):
        (correlated if free_columns(term) & outer else local).append(term)
    return local, correlated


def _pull_from_filter(plan: Filter, outer: Outer, allocator: ColumnAllocator) -> Pulled | None:
    below = pull_correlation(plan.input, outer, allocator)
    if below is None:
        return None
    local, correlated = _split(plan.predicate, outer)
    if any(can_raise(term) for term in local):
        return None
    kept = Filter(below.plan, conjunction(local)) if local else below.plan
    return Pulled(kept, below.predicates + correlated)


def _pull_from_project(plan: Project, outer: Outer, allocator: ColumnAllocator) -> Pulled | None:
    if any(free_columns(assign) & outer or can_raise(assign) for assign in plan.assigns):
        return None
    below = pull_correlation(plan.input, outer, allocator)
    if below is None:
        return None
    return Pulled(with_columns(Project(below.plan, plan.assigns), below.predicates), below.predicates)


def with_columns(project: Project, predicates: list[Expr]) -> Project:
    """The projection, passing on whatever the predicates need of its input."""
    wanted = frozenset().union(*(free_columns(predicate) for predicate in predicates))
    given = output_ids(project)
    more = tuple(c for c in project.input.columns if c.id in wanted and c.id not in given)
    return project.replace(assigns=project.assigns + pass_through(more)) if more else project


def _pull_from_aggregate(plan: Aggregate, outer: Outer, allocator: ColumnAllocator) -> Pulled | None:
    if not plan.keys or any(free_columns(part) & outer or can_raise(part) for part in plan.keys + plan.aggregates):
        return None
    below = pull_correlation(plan.input, outer, allocator)
    if below is None:
        return None
    return group_by_predicates(plan, below, outer, allocator)


def group_by_predicates(plan: Aggregate, below: Pulled, outer: Outer, allocator: ColumnAllocator) -> Pulled | None:
    """The aggregate over `below`, with keys added so that the predicates of `below` can be decided after grouping.

    A predicate over existing keys commutes with grouping. `outer = inner` makes `inner` a key: one outer row sees one value.
    """
    key_of = {key.expr.column.id: key.column for key in plan.keys if isinstance(key.expr, ColumnRef)}
    inner_ids = output_ids(below.plan)
    computed: list[Assign] = []
    added: dict[int, Column] = {}
    predicates: list[Expr] = []
    for predicate in below.predicates:
        if free_columns(predicate) & inner_ids <= key_of.keys():
            predicates.append(rename(predicate, key_of))
            continue
        sides = equality_sides(predicate, inner_ids)
        if sides is None:
            return None
        outside, inside = sides
        if isinstance(inside, ColumnRef):
            column = inside.column
        else:
            column = allocator.new("key", inside.dtype)
            computed.append(Assign(column, inside))
        added[column.id] = column
        predicates.append(Compare(predicate.dtype, CompareOp.EQ, outside, reference(column)))
    source = Project(below.plan, pass_through(below.plan.columns) + tuple(computed)) if computed else below.plan
    keys = plan.keys + pass_through(tuple(added.values()))
    return Pulled(Aggregate(source, keys, plan.aggregates), predicates)


def equality_sides(predicate: Expr, inner: frozenset[int]) -> tuple[Expr, Expr] | None:
    """(side without inner columns, side with nothing but inner columns) of an equality that cannot raise."""
    if not isinstance(predicate, Compare) or predicate.op is not CompareOp.EQ or can_raise(predicate):
        return None
    for outside, inside in ((predicate.left, predicate.right), (predicate.right, predicate.left)):
        used = free_columns(inside)
        if used and used <= inner and not free_columns(outside) & inner:
            return outside, inside
    return None


def _pull_from_join(plan: Join, outer: Outer, allocator: ColumnAllocator) -> Pulled | None:
    local, correlated = _split(plan.condition, outer)
    if any(can_raise(term) for term in local):
        return None
    left = pull_correlation(plan.left, outer, allocator)
    if left is None:
        return None
    if plan.kind is JoinKind.INNER:
        right = pull_correlation(plan.right, outer, allocator)
        if right is None:
            return None
        joined = Join(left.plan, right.plan, plan.kind, conjunction(local))
        return Pulled(joined, left.predicates + right.predicates + correlated)
    if plan.kind is JoinKind.FULL or free_columns(plan.right) & outer or can_raise(plan.replace(left=left.plan)):
        return None
    if correlated:
        # Only a semi join lets a condition over its left input pass upward.
        right_ids = output_ids(plan.right)
        if plan.kind is not JoinKind.SEMI or any(free_columns(term) & right_ids for term in correlated):
            return None
    joined = plan.replace(left=left.plan, condition=conjunction(local))
    return Pulled(joined, left.predicates + correlated)

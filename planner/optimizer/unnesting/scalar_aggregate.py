"""A correlated aggregate without keys, as in `(SELECT count(*) FROM i WHERE i.a = o.a)`."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.dtypes import is_decimal
from planner.expr.functions import AGGREGATES
from planner.expr.nodes import AggregateCall, Assign, Call, Literal, conjunction
from planner.expr.predicates import is_trivial
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, DependentJoin, Join, Limit, LogicalPlan, Project, Sort, pass_through
from planner.optimizer.unnesting.pull_correlation import Pulled, group_by_predicates, pull_correlation
from planner.schema import Column, ColumnAllocator

_ONE_PER_LEFT_ROW = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SINGLE)


def join_scalar_aggregate(join: DependentJoin, outer: frozenset[int], allocator: ColumnAllocator) -> LogicalPlan | None:
    """Group the inner rows by the columns that are equal to outer ones, and left join the groups.

        DependentJoin single             Project L..., expressions of Project
          L                                Project L..., coalesce(count, 0)
          Project                    ⇒       Join left on o = i
            Aggregate: count(*)                L
              Filter o = i                     Aggregate by i: count(*)
                x                                x

    A left row without a group gets what the aggregate gives for no rows: NULL from the join, zero for counts. The projections
    see exactly one row for each left row, as before. Needs equalities only, and nothing below the projections that can raise.
    """
    if join.kind not in _ONE_PER_LEFT_ROW or not is_trivial(join.condition):
        return None
    projects: list[Project] = []
    below = join.right
    while isinstance(below, (Project, Sort, Limit)):
        if isinstance(below, Limit) and (below.offset or below.limit == 0):
            return None
        if isinstance(below, Project):
            projects.append(below)
        below = below.input
    if (
        not isinstance(below, Aggregate)
        or below.keys
        or any(free_columns(part) & outer or can_raise(part) for part in below.aggregates)
    ):
        return None
    pulled = pull_correlation(below.input, outer, allocator)
    grouped = None if pulled is None else group_by_predicates(below, pulled, outer, allocator)
    if grouped is None or not grouped.predicates:
        return None
    plan, values = _with_zero_counts(join.left, grouped, below, allocator)
    kept = pass_through(join.left.columns)
    plan = Project(plan, kept + values)
    for project in reversed(projects):
        own = tuple(assign for assign in project.assigns if assign.column.id not in output_ids(join.left))
        plan = Project(plan, kept + own)
    return plan if plan.columns == join.columns else Project(plan, pass_through(join.columns))


def _with_zero_counts(
    left: LogicalPlan, grouped: Pulled, aggregate: Aggregate, allocator: ColumnAllocator
) -> tuple[LogicalPlan, tuple[Assign, ...]]:
    """The left join with the groups, and the assignments of the aggregate's columns over it."""
    assert isinstance(grouped.plan, Aggregate)
    calls, values = zero_counts(aggregate.aggregates, allocator)
    groups = grouped.plan.replace(aggregates=calls)
    return Join(left, groups, JoinKind.LEFT, conjunction(grouped.predicates)), values


def zero_counts(aggregates: tuple[Assign, ...], allocator: ColumnAllocator) -> tuple[tuple[Assign, ...], tuple[Assign, ...]]:
    """Aggregates to compute per group, and assignments that give their values where a left join found no group."""
    calls: list[Assign] = []
    values: list[Assign] = []
    for assign in aggregates:
        assert isinstance(assign.expr, AggregateCall)
        if AGGREGATES[assign.expr.function].empty_is_null:
            calls.append(assign)
            values.append(Assign(assign.column, reference(assign.column)))
            continue
        counted: Column = allocator.copy_of(assign.column)
        calls.append(Assign(counted, assign.expr))
        zero = Literal(counted.dtype, _zero(counted))
        values.append(Assign(assign.column, Call(counted.dtype, "coalesce", (reference(counted), zero))))
    return tuple(calls), tuple(values)


def _zero(column: Column) -> object:
    from decimal import Decimal

    return Decimal(0) if is_decimal(column.dtype) else 0

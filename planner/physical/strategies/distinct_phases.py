"""Aggregates of distinct values, `count(DISTINCT x)`, in phases.

Without them all rows of a group have to come to one task. Here equal values are removed first, by grouping by the keys and x::

    Aggregate by g: count(DISTINCT x), sum(y)
        where rows are                  Aggregate partial by g, x: sum(y)
        where (g, x) meet               Aggregate final by g, x: sum(sum)
                                        Aggregate partial by g: count(x), sum(sum)
        where g meets                   Aggregate final by g: sum_counts(count), sum(sum)

The second step is left out where there are groups enough to keep all tasks busy, the first where it would not remove much.
Possible if all distinct calls are of one expression without a FILTER, and the others can be merged.
"""

from __future__ import annotations

from planner.expr.equality import same_expression
from planner.expr.functions import AGGREGATES
from planner.expr.nodes import AggregateCall, Assign, ColumnRef, Expr
from planner.logical.nodes import Aggregate, LogicalPlan, pass_through
from planner.physical.context import PhysicalContext, Planned, placements_of
from planner.physical.nodes import AggregateExec, AggregateMode, ProjectExec
from planner.physical.properties import ClusteredDistribution, SingleDistribution
from planner.physical.strategies.aggregate_phases import (
    meeting_place,
    merge_call,
    narrow,
    offered,
    partial_pays,
)
from planner.schema import Column

GROUPS_PER_BUCKET = 16
"""With fewer groups, a hash of the keys alone may leave tasks without work."""


def plan_distinct_phases(
    rows: LogicalPlan,
    keys: tuple[Column, ...],
    calls: tuple[Assign, ...],
    input: Planned,
    groups: float,
    context: PhysicalContext,
) -> Planned | None:
    """The phases of calls over `input`, the plan of `rows`; None where they are not possible or not needed."""
    value = _distinct_value(calls) if "distinct_phases" not in context.options.disabled else None
    required = ClusteredDistribution(keys) if keys else SingleDistribution()
    if value is None or not context.needs_exchange(input, required):
        return None
    if isinstance(value, ColumnRef):
        argument = value.column
    else:
        argument = context.allocator.new("value", value.dtype)
        input = _with_column(input, argument, value)
        calls = tuple(_of_column(call, argument) if _is_distinct(call) else call for call in calls)
    pair = keys if argument in keys else (*keys, argument)
    others = tuple(call for call in calls if not _is_distinct(call))
    values = _estimated_values(rows, pair, input, context)
    partial_rows = min(input.rows, values * input.offered.count)
    meets = not context.needs_exchange(input, ClusteredDistribution(pair))
    before = narrow(input, keys, calls)
    merged = False
    if not meets and partial_pays(before, partial_rows, pair + tuple(call.column for call in others)):
        others = tuple(Assign(context.allocator.copy_of(call.column), call.expr) for call in others)
        before = Planned(AggregateExec(before.plan, AggregateMode.PARTIAL, pair, others), offered(before, pair), partial_rows)
        merged = True
    few = groups < GROUPS_PER_BUCKET * context.buckets
    alone = isinstance(meeting_place(pair, before.rows, context), SingleDistribution)
    if not meets and (alone or not few):
        target = SingleDistribution() if alone else required
        return _complete(context.enforce(before, target), keys, calls, others if merged else None, groups)
    spread = context.enforce(before, ClusteredDistribution(pair))
    return _twice(spread, keys, pair, calls, others, merged, groups, context)


def _complete(
    input: Planned, keys: tuple[Column, ...], calls: tuple[Assign, ...], partials: tuple[Assign, ...] | None, groups: float
) -> Planned:
    """All in one more step, with the other calls merged from `partials`, if there are such."""
    states = iter(partials or ())
    last = tuple(
        call if partials is None or _is_distinct(call) else Assign(call.column, merge_call(next(states))) for call in calls
    )
    return Planned(
        AggregateExec(input.plan, AggregateMode.COMPLETE, keys, last, placements=placements_of(input)),
        offered(input, keys),
        groups,
    )


def _twice(
    spread: Planned,
    keys: tuple[Column, ...],
    pair: tuple[Column, ...],
    calls: tuple[Assign, ...],
    others: tuple[Assign, ...],
    merged: bool,
    groups: float,
    context: PhysicalContext,
) -> Planned:
    """Each value of each group once, then what tasks know of a group, then the group."""
    fresh = context.allocator.copy_of
    unique = tuple(Assign(fresh(call.column), merge_call(call) if merged else call.expr) for call in others)
    mode = AggregateMode.FINAL if merged else AggregateMode.COMPLETE
    once = AggregateExec(spread.plan, mode, pair, unique, placements=placements_of(spread))
    states = iter(unique)
    partials = tuple(
        Assign(fresh(call.column), _plain(call) if _is_distinct(call) else merge_call(next(states))) for call in calls
    )
    partial_rows = max(groups * spread.offered.count, 1.0)
    partial = AggregateExec(once, AggregateMode.PARTIAL, keys, partials)
    target = meeting_place(keys, partial_rows, context)
    gathered = context.enforce(Planned(partial, offered(spread, keys), partial_rows), target)
    finals = tuple(Assign(call.column, merge_call(state)) for call, state in zip(calls, partials, strict=True))
    return Planned(
        AggregateExec(gathered.plan, AggregateMode.FINAL, keys, finals, placements=placements_of(gathered)),
        offered(gathered, keys),
        groups,
    )


def _distinct_value(calls: tuple[Assign, ...]) -> Expr | None:
    """What distinct values of are aggregated, if that is one expression and all calls can be merged."""
    value: Expr | None = None
    for assign in calls:
        call = assign.expr
        assert isinstance(call, AggregateCall)
        if AGGREGATES[call.function].merge is None:
            return None
        if call.distinct:
            other = value is not None and not same_expression(value, call.arguments[0])
            if other or call.condition is not None:
                return None
            value = call.arguments[0]
    return value


def _with_column(input: Planned, column: Column, value: Expr) -> Planned:
    plan = ProjectExec(input.plan, (*pass_through(input.columns), Assign(column, value)))
    return Planned(plan, input.offered.rename({known.id: (known.id,) for known in input.columns}), input.rows)


def _of_column(assign: Assign, column: Column) -> Assign:
    assert isinstance(assign.expr, AggregateCall)
    return Assign(assign.column, assign.expr.replace(arguments=(ColumnRef(column.dtype, column),)))


def _is_distinct(assign: Assign) -> bool:
    return isinstance(assign.expr, AggregateCall) and assign.expr.distinct


def _plain(assign: Assign) -> AggregateCall:
    assert isinstance(assign.expr, AggregateCall)
    return assign.expr.replace(distinct=False)


def _estimated_values(rows: LogicalPlan, pair: tuple[Column, ...], input: Planned, context: PhysicalContext) -> float:
    """How many combinations of keys and value there are."""
    if not set(pair) <= set(rows.columns):
        return input.rows
    return context.estimate(Aggregate(rows, pass_through(pair), ()))

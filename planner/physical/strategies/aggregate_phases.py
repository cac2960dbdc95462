"""The phases of an aggregation: one where all rows of a group already meet, else partial results merged after an exchange."""

from __future__ import annotations

from dataclasses import replace

from planner.expr.functions import AGGREGATES
from planner.expr.nodes import AggregateCall, Assign, ColumnRef
from planner.logical.nodes import pass_through
from planner.physical.context import PhysicalContext, Planned, placements_of
from planner.physical.cost import MERGE_GROUP, is_hardly_dearer, move_cost, task_cost
from planner.physical.nodes import AggregateExec, AggregateMode, Origin, ProjectExec
from planner.physical.properties import ClusteredDistribution, Offered, SingleDistribution
from planner.schema import Column
from planner.tree import kind_mask, walk

MOST_GATHERED = 200_000
"""Rows that are never estimated to be too many for one task."""


def plan_phases(
    keys: tuple[Column, ...], calls: tuple[Assign, ...], input: Planned, groups: float, context: PhysicalContext
) -> Planned:
    required = ClusteredDistribution(keys) if keys else SingleDistribution()
    if not context.needs_exchange(input, required):
        input = context.enforce(input, required)
        return Planned(
            AggregateExec(input.plan, AggregateMode.COMPLETE, keys, calls, placements=placements_of(input)),
            offered(input, keys),
            groups,
        )
    partial_rows = min(input.rows, groups * input.offered.count)
    if not mergeable(calls) or (keys and not partial_pays(input, partial_rows, keys + tuple(a.column for a in calls))):
        spread = context.enforce(narrow(input, keys, calls), meeting_place(keys, input.rows, context))
        return Planned(
            AggregateExec(spread.plan, AggregateMode.COMPLETE, keys, calls, placements=placements_of(spread)),
            offered(spread, keys),
            groups,
        )
    partials = tuple(Assign(context.allocator.copy_of(call.column), call.expr) for call in calls)
    partial = AggregateExec(input.plan, AggregateMode.PARTIAL, keys, partials)
    origin = Origin(context.operator, partial=True)
    return merge_partials(keys, calls, Planned(partial, offered(input, keys), max(partial_rows, 1.0), origin), groups, context)


def merge_partials(
    keys: tuple[Column, ...], calls: tuple[Assign, ...], partial: Planned, groups: float, context: PhysicalContext
) -> Planned:
    """The last phase over partial results, whose columns are the keys and one state for each call."""
    merged = context.enforce(partial, meeting_place(keys, partial.rows, context))
    states = (call.replace(column=state) for call, state in zip(calls, partial.columns[len(keys) :], strict=True))
    finals = tuple(Assign(call.column, merge_call(state)) for call, state in zip(calls, states, strict=True))
    return Planned(
        AggregateExec(merged.plan, AggregateMode.FINAL, keys, finals, placements=placements_of(merged)),
        offered(merged, keys),
        groups,
    )


def meeting_place(
    keys: tuple[Column, ...], rows: float, context: PhysicalContext
) -> ClusteredDistribution | SingleDistribution:
    """Where rows of equal keys meet: in one task, if it groups them before the tasks of an exchange by hash would be done."""
    alone = rows * MERGE_GROUP
    shared = (task_cost(context.buckets) + alone) / max(1, min(context.options.workers, context.buckets))
    return SingleDistribution() if not keys or (rows <= MOST_GATHERED and alone <= shared) else ClusteredDistribution(keys)


def narrow(input: Planned, keys: tuple[Column, ...], calls: tuple[Assign, ...]) -> Planned:
    """Only the columns that the aggregate uses, so that no others travel."""
    used = {ref.column.id for call in calls for ref in walk(call, kind_mask(ColumnRef)) if isinstance(ref, ColumnRef)}
    used |= {key.id for key in keys}
    kept = tuple(column for column in input.columns if column.id in used)
    if len(kept) == len(input.columns):
        return input
    offered = input.offered.rename({column.id: (column.id,) for column in kept})
    return replace(input, plan=ProjectExec(input.plan, pass_through(kept)), offered=offered)


def mergeable(calls: tuple[Assign, ...]) -> bool:
    return all(
        isinstance(a.expr, AggregateCall) and not a.expr.distinct and AGGREGATES[a.expr.function].merge is not None
        for a in calls
    )


def partial_pays(input: Planned, partial_rows: float, state: tuple[Column, ...]) -> bool:
    """Whether grouping before the exchange costs less than moving the rows, which are grouped once in either case.

    It may cost a little more: then it is cheap, and bounds what is moved if there are more rows than estimated.
    """
    after = move_cost(partial_rows, state) + partial_rows * MERGE_GROUP
    return is_hardly_dearer(after, move_cost(input.rows, input.columns))


def merge_call(assign: Assign) -> AggregateCall:
    call = assign.expr
    assert isinstance(call, AggregateCall)
    function = AGGREGATES[call.function].merge
    assert function is not None
    return AggregateCall(call.dtype, function, (ColumnRef(call.dtype, assign.column),))


def offered(input: Planned, keys: tuple[Column, ...]) -> Offered:
    return input.offered.without_order().rename({key.id: (key.id,) for key in keys})

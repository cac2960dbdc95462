"""Sort, TopN and Limit.

A sort that may be large stays in many tasks, and the partitions of the result follow one another:

- *by known ranges*, if the rows lie by ranges of the first key, or their scan can be cut by it: each range is sorted;
- *by sampled ranges* otherwise: every task sorts its rows, the sorted runs are cut at rows drawn from them, and the parts of
  each range are merged (parallel sorting by regular sampling, Shi and Schaeffer 1992).

A top-n that keeps as much is planned in the same way, over runs that are no longer than what it keeps. Everything smaller is a
local part that bounds what travels, a gather, and the final part.
"""

from __future__ import annotations

from planner.analysis.nullability import non_null_columns
from planner.dir import OrderKey, SampledRange
from planner.expr.equality import same_expression
from planner.expr.nodes import Assign, ColumnRef, Literal, SortKey
from planner.logical.nodes import Limit, Sort, TopN, pass_through
from planner.physical.context import PhysicalContext, Planned
from planner.physical.cost import row_width
from planner.physical.nodes import LimitExec, MergeExec, PhysicalPlan, ProjectExec, SortExec, TopNExec
from planner.physical.properties import Offered, OrderedDistribution, SingleDistribution, satisfies
from planner.schema import Schema

MOST_RANGES = 256
LEAST_SHARE = 4
"""A range has at least one part in so many of the bytes from which on a sort stays in many tasks."""

ONE_WORKER = 16
"""With one worker a sort in many tasks takes up to a fifth longer, so it has to be so many times larger: then it saves memory."""


def plan_sort(sort: Sort, input: Planned, context: PhysicalContext) -> Planned:
    ranged = _by_known_ranges(sort, input, context)
    if ranged is not None:
        return Planned(SortExec(ranged.plan, sort.keys), _ordered(ranged.offered, sort.keys), input.rows)
    keys = _significant(sort.keys)
    if keys and _stays_in_parts(input, input.rows, context):
        return _by_sampled_ranges(keys, input, input.rows, None, 0, context)
    gathered = context.enforce(input, SingleDistribution())
    return Planned(SortExec(gathered.plan, sort.keys), _ordered(gathered.offered, sort.keys), input.rows)


def plan_top_n(top: TopN, input: Planned, context: PhysicalContext) -> Planned:
    """Every part keeps its own first `offset + limit` rows; the first of all are among them."""
    rows = float(min(input.rows, top.limit))
    kept = top.limit + top.offset
    keys = _significant(top.keys)
    if keys and _stays_in_parts(input, min(input.rows, kept), context):
        return _by_sampled_ranges(keys, input, rows, top.limit, top.offset, context)
    if not satisfies(input.offered, SingleDistribution()):
        local = TopNExec(input.plan, top.keys, kept)
        input = Planned(local, input.offered.without_order(), min(input.rows, kept * input.offered.count))
    gathered = context.enforce(input, SingleDistribution())
    plan = TopNExec(gathered.plan, top.keys, top.limit, top.offset)
    return Planned(plan, _ordered(gathered.offered, top.keys), rows)


def plan_limit(limit: Limit, input: Planned, context: PhysicalContext) -> Planned:
    """Partitions are gathered in order, so a limit over a scan gives the first rows of the table."""
    if limit.limit is not None and not satisfies(input.offered, SingleDistribution()):
        kept = limit.limit + limit.offset
        rows = min(input.rows, float(kept * input.offered.count))
        input = Planned(LimitExec(input.plan, kept), input.offered, rows)
    gathered = context.enforce(input, SingleDistribution())
    rows = max(0.0, gathered.rows - limit.offset)
    if limit.limit is not None:
        rows = min(rows, float(limit.limit))
    offered = Offered(gathered.offered.partitionings, gathered.offered.ordering)
    return Planned(LimitExec(gathered.plan, limit.limit, limit.offset), offered, rows)


def _stays_in_parts(input: Planned, rows: float, context: PhysicalContext) -> bool:
    """Whether that is faster than a gather, for a sort that gives `rows` rows of the input.

    With two workers it is so for wide rows from 40 MB on, for numbers from 10 MB, for text, the slowest of which to sort are
    runs below a million rows, from 60 MB.
    """
    least = context.options.least_sort_bytes * (ONE_WORKER if context.options.workers == 1 else 1)
    return not satisfies(input.offered, SingleDistribution()) and rows * row_width(input.columns) >= least


def _significant(keys: tuple[SortKey, ...]) -> tuple[SortKey, ...]:
    """The keys that can tell two rows apart: no constants, and none that an earlier key repeats."""
    kept: list[SortKey] = []
    for key in keys:
        if not isinstance(key.expr, Literal) and not any(same_expression(key.expr, other.expr) for other in kept):
            kept.append(key)
    return tuple(kept)


def _by_known_ranges(sort: Sort, input: Planned, context: PhysicalContext) -> Planned | None:
    """The input in ascending ranges of the first key, if that takes no exchange. NULL keys are in partition 0."""
    first = sort.keys[0]
    if not isinstance(first.expr, ColumnRef) or first.descending or satisfies(input.offered, SingleDistribution()):
        return None
    column = first.expr.column
    if not first.nulls_first and column.id not in non_null_columns(sort.input):
        return None
    if any(column.id in offered.keys for offered in input.offered.ranges):
        return input
    return context.cut_by_range(input, column)


def _by_sampled_ranges(
    keys: tuple[SortKey, ...], input: Planned, rows: float, limit: int | None, offset: int, context: PhysicalContext
) -> Planned:
    """Runs sorted by columns, merged by ranges of them; `rows` estimates the result."""
    columns = input.columns
    plan, keys = _with_key_columns(input.plan, keys, context)
    order = _order(keys)
    runs: PhysicalPlan = SortExec(plan, keys) if limit is None else TopNExec(plan, keys, limit + offset)
    ranges = SampledRange(order, _range_count(rows, plan.columns, context))
    offered = Offered((*input.offered.partitionings,), order)
    spread = context.enforce(Planned(runs, offered, input.rows), OrderedDistribution(ranges))
    plan = MergeExec(spread.plan, keys, limit, offset)
    offered = Offered(spread.offered.partitionings, order)
    if plan.columns != columns:
        plan = ProjectExec(plan, pass_through(columns))
        offered = offered.rename({column.id: (column.id,) for column in columns})
    return Planned(plan, offered, rows)


def _with_key_columns(
    plan: PhysicalPlan, keys: tuple[SortKey, ...], context: PhysicalContext
) -> tuple[PhysicalPlan, tuple[SortKey, ...]]:
    """Keys that are computed become columns, each evaluated once for every row."""
    computed: list[Assign] = []
    columns: list[SortKey] = []
    for key in keys:
        if not isinstance(key.expr, ColumnRef):
            column = context.allocator.new("key", key.expr.dtype)
            computed.append(Assign(column, key.expr))
            key = key.replace(expr=ColumnRef(column.dtype, column))
        columns.append(key)
    if not computed:
        return plan, keys
    return ProjectExec(plan, pass_through(plan.columns) + tuple(computed)), tuple(columns)


def _range_count(rows: float, columns: Schema, context: PhysicalContext) -> int:
    """Ranges of at most the target of bytes and several for each worker, unless they would be too small."""
    options = context.options
    size = int(rows * row_width(columns))
    wanted = max(-(-size // options.task_bytes), options.workers * options.tasks_per_worker)
    return max(2, min(MOST_RANGES, LEAST_SHARE * size // options.least_sort_bytes, wanted))


def _order(keys: tuple[SortKey, ...]) -> tuple[OrderKey, ...]:
    """The order by keys, as far as they are columns."""
    order = []
    for key in keys:
        if not isinstance(key.expr, ColumnRef):
            break
        order.append(OrderKey(key.expr.column.id, key.descending, key.nulls_first))
    return tuple(order)


def _ordered(offered: Offered, keys: tuple[SortKey, ...]) -> Offered:
    return Offered(offered.partitionings, _order(keys))

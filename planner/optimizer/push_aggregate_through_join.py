"""Rule: rows are grouped before they are joined."""

from __future__ import annotations

from dataclasses import dataclass

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.analysis.keys import is_unique_on
from planner.analysis.nullability import non_null_columns, null_rejected_columns, strict_columns
from planner.catalog import Certainty
from planner.dtypes import BIGINT, DOUBLE, INTERVAL, decimal, is_decimal, is_exact, is_float, scale_of
from planner.expr.functions import AGGREGATES
from planner.expr.nodes import AggregateCall, Assign, Call, Cast, ColumnRef, Expr, Literal
from planner.expr.substitute import reference, substitute
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Join, LogicalPlan, Project, pass_through
from planner.rule import OptimizerContext, rule
from planner.schema import Column

GROUP_ROW = 1.5
"""What grouping a row costs, if joining one costs 1."""
WORTHWHILE = 0.75
"""The new plan may have at most this share of the old one's cost."""


@rule(Aggregate)
def push_aggregate_through_join(aggregate: Aggregate, context: OptimizerContext) -> LogicalPlan | None:
    """Rows that agree on what the join and the groups look at are joined as one (eager aggregation).

        Aggregate by a.x: sum(b.v)          Aggregate by a.x: sum(s)
          Join inner on a.k = b.k             Join inner on a.k = b.k
            a                          ⇒        a
            b                                   Aggregate by b.k: sum(b.v) AS s
                                                  b

    Yan and Larson, "Eager Aggregation and Lazy Aggregation", VLDB 1995. The rows of a new group have the same matches, so a
    match contributes the partial result of all of them, which the aggregate above merges; the other side need not be unique.

    Right if every call uses one side only and has a merge (no DISTINCT, no variance; avg is a sum and a count), and nothing
    that moves can raise, since rows without a match are now aggregated, too: integer sums are DECIMAL below and are checked
    where they were before. On the optional side of a left join a call must ignore the row that stands for no match;
    count(*) counts it as one. Columns of types whose equal values are not identical (floats, intervals) are no new keys,
    and a result that cannot be NULL only because of the join stays.

    Done where groups are known to be few: a join that drops most rows is better done first (TPC-H 3), one that drops
    none later (TPC-H 13).
    """
    source = aggregate_over_join(aggregate, context)
    if source is None:
        return None
    join = source.join
    sides = [(join.right, join.left)]
    if join.kind is JoinKind.INNER or not source.used & output_ids(join.right):
        sides.append((join.left, join.right))
    for side, other in sides:
        if source.used <= output_ids(side):
            pushed = _push(source, side, other, context)
            if pushed is not None and non_null_columns(aggregate) <= non_null_columns(pushed):
                return pushed
    return None


@dataclass(frozen=True, slots=True)
class AggregateOverJoin:
    """An aggregate that can be computed from partial results, written over the join below it.

    `results` are the columns of the aggregate, in order, in terms of those of the calls: themselves, or quotients (avg).
    """

    keys: tuple[Assign, ...]
    calls: tuple[tuple[Column, AggregateCall], ...]
    results: tuple[Assign, ...]
    join: Join

    @property
    def used(self) -> frozenset[int]:
        """The columns that the calls use."""
        return frozenset().union(*(free_columns(call) for _, call in self.calls))


def aggregate_over_join(aggregate: Aggregate, context: OptimizerContext) -> AggregateOverJoin | None:
    below, keys, assigns = aggregate.input, aggregate.keys, aggregate.aggregates
    if isinstance(below, Project):
        values = {assign.column.id: assign.expr for assign in below.assigns}
        if any(can_raise(expr) for expr in values.values()):
            return None
        keys = tuple(substitute(key, values) for key in keys)
        assigns = tuple(substitute(assign, values) for assign in assigns)
        below = below.input
    if not isinstance(below, Join) or below.kind not in (JoinKind.INNER, JoinKind.LEFT):
        return None
    calls: list[tuple[Column, AggregateCall]] = []
    results: list[Assign] = []
    for assign in assigns:
        call = assign.expr
        assert isinstance(call, AggregateCall)
        if call.function == "avg":
            quotient, states = _quotient(call, context)
            results.append(assign.replace(expr=quotient))
            calls += states
        else:
            results.append(Assign(assign.column, reference(assign.column)))
            calls.append((assign.column, call))
    if any(call.distinct or AGGREGATES[call.function].merge is None or can_raise(partial_call(call)) for _, call in calls):
        return None
    if any(can_raise(key) for key in keys):
        return None
    return AggregateOverJoin(keys, tuple(calls), tuple(results), below)


def _quotient(call: AggregateCall, context: OptimizerContext) -> tuple[Expr, list[tuple[Column, AggregateCall]]]:
    """An average as the quotient of a sum and a count, and these two."""
    argument = call.arguments[0].dtype
    total = context.allocator.new("sum", DOUBLE if is_float(argument) else decimal(38, scale_of(argument)))
    count = context.allocator.new("count", BIGINT)
    divisor = decimal(19, 0) if is_decimal(call.dtype) else DOUBLE
    dividend = reference(total) if is_decimal(call.dtype) or total.dtype == DOUBLE else Cast(DOUBLE, reference(total))
    quotient = Call(call.dtype, "divide", (dividend, Cast(divisor, reference(count))))
    states = [
        (total, call.replace(function="sum", dtype=total.dtype)),
        (count, call.replace(function="count", dtype=BIGINT)),
    ]
    return quotient, states


def _push(source: AggregateOverJoin, side: LogicalPlan, other: LogicalPlan, context: OptimizerContext) -> LogicalPlan | None:
    join = source.join
    optional = join.kind is JoinKind.LEFT and side is join.right
    wanted = free_columns(join.condition).union(*(free_columns(key) for key in source.keys))
    keys = tuple(column for column in side.columns if column.id in wanted)
    if not keys or any(is_float(key.dtype) or key.dtype == INTERVAL for key in keys):
        return None
    if is_unique_on(side, frozenset(key.id for key in keys)):
        return None
    if optional and not all(_ignores_missing(call, output_ids(side)) for _, call in source.calls):
        return None
    partials = tuple(
        Assign(context.allocator.new(column.name, partial_call(call).dtype), partial_call(call))
        for column, call in source.calls
    )
    groups = Aggregate(side, pass_through(keys), partials)
    joined = join.replace(right=groups) if side is join.right else join.replace(left=groups)
    if not _pays(groups, join, other, context):
        return None
    return merge_partials(source, source.keys, joined, tuple(partial.column for partial in partials), optional, context)


def merge_partials(
    source: AggregateOverJoin,
    keys: tuple[Assign, ...],
    input: LogicalPlan,
    partials: tuple[Column, ...],
    optional: bool,
    context: OptimizerContext,
) -> LogicalPlan:
    """The aggregate's results from a column of partial results for each of its calls, NULL without a match if `optional`."""
    merged: list[Assign] = []
    totals: dict[int, Expr] = {}
    for (column, call), partial in zip(source.calls, partials, strict=True):
        merge = _merge_call(call, partial, optional)
        if merge.dtype != call.dtype:
            total = context.allocator.new(column.name, merge.dtype)
            totals[column.id] = Cast(call.dtype, reference(total))
            column = total
        merged.append(Assign(column, merge))
    top = Aggregate(input, keys, tuple(merged))
    results = tuple(substitute(result, totals) for result in source.results)
    if all(isinstance(result.expr, ColumnRef) for result in results):
        return top
    return Project(top, pass_through(tuple(key.column for key in keys)) + results)


def partial_call(call: AggregateCall) -> AggregateCall:
    """The call over the rows of one side. Sums of integers have a type that no group can exceed."""
    if call.function == "sum" and is_exact(call.dtype) and not is_decimal(call.dtype):
        return call.replace(dtype=decimal(38, 0))
    return call


def _merge_call(call: AggregateCall, partial: Column, optional: bool) -> AggregateCall:
    value: Expr = reference(partial)
    if optional and call.function == "count_star" and call.condition is None:
        value = Call(BIGINT, "coalesce", (value, Literal(BIGINT, 1)))
    merge = AGGREGATES[call.function].merge
    assert merge is not None
    return AggregateCall(partial.dtype, merge, (value,))


def _ignores_missing(call: AggregateCall, side: frozenset[int]) -> bool:
    """Whether a row of NULLs adds nothing to the call (as to count(*), see `_merge_call`)."""
    if call.condition is not None:
        return bool(null_rejected_columns(call.condition) & side)
    return call.function == "count_star" or bool(strict_columns(call.arguments[0]) & side)


def _pays(groups: Aggregate, join: Join, other: LogicalPlan, context: OptimizerContext) -> bool:
    cardinality = context.cardinality
    below = cardinality.estimate(groups.input)
    known = (below.columns.get(key.column.id) for key in groups.keys)
    if any(column is None or column.certainty is Certainty.UNKNOWN for column in known):
        return False
    rows, joined = below.rows, cardinality.rows(join)
    few, others = cardinality.rows(groups), cardinality.rows(other)
    late = rows + others + GROUP_ROW * joined
    early = GROUP_ROW * rows + few + others + GROUP_ROW * joined * few / max(rows, 1.0)
    return early <= WORTHWHILE * late

"""Window: every partition in one task, then one operator; without a partition all rows in one task.

As for aggregates, `avg` is split into sum and count here and exact sums run as DECIMAL(38, s); a projection above converts to
the types of SQL and checks their ranges.
"""

from __future__ import annotations

from planner.dtypes import BIGINT, DOUBLE, decimal, is_decimal, is_exact, is_float, scale_of
from planner.expr.equality import same_expression
from planner.expr.nodes import Assign, Call, Cast, ColumnRef, Expr, WindowCall
from planner.logical.nodes import Window, pass_through
from planner.physical.context import PhysicalContext, Planned, placements_of
from planner.physical.nodes import PhysicalPlan, ProjectExec, WindowExec
from planner.physical.properties import ClusteredDistribution, SingleDistribution
from planner.schema import Column


def plan_window(window: Window, input: Planned, context: PhysicalContext) -> Planned:
    keys = dict.fromkeys(key.column for key in window.partition if isinstance(key, ColumnRef))
    partition: tuple[Column, ...] = tuple(keys)
    gathered = context.enforce(input, ClusteredDistribution(partition) if partition else SingleDistribution())
    states: list[Assign] = []
    results = [Assign(assign.column, _result(assign, states, context)) for assign in window.calls]
    plan: PhysicalPlan = WindowExec(gathered.plan, partition, window.order, tuple(states), placements=placements_of(gathered))
    if any(not isinstance(a.expr, ColumnRef) or a.column.id != a.expr.column.id for a in results) or len(states) != len(
        results
    ):
        plan = ProjectExec(plan, pass_through(input.columns) + tuple(results))
    return Planned(plan, gathered.offered.without_order(), input.rows)


def _result(assign: Assign, states: list[Assign], context: PhysicalContext) -> Expr:
    """The SQL value of a call in terms of what the kernels compute."""
    call = assign.expr
    assert isinstance(call, WindowCall)

    def state(wanted: WindowCall, name: str) -> ColumnRef:
        for known in states:
            if same_expression(known.expr, wanted):
                return ColumnRef(wanted.dtype, known.column)
        column = assign.column if wanted is call else context.allocator.new(name, wanted.dtype)
        states.append(Assign(column, wanted))
        return ColumnRef(wanted.dtype, column)

    if call.function == "sum" and is_exact(call.dtype):
        wide = decimal(38, scale_of(call.arguments[0].dtype))
        if wide == call.dtype:
            return state(call, assign.column.name)
        return Cast(call.dtype, state(call.replace(dtype=wide), assign.column.name))
    if call.function != "avg":
        return state(call, assign.column.name)
    argument = call.arguments[0].dtype
    sum_type = DOUBLE if is_float(argument) else decimal(38, scale_of(argument))
    total = state(call.replace(function="sum", dtype=sum_type), "sum")
    count = state(call.replace(function="count", dtype=BIGINT), "count")
    if is_decimal(call.dtype):
        return Call(call.dtype, "divide", (total, Cast(decimal(19, 0), count)))
    as_double = total if total.dtype == DOUBLE else Cast(DOUBLE, total)
    return Call(DOUBLE, "divide", (as_double, Cast(DOUBLE, count)))

"""Aggregate: what SQL asks for in terms of what kernels compute; `aggregate_phases` and `distinct_phases` say where they do.

`avg` is split into sum and count here, and exact sums run as DECIMAL(38, s), so kernels know only sums and counts; a
projection above converts to the types of SQL and checks their ranges once, after the last merge.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from planner.analysis.nullability import never_null, non_null_columns
from planner.dtypes import BIGINT, DOUBLE, DType, decimal, is_decimal, is_exact, is_float, scale_of
from planner.expr.equality import same_expression
from planner.expr.nodes import AggregateCall, Assign, Call, Cast, ColumnRef, Expr
from planner.logical.nodes import Aggregate, pass_through
from planner.physical.context import PhysicalContext, Planned
from planner.physical.nodes import ProjectExec
from planner.physical.strategies.aggregate_phases import merge_partials, plan_phases
from planner.physical.strategies.distinct_phases import plan_distinct_phases
from planner.schema import Column


@dataclass(slots=True)
class _States:
    """The aggregate calls that kernels compute, each one once."""

    context: PhysicalContext
    never_null: frozenset[int]
    """The columns of the input that are never NULL."""
    assigns: list[Assign] = field(default_factory=list)

    def column(self, call: AggregateCall, name: str) -> ColumnRef:
        if call.function == "count" and not call.distinct and never_null(call.arguments[0], self.never_null):
            call = call.replace(function="count_star", arguments=())
        for assign in self.assigns:
            if same_expression(assign.expr, call):
                return ColumnRef(call.dtype, assign.column)
        column = self.context.allocator.new(name, call.dtype)
        self.assigns.append(Assign(column, call))
        return ColumnRef(call.dtype, column)


def plan_aggregate(aggregate: Aggregate, input: Planned, context: PhysicalContext) -> Planned:
    input, keys = _project_keys(aggregate, input)
    states = _States(context, non_null_columns(aggregate.input))
    results = [Assign(assign.column, _result(assign, states)) for assign in aggregate.aggregates]
    groups = context.estimate(aggregate)
    calls = tuple(states.assigns)
    planned = plan_distinct_phases(aggregate.input, tuple(keys), calls, input, groups, context)
    if planned is None:
        planned = plan_phases(tuple(keys), calls, input, groups, context)
    return _finish(aggregate, tuple(keys), results, planned)


def merge_aggregate(aggregate: Aggregate, partial: Planned, context: PhysicalContext) -> Planned:
    """The aggregate over partial results that a stage has computed already."""
    keys, _ = _keys(aggregate)
    states = _States(context, non_null_columns(aggregate.input))
    results = [Assign(assign.column, _result(assign, states)) for assign in aggregate.aggregates]
    merged = merge_partials(tuple(keys), tuple(states.assigns), partial, context.estimate(aggregate), context)
    return _finish(aggregate, tuple(keys), results, merged)


def _keys(aggregate: Aggregate) -> tuple[list[Column], list[Assign]]:
    """The keys as columns of the input, and those that have to be computed there, under the ids that they have in the output."""
    keys: list[Column] = []
    computed: list[Assign] = []
    for assign in aggregate.keys:
        if isinstance(assign.expr, ColumnRef) and assign.expr.column not in keys:
            keys.append(assign.expr.column)
        else:
            computed.append(assign)
            keys.append(assign.column)
    return keys, computed


def _project_keys(aggregate: Aggregate, input: Planned) -> tuple[Planned, list[Column]]:
    keys, computed = _keys(aggregate)
    if not computed:
        return input, keys
    plan = ProjectExec(input.plan, pass_through(input.columns) + tuple(computed))
    offered = input.offered.rename({column.id: (column.id,) for column in input.columns})
    return replace(input, plan=plan, offered=offered), keys


def _result(assign: Assign, states: _States) -> Expr:
    """The SQL value of an aggregate in terms of kernel states."""
    call = assign.expr
    assert isinstance(call, AggregateCall)
    name = assign.column.name
    if call.function == "sum" and is_exact(call.dtype):
        state = states.column(call.replace(dtype=_sum_type(call)), name)
        return state if state.dtype == call.dtype else Cast(call.dtype, state)
    if call.function == "avg":
        count = states.column(call.replace(function="count", dtype=BIGINT), "count")
        total = states.column(call.replace(function="sum", dtype=_sum_type(call)), "sum")
        if is_decimal(call.dtype):
            return Call(call.dtype, "divide", (total, Cast(decimal(19, 0), count)))
        as_double = total if total.dtype == DOUBLE else Cast(DOUBLE, total)
        return Call(DOUBLE, "divide", (as_double, Cast(DOUBLE, count)))
    return states.column(call, name)


def _sum_type(call: AggregateCall) -> DType:
    argument = call.arguments[0].dtype
    return DOUBLE if is_float(argument) else decimal(38, scale_of(argument))


def _finish(aggregate: Aggregate, keys: tuple[Column, ...], results: list[Assign], planned: Planned) -> Planned:
    """Names and types of SQL, unless they are there already."""
    renamed = tuple(Assign(assign.column, ColumnRef(key.dtype, key)) for assign, key in zip(aggregate.keys, keys, strict=True))
    kept: dict[int, tuple[int, ...]] = {}
    for assign, key in zip(aggregate.keys, keys, strict=True):
        kept[key.id] = (*kept.get(key.id, ()), assign.column.id)
    plan = ProjectExec(planned.plan, renamed + tuple(results))
    return Planned(plan, planned.offered.rename(kept), planned.rows)

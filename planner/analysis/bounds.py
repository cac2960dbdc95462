"""Bounds of physical operators: the interval of every exact column, and an upper bound of rows.

The planner uses them to fix encodings when stages are cut, and the executor uses the very same functions to choose the
arithmetic inside a stage, so both always agree. A bound holds for all rows of all tasks together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.analysis.intervals import Bounds, Interval, checked_interval, rescale, type_interval
from planner.dtypes import is_exact, scale_of
from planner.expr.functions import WINDOW_FUNCTIONS
from planner.expr.nodes import AggregateCall, WindowCall
from planner.join_kind import JoinKind
from planner.physical.nodes import (
    AggregateExec,
    AggregateMode,
    ExchangePlan,
    ExchangeSource,
    JoinExec,
    LimitExec,
    MergeExec,
    PhysicalPlan,
    ProjectExec,
    TableScan,
    TopNExec,
    UnionExec,
    ValuesScan,
    WindowExec,
)

ROW_LIMIT = 2**62
"""No operator of any query handles more rows than this."""

TASK_LIMIT = 2**20
"""No stage has more tasks than this."""


class BoundsAnalysis:
    """Bounds of the operators of one plan, computed once per node object."""

    def __init__(self) -> None:
        self._columns: dict[int, tuple[PhysicalPlan, dict[int, Interval]]] = {}
        self._rows: dict[int, tuple[PhysicalPlan, int]] = {}

    def columns(self, plan: PhysicalPlan) -> dict[int, Interval]:
        """Interval by column id for the exact output columns of `plan`; what is absent is bound by its type alone."""
        for current in self._pending(plan, self._columns):
            self._columns[id(current)] = (current, self._derive(current))
        return self._columns[id(plan)][1]

    def rows(self, plan: PhysicalPlan) -> int:
        """An upper bound of the number of rows of `plan` over all tasks."""
        for current in self._pending(plan, self._rows):
            self._rows[id(current)] = (current, min(ROW_LIMIT, self._derive_rows(current)))
        return self._rows[id(plan)][1]

    @staticmethod
    def _pending(plan: PhysicalPlan, known: Mapping[int, object]) -> list[PhysicalPlan]:
        """The operators that are not known yet, inputs first."""
        order: list[PhysicalPlan] = []
        stack = [plan]
        while stack:
            current = stack.pop()
            if id(current) not in known:
                order.append(current)
                stack.extend(current.inputs)
        return order[::-1]

    def _derive(self, plan: PhysicalPlan) -> dict[int, Interval]:
        if isinstance(plan, (TableScan, ExchangeSource)):
            return dict(plan.claims if isinstance(plan, TableScan) else plan.bounds)
        if isinstance(plan, ValuesScan):
            return {}
        if isinstance(plan, UnionExec):
            return self._union(plan)
        inputs: dict[int, Interval] = {}
        for child in plan.inputs:
            inputs |= self.columns(child)
        if isinstance(plan, ProjectExec):
            return _known((assign.column.id, checked_interval(assign.expr, inputs)) for assign in plan.assigns)
        if isinstance(plan, AggregateExec):
            rows = self.rows(plan.input)
            keys = {key.id: inputs[key.id] for key in plan.keys if key.id in inputs}
            calls = ((assign.column.id, aggregate_interval(assign.expr, inputs, rows)) for assign in plan.aggregates)  # type: ignore[arg-type]
            return keys | _known(calls)
        if isinstance(plan, WindowExec):
            rows = self.rows(plan.input)
            found = ((assign.column.id, window_interval(assign.expr, inputs, rows)) for assign in plan.calls)  # type: ignore[arg-type]
            return inputs | _known(found)
        return inputs

    def _union(self, plan: UnionExec) -> dict[int, Interval]:
        """The hull of what the arms give; a column that one arm does not bound is bound by its type alone."""
        found = {}
        for at, column in enumerate(plan.schema):
            known = [self.columns(arm).get(arm.columns[at].id) for arm in plan.arms]
            intervals = [interval for interval in known if interval is not None]
            if len(intervals) == len(known):
                found[column.id] = Interval(min(i.low for i in intervals), max(i.high for i in intervals))
        return found

    def _derive_rows(self, plan: PhysicalPlan) -> int:
        if isinstance(plan, (TableScan, ExchangeSource)):
            return plan.row_bound
        if isinstance(plan, ValuesScan):
            return len(plan.rows)
        if isinstance(plan, (LimitExec, TopNExec, MergeExec)):
            # Every task may deliver `limit` rows, so before a gather the limit bounds nothing over all tasks.
            return self.rows(plan.input)
        if isinstance(plan, AggregateExec):
            if plan.keys:
                return self.rows(plan.input)
            return TASK_LIMIT if plan.mode is AggregateMode.PARTIAL else 1
        if isinstance(plan, ExchangePlan):
            return self.rows(plan.input)
        if isinstance(plan, UnionExec):
            return sum(self.rows(arm) for arm in plan.arms)
        if isinstance(plan, JoinExec):
            left, right = self.rows(plan.left), self.rows(plan.right)
            if plan.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE):
                return left
            return left * max(1, right) + (right if plan.kind is JoinKind.FULL else 0)
        return self.rows(plan.inputs[0])


def window_interval(call: WindowCall, inputs: Bounds, rows: int) -> Interval | None:
    """The interval of a window function's result over `rows` rows whose columns lie in `inputs`."""
    if not is_exact(call.dtype):
        return None
    if call.function not in WINDOW_FUNCTIONS:
        return aggregate_interval(as_aggregate(call), inputs, rows)
    if call.function in ("lag", "lead", "first_value", "last_value", "nth_value"):
        values = [call.arguments[0], *call.arguments[2:]] if call.function in ("lag", "lead") else call.arguments[:1]
        intervals = [checked_interval(value, inputs) or type_interval(call.dtype) for value in values]
        assert all(interval is not None for interval in intervals)
        return Interval(min(i.low for i in intervals if i), max(i.high for i in intervals if i))
    return Interval(0, max(rows, 1)) if call.function != "ntile" else type_interval(call.dtype)


def as_aggregate(call: WindowCall) -> AggregateCall:
    """The aggregate of a window call, as it is over the rows of one frame."""
    return AggregateCall(call.dtype, call.function, call.arguments, call.distinct, call.condition)


def aggregate_interval(call: AggregateCall, inputs: Bounds, rows: int) -> Interval | None:
    """The interval of an aggregate's result over any subset of `rows` rows whose columns lie in `inputs`."""
    if not is_exact(call.dtype):
        return None
    if call.function in ("count", "count_star"):
        return Interval(0, max(rows, 1))
    argument = checked_interval(call.arguments[0], inputs)
    if argument is None:
        return type_interval(call.dtype)
    if call.function in ("sum", "sum_counts"):
        return Interval(min(0, argument.low * rows), max(0, argument.high * rows))
    if call.function == "avg":
        return rescale(argument, scale_of(call.arguments[0].dtype), scale_of(call.dtype))
    return argument


def _known(pairs: Iterable[tuple[int, Interval | None]]) -> dict[int, Interval]:
    return {key: interval for key, interval in pairs if interval is not None}

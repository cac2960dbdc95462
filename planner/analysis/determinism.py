"""Determinism of physical plans: what a second run of an operator would give (law 1 of `planner.dir`).

Three facts weaken it. Joins and group-bys of the kernels give rows in any order. A limit, the ties of a top-n and any
order-sensitive aggregate over rows in any order choose different *rows*. Float sums differ in their last bits with the order
of their input; that is tolerated in a value, but a value that decides where a row goes (key, predicate) makes rows differ.
"""

from __future__ import annotations

from planner.dir import Determinism
from planner.dtypes import is_float
from planner.expr.functions import AGGREGATES, WINDOW_FUNCTIONS
from planner.expr.nodes import AggregateCall, ColumnRef, Expr, WindowCall
from planner.physical.nodes import (
    AggregateExec,
    ExchangePlan,
    FilterExec,
    JoinExec,
    LimitExec,
    MergeExec,
    PhysicalPlan,
    ProjectExec,
    SortExec,
    StageOutput,
    TopNExec,
    UnionExec,
    WindowExec,
)
from planner.tree import Node, kind_mask, walk

_COLUMN_REF = kind_mask(ColumnRef)


class DeterminismAnalysis:
    """Determinism of every operator of one uncut plan."""

    def __init__(self, root: PhysicalPlan) -> None:
        self._level: dict[int, Determinism] = {}
        self._unstable: dict[int, frozenset[int]] = {}
        order: list[PhysicalPlan] = []
        stack = [root]
        while stack:
            current = stack.pop()
            order.append(current)
            stack.extend(current.inputs)
        for plan in reversed(order):
            self._derive(plan)

    def level(self, plan: PhysicalPlan) -> Determinism:
        return self._level[id(plan)]

    def unstable(self, plan: PhysicalPlan) -> frozenset[int]:
        """The float columns whose last bits may differ in a second run."""
        return self._unstable[id(plan)]

    def _derive(self, plan: PhysicalPlan) -> None:
        level = min((self._level[id(child)] for child in plan.inputs), default=Determinism.ORDERED)
        unstable: frozenset[int] = frozenset().union(*(self._unstable[id(child)] for child in plan.inputs))
        deciding: tuple[Node | None, ...] = ()
        keys: tuple[int, ...] = ()
        match plan:
            case StageOutput():
                level, unstable = plan.determinism, plan.unstable
            case FilterExec():
                deciding = (plan.predicate,)
            case ProjectExec():
                unstable = frozenset(a.column.id for a in plan.assigns if _uses(a.expr, unstable))
            case JoinExec():
                deciding = (plan.residual,)
                keys = tuple(column.id for column in plan.left_keys + plan.right_keys)
                level = min(level, Determinism.SET)
            case AggregateExec():
                keys = tuple(column.id for column in plan.keys)
                calls = [(a.column.id, a.expr) for a in plan.aggregates if isinstance(a.expr, AggregateCall)]
                if level < Determinism.ORDERED and any(AGGREGATES[call.function].order_sensitive for _, call in calls):
                    level = Determinism.INDETERMINATE
                level = min(level, Determinism.SET)
                floats = (c for c, call in calls if is_float(call.dtype) and call.function not in ("min", "max"))
                unstable = unstable | frozenset(floats)
            case WindowExec():
                keys = tuple(column.id for column in plan.partition)
                deciding = plan.order
                if level < Determinism.ORDERED and any(_chooses(assign.expr, plan) for assign in plan.calls):
                    level = Determinism.INDETERMINATE
                unstable = unstable | frozenset(
                    assign.column.id
                    for assign in plan.calls
                    if (is_float(assign.expr.dtype) and getattr(assign.expr, "function", "") in _ADDING)
                    or _uses(assign.expr, unstable)
                )
            case UnionExec():
                unstable = frozenset(
                    column.id
                    for at, column in enumerate(plan.schema)
                    if any(arm.columns[at].id in unstable for arm in plan.arms)
                )
            case SortExec():
                deciding = ()
            case TopNExec() | LimitExec() | MergeExec():
                chooses = not isinstance(plan, MergeExec) or plan.limit is not None
                if chooses and level < Determinism.ORDERED:
                    level = Determinism.INDETERMINATE
            case ExchangePlan():
                keys = tuple(getattr(plan.partitioning, "keys", ()))
        if unstable and (unstable.intersection(keys) or any(part and _uses(part, unstable) for part in deciding)):
            level = Determinism.INDETERMINATE
        self._level[id(plan)] = level
        self._unstable[id(plan)] = unstable


_ADDING = frozenset(("sum", "avg", "stddev_samp", "var_samp"))


def _chooses(call: Expr, plan: WindowExec) -> bool:
    """Whether the result depends on the order of rows that tie. Rows that agree on every column are as good as one another."""
    assert isinstance(call, WindowCall)
    if call.function in WINDOW_FUNCTIONS:
        by_peers = WINDOW_FUNCTIONS[call.function].by_peers
    else:
        by_peers = call.frame.by_peers and not AGGREGATES[call.function].order_sensitive
    fixed = {column.id for column in plan.partition}
    fixed |= {key.expr.column.id for key in plan.order if isinstance(key.expr, ColumnRef)}
    return not by_peers and not fixed.issuperset(column.id for column in plan.input.columns)


def _uses(expr: Node, columns: frozenset[int]) -> bool:
    return bool(columns) and any(ref.column.id in columns for ref in walk(expr, _COLUMN_REF) if isinstance(ref, ColumnRef))

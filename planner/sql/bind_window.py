"""Window functions: function(arguments) OVER (PARTITION BY ... ORDER BY ... frame), and the step that evaluates them.

Like aggregates they are bound where they stand, as WindowCalls; after grouping `Windowing` puts them into Window operators and
columns into their places. What they use is computed by a projection below, so that the operator sees columns and constants only.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from planner import dtypes as t
from planner.expr.equality import same_expression
from planner.expr.nodes import AggregateCall, Assign, Case, ColumnRef, Expr, Frame, FrameUnit, Literal, SortKey, WindowCall
from planner.expr.substitute import reference
from planner.logical.nodes import LogicalPlan, Project, Window, pass_through
from planner.schema import Column
from planner.sql.bind_aggregate import windowed_aggregate
from planner.sql.coercion import cast_to, to_boolean
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression, handles, refuse_arguments
from planner.sql.positions import function_name
from planner.sql.scope import Scope
from planner.tree import Node, kind_mask

_WINDOW_CALLS = kind_mask(WindowCall)

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
    exp.Ntile: "ntile",
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first_value",
    exp.First: "first_value",
    exp.LastValue: "last_value",
    exp.Last: "last_value",
    exp.NthValue: "nth_value",
}
_NUMBERS = {"row_number": t.BIGINT, "rank": t.BIGINT, "dense_rank": t.BIGINT, "percent_rank": t.DOUBLE, "cume_dist": t.DOUBLE}
_RUNNING = frozenset(("sum", "count", "count_star", "avg", "min", "max", "bool_and", "bool_or", "any_value"))
"""Aggregates that can be computed over parts of a partition."""


@handles(*_FUNCTIONS, args=None)
def bind_window_function_alone(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """A window function is bound with the OVER that follows it; without one it has no meaning."""
    raise context.unsupported(f"{function_name(context.text, node)} without OVER", node)


@handles(exp.Window, args="this partition_by order spec alias over")
def bind_window(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    where = scope.clause or scope.no_windows
    if where is not None:
        raise context.error("MISPLACED_WINDOW", node, where=where)
    if not context.selects or context.selects[-1] is not scope:
        raise context.unsupported("a window function in this place", node)
    spec = _specification(context, scope, node)
    function, condition_node = node.this, None
    if isinstance(function, exp.Filter):
        where_node = function.args["expression"]
        condition_node = where_node.this if isinstance(where_node, exp.Where) else where_node
        function = function.this
    if isinstance(function, exp.IgnoreNulls) and isinstance(function.this, exp.AnyValue):
        function = function.this
    outside, scope.no_windows = scope.no_windows, "a window function"
    partition = tuple(bind_expression(context, scope, key) for key in spec.partition)
    order = _order(context, scope, spec.order)
    frame = _frame(context, scope, spec.frame, bool(order))
    condition = None
    if condition_node is not None:
        condition = to_boolean(context, bind_expression(context, scope, condition_node), "FILTER", condition_node)
    name = _FUNCTIONS.get(type(function))
    if name is not None:
        if condition is not None:
            raise context.unsupported(f"FILTER of {name}", node)
        call = _function(context, scope, function, name, partition, order, frame)
    else:
        call = _aggregate(context, scope, function, condition, partition, order, frame)
    scope.no_windows = outside
    scope.has_windows = True
    return call


@dataclass(frozen=True, slots=True)
class _Specification:
    """What stands in the parentheses after OVER, or in the WINDOW clause under a name."""

    partition: list[exp.Expr]
    order: exp.Expr | None
    frame: exp.Expr | None


def _specification(context: BindContext, scope: Scope, node: exp.Expr) -> _Specification:
    own = _Specification(node.args.get("partition_by") or [], node.args.get("order"), node.args.get("spec"))
    alias = node.args.get("alias")
    if alias is None:
        return own
    named = scope.windows.get(alias.name.lower())
    if named is None:
        raise context.error("SYNTAX", alias, detail=f"there is no window {alias.name!r}")
    refuse_arguments(context, named, ("this", "partition_by", "order", "spec", "alias"))
    if named is node:
        raise context.error("SYNTAX", alias, detail=f"window {alias.name!r} is made of itself")
    base = _specification(context, scope, named)
    for key, given, known in (("PARTITION BY", own.partition, True), ("ORDER BY", own.order, base.order)):
        if given and known:
            raise context.error("SYNTAX", alias, detail=f"a window that extends {alias.name!r} cannot have {key}")
    if base.frame is not None and (own.order or own.frame):
        raise context.error("SYNTAX", alias, detail=f"a window with a frame, {alias.name!r}, cannot be extended")
    return _Specification(base.partition, own.order or base.order, own.frame or base.frame)


def _order(context: BindContext, scope: Scope, order: exp.Expr | None) -> tuple[SortKey, ...]:
    if order is None:
        return ()
    refuse_arguments(context, order, ("expressions",))
    keys = []
    for ordered in order.expressions:
        refuse_arguments(context, ordered, ("this", "desc", "nulls_first"))
        descending, nulls_first = bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first"))
        keys.append(SortKey(bind_expression(context, scope, ordered.this), descending, nulls_first))
    return tuple(keys)


def _frame(context: BindContext, scope: Scope, spec: exp.Expr | None, ordered: bool) -> Frame:
    """The frame that is written, or the default one. Raises UNSUPPORTED and SYNTAX."""
    if spec is None:
        return Frame.PEERS if ordered else Frame.WHOLE
    place = spec.parent or spec
    if spec.args.get("exclude") is not None:
        raise context.unsupported("EXCLUDE of a window frame", place)
    kind = spec.args["kind"].upper()
    start, first = _bound(context, scope, kind, spec.args.get("start"), spec.args.get("start_side"), place)
    end, last = _bound(context, scope, kind, spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), place)
    if start > end or (start, first) == (_AFTER, None) or (end, last) == (_BEFORE, None):
        raise context.error("SYNTAX", place, detail="this window frame ends before it begins")
    if kind == "ROWS":
        return Frame(FrameUnit.ROWS, first, last)
    if (first is None and last is None) or (not ordered and not first and not last):
        return Frame.WHOLE
    return Frame(FrameUnit.GROUPS, first, last)


_BEFORE, _CURRENT, _AFTER = -1, 0, 1


def _bound(
    context: BindContext, scope: Scope, kind: str, written: exp.Expr | str | None, side: str | None, place: exp.Expr
) -> tuple[int, int | None]:
    """One end of a frame: on which side of the row it is, and its distance from the row, None without a bound."""
    word = written.upper() if isinstance(written, str) else ""
    if word == "CURRENT ROW":
        return _CURRENT, 0
    sign = _BEFORE if side is not None and side.upper() == "PRECEDING" else _AFTER
    if word == "UNBOUNDED":
        return sign, None
    if kind == "RANGE":
        instead = "ROWS and GROUPS with a number work, and RANGE with UNBOUNDED and CURRENT ROW"
        raise context.unsupported("a distance in a RANGE frame", place, instead=instead)
    assert isinstance(written, exp.Expr)
    distance = bind_expression(context, scope, written)
    if not isinstance(distance, Literal) or not t.is_integer(distance.dtype) or distance.value is None or distance.value < 0:
        raise context.unsupported("a distance in rows that is not a constant, positive integer or 0", written)
    return sign, sign * int(distance.value)


def window_in(expr: Expr) -> bool:
    """Whether a window function is part of an expression."""
    return bool(expr.kinds & _WINDOW_CALLS)


def _function(
    context: BindContext,
    scope: Scope,
    node: exp.Expr,
    name: str,
    partition: tuple[Expr, ...],
    order: tuple[SortKey, ...],
    frame: Frame,
) -> WindowCall:
    refuse_arguments(context, node, ("this", "offset", "default", "expression"))
    if name in _NUMBERS:
        if node.this is not None or node.expressions:
            raise context.error("WRONG_ARGUMENTS", node, name=name, expected="no arguments", given="some")
        return WindowCall(_NUMBERS[name], name, (), partition, order, Frame.WHOLE)
    if node.this is None:
        raise context.error("WRONG_ARGUMENTS", node, name=name, expected="an argument", given="none")
    value = bind_expression(context, scope, node.this)
    if name == "ntile":
        return WindowCall(
            t.BIGINT, name, (_constant(context, value, node.this, "a number of tiles"),), partition, order, Frame.WHOLE
        )
    if value.dtype == t.INTERVAL:
        raise context.error("TYPE_MISMATCH", node, what=name, types=value.dtype)
    if name in ("lag", "lead"):
        offset_node, default_node = node.args.get("offset"), node.args.get("default")
        offset: Expr = Literal(t.BIGINT, 1)
        if offset_node is not None:
            offset = _constant(context, bind_expression(context, scope, offset_node), offset_node, "an offset")
        arguments: tuple[Expr, ...] = (value, offset)
        if default_node is not None:
            default = bind_expression(context, scope, default_node)
            arguments = (value, offset, cast_to(context, default, value.dtype, default_node))
        return WindowCall(value.dtype, name, arguments, partition, order, Frame.WHOLE)
    arguments = (value,)
    if name == "nth_value":
        at = node.args.get("offset")
        if at is None:
            raise context.error("WRONG_ARGUMENTS", node, name=name, expected="2 arguments", given="1")
        arguments = (value, _constant(context, bind_expression(context, scope, at), at, "a number of a row"))
    return WindowCall(value.dtype, name, arguments, partition, order, frame)


def _constant(context: BindContext, value: Expr, node: exp.Expr, what: str) -> Expr:
    if not isinstance(value, Literal) or not (value.value is None or t.is_integer(value.dtype)):
        raise context.unsupported(f"{what} that is not a constant integer", node)
    return Literal(t.BIGINT, value.value)


def _aggregate(
    context: BindContext,
    scope: Scope,
    node: exp.Expr,
    condition: Expr | None,
    partition: tuple[Expr, ...],
    order: tuple[SortKey, ...],
    frame: Frame,
) -> WindowCall:
    call: AggregateCall = windowed_aggregate(context, scope, node, condition)
    if frame != Frame.WHOLE and (call.distinct or call.function not in _RUNNING):
        what = f"{'DISTINCT in ' if call.distinct else ''}{function_name(context.text, node)} over a part of the partition"
        raise context.unsupported(what, node, instead="the whole partition works")
    return WindowCall(call.dtype, call.function, call.arguments, partition, order, frame, call.distinct, call.condition)


class Windowing:
    """Takes the window functions out of the expressions of one query. `plan` gives the columns that stand for them."""

    def __init__(self, context: BindContext, plan: LogicalPlan) -> None:
        self._context = context
        self._input = plan
        self._computed: list[Assign] = []
        self._windows: list[list[Assign]] = []

    def replace(self, expr: Expr) -> Expr:
        """The expression with columns in place of its window functions."""
        replaced = self._rewrite(expr)
        assert isinstance(replaced, Expr)
        return replaced

    def plan(self) -> LogicalPlan:
        """The operators below the expressions, once all went through `replace`."""
        plan = self._input
        if self._computed:
            plan = Project(plan, pass_through(plan.columns) + tuple(self._computed))
        for calls in self._windows:
            plan = Window(plan, tuple(calls))
        return plan

    def _rewrite(self, node: Node) -> Node:
        if isinstance(node, LogicalPlan) or not node.kinds & _WINDOW_CALLS:
            return node
        if isinstance(node, WindowCall):
            return reference(self._column(node))
        return node.map_children(self._rewrite)

    def _column(self, call: WindowCall) -> Column:
        call = self._over_columns(call)
        for calls in self._windows:
            first = calls[0].expr
            assert isinstance(first, WindowCall)
            if not _same(first.partition, call.partition) or not _same(first.order, call.order):
                continue
            for known in calls:
                if same_expression(known.expr, call):
                    return known.column
            calls.append(Assign(self._context.allocator.new(call.function, call.dtype), call))
            return calls[-1].column
        self._windows.append([Assign(self._context.allocator.new(call.function, call.dtype), call)])
        return self._windows[-1][0].column

    def _over_columns(self, call: WindowCall) -> WindowCall:
        arguments = call.arguments
        if call.condition is not None:
            nothing = [Literal(argument.dtype, None) for argument in arguments]
            arguments = tuple(
                argument
                if isinstance(argument, (ColumnRef, Literal))
                else Case(argument.dtype, (call.condition,), (argument,), empty)
                for argument, empty in zip(arguments, nothing, strict=True)
            )
        return call.replace(
            arguments=tuple(self._computed_column(argument) for argument in arguments),
            partition=tuple(self._computed_column(key) for key in call.partition if not isinstance(key, Literal)),
            order=tuple(
                key.replace(expr=self._computed_column(key.expr)) for key in call.order if not isinstance(key.expr, Literal)
            ),
            condition=None if call.condition is None else self._computed_column(call.condition),
        )

    def _computed_column(self, expr: Expr) -> Expr:
        if isinstance(expr, Literal) or (isinstance(expr, ColumnRef) and expr.column in self._input.columns):
            return expr
        for known in self._computed:
            if same_expression(known.expr, expr):
                return reference(known.column)
        self._computed.append(Assign(self._context.allocator.new("window", expr.dtype), expr))
        return reference(self._computed[-1].column)


def _same(first: tuple[Node, ...], second: tuple[Node, ...]) -> bool:
    return len(first) == len(second) and all(map(same_expression, first, second))

"""Window functions: function(arguments) OVER (PARTITION BY ... ORDER BY ... frame), and the step that evaluates them.

Like aggregates they are bound where they stand, as WindowCalls; after grouping `Windowing` puts them into Window operators and
columns into their places. What they use is computed by a projection below, so that the operator sees columns and constants only.
"""

from __future__ import annotations

from sqlglot import exp

from planner import dtypes as t
from planner.expr.equality import same_expression
from planner.expr.nodes import AggregateCall, Assign, Case, ColumnRef, Expr, Frame, Literal, SortKey, WindowCall
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
"""Aggregates that can be computed over a frame that grows row by row."""


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
    partition = tuple(bind_expression(context, scope, key) for key in spec.args.get("partition_by") or ())
    order = _order(context, scope, spec.args.get("order"))
    frame = _frame(context, spec.args.get("spec"), bool(order))
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


def _specification(context: BindContext, scope: Scope, node: exp.Expr) -> exp.Expr:
    """What stands in the parentheses after OVER, or in the WINDOW clause under a name."""
    alias = node.args.get("alias")
    if alias is None:
        return node
    if any(node.args.get(key) for key in ("partition_by", "order", "spec")):
        raise context.unsupported("a window that extends another one", alias)
    named = scope.windows.get(alias.name.lower())
    if named is None:
        raise context.error("SYNTAX", alias, detail=f"there is no window {alias.name!r}")
    refuse_arguments(context, named, ("this", "partition_by", "order", "spec"))
    return named


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


def _frame(context: BindContext, spec: exp.Expr | None, ordered: bool) -> Frame:
    """The default frame, or one that begins with the partition. Raises UNSUPPORTED."""
    if spec is None:
        return Frame.PEERS if ordered else Frame.WHOLE
    start = (spec.args.get("start"), spec.args.get("start_side"))
    end = (spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    kind = spec.args.get("kind")
    known = {"kind", "start", "start_side", "end", "end_side"}
    if start == ("UNBOUNDED", "PRECEDING") and not any(value for key, value in spec.args.items() if key not in known):
        if end == ("UNBOUNDED", "FOLLOWING"):
            return Frame.WHOLE
        if end[0] == "CURRENT ROW" and kind in ("ROWS", "RANGE"):
            return Frame.ROWS if kind == "ROWS" else Frame.PEERS if ordered else Frame.WHOLE
    instead = "frames from UNBOUNDED PRECEDING to CURRENT ROW or UNBOUNDED FOLLOWING work"
    raise context.unsupported("this window frame", spec.parent or spec, instead=instead)


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
    if frame is not Frame.WHOLE and (call.distinct or call.function not in _RUNNING):
        what = f"{'DISTINCT in ' if call.distinct else ''}{function_name(context.text, node)} over a frame that grows"
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

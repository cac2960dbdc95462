"""Aggregate functions, and the step from the rows of a query to its groups.

Expressions of a grouped query are bound twice over: first over the rows of the FROM clause, with AggregateCalls left where they
stand; then `Grouping` replaces what equals a key or is an aggregate by a column of the Aggregate operator. What is then left of
the rows' columns is neither grouped nor aggregated. Both steps reach into the plans of subqueries, which may use keys and even
aggregates of a query around them.
"""

from __future__ import annotations

from sqlglot import exp

from planner import dtypes as t
from planner.expr.equality import same_expression
from planner.expr.nodes import AggregateCall, Assign, ColumnRef, Expr
from planner.logical.nodes import Aggregate, LogicalPlan
from planner.sql.arithmetic import quotient_type
from planner.sql.coercion import cast_to, to_boolean
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression, describe, handles, refuse_arguments
from planner.sql.grouping_sets import aggregate_sets
from planner.sql.positions import function_name
from planner.sql.scope import Scope
from planner.tree import Node, kind_mask, walk

_AGGREGATE_CALLS = kind_mask(AggregateCall)
_INTERESTING = kind_mask(ColumnRef) | _AGGREGATE_CALLS

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.AnyValue: "any_value",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.Variance: "var_samp",
    exp.CountIf: "count_if",
}


@handles(*_FUNCTIONS, args="this")
def bind_aggregate(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return _bind(context, scope, node, None)


@handles(exp.Count, args="this expressions")
def bind_count(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return _bind(context, scope, node, None)


@handles(exp.Filter, args="this expression")
def bind_filtered_aggregate(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """aggregate FILTER (WHERE condition)."""
    function = node.this
    if isinstance(function, exp.IgnoreNulls):
        function = function.this
    if type(function) not in _FUNCTIONS and not isinstance(function, exp.Count):
        raise context.unsupported("FILTER of something that is not an aggregate function", node)
    where = node.args["expression"]
    return _bind(context, scope, function, where.this if isinstance(where, exp.Where) else where)


@handles(exp.IgnoreNulls, args="this")
def bind_ignore_nulls(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """ANY_VALUE ignores NULLs, which sqlglot writes out for some dialects."""
    if not isinstance(node.this, exp.AnyValue):
        raise context.unsupported("IGNORE NULLS", node)
    return _bind(context, scope, node.this, None)


def _bind(context: BindContext, scope: Scope, node: exp.Expr, condition_node: exp.Expr | None) -> Expr:
    argument, distinct, star = _argument(context, node)
    outer_level, outer_clause = context.level, scope.clause
    context.level, scope.clause = -1, "an aggregate function" if outer_clause is None else outer_clause
    bound = None if star or argument is None else bind_expression(context, scope, argument)
    condition = None
    if condition_node is not None:
        condition = to_boolean(context, bind_expression(context, scope, condition_node), "FILTER", condition_node)
    scope.clause = outer_clause
    # An aggregate belongs to the innermost query whose columns it uses, or to its own if it uses none.
    owner = scope if context.level < 0 or context.level >= scope.depth else scope.ancestor(context.level)
    context.level = max(outer_level, context.level)
    if owner.clause is not None:
        raise context.error("MISPLACED_AGGREGATE", node, where=owner.clause)
    owner.has_aggregates = True

    call = _call_of(context, node, bound, distinct, condition)
    context.aggregates[id(call)] = (call, owner, node)
    return call


def _argument(context: BindContext, node: exp.Expr) -> tuple[exp.Expr | None, bool, bool]:
    """The argument's syntax, whether DISTINCT stands before it, and whether it is count(*)."""
    argument, distinct = node.this, False
    if isinstance(argument, exp.Distinct):
        if argument.args.get("on") or len(argument.expressions) != 1:
            raise context.unsupported("DISTINCT over several expressions", argument)
        argument, distinct = argument.expressions[0], True
    if node.args.get("expressions"):
        given = f"{1 + len(node.expressions)} arguments"
        raise context.error("WRONG_ARGUMENTS", node, name="count", expected="at most one argument", given=given)
    if argument is None and not isinstance(node, exp.Count):
        raise context.error(
            "WRONG_ARGUMENTS", node, name=function_name(context.text, node), expected="an argument", given="none"
        )
    star = isinstance(node, exp.Count) and (argument is None or isinstance(argument, exp.Star))
    if star and distinct:
        raise context.unsupported("count(DISTINCT *)", node)
    return argument, distinct, star


def _call_of(context: BindContext, node: exp.Expr, bound: Expr | None, distinct: bool, condition: Expr | None) -> AggregateCall:
    if bound is None:
        return AggregateCall(t.BIGINT, "count_star", (), False, condition)
    if isinstance(node, exp.Count):
        return AggregateCall(t.BIGINT, "count", (bound,), distinct, condition)
    if isinstance(node, exp.CountIf):
        # As DuckDB has it: NULL where no condition is known.
        counted = cast_to(context, to_boolean(context, bound, "count_if", node), t.INTEGER, node)
        return _typed_call(context, "sum", counted, distinct, condition, node)
    return _typed_call(context, _FUNCTIONS[type(node)], bound, distinct, condition, node)


def windowed_aggregate(context: BindContext, scope: Scope, node: exp.Expr, condition: Expr | None) -> AggregateCall:
    """An aggregate that OVER follows. Its argument may hold aggregates of the query. Raises UNSUPPORTED for all else."""
    if type(node) not in _FUNCTIONS and not isinstance(node, exp.Count):
        raise context.unsupported(f"{describe(context, node)} with OVER", node)
    refuse_arguments(context, node, ("this", "expressions", "big_int"))
    argument, distinct, star = _argument(context, node)
    bound = None if star or argument is None else bind_expression(context, scope, argument)
    return _call_of(context, node, bound, distinct, condition)


def _typed_call(
    context: BindContext, function: str, argument: Expr, distinct: bool, condition: Expr | None, node: exp.Expr
) -> AggregateCall:
    """An aggregate of one argument, with the conversions its result type asks for. Raises TYPE_MISMATCH."""
    dtype = argument.dtype
    if function in ("sum", "avg", "stddev_samp", "var_samp"):
        if dtype == t.NULL or (dtype == t.BOOLEAN and function == "sum"):
            dtype = t.INTEGER
        if not t.is_numeric(dtype):
            raise context.error("TYPE_MISMATCH", node, what=function_name(context.text, node), types=dtype)
        if t.is_float(dtype) or function in ("stddev_samp", "var_samp"):
            dtype = t.DOUBLE
        argument = cast_to(context, argument, dtype, node)
    elif function in ("bool_and", "bool_or"):
        argument = to_boolean(context, argument, function_name(context.text, node), node)
        dtype = t.BOOLEAN
    elif dtype == t.INTERVAL:
        raise context.error("TYPE_MISMATCH", node, what=function_name(context.text, node), types=dtype)
    # DISTINCT changes nothing here, and without it the aggregate can be computed in parts.
    distinct = distinct and function not in ("min", "max", "any_value", "bool_and", "bool_or")
    return AggregateCall(_result_type(function, dtype), function, (argument,), distinct, condition)


def _result_type(function: str, dtype: t.DType) -> t.DType:
    if function == "sum":
        if isinstance(dtype, t.DecimalType):
            return t.decimal(38, dtype.scale)
        return t.BIGINT if t.is_integer(dtype) else t.DOUBLE
    if function == "avg":
        return quotient_type(dtype.scale) if isinstance(dtype, t.DecimalType) else t.DOUBLE
    return t.DOUBLE if function in ("stddev_samp", "var_samp") else dtype


def aggregate_in(context: BindContext, scope: Scope, expr: Expr) -> exp.Expr | None:
    """The syntax of an aggregate of this scope's query inside of an expression, if there is one."""
    for call in walk(expr, _AGGREGATE_CALLS):
        known = context.aggregates.get(id(call))
        if known is not None and known[1] is scope:
            return known[2]
    return None


class Grouping:
    """Turns expressions over rows into expressions over groups, collecting the aggregates they need.

    `keys` are the grouping expressions over `input` and names for their columns; equal ones become one. If the query has
    grouping sets, keys are NULL in some groups, so that each of them gets a column of its own there.
    """

    def __init__(self, context: BindContext, scope: Scope, input: LogicalPlan, keys: list[tuple[Expr, str]]) -> None:
        self._context = context
        self._scope = scope
        self._input = input
        self._rows = frozenset(column.id for column in input.columns)
        self._key_columns: set[int] = set()
        self._keys: list[Assign] = []
        self._other_keys: list[Assign] = []
        self._aggregates: list[Assign] = []
        self._sets = scope.grouping_sets
        for key, name in keys:
            self._add_key(key, name)

    def _add_key(self, key: Expr, name: str) -> None:
        if self._sets is None and isinstance(key, ColumnRef) and key.column.id in self._rows:
            if key.column.id not in self._key_columns:
                self._key_columns.add(key.column.id)
                self._keys.append(Assign(key.column, key))
            return
        if not any(same_expression(key, known.expr) for known in self._other_keys):
            assign = Assign(self._context.allocator.new(name, key.dtype), key)
            self._keys.append(assign)
            self._other_keys.append(assign)

    def plan(self) -> LogicalPlan:
        """The Aggregate operator, or what computes grouping sets, once every expression went through `over_groups`."""
        if self._sets is not None:
            columns = tuple(key.column for key in self._keys)
            return aggregate_sets(self._context, self._input, self._sets, columns, self._aggregates)
        return Aggregate(self._input, tuple(self._keys), tuple(self._aggregates))

    def over_groups(self, expr: Expr) -> Expr:
        """`expr` over the output of `plan`. Raises NOT_GROUPED with the column that is at fault."""
        rewritten = self._rewrite(expr)
        assert isinstance(rewritten, Expr)
        return rewritten

    def _rewrite(self, node: Node) -> Node:
        for key in self._other_keys:
            if node.__class__ is key.expr.__class__ and same_expression(node, key.expr):
                return ColumnRef(key.column.dtype, key.column)
        if not node.kinds & _INTERESTING:
            return node
        if isinstance(node, ColumnRef):
            if node.column.id in self._rows and node.column.id not in self._key_columns:
                raise self._not_grouped(node)
            return node
        if isinstance(node, AggregateCall):
            known = self._context.aggregates.get(id(node))
            if known is not None and known[1] is self._scope:
                return self._aggregate_column(node, known[2])
        return node.map_children(self._rewrite)

    def _aggregate_column(self, call: AggregateCall, node: exp.Expr) -> ColumnRef:
        for known in self._aggregates:
            if same_expression(known.expr, call):
                return ColumnRef(call.dtype, known.column)
        name = function_name(self._context.text, node)
        column = self._context.allocator.new(name, call.dtype)
        self._aggregates.append(Assign(column, call))
        return ColumnRef(call.dtype, column)

    def _not_grouped(self, ref: ColumnRef) -> Exception:
        origin = self._context.origins.get(id(ref))
        nodes = (origin[1],) if origin is not None else ()
        return self._context.error("NOT_GROUPED", *nodes, name=ref.column.name)

"""Subqueries as expressions: scalar, EXISTS, IN and its spellings with ANY and ALL.

Their plans use columns of the queries around them freely; the optimizer turns that into joins.
"""

from __future__ import annotations

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import (
    FALSE,
    NEGATED,
    TRUE,
    AggregateCall,
    Assign,
    Call,
    Case,
    ColumnRef,
    Compare,
    CompareOp,
    Exists,
    Expr,
    InSubquery,
    IsNull,
    Literal,
    Not,
    ScalarSubquery,
    conjunction,
    disjunction,
)
from planner.expr.substitute import reference
from planner.logical.nodes import Aggregate, Filter, LogicalPlan, Project
from planner.sql.bind_operators import bind_in_list, compare, comparison_operator
from planner.sql.bind_query import bind_query
from planner.sql.coercion import cast_to, unify
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression, handles
from planner.sql.scope import Scope


def _single_column(context: BindContext, scope: Scope, query: exp.Expr) -> LogicalPlan:
    plan = bind_query(context, query, scope).plan
    if len(plan.columns) != 1:
        raise context.error("COLUMN_COUNT", query, what="a subquery used as a value", given=len(plan.columns), expected=1)
    return plan


@handles(exp.Subquery, exp.Select, exp.Values, exp.Union, exp.Intersect, exp.Except, args=None)
def bind_scalar_subquery(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    plan = _single_column(context, scope, node)
    return ScalarSubquery(plan.columns[0].dtype, plan)


@handles(exp.Exists, args="this")
def bind_exists(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return Exists(t.BOOLEAN, bind_query(context, node.this, scope).plan)


@handles(exp.In, args="this expressions query")
def bind_in(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    query = node.args.get("query")
    if query is None and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
        query = node.expressions[0]
    if query is None and isinstance(node.this, exp.Tuple):
        rows = [part for part in node.expressions if isinstance(part, exp.Tuple)]
        if len(rows) < len(node.expressions):
            raise context.unsupported("IN with a row value and values that are none", node)
        return disjunction([_equal_rows(context, scope, node.this, row) for row in rows])
    if query is None:
        return bind_in_list(context, scope, node)
    return _in_subquery(context, scope, node.this, query)


@handles(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, args="this expression")
def bind_comparison(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """A comparison of two values, of two row values, or of a value with ANY or ALL values of a subquery."""
    left, right = node.this, node.args["expression"]
    if isinstance(right, (exp.Any, exp.All)):
        return _quantified(context, scope, node, left, right)
    if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
        if isinstance(node, (exp.EQ, exp.NEQ)):
            equal = _equal_rows(context, scope, left, right)
            return equal if isinstance(node, exp.EQ) else Not(t.BOOLEAN, equal)
        if isinstance(node, (exp.LT, exp.GTE)):
            less = _row_less(context, scope, left, right)
            return less if isinstance(node, exp.LT) else Not(t.BOOLEAN, less)
        greater = _row_less(context, scope, right, left)
        return greater if isinstance(node, exp.GT) else Not(t.BOOLEAN, greater)
    bound_left, bound_right = bind_expression(context, scope, left), bind_expression(context, scope, right)
    op = comparison_operator(node)
    if bound_left.dtype == bound_right.dtype:
        return Compare(t.BOOLEAN, op, bound_left, bound_right)
    return compare(context, op, bound_left, bound_right, left, right)


def _quantified(context: BindContext, scope: Scope, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> Expr:
    """op ANY (query), and op ALL (query), which is NOT (negated op) ANY (query)."""
    query = right.this
    while isinstance(query, exp.Paren):
        query = query.this
    if not isinstance(query, (exp.Query, exp.Values)):
        raise context.unsupported(f"{right.key.upper()} of something that is not a subquery", node)
    op = comparison_operator(node)
    if isinstance(right, exp.Any):
        return _any(context, scope, op, left, query)
    return Not(t.BOOLEAN, _any(context, scope, NEGATED[op], left, query))


def _any(context: BindContext, scope: Scope, op: CompareOp, needle_node: exp.Expr, query: exp.Expr) -> Expr:
    """needle op ANY (query). Equality is IN; of all others the least or greatest value decides, and NULLs are counted."""
    if op is CompareOp.EQ:
        return _in_subquery(context, scope, needle_node, query)
    needle, plan = _with_one_type(context, scope, needle_node, query)
    context.count_copies(needle, needle_node, 2)
    value = reference(plan.columns[0])
    row_count, known_count = (context.allocator.new(name, t.BIGINT) for name in ("rows", "known"))
    least, greatest = (context.allocator.new(name, value.dtype) for name in ("least", "greatest"))
    calls = (
        Assign(row_count, AggregateCall(t.BIGINT, "count_star", ())),
        Assign(known_count, AggregateCall(t.BIGINT, "count", (value,))),
        Assign(least, AggregateCall(value.dtype, "min", (value,))),
        Assign(greatest, AggregateCall(value.dtype, "max", (value,))),
    )
    if op is CompareOp.NE:
        decided: Expr = disjunction([Compare(t.BOOLEAN, op, needle, reference(column)) for column in (least, greatest)])
    else:
        extreme = greatest if op in (CompareOp.LT, CompareOp.LE) else least
        decided = Compare(t.BOOLEAN, op, needle, reference(extreme))
    empty = Compare(t.BOOLEAN, CompareOp.EQ, reference(row_count), Literal(t.BIGINT, 0))
    unknown = disjunction(
        [IsNull(t.BOOLEAN, needle), Compare(t.BOOLEAN, CompareOp.LT, reference(known_count), reference(row_count))]
    )
    found = Case(t.BOOLEAN, (empty, decided, unknown), (FALSE, TRUE, Literal(t.BOOLEAN, None)), FALSE)
    answer = context.allocator.new("any", t.BOOLEAN)
    return ScalarSubquery(t.BOOLEAN, Project(Aggregate(plan, (), calls), (Assign(answer, found),)))


def _equal_rows(context: BindContext, scope: Scope, left: exp.Expr, right: exp.Expr) -> Expr:
    """Equality of row values is null-safe, as that of structs in DuckDB."""
    return conjunction(
        [compare(context, CompareOp.NOT_DISTINCT, *bound, *nodes) for bound, nodes in _row_pairs(context, scope, left, right)]
    )


def _row_less(context: BindContext, scope: Scope, left: exp.Expr, right: exp.Expr) -> Expr:
    """Whether the first value that differs is less; NULL is above all values, as in DuckDB, so this is never NULL."""
    decided: Expr = FALSE
    for (a, b), nodes in reversed(_row_pairs(context, scope, left, right)):
        for value, node in zip((a, b), nodes, strict=True):
            context.count_copies(value, node, 2)
        above = conjunction([IsNull(t.BOOLEAN, b), Not(t.BOOLEAN, IsNull(t.BOOLEAN, a))])
        less = Call(t.BOOLEAN, "coalesce", (compare(context, CompareOp.LT, a, b, *nodes), above))
        equal = compare(context, CompareOp.NOT_DISTINCT, a, b, *nodes)
        decided = less if decided is FALSE else disjunction([less, conjunction([equal, decided])])
    return decided


def _row_pairs(
    context: BindContext, scope: Scope, left: exp.Expr, right: exp.Expr
) -> list[tuple[tuple[Expr, Expr], tuple[exp.Expr, exp.Expr]]]:
    """The values of two rows beside each other, and their syntax. Raises COLUMN_COUNT."""
    if len(left.expressions) != len(right.expressions):
        given, expected = len(right.expressions), len(left.expressions)
        raise context.error("COLUMN_COUNT", right, what="a row value", given=given, expected=expected)
    return [
        ((bind_expression(context, scope, a), bind_expression(context, scope, b)), (a, b))
        for a, b in zip(left.expressions, right.expressions, strict=True)
    ]


def _row_in_subquery(context: BindContext, scope: Scope, row: exp.Expr, query: exp.Expr) -> Expr:
    """(a, b) IN (query): by columns, three-valued. Where only TRUE counts, it is EXISTS."""
    needles = [bind_expression(context, scope, part) for part in row.expressions]
    tests: list[Expr] = []
    for wanted in (TRUE,) if _is_filter(row.parent) else (TRUE, None):
        plan = bind_query(context, query, scope).plan
        if len(plan.columns) != len(needles):
            given, expected = len(plan.columns), len(needles)
            raise context.error("COLUMN_COUNT", query, what="a subquery in IN", given=given, expected=expected)
        equal = conjunction(
            [
                compare(context, CompareOp.EQ, needle, reference(column), node, query)
                for needle, column, node in zip(needles, plan.columns, row.expressions, strict=True)
            ]
        )
        tests.append(Exists(t.BOOLEAN, Filter(plan, equal if wanted is TRUE else IsNull(t.BOOLEAN, equal))))
    if len(tests) == 1:
        return tests[0]
    return Case(t.BOOLEAN, tuple(tests), (TRUE, Literal(t.BOOLEAN, None)), FALSE)


def _is_filter(node: exp.Expr | None) -> bool:
    """Whether a predicate is a conjunct of WHERE, so that NULL is as good as FALSE."""
    while node is not None and isinstance(node.parent, (exp.And, exp.Paren)):
        node = node.parent
    return node is not None and isinstance(node.parent, exp.Where)


def _in_subquery(context: BindContext, scope: Scope, needle_node: exp.Expr, query: exp.Expr) -> Expr:
    """needle IN (query), both in their common type."""
    if isinstance(needle_node, exp.Tuple):
        return _row_in_subquery(context, scope, needle_node, query)
    needle, plan = _with_one_type(context, scope, needle_node, query)
    return InSubquery(t.BOOLEAN, needle, plan)


def _with_one_type(context: BindContext, scope: Scope, needle_node: exp.Expr, query: exp.Expr) -> tuple[Expr, LogicalPlan]:
    """A needle and a subquery of one column, in their common type."""
    needle = bind_expression(context, scope, needle_node)
    plan = _single_column(context, scope, query)
    column = plan.columns[0]
    value = ColumnRef(column.dtype, column)
    needle, wanted = unify(context, (needle, value), (needle_node, query), "operator IN", comparing=True)
    if wanted is not value:
        converted = context.allocator.new(column.name, wanted.dtype)
        plan = Project(plan, (Assign(converted, cast_to(context, value, wanted.dtype, query)),))
    return needle, plan

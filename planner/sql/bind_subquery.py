"""Subqueries as expressions: scalar, EXISTS, IN and its spellings with ANY and ALL.

Their plans use columns of the queries around them freely; the optimizer turns that into joins.
"""

from __future__ import annotations

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import Assign, ColumnRef, Compare, CompareOp, Exists, Expr, InSubquery, Not, ScalarSubquery
from planner.logical.nodes import LogicalPlan, Project
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
    if query is None:
        return bind_in_list(context, scope, node)
    return _in_subquery(context, scope, node.this, query)


@handles(exp.EQ, exp.NEQ, args="this expression")
def bind_equality(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """= and <>, which with ANY and ALL over a subquery are IN and NOT IN."""
    left, right = node.this, node.args["expression"]
    if isinstance(right, (exp.Any, exp.All)):
        query = right.this
        is_query = isinstance(query, (exp.Query, exp.Values))
        if is_query and isinstance(node, exp.EQ) and isinstance(right, exp.Any):
            return _in_subquery(context, scope, left, query)
        if is_query and isinstance(node, exp.NEQ) and isinstance(right, exp.All):
            return Not(t.BOOLEAN, _in_subquery(context, scope, left, query))
        quantifier = right.key.upper()
        raise context.unsupported(f"{quantifier} with this operator", node, instead="= ANY and <> ALL over a subquery work")
    bound_left, bound_right = bind_expression(context, scope, left), bind_expression(context, scope, right)
    if bound_left.dtype == bound_right.dtype:
        return Compare(t.BOOLEAN, CompareOp.EQ if isinstance(node, exp.EQ) else CompareOp.NE, bound_left, bound_right)
    return compare(context, comparison_operator(node), bound_left, bound_right, left, right)


def _in_subquery(context: BindContext, scope: Scope, needle_node: exp.Expr, query: exp.Expr) -> Expr:
    """needle IN (query), both in their common type."""
    if isinstance(needle_node, exp.Tuple):
        raise context.unsupported("IN with a row value", needle_node, instead="EXISTS with one equality per column works")
    needle = bind_expression(context, scope, needle_node)
    plan = _single_column(context, scope, query)
    column = plan.columns[0]
    value = ColumnRef(column.dtype, column)
    needle, wanted = unify(context, (needle, value), (needle_node, query), "operator IN", comparing=True)
    if wanted is not value:
        converted = context.allocator.new(column.name, wanted.dtype)
        plan = Project(plan, (Assign(converted, cast_to(context, value, wanted.dtype, query)),))
    return InSubquery(t.BOOLEAN, needle, plan)

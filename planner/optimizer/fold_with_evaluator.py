"""Rule: constants that plain Python does not compute are computed by the executor."""

from __future__ import annotations

from typing import cast

from planner.analysis.free_columns import free_columns
from planner.expr.nodes import AggregateCall, Call, Cast, ColumnRef, Exists, Expr, InSubquery, Literal, ScalarSubquery
from planner.logical.nodes import LogicalPlan
from planner.rule import OptimizerContext, rule
from planner.tree import Node, kind_mask, rewrite, walk

_COMPUTED = kind_mask(Call, Cast)
_VARYING = kind_mask(ColumnRef, AggregateCall, ScalarSubquery, Exists, InSubquery)


@rule(whole_plan=True)
def fold_with_evaluator(plan: LogicalPlan, context: OptimizerContext) -> LogicalPlan | None:
    """What has no column has one value; all such expressions of a plan are evaluated in one go.

        upper('abc') = s   ⇒   'ABC' = s

    An expression whose evaluation fails stays as it is, and fails when a row needs it.
    """
    if context.evaluator is None:
        return None
    found = {id(node): cast(Expr, node) for node in walk(plan, _COMPUTED) if not node.kinds & _VARYING}
    inner = {id(child) for expr in found.values() for child in walk(expr, _COMPUTED) if child is not expr}
    constants = [expr for key, expr in found.items() if key not in inner]
    if not constants:
        return None
    values = context.evaluator.evaluate(constants)
    literals = {
        id(expr): Literal(expr.dtype, value)
        for expr, value in zip(constants, values, strict=True)
        if not isinstance(value, BaseException)
    }

    def fold(node: Node) -> Node | None:
        return literals.get(id(node))

    result = rewrite(plan, fold, _COMPUTED)
    assert isinstance(result, LogicalPlan) and free_columns(result) == free_columns(plan)
    return None if result is plan else result

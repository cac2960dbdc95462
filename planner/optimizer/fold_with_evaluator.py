"""Rule: constants that plain Python does not compute are computed by the executor."""

from __future__ import annotations

from planner.analysis.free_columns import free_columns
from planner.expr.nodes import AggregateCall, Call, Cast, ColumnRef, Exists, Expr, InSubquery, Literal, ScalarSubquery
from planner.logical.nodes import LogicalPlan
from planner.rule import OptimizerContext, rule
from planner.tree import Node, kind_mask, rewrite

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
    result = plan
    failed: dict[int, Expr] = {}
    # A second time only where a constant is shared: it is part of a constant in one place, which is not the same any more once
    # the part is folded, because that is a constant of its own in another place.
    while constants := [expr for expr in _constants(result) if id(expr) not in failed]:
        literals: dict[int, Literal] = {}
        for expr, value in zip(constants, context.evaluator.evaluate(constants), strict=True):
            if isinstance(value, BaseException):
                failed[id(expr)] = expr
            else:
                literals[id(expr)] = Literal(expr.dtype, value)
        folded = rewrite(result, lambda node, literals=literals: literals.get(id(node)), _COMPUTED)  # type: ignore[misc]
        assert isinstance(folded, LogicalPlan) and free_columns(folded) == free_columns(plan)
        result = folded
    return None if result is plan else result


def _constants(plan: LogicalPlan) -> list[Expr]:
    """The computed expressions without columns, each once, without those that are only parts of such a one."""
    found: list[Expr] = []
    seen: set[int] = set()
    stack: list[Node] = [plan]
    while stack:
        node = stack.pop()
        if id(node) in seen or not node.kinds & _COMPUTED:
            continue
        seen.add(id(node))
        if isinstance(node, (Call, Cast)) and not node.kinds & _VARYING:
            found.append(node)
        else:
            stack.extend(node.children)
    return found

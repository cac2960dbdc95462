"""Rule: an order that nobody sees is not made."""

from __future__ import annotations

from planner.expr.functions import AGGREGATES
from planner.expr.nodes import AggregateCall
from planner.logical.nodes import Aggregate, Filter, Join, LogicalPlan, Project, Sort, TopN
from planner.rule import OptimizerContext, rule


@rule(Aggregate, Join, Sort, TopN)
def remove_unseen_sort(plan: LogicalPlan, context: OptimizerContext) -> LogicalPlan | None:
    """Groups, joins and other sorts give no order of their input away.

        Aggregate by k: sum(x)       Aggregate by k: sum(x)
          Sort by x              ⇒     y
            y

    An aggregate that depends on the order of its rows keeps it, and so does a limit.
    """
    if isinstance(plan, Aggregate) and any(
        isinstance(a.expr, AggregateCall) and AGGREGATES[a.expr.function].order_sensitive for a in plan.aggregates
    ):
        return None
    if isinstance(plan, Join):
        left, right = _unsorted(plan.left), _unsorted(plan.right)
        return None if left is plan.left and right is plan.right else plan.replace(left=left, right=right)
    assert isinstance(plan, (Aggregate, Sort, TopN))
    below = _unsorted(plan.input)
    return None if below is plan.input else plan.replace(input=below)


def _unsorted(plan: LogicalPlan) -> LogicalPlan:
    """The plan without a sort at its top, seen through filters and projections."""
    above: list[Filter | Project] = []
    current = plan
    while isinstance(current, (Filter, Project)):
        above.append(current)
        current = current.input
    if not isinstance(current, Sort):
        return plan
    result = _unsorted(current.input)
    for operator in reversed(above):
        result = operator.replace(input=result)
    return result

"""The optimizer: batches of rules over logical plans. One rule, one file; the order is here, with its reasons.

`optimize` is the only entry. Mandatory rules bring a plan into the form that the physical planner understands (no subquery
expressions, no dependent joins); every other rule can be switched off by its name and only makes the plan faster.
"""

from __future__ import annotations

from planner.logical.nodes import LogicalPlan
from planner.optimizer.eliminate_dependent_join import eliminate_dependent_join
from planner.optimizer.unnest_subqueries import unnest_subqueries
from planner.rule import Batch, OptimizerContext, check_switches, fixed_point, run_batches

BATCHES: tuple[Batch, ...] = (fixed_point("unnest", unnest_subqueries, eliminate_dependent_join),)


def optimize(plan: LogicalPlan, context: OptimizerContext) -> LogicalPlan:
    """An equivalent plan without subqueries that is cheaper to run, with the same output columns in the same order.

    Raises INVALID_SETTING for a switch that does not exist, UNSUPPORTED for the few correlated subqueries that cannot be
    unnested, and RuleFault (a bug of ours) in verify mode.
    """
    if context.disabled:
        check_switches(context.disabled, BATCHES)
    if context.verify:
        from planner.verify import check_plan

        check_plan(plan, "the binder")
    return run_batches(plan, BATCHES, context)

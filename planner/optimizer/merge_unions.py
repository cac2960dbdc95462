"""Rule: a union in a union gives its arms to the outer one."""

from __future__ import annotations

from planner.logical.nodes import LogicalPlan, Union
from planner.rule import OptimizerContext, rule


@rule(Union)
def merge_unions(union: Union, context: OptimizerContext) -> LogicalPlan | None:
    """Stacked unions are one.

    Union x           Union x
      Union y           a
        a       ⇒       b
        b               c
      c
    """
    if not any(isinstance(arm, Union) for arm in union.arms):
        return None
    arms: list[LogicalPlan] = []
    for arm in union.arms:
        arms.extend(arm.arms if isinstance(arm, Union) else (arm,))
    return union.replace(arms=tuple(arms))

"""Rule: a limit moves below a projection."""

from __future__ import annotations

from planner.logical.nodes import Limit, LogicalPlan, Project
from planner.rule import OptimizerContext, rule


@rule(Limit)
def push_limit_through_project(limit: Limit, context: OptimizerContext) -> LogicalPlan | None:
    """Rows that are cut off need not be projected, and the limit may meet the sort that it belongs to.

    Limit 3                 Project f(a)
      Project f(a)    ⇒       Limit 3
        x                       x
    """
    project = limit.input
    if not isinstance(project, Project):
        return None
    return project.replace(input=limit.replace(input=project.input))

"""Rule: a semi or anti join moves below a projection."""

from __future__ import annotations

from planner.analysis.free_columns import free_columns
from planner.expr.nodes import ColumnRef
from planner.expr.substitute import substitute
from planner.join_kind import JoinKind
from planner.logical.nodes import Join, LogicalPlan, Project
from planner.rule import OptimizerContext, rule


@rule(Join)
def push_semi_join_through_project(join: Join, context: OptimizerContext) -> LogicalPlan | None:
    """Rows are tested before they are projected.

        Join semi on a = b          Project f(a) AS c, a
          Project f(a) AS c, a  ⇒     Join semi on a = b
            x                           x
          r                             r

    Only if the condition uses columns that the projection passes on.
    """
    project = join.left
    if join.kind not in (JoinKind.SEMI, JoinKind.ANTI) or not isinstance(project, Project):
        return None
    used = free_columns(join.condition)
    replacements = {assign.column.id: assign.expr for assign in project.assigns if assign.column.id in used}
    if not all(isinstance(expr, ColumnRef) for expr in replacements.values()):
        return None
    return project.replace(input=join.replace(left=project.input, condition=substitute(join.condition, replacements)))

"""Rule: a projection that changes nothing goes."""

from __future__ import annotations

from planner.expr.nodes import ColumnRef
from planner.logical.nodes import LogicalPlan, Project
from planner.rule import OptimizerContext, rule


@rule(Project)
def remove_trivial_project(project: Project, context: OptimizerContext) -> LogicalPlan | None:
    """Passing on exactly the input's columns, in their order, is nothing.

    Project a, b         Scan t [a, b]
      Scan t [a, b]  ⇒
    """
    given = project.input.columns
    if len(given) != len(project.assigns):
        return None
    for assign, column in zip(project.assigns, given, strict=True):
        expr = assign.expr
        if not (isinstance(expr, ColumnRef) and expr.column.id == column.id == assign.column.id):
            return None
    return project.input

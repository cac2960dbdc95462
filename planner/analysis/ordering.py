"""The order in which the rows of a physical plan leave one task."""

from __future__ import annotations

from planner.dir import OrderKey
from planner.expr.nodes import ColumnRef
from planner.physical.nodes import FilterExec, LimitExec, MergeExec, PhysicalPlan, ProjectExec, SortExec, TopNExec


def ordering_of(plan: PhysicalPlan) -> tuple[OrderKey, ...]:
    """The known order of the output, as far as it is expressed in output columns; empty if nothing is known."""
    renames: list[ProjectExec] = []
    while True:
        match plan:
            case SortExec() | TopNExec() | MergeExec():
                break
            case ProjectExec():
                renames.append(plan)
                plan = plan.input
            case FilterExec() | LimitExec():
                plan = plan.input
            case _:
                return ()
    ordering = []
    for key in plan.keys:
        if not isinstance(key.expr, ColumnRef):
            break
        column: int | None = key.expr.column.id
        for project in reversed(renames):
            column = next(
                (
                    assign.column.id
                    for assign in project.assigns
                    if isinstance(assign.expr, ColumnRef) and assign.expr.column.id == column
                ),
                None,
            )
        if column is None:
            break
        ordering.append(OrderKey(column, key.descending, key.nulls_first))
    return tuple(ordering)

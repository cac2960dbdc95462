"""Rule: a filter moves below a projection."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns
from planner.expr.nodes import ColumnRef, Literal
from planner.expr.substitute import substitute
from planner.logical.nodes import Filter, LogicalPlan, Project
from planner.rule import OptimizerContext, rule
from planner.tree import size

_LARGEST = 5000
"""Nodes that a predicate may grow to."""


@rule(Filter)
def push_filter_through_project(filter: Filter, context: OptimizerContext) -> LogicalPlan | None:
    """The predicate is written over the projection's input.

        Filter c > 5                Project a + b AS c
          Project a + b AS c   ⇒      Filter a + b > 5
            x                           x

    The predicate still sees every row that it saw, and the projection fewer. A projection whose used expressions can raise is
    left alone, since a copy of them could get separated from it. So is one that would make the predicate huge: projections that
    each use a column twice, a few dozen on each other, would double it at every step.
    """
    project = filter.input
    if not isinstance(project, Project):
        return None
    used = free_columns(filter.predicate)
    replacements = {assign.column.id: assign.expr for assign in project.assigns if assign.column.id in used}
    if any(not isinstance(e, (ColumnRef, Literal)) and can_raise(e) for e in replacements.values()):
        return None
    pushed = substitute(filter.predicate, replacements)
    if any(not isinstance(e, (ColumnRef, Literal)) for e in replacements.values()) and size(pushed, _LARGEST) == _LARGEST:
        return None
    return project.replace(input=Filter(project.input, pushed))

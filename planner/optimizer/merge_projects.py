"""Rule: stacked projections become one."""

from __future__ import annotations

from collections import Counter

from planner.expr.nodes import ColumnRef, Expr, Literal
from planner.expr.substitute import substitute
from planner.logical.nodes import LogicalPlan, Project
from planner.rule import OptimizerContext, rule
from planner.tree import Node, kind_mask, walk

_REFS = kind_mask(ColumnRef)
_DEEPEST = 60
"""Expressions do not get deeper than this by merging, so that everything which is recursive over them stays safe."""


@rule(Project)
def merge_projects(outer: Project, context: OptimizerContext) -> LogicalPlan | None:
    """The outer expressions are written over the inner input.

        Project c + 1 AS d            Project a + b + 1 AS d
          Project a + b AS c     ⇒      x
            x

    Only if no computed inner column is used more than once: it would be computed more than once.
    """
    inner = outer.input
    if not isinstance(inner, Project):
        return None
    computed = {a.column.id: a.expr for a in inner.assigns if not isinstance(a.expr, (ColumnRef, Literal))}
    if computed:
        uses: Counter[int] = Counter()
        for assign in outer.assigns:
            uses.update(ref.column.id for ref in walk(assign, _REFS) if isinstance(ref, ColumnRef))
        if any(uses[column] > 1 for column in computed):
            return None
        nested = any(not isinstance(a.expr, ColumnRef) for a in outer.assigns)
        if nested and depth(inner.assigns) + depth(outer.assigns) > _DEEPEST:
            return None
    replacements: dict[int, Expr] = {assign.column.id: assign.expr for assign in inner.assigns}
    return Project(inner.input, tuple(substitute(assign, replacements) for assign in outer.assigns))


def depth(nodes: tuple[Node, ...]) -> int:
    """The number of nodes on the longest path below `nodes`, counted up to a little more than what is allowed."""
    level: list[Node] = list(nodes)
    found = 0
    while level and found <= _DEEPEST:
        found += 1
        level = list({id(child): child for parent in level for child in parent.children}.values())
    return found

"""Ways down a plan along which every row is passed on, for rules that widen rows far below where they are used.

A path is a tuple of operators, each an input of the one before it. Operators may drop and repeat rows and add columns to them;
a column of the last operator that has the same id in the first one has the same values there.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.analysis.free_columns import output_ids
from planner.join_kind import JoinKind
from planner.logical.nodes import Filter, Join, LogicalPlan, Project, pass_through
from planner.schema import Column

Path = tuple[LogicalPlan, ...]

LONGEST = 50
"""Longer paths are not followed: their number is that of the operators, and each one is a tuple of its own."""


def paths_down(root: LogicalPlan, needed: frozenset[int]) -> Iterator[Path]:
    """All paths from the root on which every operator has the needed columns."""
    stack: list[Path] = [(root,)]
    while stack:
        path = stack.pop()
        plan = path[-1]
        if len(path) > LONGEST or not needed <= output_ids(plan):
            continue
        yield path
        match plan:
            case Filter() | Project():
                stack.append((*path, plan.input))
            case Join(kind=JoinKind.INNER):
                stack += ((*path, plan.left), (*path, plan.right))
            case Join(kind=kind) if kind is not JoinKind.FULL:
                stack.append((*path, plan.left))


def rebuilt(path: Path, last: LogicalPlan, added: tuple[Column, ...]) -> LogicalPlan:
    """The operators of a path over another last one, with the columns that it has in addition passed on by all of them."""
    plan = last
    for above, below in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
        if isinstance(above, Project):
            missing = tuple(column for column in dict.fromkeys(added) if column.id not in output_ids(above))
            plan = Project(plan, above.assigns + pass_through(missing))
        elif isinstance(above, Filter):
            plan = above.replace(input=plan)
        else:
            assert isinstance(above, Join)
            plan = above.replace(left=plan) if above.left is below else above.replace(right=plan)
    return plan

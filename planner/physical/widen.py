"""More columns of a table from a plan that filters and projects a scan of it."""

from __future__ import annotations

from collections.abc import Set

from planner.logical.nodes import pass_through
from planner.physical.nodes import FilterExec, PhysicalPlan, ProjectExec, TableScan
from planner.physical.value_numbers import ValueNumbers


def widen(plan: PhysicalPlan, other: PhysicalPlan, missing: Set[int], numbers: ValueNumbers) -> PhysicalPlan | None:
    """`plan` with those columns of `other`, which has the same rows, that have the numbers `missing`.

        Project k, v                                        Project k, v, w.2
          Scan t [k, v] where v > 3                   ⇒       Scan t [k, v, w.2] where v > 3
        (other: Scan t [k.2, v.2, w.2] where v.2 > 3)

    None if one of them is no column of the table, or if there are other operators: computing something for a reader that does
    not want it is no gain that could be told from here.
    """
    steps = _steps_over_scan(plan)
    source = _steps_over_scan(other)
    if steps is None or source is None:
        return None
    (*above, scan), (*_, twin) = steps, source
    assert isinstance(scan, TableScan) and isinstance(twin, TableScan)
    known = {numbers.of(scan).columns[column.id]: column for column in scan.output}
    given = {numbers.of(twin).columns[column.id]: (column, name) for column, name in zip(twin.output, twin.names, strict=True)}
    if not missing <= given.keys():
        return None
    added = [given[number] for number in sorted(missing) if number not in known]
    wanted = [known[number] if number in known else given[number][0] for number in sorted(missing)]
    widened: PhysicalPlan = scan.replace(
        output=scan.output + tuple(column for column, _ in added), names=scan.names + tuple(name for _, name in added)
    )
    for step in reversed(above):
        if isinstance(step, ProjectExec):
            passed = tuple(column for column in wanted if column not in step.columns)
            widened = step.replace(input=widened, assigns=step.assigns + pass_through(passed))
        else:
            widened = step.replace(input=widened)
    return widened


def _steps_over_scan(plan: PhysicalPlan) -> list[PhysicalPlan] | None:
    """Filters and projections from the top down to the table scan that they end in, which is the last."""
    steps = [plan]
    while isinstance(plan, (FilterExec, ProjectExec)):
        plan = plan.input
        steps.append(plan)
    return steps if isinstance(plan, TableScan) else None

"""Rule: a filter moves below a sort."""

from __future__ import annotations

from planner.logical.nodes import Filter, LogicalPlan, Sort
from planner.rule import OptimizerContext, rule


@rule(Filter)
def push_filter_through_sort(filter: Filter, context: OptimizerContext) -> LogicalPlan | None:
    """Rows that are dropped need not be sorted.

        Filter p            Sort by k
          Sort by k    ⇒      Filter p
            x                   x

    Never below a limit or a top-n: those would then choose other rows.
    """
    sort = filter.input
    if not isinstance(sort, Sort):
        return None
    return sort.replace(input=Filter(sort.input, filter.predicate))

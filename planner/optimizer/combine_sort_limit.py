"""Rule: sorting and cutting is one operator."""

from __future__ import annotations

from planner.logical.nodes import Limit, LogicalPlan, Sort, TopN
from planner.rule import OptimizerContext, rule


@rule(Limit)
def combine_sort_limit(limit: Limit, context: OptimizerContext) -> LogicalPlan | None:
    """The first rows of an order do not need all rows sorted.

        Limit 3             TopN 3 by a
          Sort by a    ⇒      x
            x

    Not for an offset without a limit, which needs all of them.
    """
    sort = limit.input
    if not isinstance(sort, Sort) or limit.limit is None:
        return None
    return TopN(sort.input, sort.keys, limit.limit, limit.offset)

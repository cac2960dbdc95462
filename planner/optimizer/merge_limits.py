"""Rule: stacked limits become one."""

from __future__ import annotations

from planner.logical.nodes import Limit, LogicalPlan, TopN
from planner.rule import OptimizerContext, rule


@rule(Limit)
def merge_limits(outer: Limit, context: OptimizerContext) -> LogicalPlan | None:
    """Two stacked limits are one limit.

        Limit 3            Limit 3
          Limit 5    ⇒       x
            x

    Only if the outer limit has no offset: an offset counts rows after the inner cut. A limit without any effect
    goes, and a top-n is a limit, too.
    """
    if outer.limit is None and not outer.offset:
        return outer.input
    inner = outer.input
    if outer.offset or not isinstance(inner, (Limit, TopN)):
        return None
    if isinstance(inner, TopN):
        return inner if outer.limit is None else inner.replace(limit=min(outer.limit, inner.limit))
    limits = [limit for limit in (outer.limit, inner.limit) if limit is not None]
    return Limit(inner.input, min(limits) if limits else None, inner.offset)

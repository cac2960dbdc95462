"""Rule: stacked limits become one."""

from __future__ import annotations

from planner.logical.nodes import Limit, LogicalPlan
from planner.rule import OptimizerContext, rule


@rule(Limit)
def merge_limits(outer: Limit, context: OptimizerContext) -> LogicalPlan | None:
    """Two stacked limits are one limit.

        Limit 3            Limit 3
          Limit 5    ⇒       x
            x

    Only if the outer limit has no offset: an offset counts rows after the inner cut. A limit without any effect goes.
    """
    if outer.limit is None and not outer.offset:
        return outer.input
    inner = outer.input
    if not isinstance(inner, Limit) or outer.offset:
        return None
    limits = [limit for limit in (outer.limit, inner.limit) if limit is not None]
    return Limit(inner.input, min(limits) if limits else None, inner.offset)

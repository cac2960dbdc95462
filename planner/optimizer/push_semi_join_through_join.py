"""Rule: a semi join that drops much moves next to the table that it filters."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.join_kind import JoinKind
from planner.logical.nodes import Join, LogicalPlan
from planner.rule import OptimizerContext, rule

WORTHWHILE = 0.5
"""A semi join moves down if it is estimated to keep at most this share of the rows there."""


@rule(Join)
def push_semi_join_through_join(semi: Join, context: OptimizerContext) -> LogicalPlan | None:
    """Filter an input of an inner join by the semi join, instead of the join's result.

        Join semi on a.k = r.k        Join inner on a.x = b.x
          Join inner on a.x = b.x       Join semi on a.k = r.k
            a                     ⇒       a
            b                             r
          r                             b

    Right whenever the condition uses one input only and cannot raise. Done where the estimate says that few rows stay: a
    semi join that keeps nearly everything is cheaper over the joined rows.
    """
    inner = semi.left
    if semi.kind is not JoinKind.SEMI or not isinstance(inner, Join) or inner.kind is not JoinKind.INNER:
        return None
    used = free_columns(semi.condition) & output_ids(inner)
    if not used or can_raise(semi.condition):
        return None
    if used <= output_ids(inner.left):
        moved = semi.replace(left=inner.left)
        result = inner.replace(left=moved)
    elif used <= output_ids(inner.right):
        moved = semi.replace(left=inner.right)
        result = inner.replace(right=moved)
    else:
        return None
    return result if context.cardinality.semi_share(moved) <= WORTHWHILE else None

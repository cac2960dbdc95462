"""Rule: a filter moves into the arms of a union."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.expr.nodes import conjuncts
from planner.expr.predicates import all_of
from planner.expr.substitute import rename
from planner.logical.nodes import Filter, LogicalPlan, Union
from planner.rule import OptimizerContext, rule


@rule(Filter)
def push_filter_through_union(filter: Filter, context: OptimizerContext) -> LogicalPlan | None:
    """Every arm filters its own rows, and may prune what it reads.

        Filter x > 1          Union x
          Union x        ⇒      Filter a > 1
            a                     a
            b                   Filter b > 1
                                  b

    A conjunct that can raise stays above: an arm must not fail before another one has been asked for rows.
    """
    union = filter.input
    if not isinstance(union, Union):
        return None
    below = [term for term in conjuncts(filter.predicate) if not can_raise(term)]
    above = [term for term in conjuncts(filter.predicate) if can_raise(term)]
    if not below:
        return None
    predicate = all_of(below)
    arms = []
    for arm in union.arms:
        columns = {out.id: column for out, column in zip(union.schema, arm.columns, strict=True)}
        arms.append(Filter(arm, rename(predicate, columns)))
    pushed = union.replace(arms=tuple(arms))
    return Filter(pushed, all_of(above)) if above else pushed

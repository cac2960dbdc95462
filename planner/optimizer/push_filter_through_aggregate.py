"""Rule: a filter on group keys moves below the grouping."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns
from planner.expr.nodes import Expr, conjuncts
from planner.expr.predicates import all_of
from planner.expr.substitute import substitute
from planner.logical.nodes import Aggregate, Filter, LogicalPlan
from planner.rule import OptimizerContext, rule


@rule(Filter)
def push_filter_through_aggregate(filter: Filter, context: OptimizerContext) -> LogicalPlan | None:
    """A group that is dropped by its key need not be built.

        Filter k > 1 AND n > 2          Filter n > 2
          Aggregate by k: n        ⇒      Aggregate by k: n
            x                               Filter k > 1
                                              x

    Not without keys: that aggregate has a row even if every input row is filtered away. A conjunct needs a key column, and
    neither it nor the keys that it uses may be able to raise.
    """
    aggregate = filter.input
    if not isinstance(aggregate, Aggregate) or not aggregate.keys:
        return None
    keys = {key.column.id: key.expr for key in aggregate.keys if not can_raise(key.expr)}
    below: list[Expr] = []
    above: list[Expr] = []
    for term in conjuncts(filter.predicate):
        used = free_columns(term)
        (below if used and used <= keys.keys() and not can_raise(term) else above).append(term)
    if not below:
        return None
    pushed = aggregate.replace(input=Filter(aggregate.input, substitute(all_of(below), keys)))
    return Filter(pushed, all_of(above)) if above else pushed

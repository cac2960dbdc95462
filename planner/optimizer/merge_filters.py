"""Rule: stacked filters become one, as far as nothing that can raise sees more rows."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.expr.nodes import conjuncts
from planner.expr.predicates import all_of, is_trivial
from planner.logical.nodes import Filter, LogicalPlan
from planner.rule import OptimizerContext, rule


@rule(Filter, top_down=True)
def merge_filters(outer: Filter, context: OptimizerContext) -> LogicalPlan | None:
    """One filter for what cannot raise, below; one for what can, above.

        Filter p                        Filter p AND q
          Filter q            ⇒           x
            x

        Filter a > 0 AND 10 // a = 5    Filter 10 // a = 5
          x                         ⇒     Filter a > 0
                                            x

    Two filters that can raise stay apart: the upper one must not see the rows that the lower one drops.
    """
    if is_trivial(outer.predicate):
        return outer.input
    terms = conjuncts(outer.predicate)
    raising = [term for term in terms if can_raise(term)]
    if raising and len(raising) < len(terms):
        safe = [term for term in terms if not can_raise(term)]
        return Filter(Filter(outer.input, all_of(safe)), all_of(raising))
    inner = outer.input
    if raising or not isinstance(inner, Filter):
        return None
    if can_raise(inner.predicate):
        return inner.replace(input=Filter(inner.input, outer.predicate))
    chain = [outer.predicate]
    while isinstance(inner, Filter) and not can_raise(inner.predicate):
        chain.append(inner.predicate)
        inner = inner.input
    return Filter(inner, all_of(reversed(chain)))

"""Rule: a filter on the keys of partitions moves below the window."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.expr.nodes import ColumnRef, Expr, conjuncts
from planner.expr.predicates import all_of
from planner.logical.nodes import Filter, LogicalPlan, Window
from planner.rule import OptimizerContext, rule


@rule(Filter)
def push_filter_through_window(filter: Filter, context: OptimizerContext) -> LogicalPlan | None:
    """A partition that is dropped as a whole need not be looked at.

        Filter k > 1 AND n = 1                 Filter n = 1
          Window by k: row_number() AS n   ⇒     Window by k: row_number() AS n
            x                                      Filter k > 1
                                                     x

    A conjunct over any other column stays: without its rows the others of their partition would get other results. So does one
    that can raise.
    """
    window = filter.input
    if not isinstance(window, Window):
        return None
    keys = {key.column.id for key in window.partition if isinstance(key, ColumnRef)}
    below: list[Expr] = []
    above: list[Expr] = []
    for term in conjuncts(filter.predicate):
        used = free_columns(term) & output_ids(window)
        (below if used and used <= keys and not can_raise(term) else above).append(term)
    if not below:
        return None
    pushed = window.replace(input=Filter(window.input, all_of(below)))
    return Filter(pushed, all_of(above)) if above else pushed

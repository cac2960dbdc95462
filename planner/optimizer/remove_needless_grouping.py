"""Rule: rows that are unique by the keys are not grouped."""

from __future__ import annotations

from planner.analysis.keys import is_unique_on
from planner.dtypes import BIGINT, BOOLEAN
from planner.expr.nodes import AggregateCall, Assign, Case, Cast, ColumnRef, Expr, IsNull, Literal
from planner.logical.nodes import Aggregate, LogicalPlan, Project
from planner.rule import OptimizerContext, rule

_ONE_VALUE = frozenset(("sum", "min", "max", "any_value", "bool_and", "bool_or"))
"""Aggregates that give the value itself if there is only one, but for its type."""


@rule(Aggregate)
def remove_needless_grouping(aggregate: Aggregate, context: OptimizerContext) -> LogicalPlan | None:
    """Groups of one row each are a projection; DISTINCT over unique rows is nothing.

        Aggregate by k, n                  Project k, n
          Aggregate by k: count(*) AS n  ⇒   Aggregate by k: count(*) AS n
            x                                  x

    Unique is what the structure of the plan makes so (`planner.analysis.keys`), never what a table claims. Not for an
    aggregate without keys, which has a row for no rows, and not for calls that are more than their only value (avg, variance).
    """
    columns = frozenset(key.expr.column.id for key in aggregate.keys if isinstance(key.expr, ColumnRef))
    if not aggregate.keys or not is_unique_on(aggregate.input, columns):
        return None
    values = []
    for assign in aggregate.aggregates:
        assert isinstance(assign.expr, AggregateCall)
        value = _of_one_row(assign.expr)
        if value is None:
            return None
        values.append(Assign(assign.column, value))
    return Project(aggregate.input, aggregate.keys + tuple(values))


def _of_one_row(call: AggregateCall) -> Expr | None:
    """The aggregate of a single row."""
    counts = call.function in ("count", "count_star")
    if call.function == "count_star":
        value: Expr = Literal(BIGINT, 1)
    elif call.function == "count":
        value = Case(BIGINT, (IsNull(BOOLEAN, call.arguments[0]),), (Literal(BIGINT, 0),), Literal(BIGINT, 1))
    elif call.function in _ONE_VALUE:
        argument = call.arguments[0]
        value = argument if argument.dtype == call.dtype else Cast(call.dtype, argument)
    else:
        return None
    if call.condition is None:
        return value
    return Case(call.dtype, (call.condition,), (value,), Literal(call.dtype, 0 if counts else None))

"""Which columns an expression or a plan uses without producing them itself."""

from __future__ import annotations

from planner.analysis.per_node import per_node
from planner.expr.nodes import And, Assign, ColumnRef, Or
from planner.logical.nodes import DependentJoin, Join, LogicalPlan, Scan, Union, Values
from planner.schema import Column
from planner.tree import Node, kind_mask, walk

_PLANS = kind_mask(LogicalPlan)
_REFS = kind_mask(ColumnRef)
_PRODUCERS = kind_mask(Assign, Scan, Values, Union, Join, DependentJoin)


@per_node
def free_columns(node: Node) -> frozenset[int]:
    """The ids of the columns that `node` needs from outside.

    For an expression: every column it uses, correlated ones inside of its subqueries included. For a plan: its correlated
    columns, none if it can run alone. Relies on ids being allocated once, so that what is produced anywhere inside is not free.
    """
    if not node.kinds & _REFS:
        return frozenset()
    if isinstance(node, (And, Or)):  # each term is known by itself: rules build long conjunctions piece by piece
        return frozenset().union(*[free_columns(term) for term in node.terms])
    used = {ref.column.id for ref in walk(node, _REFS) if isinstance(ref, ColumnRef)}
    if node.kinds & _PLANS:
        used.difference_update(column.id for column in produced_columns(node))
    return frozenset(used)


def produced_columns(node: Node) -> list[Column]:
    """Every column that some operator inside of `node` introduces, in plan order."""
    produced: list[Column] = []
    for found in walk(node, _PRODUCERS):
        if isinstance(found, Assign):
            produced.append(found.column)
        elif isinstance(found, Scan):
            produced.extend(column for column, _ in found.output)
        elif isinstance(found, (Values, Union)):
            produced.extend(found.schema)
        elif isinstance(found, (Join, DependentJoin)) and found.mark is not None:
            produced.append(found.mark)
    return list(dict.fromkeys(produced))


def used_by_operator(plan: LogicalPlan) -> frozenset[int]:
    """The ids of the columns that the expressions of one operator use, its inputs not counted."""
    used: frozenset[int] = frozenset()
    for expr in plan.expressions:
        used |= free_columns(expr)
    return used


@per_node
def output_ids(plan: LogicalPlan) -> frozenset[int]:
    """The ids of a plan's output columns."""
    return frozenset(column.id for column in plan.columns)


def is_correlated(plan: LogicalPlan) -> bool:
    """Whether the plan needs columns of a surrounding query."""
    return bool(free_columns(plan))

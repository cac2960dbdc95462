"""Rule: what an OR over several tables says about each of them."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns
from planner.expr.nodes import Expr, Or, conjunction, conjuncts, disjunction
from planner.expr.predicates import all_of
from planner.logical.nodes import Filter, Join, LogicalPlan
from planner.rule import OptimizerContext, rule

MOST_BRANCHES = 20
"""An OR of more branches is left alone: what it implies is long and keeps much."""


@rule(Filter)
def derive_predicates_from_or(filter: Filter, context: OptimizerContext) -> LogicalPlan | None:
    """If every branch restricts a table, the OR of these restrictions filters that table early.

        (n.x = 1 AND m.x = 2) OR (n.x = 2 AND m.x = 1)
            ⇒   the same, AND n.x IN (1, 2) AND m.x IN (2, 1)

    The OR itself stays, since it says more. Nothing that can raise is copied. Runs once, before filters are pushed down: a
    derived predicate that has left the filter would be derived again.
    """
    ors = [term for term in conjuncts(filter.predicate) if isinstance(term, Or) and len(term.terms) <= MOST_BRANCHES]
    if not ors or not isinstance(filter.input, Join):
        return None
    table_of = _tables(filter.input)
    derived = [predicate for term in ors for predicate in _implied(term, table_of)]
    fingerprints = context.fingerprints
    present = {fingerprints.of(term) for term in conjuncts(filter.predicate)}
    new = [predicate for predicate in derived if fingerprints.of(predicate) not in present]
    return Filter(filter.input, all_of(filter.predicate, new)) if new else None


def _tables(plan: LogicalPlan) -> dict[int, int]:
    """For every column the number of the join input that it comes from."""
    numbers: dict[int, int] = {}
    stack = [plan]
    count = 0
    while stack:
        current = stack.pop()
        if isinstance(current, Join):
            stack += (current.right, current.left)
        elif isinstance(current, Filter):
            stack.append(current.input)
        else:
            count += 1
            numbers.update((column.id, count) for column in current.columns)
    return numbers


def _implied(term: Or, table_of: dict[int, int]) -> list[Expr]:
    """For each table that every branch restricts, the disjunction of the restrictions."""
    branches: list[dict[int, list[Expr]]] = []
    for branch in term.terms:
        by_table: dict[int, list[Expr]] = {}
        for part in conjuncts(branch):
            tables = {table_of.get(column, 0) for column in free_columns(part)}
            if len(tables) == 1 and 0 not in tables and not can_raise(part):
                by_table.setdefault(tables.pop(), []).append(part)
        branches.append(by_table)
    common = [table for table in branches[0] if all(table in by_table for by_table in branches)]
    if {table_of.get(column, 0) for column in free_columns(term)} == set(common[:1]):
        return []  # it is about one table alone
    return [disjunction([conjunction(by_table[table]) for by_table in branches]) for table in common]

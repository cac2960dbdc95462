"""Estimated sizes of joins (independence and containment, as in Selinger et al., SIGMOD 1979)."""

from __future__ import annotations

from planner.analysis.estimates import ColumnEstimate, Estimate
from planner.analysis.free_columns import output_ids
from planner.analysis.selectivity import Predicates
from planner.expr.nodes import ColumnRef, Compare, CompareOp, Expr, conjuncts
from planner.logical.nodes import DependentJoin, Join, LogicalPlan


def inner_rows(join: Join | DependentJoin, left: Estimate, right: Estimate) -> float:
    """How many pairs of rows satisfy the join's condition."""
    return left.rows * right.rows * pair_share(join, left, right)


def pair_share(join: Join | DependentJoin, left: Estimate, right: Estimate) -> float:
    """The share of all pairs of rows that satisfy the join's condition."""
    keys, rest = _split(join.condition, join.left, join.right)
    share = Predicates(left.columns | right.columns).selectivity_of_all(rest)
    if keys:
        share *= equality_share([(left.columns.get(a), right.columns.get(b)) for a, b in keys], left.rows, right.rows)
    return share


def semi_share(join: Join | DependentJoin, left: Estimate, right: Estimate) -> float:
    """The share of left rows that have a match."""
    keys, rest = _split(join.condition, join.left, join.right)
    share = 1.0 if right.rows > 0 else 0.0
    for a, b in keys:
        x, y = left.columns.get(a), right.columns.get(b)
        values = y.ndv * min(1.0, right.rows / max(y.rows, 1.0)) if y is not None else right.rows
        # Containment: the side with fewer values has no others than the other one, before filters.
        domain = max(x.ndv if x is not None else left.rows, y.ndv if y is not None else 1.0)
        share = min(share, max(values, 1.0) / max(domain, 1.0))
    if not keys and rest:
        share = min(1.0, right.rows * Predicates(left.columns | right.columns).selectivity_of_all(rest))
    return min(1.0, share)


def equality_share(
    keys: list[tuple[ColumnEstimate | None, ColumnEstimate | None]], left_rows: float, right_rows: float
) -> float:
    """The share of all pairs of rows that agree on every key."""
    left_domain = right_domain = 1.0
    left_base = right_base = 0.0
    for x, y in keys:
        x = x or ColumnEstimate(max(left_rows, 1.0), max(left_rows, 1.0))
        y = y or ColumnEstimate(max(right_rows, 1.0), max(right_rows, 1.0))
        left_domain *= max(x.ndv, 1.0)
        right_domain *= max(y.ndv, 1.0)
        left_base, right_base = max(left_base, x.rows), max(right_base, y.rows)
    # A side with as many key values as rows is (nearly) unique: its table's size is the domain, the other side refers to it.
    # Of a column of which nothing is known that cannot be said.
    sides = (left_domain, left_base, 0), (right_domain, right_base, 1)
    unique = [base for domain, base, side in sides if domain >= 0.9 * base and all(key[side] is not None for key in keys)]
    domain = min(unique) if unique else max(left_domain, right_domain)
    return 1.0 / max(domain, 1.0)


def _split(condition: Expr, left: LogicalPlan, right: LogicalPlan) -> tuple[list[tuple[int, int]], list[Expr]]:
    """Pairs (left column, right column) that must be equal, and the other conjuncts."""
    left_ids, right_ids = output_ids(left), output_ids(right)
    keys: list[tuple[int, int]] = []
    rest: list[Expr] = []
    for term in conjuncts(condition):
        if isinstance(term, Compare) and term.op in (CompareOp.EQ, CompareOp.NOT_DISTINCT):
            a, b = term.left, term.right
            if isinstance(a, ColumnRef) and isinstance(b, ColumnRef):
                x, y = a.column.id, b.column.id
                if x in left_ids and y in right_ids:
                    keys.append((x, y))
                    continue
                if y in left_ids and x in right_ids:
                    keys.append((y, x))
                    continue
        rest.append(term)
    return keys, rest

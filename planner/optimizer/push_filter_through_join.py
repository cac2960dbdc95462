"""Rule: the conjuncts of a filter move into the join below it."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.analysis.keys import equal_columns
from planner.expr.nodes import ColumnRef, Compare, CompareOp, Expr, InList, Literal, conjuncts
from planner.expr.predicates import all_of
from planner.expr.substitute import rename
from planner.join_kind import JoinKind
from planner.logical.nodes import Filter, Join, LogicalPlan
from planner.rule import OptimizerContext, rule


@rule(Filter)
def push_filter_through_join(filter: Filter, context: OptimizerContext) -> LogicalPlan | None:
    """Conjuncts over one input filter that input; over both, they are part of an inner join's condition.

        Filter a.x > 1 AND a.k = b.k        Join inner on a.k = b.k
          Join cross                          Filter a.x > 1
            a                          ⇒        a
            b                                 b

    Left, single, semi, anti and mark joins keep or drop whole left rows, so conjuncts over the left input pass; what they
    say about the right input does not hold before the join. A full join lets nothing pass. Conjuncts that can raise stay.
    A constant bound of one column of an inner equality holds for the other one as well.
    """
    join = filter.input
    if not isinstance(join, Join) or join.kind is JoinKind.FULL:
        return None
    left_ids, right_ids = output_ids(join.left), output_ids(join.right)
    left: list[Expr] = []
    right: list[Expr] = []
    both: list[Expr] = []
    kept: list[Expr] = []
    for term in conjuncts(filter.predicate):
        used = free_columns(term) & (left_ids | right_ids | _mark(join))
        if can_raise(term):
            kept.append(term)
        elif used <= left_ids:
            left.append(term)
        elif join.kind is not JoinKind.INNER:
            kept.append(term)
        elif used <= right_ids:
            right.append(term)
        else:
            both.append(term)
    if not (left or right or both):
        return None
    if join.kind is JoinKind.INNER:
        implied_left, implied_right = implied_bounds(join.replace(condition=all_of(join.condition, both)), left, right)
        left, right = left + implied_left, right + implied_right
    joined = join.replace(
        left=Filter(join.left, all_of(left)) if left else join.left,
        right=Filter(join.right, all_of(right)) if right else join.right,
        condition=all_of(join.condition, both) if both else join.condition,
    )
    return Filter(joined, all_of(kept)) if kept else joined


def _mark(join: Join) -> frozenset[int]:
    return frozenset() if join.mark is None else frozenset({join.mark.id})


def implied_bounds(join: Join, left: list[Expr], right: list[Expr]) -> tuple[list[Expr], list[Expr]]:
    """What bounds of one input's columns say about the columns of the other input that are equal to them."""
    if not (left or right):
        return [], []
    pairs = [(a, b) for a, b in equal_columns(join.condition, join.left, join.right)]
    to_right = {a.column.id: b.column for a, b in pairs}
    to_left = {b.column.id: a.column for a, b in pairs}
    return (
        [rename(term, to_left) for term in right if _bounded_column(term) in to_left],
        [rename(term, to_right) for term in left if _bounded_column(term) in to_right],
    )


def _bounded_column(term: Expr) -> int | None:
    """The column of a comparison with constants only."""
    if isinstance(term, Compare) and isinstance(term.left, ColumnRef) and isinstance(term.right, Literal):
        return None if term.op in (CompareOp.NOT_DISTINCT, CompareOp.DISTINCT) else term.left.column.id
    if isinstance(term, InList) and isinstance(term.needle, ColumnRef):
        return term.needle.column.id if all(isinstance(option, Literal) for option in term.options) else None
    return None

"""Rule: of a large relation in which few rows look for a match, only what could match is brought to them."""

from __future__ import annotations

from planner.analysis.free_columns import output_ids
from planner.dtypes import BOOLEAN
from planner.expr.nodes import ColumnRef, Compare, CompareOp, conjuncts
from planner.expr.predicates import all_of
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Join, LogicalPlan, Project, pass_through
from planner.logical.reallocate import fresh_copy
from planner.optimizer.reduce_aggregate_input import has_semi_join, is_cheap_copy
from planner.rule import OptimizerContext, rule
from planner.schema import Column

WORTHWHILE = 0.2
"""The semi join has to keep at most this share of the right side."""
LARGE = 100_000
"""Fewer rows are looked through faster than a further stage takes to start."""


@rule(Join)
def reduce_anti_join_input(join: Join, context: OptimizerContext) -> LogicalPlan | None:
    """If few rows are looked up in a large relation, its keys are reduced to theirs where they are read.

        Join anti on x.k = y.k         Join anti on x.k = y.k
          x                              x
          y                      ⇒       Aggregate by y.k
                                           Join semi on y.k = x'.k
                                             y
                                             x' (a copy of x)

    The semi join keeps every row of y that matches one of x. It costs a second evaluation of x, so x has to be simple and to
    scan little (TPC-H 22). For conditions of equalities alone: nothing else of y is needed then.
    """
    if join.kind is not JoinKind.ANTI or has_semi_join(join.right):
        return None
    pairs = _key_pairs(join)
    if not pairs or context.cardinality.rows(join.right) < LARGE or not is_cheap_copy(join.left, join.right):
        return None
    wanted = tuple(dict.fromkeys(left for left, _ in pairs))
    copy, fresh = fresh_copy(Project(join.left, pass_through(wanted)), context.allocator)
    terms = [Compare(BOOLEAN, CompareOp.EQ, reference(right), reference(fresh[left.id])) for left, right in pairs]
    semi = Join(join.right, copy, JoinKind.SEMI, all_of(terms))
    if context.cardinality.semi_share(semi) > WORTHWHILE:
        return None
    keys = tuple(dict.fromkeys(right for _, right in pairs))
    return join.replace(right=Aggregate(semi, pass_through(keys), ()))


def _key_pairs(join: Join) -> list[tuple[Column, Column]]:
    """(left, right) columns that have to be equal; empty if the condition says more than that."""
    left_ids, right_ids = output_ids(join.left), output_ids(join.right)
    found = []
    for term in conjuncts(join.condition):
        if not isinstance(term, Compare) or term.op is not CompareOp.EQ:
            return []
        if not isinstance(term.left, ColumnRef) or not isinstance(term.right, ColumnRef):
            return []
        a, b = term.left.column, term.right.column
        if a.id in right_ids:
            a, b = b, a
        if a.id not in left_ids or b.id not in right_ids:
            return []
        found.append((a, b))
    return found

"""Rule: groups that a join will drop are not built."""

from __future__ import annotations

from planner.analysis.keys import equal_columns
from planner.dtypes import BOOLEAN
from planner.expr.nodes import ColumnRef, Compare, CompareOp, Expr
from planner.expr.predicates import all_of
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Filter, Join, LogicalPlan, Project, Scan, pass_through
from planner.logical.reallocate import fresh_copy
from planner.rule import OptimizerContext, rule
from planner.schema import Column
from planner.tree import kind_mask, walk

WORTHWHILE = 0.2
"""The semi join has to keep at most this share of the aggregate's input rows."""
CHEAP = 0.5
"""What is evaluated a second time may scan at most this share of the rows that the aggregate's input scans."""

_SIMPLE = (Scan, Filter, Project, Join, Aggregate)
_PLANS = kind_mask(LogicalPlan)


@rule(Join)
def reduce_aggregate_input(join: Join, context: OptimizerContext) -> LogicalPlan | None:
    """If a small relation is joined with groups by their key, only the rows of those groups are aggregated.

        Join inner on x.k = g.k        Join inner on x.k = g.k
          x                              x
          Aggregate by g.k               Aggregate by g.k
            y                    ⇒         Join semi on y.k = x'.k
                                             y
                                             x' (a copy of x)

    The semi join drops whole groups, and only those without a partner in x. It costs a second evaluation of x, so x has to be
    simple and to scan little. This is what a correlated aggregate over few outer rows needs (TPC-H 2, 17 and 20).
    """
    if join.kind not in (JoinKind.INNER, JoinKind.LEFT):
        return None
    sides = [(join.left, join.right)]
    if join.kind is JoinKind.INNER:
        sides.append((join.right, join.left))
    for outer, groups in sides:
        if isinstance(groups, Aggregate):
            reduced = _reduced(outer, groups, join, context)
            if reduced is not None:
                return join.replace(right=reduced) if groups is join.right else join.replace(left=reduced)
    return None


def _reduced(outer: LogicalPlan, groups: Aggregate, join: Join, context: OptimizerContext) -> Aggregate | None:
    pairs = _key_pairs(outer, groups, join)
    if not pairs or has_semi_join(groups.input) or not is_cheap_copy(outer, groups.input):
        return None
    wanted = tuple(dict.fromkeys(column for _, column, _ in pairs))
    copy, fresh = fresh_copy(Project(outer, pass_through(wanted)), context.allocator)
    terms: list[Expr] = [Compare(BOOLEAN, op, inner, reference(fresh[column.id])) for inner, column, op in pairs]
    semi = Join(groups.input, copy, JoinKind.SEMI, all_of(terms))
    if context.cardinality.semi_share(semi) > WORTHWHILE:
        return None
    return groups.replace(input=semi)


def _key_pairs(outer: LogicalPlan, groups: Aggregate, join: Join) -> list[tuple[ColumnRef, Column, CompareOp]]:
    """(column of the aggregate's input that is a key, equal column of the outer side, how they are compared)."""
    inner_of = {key.column.id: key.expr for key in groups.keys if isinstance(key.expr, ColumnRef)}
    null_safe = {
        frozenset((term.left.column.id, term.right.column.id))
        for term in walk(join.condition, kind_mask(Compare))
        if isinstance(term, Compare)
        and term.op is CompareOp.NOT_DISTINCT
        and isinstance(term.left, ColumnRef)
        and isinstance(term.right, ColumnRef)
    }
    found = []
    for a, b in equal_columns(join.condition, outer, groups):
        inner = inner_of.get(b.column.id)
        if inner is not None:
            safe = frozenset((a.column.id, b.column.id)) in null_safe
            found.append((inner, a.column, CompareOp.NOT_DISTINCT if safe else CompareOp.EQ))
    return found


def has_semi_join(plan: LogicalPlan) -> bool:
    """Whether the rows have been reduced already, by this rule or by the query."""
    return any(isinstance(node, Join) and node.kind is JoinKind.SEMI for node in walk(plan, kind_mask(Join)))


def is_cheap_copy(outer: LogicalPlan, input: LogicalPlan) -> bool:
    """Whether evaluating `outer` a second time is little beside reading `input`: no groups, and few rows are scanned."""
    for node in walk(outer, _PLANS):
        if not isinstance(node, _SIMPLE) or (isinstance(node, Aggregate) and node.keys):
            return False
    return _scanned(outer) <= CHEAP * _scanned(input)


def _scanned(plan: LogicalPlan) -> int:
    return sum(scan.table.rows for scan in walk(plan, kind_mask(Scan)) if isinstance(scan, Scan))

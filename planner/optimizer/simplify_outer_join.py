"""Rule: an outer join whose unmatched rows are dropped above it is not an outer join."""

from __future__ import annotations

from planner.analysis.free_columns import output_ids
from planner.analysis.nullability import null_rejected_columns, strict_columns
from planner.expr.nodes import FALSE, TRUE, Assign, ColumnRef, Expr, Not, conjuncts
from planner.expr.predicates import all_of
from planner.expr.substitute import substitute
from planner.join_kind import JoinKind
from planner.logical.nodes import Filter, Join, LogicalPlan, Project, pass_through
from planner.rule import OptimizerContext, rule


@rule(Filter)
def simplify_outer_join(filter: Filter, context: OptimizerContext) -> LogicalPlan | None:
    """A filter that no NULL passes drops the rows that the join has filled up with NULLs.

        Filter b.x > 1            Filter b.x > 1
          Join left          ⇒      Join inner
            a                         a
            b                         b

    A full join becomes a left or an inner one. A filter by a mark makes a semi or anti join. A projection may lie in between.
    Not for single joins: they must still complain about a second match.
    """
    below = filter.input
    if isinstance(below, Project) and isinstance(below.input, Join):
        if below.input.kind not in (JoinKind.LEFT, JoinKind.FULL):
            return None
        rejected = null_rejected_columns(filter.predicate)
        through: frozenset[int] = frozenset()
        for assign in below.assigns:
            if assign.column.id in rejected:
                through |= strict_columns(assign.expr)
        simplified = _simplify(below.input, through)
        return None if simplified is None else filter.replace(input=below.replace(input=simplified))
    if not isinstance(below, Join):
        return None
    if below.kind is JoinKind.MARK:
        return _test_mark(filter, below)
    if below.kind not in (JoinKind.LEFT, JoinKind.FULL):
        return None
    simplified = _simplify(below, null_rejected_columns(filter.predicate))
    return None if simplified is None else filter.replace(input=simplified)


def _simplify(join: Join, rejected: frozenset[int]) -> LogicalPlan | None:
    if join.kind is JoinKind.LEFT:
        return join.replace(kind=JoinKind.INNER) if rejected & output_ids(join.right) else None
    if join.kind is not JoinKind.FULL:
        return None
    keeps_left = not rejected & output_ids(join.right)  # left rows without a match survive
    keeps_right = not rejected & output_ids(join.left)
    if keeps_left and keeps_right:
        return None
    if not keeps_left and not keeps_right:
        return join.replace(kind=JoinKind.INNER)
    if keeps_left:
        return join.replace(kind=JoinKind.LEFT)
    turned = Join(join.right, join.left, JoinKind.LEFT, join.condition)
    return Project(turned, pass_through(join.columns))


def _test_mark(filter: Filter, join: Join) -> LogicalPlan | None:
    assert join.mark is not None
    mark = join.mark.id
    for term in conjuncts(filter.predicate):
        kind = None
        if isinstance(term, ColumnRef) and term.column.id == mark:
            kind, value = JoinKind.SEMI, TRUE
        elif isinstance(term, Not) and isinstance(term.operand, ColumnRef) and term.operand.column.id == mark:
            kind, value = JoinKind.ANTI, FALSE
        if kind is not None:
            rest: list[Expr] = [substitute(other, {mark: value}) for other in conjuncts(filter.predicate) if other is not term]
            tested: LogicalPlan = Join(join.left, join.right, kind, join.condition)
            if rest:
                tested = Filter(tested, all_of(rest))
            return Project(tested, (*pass_through(join.left.columns), Assign(join.mark, value)))
    return None

"""Rule: no input of a join depends on the other one any more."""

from __future__ import annotations

from planner.analysis.free_columns import free_columns, output_ids
from planner.analysis.keys import at_most_one_row, exactly_one_row, matches_at_most_one
from planner.dtypes import BOOLEAN
from planner.expr.nodes import FALSE, TRUE, Assign, Case, Expr
from planner.expr.predicates import all_of, is_trivial
from planner.join_kind import JoinKind
from planner.logical.nodes import DependentJoin, Filter, Join, Limit, LogicalPlan, Project, pass_through
from planner.optimizer.unnesting.pull_correlation import pull_correlation
from planner.optimizer.unnesting.push_domain import join_by_domain
from planner.optimizer.unnesting.scalar_aggregate import join_scalar_aggregate
from planner.rule import OptimizerContext, rule

_TESTS = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK)


@rule(DependentJoin, mandatory=True)
def eliminate_dependent_join(join: DependentJoin, context: OptimizerContext) -> LogicalPlan | None:
    """A dependent join is a join, once its right input needs nothing of the left one.

        DependentJoin semi               Join semi on o = i
          L                        ⇒       L
          Filter o = i                     x
            x

    Three ways are tried, see `planner.optimizer.unnesting`. Inner dependent joins come first (rules work bottom-up), so
    correlation over several levels is removed one level at a time.
    """
    outer = free_columns(join.right) & output_ids(join.left)
    if not outer:
        return independent_join(join)
    if join.kind in _TESTS and exactly_one_row(join.right):
        return _test_one_row(join)
    plan = join_scalar_aggregate(join, outer, context.allocator)
    if plan is not None:
        return plan
    pulled = pull_correlation(join.right, outer, context.allocator)
    if pulled is not None:
        condition = all_of(join.condition, pulled.predicates)
        joined = independent_join(DependentJoin(join.left, pulled.plan, join.kind, condition, join.mark))
        return joined if joined.columns == join.columns else Project(joined, pass_through(join.columns))
    return join_by_domain(join, outer, context.allocator)


def independent_join(join: DependentJoin) -> LogicalPlan:
    """The plain join of a dependent one whose inputs are independent, of the simplest kind that gives the same rows."""
    kind, right = join.kind, join.right
    if kind is JoinKind.SINGLE:
        if is_trivial(join.condition) and exactly_one_row(right):
            kind = JoinKind.INNER
        elif matches_at_most_one(join):
            kind = JoinKind.LEFT
    elif kind in _TESTS and not (
        free_columns(right) or free_columns(join.condition) & output_ids(right) or at_most_one_row(right)
    ):
        right = Limit(right, 1)  # whether there is a row at all does not need all of them
    return Join(join.left, right, kind, join.condition, join.mark)


def _test_one_row(join: DependentJoin) -> LogicalPlan:
    """A test against exactly one row is a predicate over it."""
    joined = DependentJoin(join.left, join.right, JoinKind.INNER, TRUE)
    if join.mark is not None:
        mark = Assign(join.mark, is_true(join.condition))
        return Project(joined, (*pass_through(join.left.columns), mark))
    wanted = join.condition
    if join.kind is JoinKind.ANTI:
        wanted = Case(BOOLEAN, (join.condition,), (FALSE,), TRUE)
    return Project(Filter(joined, wanted), pass_through(join.left.columns))


def is_true(expr: Expr) -> Expr:
    """Whether a condition is true; false where it is NULL."""
    return expr if is_trivial(expr) else Case(BOOLEAN, (expr,), (TRUE,), FALSE)

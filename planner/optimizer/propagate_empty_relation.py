"""Rule: an operator over nothing is mostly nothing."""

from __future__ import annotations

from planner.expr.nodes import FALSE, Assign, Literal
from planner.expr.predicates import is_never_true
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import (
    Aggregate,
    Filter,
    Join,
    Limit,
    LogicalPlan,
    Project,
    Sort,
    TopN,
    Union,
    Values,
    Window,
    pass_through,
)
from planner.rule import OptimizerContext, rule


@rule(Filter, Project, Join, Aggregate, Window, Union, Sort, Limit, TopN)
def propagate_empty_relation(plan: LogicalPlan, context: OptimizerContext) -> LogicalPlan | None:
    """What is provably without rows is a constant without rows.

        Filter FALSE       Values (no rows)
          x            ⇒

    An aggregate without keys keeps its one row, a left join its left rows, and a union its other arms.
    """
    match plan:
        case Filter() if is_never_true(plan.predicate):
            return _nothing(plan)
        case Limit() | TopN() if plan.limit == 0:
            return _nothing(plan)
        case Filter() | Project() | Window() | Sort() | Limit() | TopN():
            return _nothing(plan) if _is_empty(plan.input) else None
        case Aggregate():
            return _nothing(plan) if plan.keys and _is_empty(plan.input) else None
        case Join():
            return _empty_join(plan)
        case Union():
            return _without_empty_arms(plan)
    return None


def _without_empty_arms(union: Union) -> LogicalPlan | None:
    arms = tuple(arm for arm in union.arms if not _is_empty(arm))
    if len(arms) == len(union.arms):
        return None
    if len(arms) > 1:
        return union.replace(arms=arms)
    if not arms:
        return _nothing(union)
    return Project(arms[0], tuple(Assign(c, reference(given)) for c, given in zip(union.schema, arms[0].columns, strict=True)))


def _empty_join(join: Join) -> LogicalPlan | None:
    left, right = _is_empty(join.left), _is_empty(join.right) or is_never_true(join.condition)
    if join.kind is JoinKind.FULL:
        return _nothing(join) if _is_empty(join.left) and _is_empty(join.right) else None
    if left or (right and join.kind in (JoinKind.INNER, JoinKind.SEMI)):
        return _nothing(join)
    if not right:
        return None
    if join.kind is JoinKind.ANTI:
        return join.left
    kept = pass_through(join.left.columns)
    if join.kind is JoinKind.MARK:
        assert join.mark is not None
        return Project(join.left, (*kept, Assign(join.mark, FALSE)))
    return Project(join.left, kept + tuple(Assign(c, Literal(c.dtype, None)) for c in join.right.columns))


def _is_empty(plan: LogicalPlan) -> bool:
    return isinstance(plan, Values) and not plan.rows


def _nothing(plan: LogicalPlan) -> LogicalPlan:
    return Values(plan.columns, ())

"""Rule: a limit over a union bounds every arm."""

from __future__ import annotations

from planner.logical.nodes import Aggregate, Filter, Limit, LogicalPlan, Project, Sort, TopN, Union, Values
from planner.rule import OptimizerContext, rule


@rule(Limit)
def push_limit_through_union(limit: Limit, context: OptimizerContext) -> LogicalPlan | None:
    """No arm needs to give more rows than are wanted in all.

        Limit 3          Limit 3
          Union x          Union x
            a       ⇒        Limit 3
            b                  a
                             Limit 3
                               b

    An arm that is known to be that small is left alone.
    """
    union = limit.input
    if limit.limit is None or not isinstance(union, Union):
        return None
    wanted = limit.limit + limit.offset
    arms = tuple(arm if _at_most(arm, wanted) else Limit(arm, wanted) for arm in union.arms)
    if all(a is b for a, b in zip(arms, union.arms, strict=True)):
        return None
    return limit.replace(input=union.replace(arms=arms))


def _at_most(plan: LogicalPlan, rows: int) -> bool:
    """Whether the operators at the top of a plan bound its rows."""
    while isinstance(plan, (Project, Filter, Sort)):
        plan = plan.input
    match plan:
        case Limit() | TopN():
            return plan.limit is not None and plan.limit <= rows
        case Values():
            return len(plan.rows) <= rows
        case Aggregate():
            return not plan.keys and rows > 0
    return False

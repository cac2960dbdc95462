"""Rule: conjuncts of a join's condition that concern one input filter that input."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.expr.nodes import Expr, conjuncts
from planner.expr.predicates import all_of
from planner.join_kind import JoinKind
from planner.logical.nodes import Filter, Join, LogicalPlan
from planner.optimizer.push_filter_through_join import implied_bounds
from planner.rule import OptimizerContext, rule

_LEFT_TOO = (JoinKind.INNER, JoinKind.SEMI)
_RIGHT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)


@rule(Join)
def push_condition_into_inputs(join: Join, context: OptimizerContext) -> LogicalPlan | None:
    """A right row that fails its own part of the condition matches nothing, so it can go before the join.

        Join left on a.k = b.k AND b.x > 1        Join left on a.k = b.k
          a                                  ⇒      a
          b                                         Filter b.x > 1
                                                      b

    The same holds for left rows only where the join drops those without a match: inner and semi. Conjuncts that can raise
    stay, and so does a condition without columns of either input.
    """
    if join.kind not in _RIGHT:
        return None
    left_ids, right_ids = output_ids(join.left), output_ids(join.right)
    left: list[Expr] = []
    right: list[Expr] = []
    kept: list[Expr] = []
    for term in conjuncts(join.condition):
        used = free_columns(term) & (left_ids | right_ids)
        if not used or can_raise(term):
            kept.append(term)
        elif used <= right_ids:
            right.append(term)
        elif used <= left_ids and join.kind in _LEFT_TOO:
            left.append(term)
        else:
            kept.append(term)
    if not (left or right):
        return None
    rest = join.replace(condition=all_of(kept))
    implied_left, implied_right = implied_bounds(rest, left, right)
    if join.kind in _LEFT_TOO:
        left = left + implied_left
    right = right + implied_right
    return rest.replace(
        left=Filter(join.left, all_of(left)) if left else join.left,
        right=Filter(join.right, all_of(right)) if right else join.right,
    )

"""Unique keys of plans, from their structure alone: groups are unique by their keys, whatever the data says.

A claimed or measured uniqueness of a table's column is not used here, because plans are changed by these keys.
"""

from __future__ import annotations

from planner.analysis.free_columns import output_ids
from planner.analysis.per_node import bottom_up
from planner.expr.nodes import ColumnRef, Compare, CompareOp, Expr, Literal, conjuncts
from planner.join_kind import JoinKind
from planner.logical.nodes import (
    Aggregate,
    DependentJoin,
    Filter,
    Join,
    Limit,
    LogicalPlan,
    Project,
    Sort,
    TopN,
    Values,
    Window,
)

Keys = frozenset[frozenset[int]]

_NONE: Keys = frozenset()
_SINGLE_ROW: Keys = frozenset({frozenset()})
_MOST = 8
"""More keys of one plan than this are not tracked."""


@bottom_up
def unique_keys(plan: LogicalPlan) -> Keys:
    """Sets of output columns (ids) of which no two rows have equal values, NULL being equal to NULL.

    The empty set among them means: at most one row.
    """
    match plan:
        case Values():
            return _SINGLE_ROW if len(plan.rows) <= 1 else _NONE
        case Filter() | Sort() | Window():
            return unique_keys(plan.input)
        case Limit() | TopN():
            return _SINGLE_ROW if plan.limit is not None and plan.limit <= 1 else unique_keys(plan.input)
        case Project():
            return _renamed(unique_keys(plan.input), plan)
        case Aggregate():
            keys = frozenset(key.column.id for key in plan.keys if not isinstance(key.expr, Literal))
            return frozenset({keys})
        case Join() | DependentJoin():
            return _join_keys(plan)
    return _NONE


def at_most_one_row(plan: LogicalPlan) -> bool:
    """Whether the structure of the plan guarantees that it has no second row."""
    return frozenset() in unique_keys(plan)


@bottom_up
def exactly_one_row(plan: LogicalPlan) -> bool:
    """Whether the structure of the plan guarantees one row, no fewer and no more."""
    match plan:
        case Values():
            return len(plan.rows) == 1
        case Aggregate():
            return not plan.keys
        case Project() | Sort() | Window():
            return exactly_one_row(plan.input)
        case Limit() | TopN():
            return plan.offset == 0 and plan.limit != 0 and exactly_one_row(plan.input)
        case Join() | DependentJoin():
            if not exactly_one_row(plan.left):
                return False
            if plan.kind in (JoinKind.MARK, JoinKind.SINGLE):
                return True
            trivial = isinstance(plan.condition, Literal) and plan.condition.value is True
            if plan.kind is JoinKind.INNER:
                return trivial and exactly_one_row(plan.right)
            return plan.kind is JoinKind.LEFT and at_most_one_row(plan.right)
    return False


def is_unique_on(plan: LogicalPlan, columns: frozenset[int]) -> bool:
    """Whether no two rows of the plan agree on `columns`."""
    return any(key <= columns for key in unique_keys(plan))


def equal_columns(condition: Expr, left: LogicalPlan, right: LogicalPlan) -> tuple[tuple[ColumnRef, ColumnRef], ...]:
    """Pairs (column of left, column of right) that the condition requires to be equal, null-safe equality included."""
    left_ids, right_ids = output_ids(left), output_ids(right)
    pairs = []
    for term in conjuncts(condition):
        if not isinstance(term, Compare) or term.op not in (CompareOp.EQ, CompareOp.NOT_DISTINCT):
            continue
        a, b = term.left, term.right
        if isinstance(a, ColumnRef) and isinstance(b, ColumnRef):
            if a.column.id in left_ids and b.column.id in right_ids:
                pairs.append((a, b))
            elif b.column.id in left_ids and a.column.id in right_ids:
                pairs.append((b, a))
    return tuple(pairs)


def matches_at_most_one(join: Join | DependentJoin) -> bool:
    """Whether no left row of the join can have two matches."""
    right = frozenset(b.column.id for _, b in equal_columns(join.condition, join.left, join.right))
    return is_unique_on(join.right, right)


def _join_keys(join: Join | DependentJoin) -> Keys:
    left = unique_keys(join.left)
    if join.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE):
        return left
    if join.kind is JoinKind.FULL:
        return _NONE
    if matches_at_most_one(join):
        return left
    right = unique_keys(join.right)
    if join.kind is JoinKind.INNER:
        left_columns = frozenset(a.column.id for a, _ in equal_columns(join.condition, join.left, join.right))
        if is_unique_on(join.left, left_columns):
            return right
    return frozenset([a | b for a in left for b in right][:_MOST])


def _renamed(keys: Keys, project: Project) -> Keys:
    if not keys:
        return _NONE
    target: dict[int, int] = {}
    for assign in project.assigns:
        if isinstance(assign.expr, ColumnRef):
            target.setdefault(assign.expr.column.id, assign.column.id)
    return frozenset(frozenset(target[column] for column in key) for key in keys if all(column in target for column in key))

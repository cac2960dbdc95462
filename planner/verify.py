"""Invariants of logical plans, and what a rule has to preserve. Used in tests and with QENGINE_VERIFY=1."""

from __future__ import annotations

from planner.analysis.free_columns import free_columns, output_ids, produced_columns, used_by_operator
from planner.analysis.nullability import non_null_columns
from planner.dtypes import BOOLEAN, NULL, DType
from planner.explain import ColumnNames, expression_text, logical_text
from planner.expr.equality import same_expression
from planner.expr.nodes import (
    AggregateCall,
    And,
    Assign,
    Case,
    ColumnRef,
    Compare,
    Expr,
    InList,
    InSubquery,
    Literal,
    Not,
    Or,
    ScalarSubquery,
    WindowCall,
)
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, DependentJoin, Filter, Join, LogicalPlan, Union, Values, Window
from planner.rule import RuleFault
from planner.tree import Node, kind_mask, walk


def check_rewrite(rule: str, before: Node, after: Node) -> None:
    """Compare a replacement with what it replaces. Raises RuleFault that names the rule."""
    problem = _difference(before, after) or plan_problem(after)
    if problem:
        raise RuleFault(rule, f"{problem}\nbefore:\n{_text(before)}\nafter:\n{_text(after)}")


def check_plan(plan: LogicalPlan, where: str) -> None:
    """Check all invariants of a whole plan. Raises RuleFault with `where` in place of a rule."""
    problem = plan_problem(plan)
    if problem:
        raise RuleFault(where, f"{problem}\n{_text(plan)}")


def _text(node: Node) -> str:
    if isinstance(node, LogicalPlan):
        return logical_text(node)
    return expression_text(node, ColumnNames()) if isinstance(node, Expr) else repr(node)


def _difference(before: Node, after: Node) -> str | None:
    if isinstance(before, Expr):
        if not isinstance(after, Expr) or after.dtype != before.dtype:
            return "the type changed"
    elif isinstance(before, LogicalPlan):
        if not isinstance(after, LogicalPlan):
            return "a plan became something else"
        if after.columns != before.columns:
            return f"the columns changed from {before.columns} to {after.columns}"
        if any(a.dtype != b.dtype for a, b in zip(before.columns, after.columns, strict=True)):
            return "the type of a column changed"
        lost = (non_null_columns(before) - non_null_columns(after)) & output_ids(after)
        if lost:
            return f"columns {sorted(lost)} can be NULL now"
    extra = free_columns(after) - free_columns(before)
    if extra:
        return f"columns {sorted(extra)} are used but nothing gives them"
    return None


def plan_problem(root: Node) -> str | None:
    """The first broken invariant below a node, or None."""
    produced = produced_columns_with_repeats(root)
    repeated = [column for column, count in produced.items() if count > 1]
    if repeated:
        return f"columns {sorted(repeated)} are produced more than once"
    for node in walk(root):
        if isinstance(node, LogicalPlan):
            problem = _operator_problem(node)
        elif isinstance(node, Assign):
            problem = None if _fits(node.expr.dtype, node.column.dtype) else f"{node.column} gets a {node.expr.dtype}"
        elif isinstance(node, Expr):
            problem = _expression_problem(node)
        else:
            problem = None
        if problem:
            return problem
    return None


def produced_columns_with_repeats(root: Node) -> dict[int, int]:
    """How many operators introduce a column, by id. A column that is passed through is not introduced again.

    An operand that an expression has twice (`(SELECT ...) BETWEEN a AND b`) has one subquery, which counts once.
    """
    seen: set[int] = set()
    counts: dict[int, int] = {column.id: 0 for column in produced_columns(root)}
    for node in walk(root, kind_mask(LogicalPlan)):
        if not isinstance(node, LogicalPlan) or id(node) in seen:
            continue
        seen.add(id(node))
        inherited: set[int] = set()
        for child in node.inputs:
            inherited |= output_ids(child)
        for column in node.columns:
            if column.id not in inherited:
                counts[column.id] = counts.get(column.id, 0) + 1
    return counts


def _operator_problem(plan: LogicalPlan) -> str | None:
    given: set[int] = set()
    for child in plan.inputs:
        given |= output_ids(child)
    columns = plan.columns
    if len(output_ids(plan)) != len(columns):
        return f"{type(plan).__name__} delivers a column twice: {columns}"
    if len(given) < sum(len(output_ids(child)) for child in plan.inputs):
        return f"two inputs of {type(plan).__name__} deliver the same column"
    # Free columns may come from a dependent join above; the check at the root of the plan sees whether one gives them.
    missing = used_by_operator(plan) - given - free_columns(plan)
    if missing:
        return f"{type(plan).__name__} uses columns {sorted(missing)} that its input does not give"
    match plan:
        case Filter():
            return None if plan.predicate.dtype == BOOLEAN else "a predicate is not BOOLEAN"
        case Join() | DependentJoin():
            if plan.condition.dtype != BOOLEAN:
                return "a join condition is not BOOLEAN"
            if (plan.mark is not None) != (plan.kind is JoinKind.MARK):
                return "a mark column without a MARK join, or the reverse"
            if isinstance(plan, Join) and free_columns(plan.right) & output_ids(plan.left):
                return "the right input of a join uses columns of the left one"
        case Aggregate():
            if any(not isinstance(assign.expr, AggregateCall) for assign in plan.aggregates):
                return "an aggregate is not an AggregateCall"
        case Window():
            for assign in plan.calls:
                call = assign.expr
                if not isinstance(call, WindowCall):
                    return "a call of Window is not a WindowCall"
                given_keys, wanted_keys = call.partition + call.order, plan.partition + plan.order
                if len(given_keys) != len(wanted_keys) or not all(map(same_expression, given_keys, wanted_keys)):
                    return "the calls of a Window differ in partition or order"
        case Union():
            for arm in plan.arms:
                if len(arm.columns) != len(columns) or any(not _fits(a.dtype, b.dtype) for a, b in zip(arm.columns, columns)):
                    return f"an arm of Union gives {arm.columns}"
        case Values():
            if any(len(row) != len(plan.schema) for row in plan.rows):
                return "a row of Values has another length than its schema"
    return None


def _fits(given: DType, expected: DType) -> bool:
    return given in (expected, NULL)


def _expression_problem(expr: Expr) -> str | None:
    match expr:
        case ColumnRef():
            same = expr.dtype == expr.column.dtype
            return None if same else f"a reference to {expr.column} is typed {expr.dtype}"
        case And() | Or():
            if len(expr.terms) < 2 or any(not _fits(term.dtype, BOOLEAN) for term in expr.terms):
                return "AND or OR over less than two terms, or over terms that are not BOOLEAN"
        case Not():
            return None if _fits(expr.operand.dtype, BOOLEAN) else "NOT of something that is not BOOLEAN"
        case Compare():
            if not (_fits(expr.left.dtype, expr.right.dtype) or _fits(expr.right.dtype, expr.left.dtype)):
                return f"{expr.left.dtype} is compared with {expr.right.dtype}"
        case InList():
            if any(not _fits(option.dtype, expr.needle.dtype) for option in expr.options):
                return "an IN list mixes types"
        case Case():
            if len(expr.conditions) != len(expr.results):
                return "a CASE with unequal numbers of conditions and results"
            if any(not _fits(result.dtype, expr.dtype) for result in (*expr.results, expr.otherwise)):
                return "a CASE mixes types"
        case ScalarSubquery() | InSubquery():
            if not (isinstance(expr.plan, LogicalPlan) and expr.plan.columns):
                return "a subquery without a column"
        case Literal():
            return None
    return None

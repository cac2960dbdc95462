"""Turning the subqueries of expressions into dependent joins on the plan that the expressions read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.analysis.keys import exactly_one_row
from planner.analysis.nullability import never_null, non_null_columns
from planner.dtypes import BIGINT, BOOLEAN
from planner.expr.nodes import (
    FALSE,
    TRUE,
    AggregateCall,
    And,
    Assign,
    Case,
    Compare,
    CompareOp,
    Exists,
    Expr,
    InSubquery,
    IsNull,
    Literal,
    Not,
    Or,
    ScalarSubquery,
    disjunction,
)
from planner.expr.predicates import all_of
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, DependentJoin, Limit, LogicalPlan, Project, Sort, Window
from planner.logical.reallocate import fresh_copy
from planner.rule import OptimizerContext
from planner.schema import Column
from planner.tree import Node, kind_mask, rewrite

N = TypeVar("N", bound=Node)

SUBQUERIES = kind_mask(ScalarSubquery, Exists, InSubquery)
_NULL = Literal(BOOLEAN, None)
_ZERO = Literal(BIGINT, 0)


class Attachment:
    """A plan that grows by one dependent join for every subquery; `plan` always gives the columns it began with."""

    def __init__(self, plan: LogicalPlan, context: OptimizerContext) -> None:
        self.plan = plan
        self._context = context
        self._replaced: dict[int, tuple[Expr, Expr]] = {}

    def replace_all(self, nodes: Sequence[N]) -> tuple[N, ...]:
        return tuple(self.replace(node) for node in nodes)

    def replace(self, node: N) -> N:
        """The expression with its subqueries attached to the plan and replaced by the columns that they give."""
        if not node.kinds & SUBQUERIES:
            return node
        guards = _guards(node)

        def attach(found: Node) -> Node:
            if id(found) in self._replaced:  # one subquery in two places, as the operand of BETWEEN is
                return self._replaced[id(found)][1]
            match found:
                case ScalarSubquery():
                    value = self._scalar(found, self._guard(guards.get(id(found), ())))
                case Exists():
                    value = self._exists(found)
                case _:
                    assert isinstance(found, InSubquery)
                    value = self._in(found)
            assert isinstance(found, Expr)
            self._replaced[id(found)] = found, value
            return value

        return cast(N, rewrite(node, attach, SUBQUERIES))

    def filter_by(self, term: Expr) -> Expr | None:
        """Keep the rows for which EXISTS, IN or the negation of one is true; what is left to be filtered by is returned."""
        negated = isinstance(term, Not)
        test = term.operand if isinstance(term, Not) else term
        kind = JoinKind.ANTI if negated else JoinKind.SEMI
        if isinstance(test, Exists):
            plan = for_existence(self._inner(test.plan))
            if exactly_one_row(plan):
                return FALSE if negated else None
            self._join(plan, kind, TRUE)
            return None
        assert isinstance(test, InSubquery)
        needle = self.replace(test.needle)
        plan, column = self._one_column(test.plan)
        equal = Compare(BOOLEAN, CompareOp.EQ, needle, reference(column))
        rest: Expr | None = None
        if negated and not self._never_unknown(needle, plan, column):
            # NOT IN is true only if no comparison is unknown either.
            rows, unknown = self._unknown_comparisons(needle, plan, column)
            rest = disjunction([Compare(BOOLEAN, CompareOp.EQ, rows, _ZERO), Not(BOOLEAN, unknown)])
        self._join(plan, kind, equal)
        return rest

    def _guard(self, conditions: tuple[Expr, ...]) -> Expr:
        """The conjunction of conditions, as far as their own subqueries are attached already; a weaker guard is sound."""

        def known(found: Node) -> Node | None:
            return self._replaced[id(found)][1] if id(found) in self._replaced else None

        terms = [cast(Expr, rewrite(condition, known, SUBQUERIES)) for condition in conditions]
        return all_of(term for term in terms if not term.kinds & SUBQUERIES)

    def _scalar(self, found: ScalarSubquery, guard: Expr) -> Expr:
        plan, column = self._one_column(found.plan)
        self._join(plan, JoinKind.SINGLE, guard)
        return reference(column)

    def _exists(self, found: Exists) -> Expr:
        plan = for_existence(self._inner(found.plan))
        return TRUE if exactly_one_row(plan) else self._mark(plan, TRUE)

    def _in(self, found: InSubquery) -> Expr:
        plan, column = self._one_column(found.plan)
        needle = found.needle
        certain = self._never_unknown(needle, plan, column)
        rows = unknown = None
        if not certain:
            rows, unknown = self._unknown_comparisons(needle, plan, column)
        mark = self._mark(plan, Compare(BOOLEAN, CompareOp.EQ, needle, reference(column)))
        if rows is None or unknown is None:
            return mark
        some = And(BOOLEAN, (Compare(BOOLEAN, CompareOp.GT, rows, _ZERO), unknown))
        return Case(BOOLEAN, (mark, some), (TRUE, _NULL), FALSE)

    def _never_unknown(self, needle: Expr, plan: LogicalPlan, column: Column) -> bool:
        return column.id in non_null_columns(plan) and never_null(needle, non_null_columns(self.plan))

    def _unknown_comparisons(self, needle: Expr, plan: LogicalPlan, column: Column) -> tuple[Expr, Expr]:
        """How many rows the subquery has, and whether (if it has one) some comparison with the needle is NULL.

        Two counts over a copy of the subquery decide it, so that the test itself stays a join on equality.
        """
        copy, fresh = fresh_copy(plan, self._context.allocator)
        rows = self._context.allocator.new("rows", BIGINT)
        known = self._context.allocator.new("known", BIGINT)
        calls = (
            Assign(rows, AggregateCall(BIGINT, "count_star", ())),
            Assign(known, AggregateCall(BIGINT, "count", (reference(fresh.get(column.id, column)),))),
        )
        self._join(Aggregate(copy, (), calls), JoinKind.SINGLE, TRUE)
        less = Compare(BOOLEAN, CompareOp.LT, reference(known), reference(rows))
        return reference(rows), Or(BOOLEAN, (IsNull(BOOLEAN, needle), less))

    def _mark(self, plan: LogicalPlan, condition: Expr) -> Expr:
        mark = self._context.allocator.new("mark", BOOLEAN)
        self._join(plan, JoinKind.MARK, condition, mark)
        return reference(mark)

    def _join(self, plan: LogicalPlan, kind: JoinKind, condition: Expr, mark: Column | None = None) -> None:
        self.plan = DependentJoin(self.plan, plan, kind, condition, mark)

    def _one_column(self, node: Node) -> tuple[LogicalPlan, Column]:
        """The subquery's plan with its first column only, which belongs to no other plan."""
        plan = self._inner(node)
        column = plan.columns[0]
        if column.id in free_columns(plan) or column.id in output_ids(self.plan):
            fresh = self._context.allocator.copy_of(column)
            return Project(plan, (Assign(fresh, reference(column)),)), fresh
        if len(plan.columns) > 1:
            return Project(plan, (Assign(column, reference(column)),)), column
        return plan, column

    def _inner(self, node: Node) -> LogicalPlan:
        """A subquery's plan that gives none of the columns of the plan it is attached to."""
        assert isinstance(node, LogicalPlan)
        if isinstance(node, Project) and output_ids(node) & (free_columns(node) | output_ids(self.plan)):
            return Project(node.input, tuple(Assign(self._context.allocator.copy_of(a.column), a.expr) for a in node.assigns))
        return node


def for_existence(plan: LogicalPlan) -> LogicalPlan:
    """A plan that has a row exactly if `plan` has one: projections, orders, groups and limits do not matter."""
    while True:
        match plan:
            case Project() | Sort() | Window():
                plan = plan.input
            case Limit() if plan.offset == 0 and plan.limit != 0:
                plan = plan.input
            case Aggregate() if plan.keys:
                plan = plan.input
            case _:
                return plan


def _guards(root: Node) -> dict[int, tuple[Expr, ...]]:
    """For scalar subqueries that can raise inside of CASE: the conditions under which their value is wanted."""
    guards: dict[int, tuple[Expr, ...]] = {}
    stack: list[tuple[Node, tuple[Expr, ...]]] = [(root, ())]
    while stack:
        current, conditions = stack.pop()
        if not current.kinds & SUBQUERIES:
            continue
        if isinstance(current, ScalarSubquery):
            if conditions and can_raise(current):
                guards[id(current)] = conditions
        elif isinstance(current, Case):
            passed = conditions
            for condition, result in zip(current.conditions, current.results, strict=True):
                stack += ((condition, passed), (result, (*passed, condition)))
                passed = (*passed, Case(BOOLEAN, (condition,), (FALSE,), TRUE))
            stack.append((current.otherwise, passed))
        elif not isinstance(current, (Exists, InSubquery)):
            stack.extend((child, conditions) for child in current.children)
    return guards

"""Removing correlation of any shape: the domain, the distinct outer values, is joined to the leaves and carried up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.analysis.free_columns import free_columns
from planner.analysis.keys import at_most_one_row, exactly_one_row, matches_at_most_one
from planner.analysis.nullability import non_null_columns
from planner.dtypes import BIGINT, BOOLEAN
from planner.errors import error
from planner.expr.nodes import (
    FALSE,
    TRUE,
    Assign,
    Call,
    Compare,
    CompareOp,
    Expr,
    Frame,
    Literal,
    SortKey,
    WindowCall,
)
from planner.expr.predicates import all_of
from planner.expr.substitute import reference, rename
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
    Union,
    Window,
    pass_through,
)
from planner.logical.reallocate import fresh_copy
from planner.optimizer.unnesting.scalar_aggregate import zero_counts
from planner.schema import Column, ColumnAllocator

Columns = Mapping[int, Column]
"""The column that stands for an outer column, by the outer column's id."""


@dataclass(frozen=True, slots=True)
class _Pushed:
    """A plan that was evaluated for every value of the domain: its old columns, and one for each outer column."""

    plan: LogicalPlan
    columns: Columns


def join_by_domain(join: DependentJoin, outer: frozenset[int], allocator: ColumnAllocator) -> LogicalPlan:
    """The dependent join as a join with its right input evaluated for all distinct values of the outer columns at once.

    The left input is evaluated twice.
    """
    pusher = _DomainPusher(join.left, outer, allocator)
    right = pusher.push(join.right)
    condition = all_of(join.condition, pusher.match(pusher.outer, right.columns))
    joined = Join(join.left, right.plan, join.kind, condition, join.mark)
    if join.kind is JoinKind.SINGLE and matches_at_most_one(joined):
        joined = joined.replace(kind=JoinKind.LEFT)
    return joined if joined.columns == join.columns else Project(joined, pass_through(join.columns))


class _DomainPusher:
    def __init__(self, left: LogicalPlan, outer: frozenset[int], allocator: ColumnAllocator) -> None:
        self._left = left
        self._allocator = allocator
        self.outer = {column.id: column for column in left.columns if column.id in outer}
        self._never_null = non_null_columns(left)

    def _domain(self) -> _Pushed:
        """A new copy of the domain."""
        copy, fresh = fresh_copy(self._left, self._allocator)
        columns = {id: self._allocator.copy_of(column) for id, column in self.outer.items()}
        keys = tuple(Assign(column, reference(fresh[id])) for id, column in columns.items())
        return _Pushed(Aggregate(copy, keys, ()), columns)

    def match(self, a: Columns, b: Columns) -> list[Expr]:
        """Conditions that two sides are about the same value of the domain."""
        return [
            Compare(
                BOOLEAN,
                CompareOp.EQ if id in self._never_null else CompareOp.NOT_DISTINCT,
                reference(a[id]),
                reference(b[id]),
            )
            for id in self.outer
        ]

    def push(self, plan: LogicalPlan) -> _Pushed:
        """Evaluate `plan` for every value of the domain."""
        if not free_columns(plan) & self.outer.keys():
            domain = self._domain()
            return _Pushed(Join(domain.plan, plan, JoinKind.INNER, TRUE), domain.columns)
        match plan:
            case Filter():
                below = self.push(plan.input)
                return _Pushed(Filter(below.plan, rename(plan.predicate, below.columns)), below.columns)
            case Project():
                below = self.push(plan.input)
                return self._project(below, plan.assigns)
            case Sort():
                return self.push(plan.input)  # nobody sees the order of a subquery
            case Aggregate():
                return self._aggregate(plan)
            case Join():
                return self._join(plan)
            case Window():
                return self._window(plan)
            case Union():
                return self._union(plan)
            case Limit() | TopN():
                return self._limit(plan)
        raise error("INTERNAL", detail=f"{type(plan).__name__} inside of a dependent join")

    def _project(self, below: _Pushed, assigns: tuple[Assign, ...]) -> _Pushed:
        """The assignments, and the domain's columns beside them."""
        renamed = tuple(rename(assign, below.columns) for assign in assigns)
        given = {assign.column.id for assign in renamed}
        more = tuple(column for column in below.columns.values() if column.id not in given)
        return _Pushed(Project(below.plan, renamed + pass_through(more)), below.columns)

    def _aggregate(self, plan: Aggregate) -> _Pushed:
        below = self.push(plan.input)
        keys = tuple(rename(key, below.columns) for key in plan.keys)
        calls = tuple(rename(call, below.columns) for call in plan.aggregates)
        given = {key.column.id for key in keys}
        domain_keys = pass_through(tuple(c for c in below.columns.values() if c.id not in given))
        if plan.keys:
            return _Pushed(Aggregate(below.plan, keys + domain_keys, calls), below.columns)
        # A value of the domain without any row still has a group, which is empty.
        counted, values = zero_counts(calls, self._allocator)
        groups = Aggregate(below.plan, domain_keys, counted)
        domain = self._domain()
        condition = all_of(self.match(domain.columns, below.columns))
        joined = Join(domain.plan, groups, JoinKind.LEFT, condition)
        kept = pass_through(tuple(domain.columns.values()))
        return _Pushed(Project(joined, values + kept), domain.columns)

    def _join(self, plan: Join) -> _Pushed:
        correlated_left = bool(free_columns(plan.left) & self.outer.keys())
        correlated_right = bool(free_columns(plan.right) & self.outer.keys())
        if plan.kind is JoinKind.FULL:
            return self._full_join(plan)
        if plan.kind is JoinKind.INNER and correlated_right and not correlated_left:
            right = self.push(plan.right)
            joined = Join(plan.left, right.plan, plan.kind, rename(plan.condition, right.columns))
            return _Pushed(joined, right.columns)
        left = self.push(plan.left)
        condition = rename(plan.condition, left.columns)
        if not correlated_right:
            return _Pushed(plan.replace(left=left.plan, condition=condition), left.columns)
        right = self.push(plan.right)
        condition = all_of(condition, self.match(left.columns, right.columns))
        return _Pushed(Join(left.plan, right.plan, plan.kind, condition, plan.mark), left.columns)

    def _full_join(self, plan: Join) -> _Pushed:
        """Both sides carry the domain; a row without a partner has it on one side only."""
        left, right = self.push(plan.left), self.push(plan.right)
        condition = all_of(rename(plan.condition, left.columns), self.match(left.columns, right.columns))
        joined = Join(left.plan, right.plan, plan.kind, condition)
        merged = {id: self._allocator.copy_of(column) for id, column in self.outer.items()}
        either = tuple(
            Assign(column, Call(column.dtype, "coalesce", (reference(left.columns[id]), reference(right.columns[id]))))
            for id, column in merged.items()
        )
        return _Pushed(Project(joined, pass_through(plan.columns) + either), merged)

    def _window(self, plan: Window) -> _Pushed:
        """Every value of the domain has partitions of its own."""
        below = self.push(plan.input)
        domain = tuple(reference(column) for column in below.columns.values())
        calls = []
        for assign in plan.calls:
            call = rename(assign, below.columns).expr
            assert isinstance(call, WindowCall)
            calls.append(assign.replace(expr=call.replace(partition=call.partition + domain)))
        return _Pushed(Window(below.plan, tuple(calls)), below.columns)

    def _union(self, plan: Union) -> _Pushed:
        """Every arm for every value of the domain."""
        domain = {id: self._allocator.copy_of(column) for id, column in self.outer.items()}
        arms = []
        for arm in plan.arms:
            pushed = self.push(arm)
            given = tuple(reference(column) for column in (*arm.columns, *(pushed.columns[id] for id in domain)))
            arms.append(Project(pushed.plan, tuple(Assign(self._allocator.copy_of(ref.column), ref) for ref in given)))
        return _Pushed(Union(tuple(arms), (*plan.schema, *domain.values())), domain)

    def _limit(self, plan: Limit | TopN) -> _Pushed:
        if plan.limit == 0:
            below = self.push(plan.input)
            return _Pushed(Filter(below.plan, FALSE), below.columns)
        if plan.offset == 0 and (plan.limit is None or at_most_one_row(plan.input) or exactly_one_row(plan.input)):
            return self.push(plan.input)
        source, keys = plan.input, plan.keys if isinstance(plan, TopN) else ()
        projects: list[Project] = []
        while not keys and isinstance(source, (Project, Sort)):
            if isinstance(source, Project):
                projects.append(source)
            else:
                keys = source.keys
            source = source.input
        below = self._number(self.push(source), keys, plan)
        for project in reversed(projects):
            below = self._project(below, project.assigns)
        return below

    def _number(self, rows: _Pushed, keys: tuple[SortKey, ...], plan: Limit | TopN) -> _Pushed:
        """For every value of the domain, its rows that the limit keeps, found by their numbers in the order of the keys."""
        columns = [self._allocator.new("key", key.expr.dtype) for key in keys]
        computed = tuple(Assign(column, rename(key.expr, rows.columns)) for column, key in zip(columns, keys, strict=True))
        keyed = Project(rows.plan, pass_through(rows.plan.columns) + computed)
        order = tuple(key.replace(expr=reference(column)) for column, key in zip(columns, keys, strict=True))
        domain = tuple(reference(column) for column in rows.columns.values())
        number = self._allocator.new("number", BIGINT)
        call = WindowCall(BIGINT, "row_number", (), domain, order, Frame.WHOLE)
        numbered = Window(keyed, (Assign(number, call),))
        bounds = [Compare(BOOLEAN, CompareOp.GT, reference(number), Literal(BIGINT, plan.offset))]
        if plan.limit is not None:
            bounds.append(Compare(BOOLEAN, CompareOp.LE, reference(number), Literal(BIGINT, plan.offset + plan.limit)))
        return _Pushed(Filter(numbered, all_of(*bounds)), rows.columns)

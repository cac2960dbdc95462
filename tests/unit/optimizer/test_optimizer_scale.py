"""Wide and deep plans are optimized without recursion errors and in reasonable time."""

from __future__ import annotations

import time

import pytest

from planner.dtypes import BIGINT, BOOLEAN, INTEGER
from planner.explain import logical_text
from planner.expr.nodes import And, Assign, Call, Cast, Compare, CompareOp, Expr, Literal, Or
from planner.expr.substitute import reference
from planner.logical.nodes import Filter, LogicalPlan, Project, Scan
from planner.optimizer import optimize
from planner.rule import OptimizerContext
from planner.schema import ColumnAllocator
from tests.plans import snapshot

SECONDS = 6.0
"""Generous: the machine may be busy. Alone each of these takes less than two."""


def table(allocator: ColumnAllocator) -> Scan:
    a = allocator.new("a", INTEGER)
    return Scan(snapshot("t", [("a", INTEGER, True)], 1000), ((a, 0),))


def comparison(expr: Expr, value: int) -> Expr:
    return Compare(BOOLEAN, CompareOp.NE, expr, Literal(expr.dtype, value))


def optimized(plan: LogicalPlan, allocator: ColumnAllocator, **options: bool) -> LogicalPlan:
    started = time.perf_counter()
    result = optimize(plan, OptimizerContext(allocator, verify=False, **options))
    assert time.perf_counter() - started < SECONDS
    return result


def test_ten_thousand_terms() -> None:
    allocator = ColumnAllocator()
    scan = table(allocator)
    a = reference(scan.columns[0])
    ands = And(BOOLEAN, tuple(comparison(a, i) for i in range(10_000)))
    ors = Or(BOOLEAN, tuple(And(BOOLEAN, (comparison(a, i), comparison(a, i + 1))) for i in range(5_000)))
    assert isinstance(optimized(Filter(scan, ands), allocator), Filter)
    assert isinstance(optimized(Filter(scan, ors), allocator), Filter)


def test_two_thousand_filters_become_one() -> None:
    allocator = ColumnAllocator()
    plan: LogicalPlan = table(allocator)
    a = reference(plan.columns[0])
    for i in range(2_000):
        plan = Filter(plan, comparison(a, i))
    result = optimized(plan, allocator)
    assert isinstance(result, Filter)
    assert isinstance(result.input, Scan)


def test_two_thousand_filters_that_can_raise_stay() -> None:
    allocator = ColumnAllocator()
    plan: LogicalPlan = table(allocator)
    a = reference(plan.columns[0])
    for i in range(2_000):
        plan = Filter(plan, comparison(Call(INTEGER, "add", (a, Literal(INTEGER, i))), i))
    assert logical_text(optimized(plan, allocator)).count("Filter") == 2_000


@pytest.mark.parametrize("expression", ["pass", "add", "cast"])
def test_two_thousand_projections(expression: str) -> None:
    allocator = ColumnAllocator()
    plan: LogicalPlan = table(allocator)
    for i in range(2_000):
        below = reference(plan.columns[0])
        expr: Expr = below
        if expression == "add":
            expr = Call(INTEGER, "add", (below, Literal(INTEGER, 1)))
        elif expression == "cast":
            expr = Cast(BIGINT if i % 2 == 0 else INTEGER, below)
        plan = Project(plan, (Assign(allocator.new("a", expr.dtype), expr),))
    result = optimized(plan, allocator)
    assert result.columns == plan.columns
    assert logical_text(result).count("Project") <= (1 if expression == "pass" else 100)


def test_a_filter_over_two_thousand_projections() -> None:
    allocator = ColumnAllocator()
    plan: LogicalPlan = table(allocator)
    for i in range(2_000):
        plan = Project(plan, (Assign(allocator.new("a", INTEGER), reference(plan.columns[0])),))
        if i % 2:
            plan = Filter(plan, comparison(reference(plan.columns[0]), i))
    text = logical_text(optimized(plan, allocator))
    assert text.count("Filter") == 1

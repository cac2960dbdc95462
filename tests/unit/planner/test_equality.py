"""Structural equality of expressions."""

from __future__ import annotations

import math

import pytest

from planner import dtypes as t
from planner.expr.equality import same_expression
from planner.expr.nodes import AggregateCall, Call, ColumnRef, Expr, Literal
from planner.schema import Column

A, B = Column(1, "a", t.INTEGER), Column(2, "a", t.INTEGER)


def ref(column: Column) -> ColumnRef:
    return ColumnRef(column.dtype, column)


def add(*arguments: Expr) -> Call:
    return Call(t.INTEGER, "add", arguments)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (ref(A), ref(A), True),
        (ref(A), ref(B), False),
        (add(ref(A), Literal(t.INTEGER, 1)), add(ref(A), Literal(t.INTEGER, 1)), True),
        (add(ref(A), Literal(t.INTEGER, 1)), add(ref(A), Literal(t.BIGINT, 1)), False),
        (add(ref(A), ref(B)), add(ref(A), ref(B), ref(B)), False),
        (Literal(t.BOOLEAN, True), Literal(t.BOOLEAN, 1), False),
        (Literal(t.DOUBLE, math.nan), Literal(t.DOUBLE, math.nan), True),
        (Literal(t.DOUBLE, 0.0), Literal(t.DOUBLE, -0.0), False),
        (AggregateCall(t.BIGINT, "sum", (ref(A),)), AggregateCall(t.BIGINT, "sum", (ref(A),), True), False),
        (AggregateCall(t.BIGINT, "sum", (ref(A),)), AggregateCall(t.BIGINT, "sum", (ref(A),), False, ref(B)), False),
    ],
)
def test_same_expression(first, second, same):
    assert same_expression(first, second) is same


def test_depth_does_not_matter():
    first = second = ref(A)
    for _ in range(20_000):
        first, second = Call(t.INTEGER, "negate", (first,)), Call(t.INTEGER, "negate", (second,))
    assert same_expression(first, second)

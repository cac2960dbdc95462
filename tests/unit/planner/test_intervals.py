"""Interval arithmetic holds every value that the expression can take: checked against all values of small ranges."""

import itertools
from decimal import Decimal

import pytest

from planner.analysis.intervals import (
    Interval,
    checked_interval,
    divide_rounding,
    expression_interval,
    rescale,
    scaled_value,
    type_interval,
)
from planner.dtypes import BIGINT, DOUBLE, INTEGER, decimal
from planner.expr.nodes import Call, Cast, ColumnRef, Literal
from planner.physical.encodings import Encoding, encoding_for
from planner.schema import Column

A, B = Column(1, "a", INTEGER), Column(2, "b", INTEGER)
RANGES = [(-3, 2), (0, 0), (1, 4), (-5, -2)]


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "integer_divide": truncated,
    "modulo": lambda a, b: a - b * truncated(a, b),
}


@pytest.mark.parametrize("function", BINARY)
def test_binary_calls_contain_all_their_values(function):
    expr = Call(INTEGER, function, (ColumnRef(INTEGER, A), ColumnRef(INTEGER, B)))
    for first, second in itertools.product(RANGES, RANGES):
        interval = expression_interval(expr, {1: Interval(*first), 2: Interval(*second)})
        for a in range(first[0], first[1] + 1):
            for b in range(second[0], second[1] + 1):
                if b == 0 and function in ("integer_divide", "modulo"):
                    continue
                assert interval.within(-(10**9), 10**9)
                assert interval.low <= BINARY[function](a, b) <= interval.high, (function, first, second, a, b)


@pytest.mark.parametrize("function, apply", [("negate", lambda a: -a), ("abs", abs)])
def test_unary_calls_contain_all_their_values(function, apply):
    expr = Call(INTEGER, function, (ColumnRef(INTEGER, A),))
    for low, high in RANGES:
        interval = expression_interval(expr, {1: Interval(low, high)})
        values = [apply(a) for a in range(low, high + 1)]
        assert (interval.low, interval.high) == (min(values), max(values))


def test_a_decimal_product_has_the_sum_of_the_scales():
    price, discount = Column(1, "p", decimal(15, 2)), Column(2, "d", decimal(15, 2))
    expr = Call(decimal(30, 4), "multiply", (ColumnRef(price.dtype, price), ColumnRef(discount.dtype, discount)))
    assert expression_interval(expr, {1: Interval(0, 500), 2: Interval(-2, 10)}) == Interval(-1000, 5000)
    whole_type = expression_interval(expr, {})
    assert whole_type.high == (10**15 - 1) ** 2


def test_addition_brings_operands_to_the_scale_of_the_result():
    expr = Call(decimal(6, 2), "add", (Literal(decimal(2, 1), Decimal("1.5")), Literal(decimal(3, 2), Decimal("0.25"))))
    assert expression_interval(expr, {}) == Interval(175, 175)


def test_what_a_consumer_sees_is_inside_of_the_type():
    expr = Call(INTEGER, "add", (ColumnRef(INTEGER, A), ColumnRef(INTEGER, B)))
    assert expression_interval(expr, {}).high == 2 * (2**31 - 1)
    assert checked_interval(expr, {}) == type_interval(INTEGER)


def test_a_cast_to_fewer_digits_rounds_half_away_from_zero():
    assert rescale(Interval(-25, 25), 1, 0) == Interval(-3, 3)
    cast = Cast(decimal(5, 0), Literal(decimal(3, 1), Decimal("2.5")))
    assert expression_interval(cast, {}) == Interval(3, 3)


@pytest.mark.parametrize("numerator, denominator, quotient", [(5, 2, 3), (-5, 2, -3), (5, -2, -3), (4, 3, 1), (0, 7, 0)])
def test_divide_rounding(numerator, denominator, quotient):
    assert divide_rounding(numerator, denominator) == quotient


@pytest.mark.parametrize(
    "value, dtype, scaled",
    [(Decimal("1.25"), decimal(5, 2), 125), (Decimal("1.255"), decimal(5, 2), 126), (Decimal("1E+2"), decimal(5, 0), 100),
     (Decimal("-0.005"), decimal(5, 2), -1), (7, BIGINT, 7), (7, decimal(5, 1), 70)],
)  # fmt: skip
def test_scaled_value(value, dtype, scaled):
    assert scaled_value(value, dtype) == scaled


@pytest.mark.parametrize(
    "interval, encoding",
    [(Interval(0, 2**63 - 1), Encoding.INT64), (Interval(-(2**63), 0), Encoding.INT64), (Interval(0, 2**63), Encoding.INT128),
     (Interval(0, 10**38 - 1), Encoding.INT128), (Interval(0, 10**38), Encoding.DEC38), (None, Encoding.DEC38)],
)  # fmt: skip
def test_the_tier_is_the_narrowest_that_is_proven(interval, encoding):
    assert encoding_for(decimal(38, 2), interval) is encoding
    assert encoding_for(DOUBLE, interval) is Encoding.PLAIN

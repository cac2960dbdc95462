"""Exact arithmetic on scaled integers in three tiers, and the checks that keep it exact.

Polars wraps Int64 and Int128 silently, and its decimals raise. So an operation is done in the narrowest tier whose range is
*proven* by intervals to hold every operand and result, and in Decimal(38, 0) where nothing is proven; its result is compared
with the range of its SQL type only where the interval does not prove that it fits.
"""

from __future__ import annotations

import polars as pl

from exec.kernels.failure import failure
from exec.kernels.limits import lies_outside
from exec.lower.column_types import DECIMAL38, polars_type, tier_type
from planner.analysis.intervals import Bounds, Interval, clip, type_interval
from planner.dtypes import DecimalType, DType
from planner.physical.encodings import Encoding, encoding_for, tier_for

WIDTH = {Encoding.PLAIN: 0, Encoding.INT64: 1, Encoding.INT128: 2, Encoding.DEC38: 3}
"""Tiers by width; PLAIN is an integer in its natural type."""


def column_encoding(dtype: DType, column: int, bounds: Bounds) -> Encoding:
    """The encoding of a column inside of a frame."""
    return encoding_for(dtype, bounds.get(column) or type_interval(dtype))


def wider(a: Encoding, b: Encoding) -> Encoding:
    return a if WIDTH[a] >= WIDTH[b] else b


def tier_of_magnitude(magnitude: int) -> Encoding:
    """The tier that holds every integer of at most this absolute value."""
    return tier_for(Interval(-magnitude, magnitude))


def convert(expr: pl.Expr, source: Encoding, target: Encoding) -> pl.Expr:
    """The same integers in another tier. The caller knows that they fit; PLAIN as a target is not one."""
    if source is target:
        return expr
    if target is Encoding.DEC38:
        return expr.cast(DECIMAL38)
    if source is Encoding.DEC38:
        expr = expr.to_physical()
        return expr if target is Encoding.INT128 else expr.cast(pl.Int64)
    return expr.cast(tier_type(target))


def constant(value: int, tier: Encoding) -> pl.Expr:
    return pl.lit(value, dtype=tier_type(tier))


def finish(expr: pl.Expr, tier: Encoding, raw: Interval, dtype: DType) -> pl.Expr:
    """An exact result of a tier in the form of its SQL type; a value outside of the type's range is an error.

    `raw` is the interval of the values before the check.
    """
    limit = type_interval(dtype)
    assert limit is not None
    proven = raw.within(limit.low, limit.high)
    if not isinstance(dtype, DecimalType):
        natural = polars_type(dtype, Encoding.PLAIN)
        if tier is Encoding.DEC38:
            expr = expr.to_physical()
        elif proven and tier_type(tier) == natural:
            return expr
        return expr.cast(natural)
    if not proven:
        expr = checked(expr if tier is not Encoding.DEC38 else expr.to_physical(), limit, dtype, tier)
        tier = Encoding.INT128 if tier is Encoding.DEC38 else tier
    return convert(expr, tier, encoding_for(dtype, clip(raw, limit)))


def checked(expr: pl.Expr, limit: Interval, dtype: DType, tier: Encoding) -> pl.Expr:
    """The expression itself; OVERFLOW if one of its integers lies outside of `limit`. Two passes over values in the cache."""
    low, high = limit.low, limit.high

    def check(values: pl.Series) -> pl.Series:
        if lies_outside(values, low, high):
            raise failure("OVERFLOW", dtype=dtype)
        return values

    return expr.map_batches(check, pl.Int64() if tier is Encoding.INT64 else pl.Int128(), is_elementwise=True)


def divide_half_away(expr: pl.Expr, divisor: int, tier: Encoding, interval: Interval) -> pl.Expr:
    """Integers of INT64 or INT128 divided by a positive even constant, rounded half away from zero.

    Polars divides toward minus infinity, so the sign is taken off where it can be negative.
    """
    half, whole = constant(divisor // 2, tier), constant(divisor, tier)
    if interval.low >= 0:
        return (expr + half) // whole
    return ((expr.abs() + half) // whole) * expr.sign()


def truncated_quotient(dividend: pl.Expr, divisor: pl.Expr, non_negative: bool) -> pl.Expr:
    """Integer division toward zero. `non_negative`: neither operand can be negative."""
    if non_negative:
        return dividend // divisor
    return (dividend.abs() // divisor.abs()) * dividend.sign() * divisor.sign()


def truncated_remainder(dividend: pl.Expr, divisor: pl.Expr, non_negative: bool) -> pl.Expr:
    """The remainder of division toward zero: it has the sign of the dividend."""
    if non_negative:
        return dividend % divisor
    return (dividend.abs() % divisor.abs()) * dividend.sign()


def zero_checked(divisor: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The expression itself; DIVISION_BY_ZERO if one of its values is zero."""

    def check(values: pl.Series) -> pl.Series:
        if (values == 0).any():
            raise failure("DIVISION_BY_ZERO")
        return values

    return divisor.map_batches(check, dtype, is_elementwise=True)

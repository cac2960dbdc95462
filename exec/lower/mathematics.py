"""Functions of numbers beyond arithmetic, and the greatest and least of values of any type."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from exec.kernels.failure import failure
from exec.kernels.texts import by_row
from exec.lower.exact import constant, convert, finish, truncated_quotient
from exec.lower.expressions import Guard, Lowering, guarded
from planner.analysis.intervals import Interval, clip, type_interval
from planner.dtypes import BIGINT, DecimalType, is_exact, is_float, scale_of
from planner.errors import error
from planner.expr.nodes import Call, Literal
from planner.physical.encodings import Encoding, encoding_for


def double(function: Callable[[pl.Expr], pl.Expr]) -> Callable[[Lowering, Call, Guard], pl.Expr]:
    """A kernel of one DOUBLE that Polars has."""

    def kernel(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
        return function(low.lower(call.arguments[0], guard))

    return kernel


def vectorized(function: Callable[..., np.ndarray]) -> Callable[[Lowering, Call, Guard], pl.Expr]:
    """A kernel of DOUBLEs that numpy has."""

    def compute(columns: Sequence[pl.Series]) -> pl.Series:
        length = max(len(column) for column in columns)
        arrays = [column.cast(pl.Float64).fill_null(1.0).to_numpy() for column in columns]
        with np.errstate(all="ignore"):
            values = pl.Series(columns[0].name, np.broadcast_to(function(*arrays), length), dtype=pl.Float64)
        for column in columns:
            if column.null_count():
                known = column.is_not_null() if len(column) == length else pl.Series([False] * length, dtype=pl.Boolean)
                values = values.set(~known, None)
        return values

    def kernel(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
        arguments = [low.lower(argument, guard) for argument in call.arguments]
        return pl.map_batches(arguments, compute, return_dtype=pl.Float64(), is_elementwise=True)

    return kernel


def even(values: np.ndarray) -> np.ndarray:
    """The next even number away from zero."""
    return np.copysign(np.ceil(np.abs(values) / 2) * 2, values)


def sign(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """-1, 0 or 1; 0 of NaN."""
    argument = call.arguments[0]
    value = low.lower(argument, guard)
    if low.encoding(argument) is Encoding.DEC38:
        value = value.to_physical()
    zero = pl.lit(0, dtype=pl.Int8())
    positive = value > 0
    if is_float(argument.dtype):
        positive &= value.is_not_nan()
    found = pl.when(positive).then(pl.lit(1, dtype=pl.Int8())).when(value < 0).then(pl.lit(-1, dtype=pl.Int8())).otherwise(zero)
    return pl.when(value.is_not_null()).then(found)


def trunc(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """Toward zero, at a number of digits after the point."""
    operand, places = call.arguments
    assert isinstance(places, Literal)
    if not is_exact(operand.dtype):
        value = low.lower(operand, guard)
        return pl.when(value < 0).then(value.ceil()).otherwise(value.floor())
    dropped = scale_of(operand.dtype) - int(places.value)
    if dropped > 37:
        return pl.when(low.lower(operand, guard).is_not_null()).then(pl.lit(0, dtype=low.polars_type(call)))
    interval = low.interval(operand)
    shift = scale_of(call.dtype) - (scale_of(operand.dtype) - dropped)
    tier = Encoding.INT64 if max(interval.magnitude, 10**dropped) < 2**63 else Encoding.INT128
    unit = constant(10**dropped, tier)
    value = truncated_quotient(low.in_tier(operand, tier, guard), unit, interval.low >= 0)
    if shift:
        value = value * constant(10**shift, tier)
    limit = type_interval(call.dtype)
    assert limit is not None
    raw = Interval(min(interval.low, 0), max(interval.high, 0))
    lowered = finish(value, tier, clip(raw, limit), call.dtype)
    if not isinstance(call.dtype, DecimalType):
        return lowered
    return convert(lowered, encoding_for(call.dtype, clip(raw, limit)), low.encoding(call))


def greatest_common_divisor(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _by_integers(low, call, guard, math.gcd)


def least_common_multiple(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _by_integers(low, call, guard, math.lcm)


def _by_integers(low: Lowering, call: Call, guard: Guard, function: Callable[[int, int], int]) -> pl.Expr:
    def compute(first: int, second: int) -> int:
        found = function(first, second)
        if found >= 2**63:
            raise failure("OVERFLOW", dtype=BIGINT)
        return found

    operands = [guarded(low.lower(argument, guard), guard) for argument in call.arguments]
    return pl.map_batches(
        operands, lambda pair: by_row(pair, compute, pl.Int64()), return_dtype=pl.Int64(), is_elementwise=True
    )


def bit_count(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return low.lower(call.arguments[0], guard).bitwise_count_ones().cast(pl.Int8())


def bit_and(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    first, second = (low.lower(argument, guard) for argument in call.arguments)
    return first & second


def bit_or(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    first, second = (low.lower(argument, guard) for argument in call.arguments)
    return first | second


def bit_xor(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    first, second = (low.lower(argument, guard) for argument in call.arguments)
    return first ^ second


def bit_not(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return ~low.lower(call.arguments[0], guard)


def greatest(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _extreme(low, call, guard, lambda candidate, best: candidate > best)


def least(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _extreme(low, call, guard, lambda candidate, best: candidate < best)


def _extreme(low: Lowering, call: Call, guard: Guard, wins: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> pl.Expr:
    """The best of the arguments that are not NULL, by the comparison of SQL."""
    if call.dtype.name == "INTERVAL":
        raise error("UNSUPPORTED", what="the greatest of intervals")
    encoding = low.encoding(call)
    values = [low.lower_as(argument, encoding, guard) for argument in call.arguments]
    best = values[0]
    for value in values[1:]:
        better = best.is_null() | wins(value, best).fill_null(False)
        best = pl.when(better).then(value).otherwise(best)
    return best

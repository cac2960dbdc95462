"""Exact division of scaled integers, rounded half away from zero.

Schoolbook: the whole quotient first, then the remainder times a power of ten, so that 128 bits suffice unless the divisor
itself is huge. What does not fit is computed with Python integers, row by row.
"""

from __future__ import annotations

import polars as pl

from exec.kernels.aligned import aligned
from exec.kernels.failure import failure
from exec.kernels.limits import lies_outside
from planner.analysis.intervals import divide_rounding
from planner.dtypes import DType, value_range

_SAFE = 2**126


def divide_decimals(numerator: pl.Series, denominator: pl.Series, exponent: int, dtype: DType) -> pl.Series:
    """numerator × 10**exponent / denominator, both Int128, as Int128 in the range of `dtype` (exponent ≥ 0).

    NULL where an operand is NULL. Raises DIVISION_BY_ZERO, and OVERFLOW for a quotient that `dtype` cannot hold. Operands
    may be single values that stand for a whole column.
    """
    top, bottom = aligned(numerator, denominator)
    frame = pl.select(n=top.cast(pl.Int128), d=bottom.cast(pl.Int128)).with_columns(
        pl.when(pl.col("n").is_not_null()).then(pl.col("d"))
    )
    if (frame["d"] == 0).any():
        raise failure("DIVISION_BY_ZERO")
    factor = 10**exponent
    divisor, dividend = _magnitude(frame["d"]), _magnitude(frame["n"])
    low, high = value_range(dtype)
    if 2 * divisor * (factor + 1) >= _SAFE or dividend >= _SAFE:
        return _by_python(frame, factor, dtype)
    n, d = pl.col("n").abs(), pl.col("d").abs()
    whole = frame.select(q=n // d, r=n % d, d=d, sign=pl.col("n").sign() * pl.col("d").sign())
    greatest = whole["q"].max()
    if greatest is not None and greatest * factor > high:
        raise failure("OVERFLOW", dtype=dtype)
    one = pl.lit(factor, dtype=pl.Int128)
    two = pl.lit(2, dtype=pl.Int128)
    rounded = (two * one * pl.col("r") + pl.col("d")) // (two * pl.col("d"))
    result = whole.select((pl.col("q") * one + rounded) * pl.col("sign")).to_series()
    if lies_outside(result, low, high):
        raise failure("OVERFLOW", dtype=dtype)
    return result.alias(numerator.name)


def _magnitude(values: pl.Series) -> int:
    least, greatest = values.min(), values.max()
    return max(-int(least), int(greatest), 0) if isinstance(least, int) and isinstance(greatest, int) else 0


def _by_python(frame: pl.DataFrame, factor: int, dtype: DType) -> pl.Series:
    low, high = value_range(dtype)
    quotients: list[int | None] = []
    for n, d in frame.select("n", "d").iter_rows():
        quotient = None if n is None or d is None else divide_rounding(n * factor, d)
        if quotient is not None and not low <= quotient <= high:
            raise failure("OVERFLOW", dtype=dtype)
        quotients.append(quotient)
    return pl.Series(quotients, dtype=pl.Int128)

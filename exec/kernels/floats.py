"""Operations on floats whose last bit matters."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import numpy.typing as npt
import polars as pl

from exec.kernels.aligned import aligned

_CONTEXT = Context(prec=400)
_NEAR_TIE = 1e-6


def quotient(pair: Sequence[pl.Series]) -> pl.Series:
    """Division by IEEE rules.

    Polars multiplies by the reciprocal of a constant divisor, which is off by a bit for one value in seven.
    """
    dividend, divisor = aligned(*pair)
    return dividend / divisor


def remainder(pair: Sequence[pl.Series]) -> pl.Series:
    """C's fmod: the sign of the dividend, also of zero, and the dividend itself if only the divisor is infinite."""
    dividend, divisor = aligned(*pair)
    with np.errstate(invalid="ignore"):
        values = np.fmod(dividend.fill_null(0.0).to_numpy(), divisor.fill_null(1.0).to_numpy())
    return pl.Series(dividend.name, values, dtype=dividend.dtype).set(dividend.is_null() | divisor.is_null(), None)


def divide(dividend: pl.Expr, divisor: pl.Expr | float, dtype: pl.DataType) -> pl.Expr:
    """A quotient of two floats of one type, where the divisor is constant."""
    by = pl.lit(divisor, dtype=dtype) if isinstance(divisor, float) else divisor
    return pl.map_batches([dividend, by], quotient, return_dtype=dtype, is_elementwise=True)


def round_half_away(values: pl.Series, digits: int) -> pl.Series:
    """Floats rounded to `digits` after the point (negative: before it), by their exact binary value, ties away from zero.

    2.675 is a little less than it looks, so it gives 2.67. Scaling and rounding is right except near ties and beyond 2**52;
    those are rounded as decimals of unlimited precision.
    """
    numbers = values.cast(pl.Float64).fill_null(0.0).to_numpy()
    power = 10.0 ** abs(digits) if abs(digits) <= 22 else None
    if power is None:
        rounded = np.array([_round_one(number, digits) for number in numbers.tolist()])
    else:
        rounded = _round_scaled(numbers, digits, power)
    result = pl.Series(values.name, rounded, dtype=pl.Float64)
    if values.null_count():
        result = result.set(values.is_null(), None)
    return result.cast(values.dtype)


def _round_scaled(numbers: npt.NDArray[np.float64], digits: int, power: float) -> npt.NDArray[np.float64]:
    with np.errstate(all="ignore"):
        scaled = numbers * power if digits >= 0 else numbers / power
        magnitude = np.abs(scaled)
        whole = np.floor(magnitude + 0.5)
        rounded = np.copysign(whole / power if digits >= 0 else whole * power, numbers)
        distance = np.abs(magnitude - np.floor(magnitude) - 0.5)
        doubtful = (distance < _NEAR_TIE) | (magnitude >= 2.0**50)
        # What is no number, or has no digits to lose, stays as it is.
        rounded = np.where(np.isfinite(numbers), rounded, numbers)
    for index in np.flatnonzero(doubtful & np.isfinite(numbers)):
        rounded[index] = _round_one(float(numbers[index]), digits)
    return rounded


def _round_one(number: float, digits: int) -> float:
    if not np.isfinite(number):
        return number
    exact = Decimal(number)
    exponent = exact.as_tuple().exponent
    if isinstance(exponent, int) and -exponent <= digits:
        return number
    return float(exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP, context=_CONTEXT)) if number else number

"""Conversions between types, as DuckDB does them; a lenient one gives NULL where a strict one is an error."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from exec.kernels import floats
from exec.kernels.aligned import aligned
from exec.kernels.failure import failure
from exec.kernels.format_text import format_blobs, format_dates, format_decimal, format_floats, format_times, format_timestamps
from exec.kernels.parse_text import parse_text
from exec.lower.column_types import polars_type
from exec.lower.exact import constant, convert, divide_half_away, finish, tier_of_magnitude
from exec.lower.expressions import Guard, Lowering, guarded
from planner import dtypes as t
from planner.analysis.intervals import Interval, checked_interval, expression_interval, type_interval
from planner.errors import error
from planner.expr.nodes import Cast
from planner.physical.encodings import Encoding


def lower_cast(low: Lowering, cast: Cast, guard: Guard) -> pl.Expr:
    """A conversion in canonical form."""
    source, target = cast.operand.dtype, cast.dtype
    if source == t.NULL:
        return low.lower(cast.operand, guard).cast(low.polars_type(cast))
    if source == target:
        return convert(low.lower(cast.operand, guard), low.encoding(cast.operand), low.encoding(cast))
    if t.is_exact(source) and t.is_exact(target):
        return _exact_to_exact(low, cast, guard)
    if target == t.VARCHAR:
        return _to_text(low, cast, guard)
    operand = guarded(low.lower(cast.operand, guard), guard)
    if source == t.VARCHAR:
        return _from_text(low, cast, operand)
    if t.is_exact(target):
        if t.is_float(source):
            return _float_to_exact(low, cast, operand)
        if source == t.BOOLEAN:
            ones = operand.cast(pl.Int64) * constant(10 ** t.scale_of(target), tier_of_magnitude(10 ** t.scale_of(target)))
            return ones.cast(low.polars_type(cast))
    if t.is_float(target):
        return _to_float(low, cast, operand)
    if target == t.BOOLEAN and t.is_numeric(source):
        return operand != pl.lit(0, dtype=low.polars_type(cast.operand))
    if (found := _temporal(operand, source, target)) is not None:
        return found
    raise error("UNSUPPORTED", what=f"a conversion of {source} to {target}")


def _exact_to_exact(low: Lowering, cast: Cast, guard: Guard) -> pl.Expr:
    operand = cast.operand
    interval = checked_interval(operand, low.bounds)
    raw = expression_interval(cast, low.bounds)
    limit = type_interval(cast.dtype)
    assert interval is not None and raw is not None and limit is not None
    digits = t.scale_of(cast.dtype) - t.scale_of(operand.dtype)
    proven = raw.within(limit.low, limit.high)
    if digits < 0:
        widest = max(2 * interval.magnitude + 10**-digits, limit.high if cast.lenient and not proven else 0)
        tier = Encoding.INT64 if widest < 2**63 else Encoding.INT128
    elif cast.lenient and not proven:
        return _lenient_rescale(low, cast, digits, limit)
    else:
        tier = tier_of_magnitude(max(interval.magnitude, raw.magnitude))
    value = low.in_tier(operand, tier, guard)
    if not proven:
        value = guarded(value, guard)
    if digits > 0:
        value = value * constant(10**digits, tier)
    elif digits < 0:
        value = divide_half_away(value, 10**-digits, tier, interval)
    if cast.lenient and not proven:
        value = pl.when(value.is_between(constant(limit.low, tier), constant(limit.high, tier))).then(value)
        if isinstance(cast.dtype, t.DecimalType):
            return convert(value, tier, low.encoding(cast))
        return value.cast(low.polars_type(cast))
    return finish(value, tier, raw, cast.dtype)


def _lenient_rescale(low: Lowering, cast: Cast, digits: int, limit: Interval) -> pl.Expr:
    """Compares before it multiplies, so that nothing can overflow."""
    factor = 10**digits
    wide = Encoding.INT128
    value = low.in_tier(cast.operand, wide)
    least, greatest = -(-limit.low // factor), limit.high // factor
    kept = pl.when(value.is_between(constant(least, wide), constant(greatest, wide))).then(value)
    scaled = kept * constant(factor, wide) if factor > 1 else kept
    if isinstance(cast.dtype, t.DecimalType):
        return convert(scaled, wide, low.encoding(cast))
    return scaled.cast(low.polars_type(cast))


def _float_to_exact(low: Lowering, cast: Cast, operand: pl.Expr) -> pl.Expr:
    """Integers round half to even, decimals half away from zero after scaling, both as DuckDB."""
    dtype, lenient = cast.dtype, cast.lenient
    target = low.polars_type(cast)
    if not isinstance(dtype, t.DecimalType):
        return operand.round(mode="half_to_even").cast(target, strict=not lenient)
    limit = type_interval(dtype)
    assert limit is not None
    scaled = (operand.cast(pl.Float64) * 10.0**dtype.scale).round(mode="half_away_from_zero")

    def check(values: pl.Series) -> pl.Series:
        exact = values.cast(pl.Int128, strict=False)
        fits = exact.is_between(limit.low, limit.high)
        exact = exact.set(~fits.fill_null(True), None)
        if not lenient and exact.null_count() > values.null_count():
            raise failure("CAST_FAILED", value="a number that is too large or no number", dtype=dtype)
        return exact

    return convert(scaled.map_batches(check, pl.Int128(), is_elementwise=True), Encoding.INT128, low.encoding(cast))


def _to_float(low: Lowering, cast: Cast, operand: pl.Expr) -> pl.Expr:
    source, target = cast.operand.dtype, low.polars_type(cast)
    if isinstance(source, t.DecimalType):
        number = operand.to_physical() if low.encoding(cast.operand) is Encoding.DEC38 else operand
        return _decimal_to_float(number, source.scale, low.interval(cast.operand).magnitude < 2**53).cast(target)
    if source == t.BOOLEAN or t.is_integer(source) or (source == t.REAL and cast.dtype == t.DOUBLE):
        return operand.cast(target)
    if source == t.DOUBLE and cast.dtype == t.REAL:
        narrow = operand.cast(target)
        fits = narrow.is_infinite() == operand.is_infinite()
        if cast.lenient:
            return pl.when(fits).then(narrow)
        return pl.map_batches([narrow, fits], _check_real, return_dtype=target, is_elementwise=True)
    raise error("UNSUPPORTED", what=f"a conversion of {source} to {cast.dtype}")


def _decimal_to_float(number: pl.Expr, scale: int, exact: bool) -> pl.Expr:
    """Scaled integers as doubles. Those that no double holds (not `exact`) are split at the point, or they would round twice."""
    power = 10.0**scale
    quotient = floats.divide(number.cast(pl.Float64), power, pl.Float64())
    if exact or not scale:
        return quotient
    magnitude = number.abs()
    unit = pl.lit(10**scale, dtype=pl.Int128) if scale > 18 else pl.lit(10**scale, dtype=pl.Int64)
    whole, rest = (magnitude // unit).cast(pl.Float64), (magnitude % unit).cast(pl.Float64)
    split = (whole + floats.divide(rest, power, pl.Float64())) * number.sign().cast(pl.Float64)
    return pl.when(magnitude < 2**53).then(quotient).otherwise(split)


def _check_real(pair: Sequence[pl.Series]) -> pl.Series:
    narrow, fits = aligned(*pair)
    if not fits.all():
        raise failure("CAST_FAILED", value="a number that is too large", dtype=t.REAL)
    return narrow


def _from_text(low: Lowering, cast: Cast, operand: pl.Expr) -> pl.Expr:
    dtype, lenient = cast.dtype, cast.lenient
    if dtype == t.BLOB:
        return operand.map_batches(_unescape, pl.Binary(), is_elementwise=True)
    physical = pl.Int128() if isinstance(dtype, t.DecimalType) else polars_type(dtype, Encoding.PLAIN)
    parsed = operand.map_batches(lambda texts: parse_text(texts, dtype, lenient), physical, is_elementwise=True)
    return convert(parsed, Encoding.INT128, low.encoding(cast)) if isinstance(dtype, t.DecimalType) else parsed


def _unescape(texts: pl.Series) -> pl.Series:
    import re

    def convert_one(text: str) -> bytes:
        return re.sub(rb"\\x([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), text.encode())

    return pl.Series(texts.name, [None if text is None else convert_one(text) for text in texts], dtype=pl.Binary)


def _to_text(low: Lowering, cast: Cast, guard: Guard) -> pl.Expr:
    source = cast.operand.dtype
    operand = low.lower(cast.operand, guard)
    if isinstance(source, t.DecimalType):
        number = operand.to_physical() if low.encoding(cast.operand) is Encoding.DEC38 else operand
        return format_decimal(number, source.scale, leading_zero=source.precision > source.scale)
    if t.is_float(source):
        return operand.map_batches(format_floats, pl.String(), is_elementwise=True)
    if source == t.BOOLEAN:
        return pl.when(operand).then(pl.lit("true")).when(~operand).then(pl.lit("false"))
    if t.is_integer(source):
        return operand.cast(pl.String)
    if source == t.DATE:
        return format_dates(operand)
    if source == t.TIMESTAMP:
        return format_timestamps(operand)
    if source == t.TIMESTAMPTZ:
        return format_timestamps(operand.dt.replace_time_zone(None)) + pl.lit("+00")
    if source == t.TIME:
        return format_times(operand)
    if source == t.BLOB:
        return operand.map_batches(format_blobs, pl.String(), is_elementwise=True)
    raise error("UNSUPPORTED", what=f"a conversion of {source} to {cast.dtype}")


def _temporal(operand: pl.Expr, source: t.DType, target: t.DType) -> pl.Expr | None:
    """Between dates, times and timestamps; a TIMESTAMPTZ is seen in UTC. None: there is no such conversion."""
    match (source, target):
        case (t.DATE, t.TIMESTAMP):
            return operand.cast(pl.Datetime("us"))
        case (t.DATE, t.TIMESTAMPTZ):
            return operand.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
        case (t.TIMESTAMP, t.DATE):
            return operand.dt.date()
        case (t.TIMESTAMP, t.TIME):
            return operand.dt.time()
        case (t.TIMESTAMP, t.TIMESTAMPTZ):
            return operand.dt.replace_time_zone("UTC")
        case (t.TIMESTAMPTZ, t.TIMESTAMP):
            return operand.dt.replace_time_zone(None)
        case (t.TIMESTAMPTZ, t.DATE):
            return operand.dt.replace_time_zone(None).dt.date()
        case (t.TIMESTAMPTZ, t.TIME):
            return operand.dt.replace_time_zone(None).dt.time()
    return None

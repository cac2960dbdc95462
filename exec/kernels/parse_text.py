"""Text to values, as DuckDB's casts read it.

Polars parses the plain spellings at speed. What it refuses (blanks around, exponents in integers, digit separators, other
date separators) is parsed here once per distinct spelling; what this refuses as well cannot be converted.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import polars as pl

from exec.kernels.failure import failure
from planner import dtypes as t
from planner.analysis.intervals import divide_rounding

_NUMBER = re.compile(r"([+-]?)(?:(\d+(?:_\d+)*)?)(?:\.(\d+(?:_\d+)*)?)?(?:[eE]([+-]?\d+))?")
_RADIX = re.compile(r"0([xX][0-9a-fA-F]+|[bB][01]+)")
_DATE = re.compile(r"(-?\d{1,6})([-/\\ ])(\d{1,2})\2(\d{1,2})")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?")
_ZONE = re.compile(r"\s*(?:Z|UTC|([+-])(\d{2})(?::?(\d{2}))?)?", re.IGNORECASE)
_TRUE = frozenset(("true", "t", "yes", "y", "1"))
_FALSE = frozenset(("false", "f", "no", "n", "0"))
_BLANK = " \t\n\v\f\r"


def parse_text(values: pl.Series, dtype: t.DType, lenient: bool) -> pl.Series:
    """Strings as values of `dtype`; decimals come as scaled Int128.

    What cannot be converted is NULL if `lenient`, else CAST_FAILED with the first such text.
    """
    fast = _fast(values, dtype)
    failed = values.filter(values.is_not_null() & fast.is_null())
    if failed.is_empty():
        return fast.alias(values.name)
    parse = _parser(dtype)
    found = {text: parse(text) for text in failed.unique(maintain_order=True)}
    if not lenient:
        for text, value in found.items():
            if value is None:
                raise failure("CAST_FAILED", value=repr(text), dtype=dtype)
    parsed = values.replace_strict(
        pl.Series(list(found), dtype=pl.String), pl.Series(list(found.values()), dtype=fast.dtype), default=None
    )
    return pl.select(pl.coalesce(pl.lit(fast), pl.lit(parsed))).to_series().alias(values.name)


def _fast(values: pl.Series, dtype: t.DType) -> pl.Series:
    """The plain spellings; NULL for all others."""
    if isinstance(dtype, t.DecimalType):
        plain = rf"^[+-]?[0-9]{{1,{dtype.precision - dtype.scale + 1}}}(\.[0-9]{{0,{dtype.scale}}})?$"
        limit = t.value_range(dtype)[1]
        matched = values.set(~values.str.contains(plain).fill_null(True), None)
        scaled = matched.cast(pl.Decimal(38, dtype.scale), strict=False).to_physical()
        return scaled.set((scaled > limit) | (scaled < -limit), None)
    if t.is_integer(dtype):
        return values.cast(_INTEGER[dtype], strict=False)
    if t.is_float(dtype):
        double = values.cast(pl.Float64, strict=False)
        return double.cast(pl.Float32) if dtype == t.REAL else double
    if dtype == t.DATE:
        return values.str.to_date("%Y-%m-%d", strict=False)
    if dtype in (t.TIMESTAMP, t.TIMESTAMPTZ):
        plain_time = values.str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-5][0-9](\.[0-9]+)?$").fill_null(
            True
        )
        parsed = values.set(~plain_time, None).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
        return parsed.dt.replace_time_zone("UTC") if dtype == t.TIMESTAMPTZ else parsed
    if dtype == t.TIME:
        return pl.Series([None] * values.len(), dtype=pl.Time)
    if dtype == t.BOOLEAN:
        lowered = values.str.to_lowercase()
        return pl.select(
            pl.when(pl.lit(lowered).is_in(list(_TRUE))).then(True).when(pl.lit(lowered).is_in(list(_FALSE))).then(False)
        ).to_series()
    raise failure("UNSUPPORTED", what=f"a conversion of VARCHAR to {dtype}")


_INTEGER: dict[t.DType, Any] = {
    t.TINYINT: pl.Int8, t.SMALLINT: pl.Int16, t.INTEGER: pl.Int32, t.BIGINT: pl.Int64,
    t.UTINYINT: pl.UInt8, t.USMALLINT: pl.UInt16, t.UINTEGER: pl.UInt32, t.UBIGINT: pl.UInt64,
}  # fmt: skip


def _parser(dtype: t.DType) -> Callable[[str], Any]:
    if t.is_exact(dtype):
        return lambda text: parse_exact(text, dtype)
    if t.is_float(dtype):
        return lambda text: _parse_float(text, dtype)
    if dtype == t.DATE:
        return _parse_date
    if dtype == t.TIMESTAMP:
        return _parse_timestamp
    if dtype == t.TIMESTAMPTZ:
        return _parse_timestamptz
    if dtype == t.TIME:
        return _parse_time
    return lambda text: None


def parse_exact(text: str, dtype: t.DType) -> int | None:
    """The scaled integer of a number's text, rounded half away from zero; None if it is none or does not fit."""
    text = text.strip(_BLANK)
    low, high = t.value_range(dtype)
    if (radix := _RADIX.fullmatch(text)) and t.is_integer(dtype):
        value = int(radix.group(0), 0)
        return value if value <= high else None
    matched = _NUMBER.fullmatch(text)
    if matched is None or not (matched[2] or matched[3]):
        return None
    if matched[1] == "-" and dtype in t.UNSIGNED_INTEGERS:
        return 0 if not text.strip("-0") else None  # no other negative number, not even one that would round to zero
    whole, fraction = (matched[2] or "").replace("_", ""), (matched[3] or "").replace("_", "")
    exponent = int(matched[4] or 0)
    digits = (whole + fraction).lstrip("0") or "0"
    shift = exponent - len(fraction) + t.scale_of(dtype)
    if digits != "0" and len(digits) + shift > 40:
        return None
    if len(digits) + shift < -1 or digits == "0":
        return 0
    number = int(digits)
    value = number * 10**shift if shift >= 0 else divide_rounding(number, 10**-shift)
    if matched[1] == "-":
        value = -value
    return value if low <= value <= high else None


def _parse_float(text: str, dtype: t.DType) -> float | None:
    text = text.strip(_BLANK)
    try:
        value = float(text)
    except ValueError:
        return None
    if dtype == t.REAL and math.isfinite(value) and abs(value) > 3.4028235677973366e38:
        return None
    return value


def _parse_date(text: str) -> datetime.date | None:
    moment = _parse_timestamp(text)
    return moment.date() if moment is not None else None


def _date(text: str) -> tuple[datetime.date, str] | None:
    """The date at the start of a text, and the rest."""
    matched = _DATE.match(text)
    if matched is None:
        return None
    try:
        return datetime.date(int(matched[1]), int(matched[3]), int(matched[4])), text[matched.end() :]
    except ValueError:
        return None


def _parse_timestamp(text: str, zoned: bool = False) -> datetime.datetime | None:
    """A date, and perhaps a time and a zone. Without `zoned` the zone is read and ignored."""
    text = text.strip(_BLANK)
    if text == "epoch":
        return datetime.datetime(1970, 1, 1)
    found = _date(text)
    if found is None:
        return None
    day, rest = found
    moment = datetime.datetime(day.year, day.month, day.day)
    if not rest:
        return moment
    matched = _TIME.match(rest.lstrip(" T"))
    if matched is None or rest[0] not in " T":
        return None
    offset = _time_of_day(matched)
    zone = _ZONE.fullmatch(rest.lstrip(" T")[matched.end() :])
    if offset is None or zone is None:
        return None
    try:
        moment += offset
        if zoned and zone[1]:
            shift = datetime.timedelta(hours=int(zone[2]), minutes=int(zone[3] or 0))
            moment -= shift if zone[1] == "+" else -shift
    except OverflowError:
        return None
    return moment


def _parse_timestamptz(text: str) -> datetime.datetime | None:
    moment = _parse_timestamp(text, zoned=True)
    return moment.replace(tzinfo=datetime.UTC) if moment is not None else None


def _parse_time(text: str) -> datetime.time | None:
    matched = _TIME.fullmatch(text.strip(_BLANK))
    offset = _time_of_day(matched) if matched else None
    if offset is None or offset >= datetime.timedelta(days=1):
        return None
    return (datetime.datetime(2000, 1, 1) + offset).time()


def _time_of_day(matched: re.Match[str]) -> datetime.timedelta | None:
    hour, minute, second = int(matched[1]), int(matched[2]), int(matched[3] or 0)
    micros = int((matched[4] or "")[:6].ljust(6, "0"))
    if minute > 59 or second > 59 or hour > 24 or (hour == 24 and (minute or second or micros)):
        return None
    return datetime.timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micros)


def decimal_of(scaled: int, scale: int) -> Decimal:
    """A scaled integer as a Python decimal with exactly `scale` digits after the point."""
    return Decimal(scaled).scaleb(-scale, Context(prec=60))

"""Functions of dates and timestamps."""

from __future__ import annotations

import polars as pl

from exec.kernels import floats
from exec.lower.exact import checked, constant
from exec.lower.expressions import Guard, Lowering, guarded
from planner import dtypes as t
from planner.analysis import intervals
from planner.errors import error
from planner.expr.nodes import Call, Literal
from planner.expr.values import Interval
from planner.physical.encodings import Encoding

_MICROSECONDS = pl.Datetime("us")
_TIMESTAMPS = intervals.Interval(-(2**63), 2**63 - 1)


def add_interval(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _shifted(low, call, guard, 1)


def subtract_interval(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _shifted(low, call, guard, -1)


def _shifted(low: Lowering, call: Call, guard: Guard, sign: int) -> pl.Expr:
    """First the months, clamped to the end of the month, then the rest."""
    moment, span = call.arguments
    if not isinstance(span, Literal) or not isinstance(span.value, Interval | None):
        raise error("UNSUPPORTED", what="an interval that is not a literal")
    operand = guarded(low.lower(moment, guard), guard)
    if span.value is None:
        return pl.lit(None, dtype=low.polars_type(call))
    zoned = moment.dtype == t.TIMESTAMPTZ
    shifted = operand.dt.replace_time_zone(None) if zoned else operand.cast(_MICROSECONDS)
    if span.value.months:
        shifted = shifted.dt.offset_by(f"{sign * span.value.months}mo")
    micros = sign * (span.value.days * 86_400_000_000 + span.value.microseconds)
    if micros:
        wide = shifted.to_physical().cast(pl.Int128) + constant(micros, Encoding.INT128)
        shifted = checked(wide, _TIMESTAMPS, t.TIMESTAMP, Encoding.INT128).cast(pl.Int64).cast(_MICROSECONDS)
    if call.dtype == t.DATE:
        return shifted.dt.date()
    return shifted.dt.replace_time_zone("UTC") if zoned else shifted


def date_difference(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """The days between two dates."""
    first, second = (low.lower(argument, guard).to_physical().cast(pl.Int64) for argument in call.arguments)
    return first - second


def extract(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """A part of a date or timestamp, as BIGINT, but the epoch as DOUBLE."""
    part, moment = call.arguments
    assert isinstance(part, Literal)
    operand = low.lower(moment, guard)
    if moment.dtype == t.TIMESTAMPTZ:
        operand = operand.dt.replace_time_zone(None)
    is_time = moment.dtype == t.TIME
    found = _part(str(part.value).lower(), operand, has_time=moment.dtype != t.DATE, has_date=not is_time)
    if found is None:
        raise error("UNSUPPORTED", what=f"extract({part.value}) from {moment.dtype}")
    return found.cast(low.polars_type(call))


def _part(part: str, moment: pl.Expr, has_time: bool, has_date: bool) -> pl.Expr | None:
    part = _SYNONYMS.get(part, part)
    if part in _TIME_PARTS:
        if not has_time:
            return pl.when(moment.is_not_null()).then(0)
        second = moment.dt.second().cast(pl.Int64)
        micros = moment.dt.microsecond().cast(pl.Int64)
        match part:
            case "hour":
                return moment.dt.hour()
            case "minute":
                return moment.dt.minute()
            case "second":
                return second
            case "millisecond":
                return second * 1000 + micros // 1000
            case _:
                return second * 1_000_000 + micros
    if not has_date:
        return None
    year = moment.dt.year().cast(pl.Int64)
    match part:
        case "year":
            return year
        case "month":
            return moment.dt.month()
        case "day":
            return moment.dt.day()
        case "quarter":
            return moment.dt.quarter()
        case "dow":
            return moment.dt.weekday().cast(pl.Int64) % 7
        case "isodow":
            return moment.dt.weekday()
        case "doy":
            return moment.dt.ordinal_day()
        case "week":
            return moment.dt.week()
        case "isoyear":
            return moment.dt.iso_year()
        case "yearweek":
            return moment.dt.iso_year().cast(pl.Int64) * 100 + moment.dt.week()
        case "decade":
            return year // 10
        case "century":
            return (year - 1) // 100 + 1
        case "millennium":
            return (year - 1) // 1000 + 1
        case "epoch":
            return floats.divide(moment.cast(_MICROSECONDS).to_physical().cast(pl.Float64), 1e6, pl.Float64())
    return None


_TIME_PARTS = frozenset(("hour", "minute", "second", "millisecond", "microsecond"))
_SYNONYMS = {
    "years": "year", "months": "month", "days": "day", "dayofmonth": "day", "quarters": "quarter", "dayofweek": "dow",
    "weekday": "dow", "dayofyear": "doy", "weekofyear": "week", "weeks": "week", "hours": "hour", "minutes": "minute",
    "seconds": "second", "milliseconds": "millisecond", "microseconds": "microsecond", "decades": "decade",
    "centuries": "century", "millennia": "millennium",
}  # fmt: skip

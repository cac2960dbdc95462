"""Functions of dates and timestamps beyond arithmetic and EXTRACT (`exec.lower.dates`)."""

from __future__ import annotations

import polars as pl

from exec.kernels import moments
from exec.kernels.texts import by_row
from exec.lower.expressions import Guard, Lowering, guarded
from planner import dtypes as t
from planner.expr.nodes import Call, Expr, Literal

_MICROSECONDS = pl.Datetime("us")
_UNITS = {
    "microsecond": 1, "millisecond": 1000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
    "day": 86_400_000_000,
}  # fmt: skip
_YEARS = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}


def _naive(low: Lowering, moment: Expr, guard: Guard) -> pl.Expr:
    operand = low.lower(moment, guard)
    return operand.dt.replace_time_zone(None) if moment.dtype == t.TIMESTAMPTZ else operand


def _part(call: Call) -> str:
    part = call.arguments[0]
    assert isinstance(part, Literal)
    return str(part.value)


def _years(moment: pl.Expr) -> pl.Expr:
    return moment.dt.year().cast(pl.Int64)


def date_trunc(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    part, moment = _part(call), _naive(low, call.arguments[1], guard)
    if part in _UNITS:
        physical = moment.to_physical()
        found = (physical - physical % _UNITS[part]).cast(_MICROSECONDS)
    elif part in _YEARS:
        year = _years(moment)
        months = (moment.dt.month().cast(pl.Int64) - 1) + (year - _toward_zero(year, _YEARS[part]) * _YEARS[part]) * 12
        found = moment.dt.month_start().dt.truncate("1d").dt.offset_by(pl.format("-{}mo", months))
    elif part == "week":
        days = moment.dt.weekday().cast(pl.Int64) - 1
        found = (moment.dt.truncate("1d").to_physical() - days * _UNITS["day"]).cast(_MICROSECONDS)
    else:
        found = moment.dt.truncate("1mo" if part == "month" else "1q")
    return found.dt.replace_time_zone("UTC") if call.dtype == t.TIMESTAMPTZ else found


def _toward_zero(value: pl.Expr, divisor: int) -> pl.Expr:
    return value.abs() // divisor * value.sign() if divisor > 1 else value


def date_diff(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """How many borders lie between two moments; of weeks, how many whole ones."""
    part = _part(call)
    first, last = (_naive(low, moment, guard) for moment in call.arguments[1:])
    if part == "week":
        days = _days(last, call) - _days(first, call)
        return _toward_zero(days, 7)
    if part == "day":
        return _days(last, call) - _days(first, call)
    if part in _UNITS:
        return last.to_physical().cast(pl.Int64) // _UNITS[part] - first.to_physical().cast(pl.Int64) // _UNITS[part]
    return _number(part, last) - _number(part, first)


def _days(moment: pl.Expr, call: Call) -> pl.Expr:
    if call.arguments[1].dtype == t.DATE:
        return moment.to_physical().cast(pl.Int64)
    return moment.to_physical() // _UNITS["day"]


def _number(part: str, moment: pl.Expr) -> pl.Expr:
    """The number of a year, quarter or month, counted through."""
    year = _years(moment)
    if part in _YEARS:
        return _toward_zero(year, _YEARS[part])
    if part == "quarter":
        return year * 4 + moment.dt.quarter().cast(pl.Int64)
    return year * 12 + moment.dt.month().cast(pl.Int64)


def last_day(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return low.lower(call.arguments[0], guard).dt.month_end()


def dayname(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _naive(low, call.arguments[0], guard).dt.strftime("%A")


def monthname(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _naive(low, call.arguments[0], guard).dt.strftime("%B")


def make_date(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    operands = [guarded(low.lower(argument, guard), guard) for argument in call.arguments]
    return pl.map_batches(
        operands, lambda parts: by_row(parts, moments.date_of, pl.Date()), return_dtype=pl.Date(), is_elementwise=True
    )


def make_timestamp(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """Of the microseconds since the epoch, or of year, month, day, hour, minute and second."""
    operands = [guarded(low.lower(argument, guard), guard) for argument in call.arguments]
    if len(operands) == 1:
        return operands[0].cast(pl.Int64).cast(_MICROSECONDS)
    micros = pl.map_batches(
        operands, lambda parts: by_row(parts, moments.timestamp_of, pl.Int64()), return_dtype=pl.Int64(), is_elementwise=True
    )
    return micros.cast(_MICROSECONDS)


def to_timestamp(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    seconds = guarded(low.lower(call.arguments[0], guard), guard)
    micros = seconds.map_batches(
        lambda values: by_row([values], moments.timestamp_of_seconds, pl.Int64()), pl.Int64(), is_elementwise=True
    )
    return micros.cast(_MICROSECONDS).dt.replace_time_zone("UTC")


def epoch_microseconds(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _naive(low, call.arguments[0], guard).to_physical().cast(pl.Int64)


def epoch_milliseconds(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """Rounded half away from zero."""
    micros = epoch_microseconds(low, call, guard)
    return (micros.abs() + 500) // 1000 * micros.sign()


_DIRECTIVES = {
    "c": "%Y-%m-%d %H:%M:%S", "x": "%Y-%m-%d", "X": "%H:%M:%S", "f": "%6f", "g": "%3f", "n": "%9f", "Z": "", "z": "+00",
}  # fmt: skip
"""The directives of DuckDB that mean something else to Polars."""


def strftime(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    moment, form = call.arguments
    assert isinstance(form, Literal)
    if form.value is None:
        return pl.lit(None, dtype=pl.String())
    return _naive(low, moment, guard).dt.strftime(_format(form.value))


def _format(written: str) -> str:
    parts, at = [], 0
    while at < len(written):
        if written[at] != "%":
            parts.append(written[at])
            at += 1
            continue
        length = 2 if written[at + 1 : at + 2] == "-" else 1
        directive = written[at + 1 : at + 1 + length]
        parts.append(_DIRECTIVES.get(directive, f"%{directive}"))
        at += 1 + length
    return "".join(parts)

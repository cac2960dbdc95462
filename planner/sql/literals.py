"""Constants: the value and type of a literal, and conversions of constants that cannot fail later because they are done now.

The accepted spellings are those of DuckDB. Conversions that round do so half away from zero.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from planner import dtypes as t
from planner.expr.constants import evaluate_literals
from planner.expr.nodes import Expr, Literal
from planner.expr.values import Interval

EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
"""Wide enough that nothing but an explicit change of scale rounds."""

HUGEINT = t.decimal(38, 0)
"""Whole numbers beyond BIGINT: DuckDB's HUGEINT has no type of its own here."""


def number_literal(text: str) -> Literal:
    """A number as SQL types it: INTEGER, BIGINT or DECIMAL(38,0) by size, DECIMAL by its digits, DOUBLE with an exponent.

    A number of more than 38 digits is a DOUBLE, as in DuckDB. Raises ValueError if the text is no number.
    """
    text = text.replace("_", "")
    if text.isdigit():
        return integer_literal(int(text))
    if "e" in text or "E" in text:
        return Literal(t.DOUBLE, float(text))
    value = Decimal(text)
    dtype = decimal_type_of(value)
    return Literal(t.DOUBLE, float(text)) if dtype is None else Literal(dtype, value)


def integer_literal(value: int) -> Literal:
    """A whole number in the first of INTEGER, BIGINT, DECIMAL(38,0) and DOUBLE that holds it."""
    for dtype in (t.INTEGER, t.BIGINT, HUGEINT):
        low, high = t.value_range(dtype)
        if low <= value <= high:
            return Literal(dtype, value if dtype is not HUGEINT else Decimal(value))
    return Literal(t.DOUBLE, float(value))


def decimal_type_of(value: Decimal | int) -> t.DecimalType | None:
    """The type that holds exactly the digits of a number, leading zero included; None beyond 38 digits."""
    if isinstance(value, int):
        digits, scale = len(str(abs(value))), 0
    else:
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        scale = max(0, -exponent)
        whole = abs(int(value))
        digits = scale + len(str(whole))
        if whole == 0 and scale == 38:  # there is no room for the leading zero
            digits = 38
    return t.decimal(digits, scale) if digits <= 38 else None


def convert(value: Any, source: t.DType, target: t.DType) -> Any:
    """The constant `value` of type `source` as a value of type `target`.

    Raises ValueError if it does not fit, and LookupError if the conversion is left to the executor (or does not exist).
    """
    if value is None or source == target:
        return value
    if source == t.VARCHAR:
        return _from_text(value, target)
    return _CONVERSIONS[_family(source), _family(target)](value, source, target)


def _family(dtype: t.DType) -> str:
    if t.is_integer(dtype):
        return "integer"
    if t.is_decimal(dtype):
        return "decimal"
    return "float" if t.is_float(dtype) else dtype.name


def _to_integer(value: int | Decimal, target: t.DType) -> int:
    whole = int(value) if isinstance(value, int) else int(value.to_integral_value(ROUND_HALF_UP))
    low, high = t.value_range(target)
    if not low <= whole <= high:
        raise ValueError(value)
    return whole


def _to_decimal(value: int | Decimal, target: t.DType) -> Decimal:
    assert isinstance(target, t.DecimalType)
    scaled = EXACT.quantize(Decimal(value), Decimal(1).scaleb(-target.scale))
    if scaled.scaleb(target.scale, EXACT).copy_abs() >= 10**target.precision:
        raise ValueError(value)
    return scaled if scaled else scaled.copy_abs()  # decimals have no negative zero


def _to_float(value: float | int | Decimal, target: t.DType) -> float:
    number = float(value)
    if target == t.REAL:
        (number,) = struct.unpack("f", struct.pack("f", number))
    return number


def number_text(value: int | Decimal) -> str:
    """A number as SQL prints it, without an exponent."""
    return format(value, "f") if isinstance(value, Decimal) else str(value)


_CONVERSIONS: dict[tuple[str, str], Callable[[Any, t.DType, t.DType], Any]] = {
    ("integer", "integer"): lambda v, s, g: _to_integer(v, g),
    ("integer", "decimal"): lambda v, s, g: _to_decimal(v, g),
    ("integer", "float"): lambda v, s, g: _to_float(v, g),
    ("integer", "BOOLEAN"): lambda v, s, g: v != 0,
    ("integer", "VARCHAR"): lambda v, s, g: str(v),
    ("decimal", "integer"): lambda v, s, g: _to_integer(v, g),
    ("decimal", "decimal"): lambda v, s, g: _to_decimal(v, g),
    ("decimal", "float"): lambda v, s, g: _to_float(v, g),
    ("decimal", "VARCHAR"): lambda v, s, g: number_text(v),
    ("float", "float"): lambda v, s, g: _to_float(v, g),
    ("BOOLEAN", "integer"): lambda v, s, g: int(v),
    ("BOOLEAN", "VARCHAR"): lambda v, s, g: "true" if v else "false",
    ("DATE", "TIMESTAMP"): lambda v, s, g: datetime(v.year, v.month, v.day),
    ("DATE", "VARCHAR"): lambda v, s, g: v.isoformat(),
    ("TIMESTAMP", "DATE"): lambda v, s, g: v.date(),
}


# ------------------------------------------------------------------------------------------------------------ from text

_DATE = re.compile(r"\s*(\d{1,4})([-/])(\d{1,2})\2(\d{1,2})")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?")
_ZONE = re.compile(r"\s*(?:(Z|UTC)|([+-])(\d{1,2})(?::?(\d{2}))?)", re.IGNORECASE)
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\s*")

_TRUE, _FALSE = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")


def _from_text(text: str, target: t.DType) -> Any:
    if t.is_exact(target):
        if not _NUMBER.fullmatch(text):
            raise ValueError(text)
        number = Decimal(text.strip())
        if number.is_signed() and target in t.UNSIGNED_INTEGERS and text.strip("-0 "):
            raise ValueError(text)  # no other negative number than -0, not even one that would round to zero
        return _to_integer(number, target) if t.is_integer(target) else _to_decimal(number, target)
    if t.is_float(target):
        if "_" in text:
            raise ValueError(text)
        return _to_float(float(text), target)
    return _PARSERS[target](text)


def parse_boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE and word not in _FALSE:
        raise ValueError(text)
    return word in _TRUE


def parse_date(text: str) -> date:
    """A date, which a time of day may follow and is then dropped."""
    return parse_timestamp(text).date()


def parse_time(text: str) -> time:
    found = _TIME.fullmatch(text.strip())
    if not found:
        raise ValueError(text)
    return _time_of(found)


def _time_of(found: re.Match[str]) -> time:
    hour, minute, second, fraction = found.groups()
    return time(int(hour), int(minute), int(second or 0), int((fraction or "").ljust(6, "0")[:6] or 0))


def parse_timestamp(text: str) -> datetime:
    """A timestamp without a zone; one that is given is converted to UTC and dropped."""
    found = _DATE.match(text)
    if not found:
        raise ValueError(text)
    year, _, month, day = found.groups()
    moment = datetime(int(year), int(month), int(day))
    rest = text[found.end() :]
    if not rest.strip():
        return moment
    if rest[0] not in " Tt":
        raise ValueError(text)
    clock = _TIME.match(rest[1:].lstrip())
    if not clock:
        raise ValueError(text)
    rest = rest[1:].lstrip()[clock.end() :]
    moment = datetime.combine(moment.date(), _time_of(clock))
    zone = _ZONE.fullmatch(rest.rstrip()) if rest.strip() else None
    if rest.strip() and not zone:
        raise ValueError(text)
    if zone and zone.group(2):
        offset = timedelta(hours=int(zone.group(3)), minutes=int(zone.group(4) or 0))
        moment = moment - offset if zone.group(2) == "+" else moment + offset
    return moment


_UNITS: dict[str, tuple[str, int]] = {
    "year": ("months", 12), "quarter": ("months", 3), "month": ("months", 1), "decade": ("months", 120),
    "century": ("months", 1200),
    "week": ("days", 7), "day": ("days", 1), "hour": ("microseconds", 3_600_000_000), "minute": ("microseconds", 60_000_000),
    "second": ("microseconds", 1_000_000), "millisecond": ("microseconds", 1000), "microsecond": ("microseconds", 1),
}  # fmt: skip
_SHORT_UNITS = {
    "y": "year", "yr": "year", "mon": "month", "w": "week", "d": "day", "h": "hour", "hr": "hour", "m": "minute", "min": "minute",
    "s": "second", "sec": "second", "ms": "millisecond", "us": "microsecond", "centurie": "century",
}  # fmt: skip
_INTERVAL_PART = re.compile(
    r"\s*(?:([+-]?\d+(?:\.\d+)?)\s*([a-zA-Z]+)|([+-]?)(\d{1,9}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)"
)


def interval_of(amount: Decimal, unit: str) -> Interval:
    """`amount` units of time. A fraction of a unit of days or months is refused; of a clock's unit it is rounded to microseconds.

    Raises ValueError for an unknown unit or such a fraction.
    """
    word = unit.strip().lower()
    word = word if word in _SHORT_UNITS or word in _UNITS else word.removesuffix("s")
    word = _SHORT_UNITS.get(word, word)
    if word not in _UNITS:
        raise ValueError(unit)
    part, factor = _UNITS[word]
    total = amount * factor
    if part == "microseconds":
        return Interval(microseconds=int(total.to_integral_value(ROUND_HALF_UP)))
    if total != int(total):
        raise ValueError(unit)
    return Interval(**{part: int(total)})


def add_intervals(first: Interval, second: Interval) -> Interval:
    return Interval(first.months + second.months, first.days + second.days, first.microseconds + second.microseconds)


def parse_interval(text: str) -> Interval:
    """Several amounts with units and times of day, such as '1 year 2 days' or '1 day 02:03:04'. Raises ValueError."""
    total, at = Interval(), 0
    if not text.strip():
        raise ValueError(text)
    while text[at:].strip():
        found = _INTERVAL_PART.match(text, at)
        if not found:
            raise ValueError(text)
        amount, unit, sign, hours, minutes, seconds, fraction = found.groups()
        if unit is not None:
            part = interval_of(Decimal(amount), unit)
        else:
            clock = (int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0)) * 1_000_000 + int(
                (fraction or "").ljust(6, "0")
            )
            part = Interval(microseconds=-clock if sign == "-" else clock)
        total, at = add_intervals(total, part), found.end()
    return total


_PARSERS: dict[t.DType, Callable[[str], Any]] = {
    t.BOOLEAN: parse_boolean,
    t.DATE: parse_date,
    t.TIME: parse_time,
    t.TIMESTAMP: parse_timestamp,
    t.INTERVAL: parse_interval,
}


def folded(expr: Expr) -> Expr:
    """The value of constant arithmetic as a Literal; what is left of it where that is not known here."""
    operands = [folded(child) for child in expr.children if isinstance(child, Expr)]
    values = [operand.value for operand in operands if isinstance(operand, Literal)]
    if isinstance(expr, Literal) or len(values) < len(operands):
        return expr
    return evaluate_literals(expr, values) or expr

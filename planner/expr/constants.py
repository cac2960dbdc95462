"""The values of expressions over literals, in plain Python and exactly as the executor would compute them.

What Python would compute differently, and whatever would be an error, has no value here.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from planner.analysis.intervals import Interval as Range
from planner.analysis.intervals import divide_rounding, rescale, scaled_value
from planner.dtypes import (
    BOOLEAN,
    DATE,
    DOUBLE,
    TIMESTAMP,
    VARCHAR,
    DecimalType,
    DType,
    is_exact,
    is_float,
    is_integer,
    scale_of,
    value_range,
)
from planner.expr.nodes import Call, Cast, Compare, CompareOp, Expr, InList, IsNull, Literal, Not
from planner.expr.values import Interval

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_COMPARISONS: dict[CompareOp, Callable[[Any, Any], bool]] = {
    CompareOp.EQ: lambda a, b: a == b,
    CompareOp.NE: lambda a, b: a != b,
    CompareOp.LT: lambda a, b: a < b,
    CompareOp.LE: lambda a, b: a <= b,
    CompareOp.GT: lambda a, b: a > b,
    CompareOp.GE: lambda a, b: a >= b,
    CompareOp.DISTINCT: lambda a, b: a != b,
    CompareOp.NOT_DISTINCT: lambda a, b: a == b,
}


def evaluate_literals(expr: Expr, values: Sequence[Any]) -> Literal | None:
    """The value of `expr`, given those of its operands in order; None if it has to be left to the executor."""
    match expr:
        case IsNull():
            return Literal(BOOLEAN, values[0] is None)
        case Not():
            return Literal(BOOLEAN, None if values[0] is None else not values[0])
        case Compare():
            return _compare(expr, values[0], values[1])
        case InList():
            return _member(values[0], values[1:])
        case Cast():
            return cast_literal(expr.operand.dtype, expr.dtype, values[0])
        case Call():
            return _call(expr, values)
    return None


def exact_literal(scaled: int, dtype: DType) -> Literal | None:
    """The literal of a scaled integer; None if it is out of the type's range."""
    low, high = value_range(dtype)
    if not low <= scaled <= high:
        return None
    if not isinstance(dtype, DecimalType):
        return Literal(dtype, scaled)
    digits = tuple(int(digit) for digit in str(abs(scaled)))
    return Literal(dtype, Decimal((int(scaled < 0), digits, -dtype.scale)))


def _compare(expr: Compare, a: Any, b: Any) -> Literal | None:
    if _is_nan(a) or _is_nan(b):
        return None
    if a is None or b is None:
        if expr.op not in (CompareOp.DISTINCT, CompareOp.NOT_DISTINCT):
            return Literal(BOOLEAN, None)
    elif type(a) is not type(b) and not is_exact(expr.left.dtype):
        return None
    return Literal(BOOLEAN, _COMPARISONS[expr.op](a, b))


def _member(needle: Any, options: Sequence[Any]) -> Literal | None:
    if needle is None:
        return Literal(BOOLEAN, None)
    if any(_is_nan(value) for value in (needle, *options)):
        return None
    if any(option == needle for option in options if option is not None):
        return Literal(BOOLEAN, True)
    return Literal(BOOLEAN, None if None in options else False)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def cast_literal(source: DType, target: DType, value: Any) -> Literal | None:
    """The value converted as CAST does; None if that is an error, or is left to the executor."""
    if value is None or source == target:
        return Literal(target, value)
    if is_exact(source) and is_exact(target):
        number = scaled_value(value, source)
        return exact_literal(rescale(Range(number, number), scale_of(source), scale_of(target)).low, target)
    if source == BOOLEAN and is_integer(target):
        return Literal(target, int(value))
    if is_exact(source) and target == DOUBLE:
        return Literal(target, float(value))
    if is_integer(source) and target == VARCHAR:
        return Literal(target, str(value))
    if source == DATE and target == TIMESTAMP:
        return Literal(target, datetime.datetime.combine(value, datetime.time()))
    if source == TIMESTAMP and target == DATE:
        return Literal(target, value.date())
    if source == VARCHAR and target == DATE and _DATE.fullmatch(value):
        try:
            return Literal(target, datetime.date.fromisoformat(value))
        except ValueError:
            return None
    return None


def _call(call: Call, values: Sequence[Any]) -> Literal | None:
    types = [argument.dtype for argument in call.arguments]
    match call.function:
        case "coalesce":
            return Literal(call.dtype, next((value for value in values if value is not None), None))
        case "nullif":
            return None if _is_nan(values[0]) else Literal(call.dtype, None if values[0] == values[1] else values[0])
        case "concat" if all(dtype == VARCHAR for dtype in types):
            return Literal(call.dtype, "".join(values))
        case "add_interval" | "subtract_interval" if call.dtype == TIMESTAMP and isinstance(values[1], Interval):
            return _shift(values[0], values[1] if call.function == "add_interval" else -values[1])
        case "date_difference" if types == [DATE, DATE]:
            return Literal(call.dtype, (values[0] - values[1]).days)
        case "extract" if values[0] in ("year", "month", "day") and types[1] in (DATE, TIMESTAMP):
            return Literal(call.dtype, getattr(values[1], values[0]))
    if is_exact(call.dtype) and all(is_exact(dtype) for dtype in types):
        return _exact_call(call, [scaled_value(value, dtype) for value, dtype in zip(values, types, strict=True)], types)
    if is_float(call.dtype) and call.dtype == DOUBLE and all(dtype == DOUBLE for dtype in types):
        return _double_call(call, values)
    return None


def _exact_call(call: Call, numbers: list[int], types: list[DType]) -> Literal | None:
    scale = scale_of(call.dtype)
    if call.function in ("add", "subtract", "negate", "abs", "modulo"):
        scales = [scale_of(dtype) for dtype in types]
        if max(scales) > scale:
            return None
        numbers = [number * 10 ** (scale - s) for number, s in zip(numbers, scales, strict=True)]
    match call.function, numbers:
        case "add", _:
            return exact_literal(sum(numbers), call.dtype)
        case "subtract", [a, b]:
            return exact_literal(a - b, call.dtype)
        case "negate", [a]:
            return exact_literal(-a, call.dtype)
        case "abs", [a]:
            return exact_literal(abs(a), call.dtype)
        case "multiply", [a, b] if scale == scale_of(types[0]) + scale_of(types[1]):
            return exact_literal(a * b, call.dtype)
        case "modulo", [a, b] if b:
            return exact_literal(abs(a) % abs(b) * (-1 if a < 0 else 1), call.dtype)
        case "integer_divide", [a, b] if b and all(is_integer(dtype) for dtype in types):
            return exact_literal(abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1), call.dtype)
        case "divide", [a, b] if b:
            shift = scale + scale_of(types[1]) - scale_of(types[0])
            if shift < 0:
                return exact_literal(divide_rounding(a, b * 10**-shift), call.dtype)
            return exact_literal(divide_rounding(a * 10**shift, b), call.dtype)
    return None


def _double_call(call: Call, values: Sequence[float]) -> Literal | None:
    match call.function:
        case "add" if len(values) == 2:
            return Literal(call.dtype, values[0] + values[1])
        case "subtract":
            return Literal(call.dtype, values[0] - values[1])
        case "multiply":
            return Literal(call.dtype, values[0] * values[1])
        case "divide" if values[1] != 0:
            return Literal(call.dtype, values[0] / values[1])
        case "negate":
            return Literal(call.dtype, -values[0])
        case "abs":
            return Literal(call.dtype, abs(values[0]))
    return None


def _shift(moment: datetime.date, span: Interval) -> Literal | None:
    """A date or timestamp moved by an interval: months first, clamped to the end of the month, then days and time."""
    start = moment if isinstance(moment, datetime.datetime) else datetime.datetime.combine(moment, datetime.time())
    year, month = divmod(start.year * 12 + start.month - 1 + span.months, 12)
    try:
        first = start.replace(year=year, month=month + 1, day=1)
        day = min(start.day, _days_in_month(year, month + 1))
        return Literal(TIMESTAMP, first.replace(day=day) + datetime.timedelta(span.days, 0, span.microseconds))
    except (ValueError, OverflowError):
        return None


def _days_in_month(year: int, month: int) -> int:
    if month == 12:
        return 31
    return (datetime.date(year, month + 1, 1) - datetime.timedelta(days=1)).day

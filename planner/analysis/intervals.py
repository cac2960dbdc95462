"""Intervals of exact values: which integers an expression can take, given those of its columns.

Values are scaled integers: 1.25 as DECIMAL(4,2) is 125. An interval describes the values that are not NULL. `None` stands
for "not known" and for types that are not exact. The interval of a *result* may exceed its type's range; whoever lowers the
expression then has to check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.dtypes import DType, is_exact, scale_of, value_range
from planner.expr.nodes import Call, Case, Cast, ColumnRef, Expr, Literal


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from `low` to `high`, both included; low ≤ high."""

    low: int
    high: int

    def within(self, low: int, high: int) -> bool:
        return low <= self.low and self.high <= high

    def union(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))

    @property
    def magnitude(self) -> int:
        """The greatest absolute value."""
        return max(abs(self.low), abs(self.high))


Bounds = Mapping[int, Interval]
"""Interval by column id; a column that is absent is only known by its type."""


def type_interval(dtype: DType) -> Interval | None:
    return Interval(*value_range(dtype)) if is_exact(dtype) else None


def rescale(interval: Interval, from_scale: int, to_scale: int) -> Interval:
    """The interval after a change of scale, rounded half away from zero where digits are dropped."""
    if to_scale >= from_scale:
        factor = 10 ** (to_scale - from_scale)
        return Interval(interval.low * factor, interval.high * factor)
    divisor = 10 ** (from_scale - to_scale)
    return Interval(divide_rounding(interval.low, divisor), divide_rounding(interval.high, divisor))


def divide_rounding(numerator: int, denominator: int) -> int:
    """numerator / denominator rounded half away from zero; denominator ≠ 0."""
    sign = -1 if (numerator < 0) != (denominator < 0) else 1
    numerator, denominator = abs(numerator), abs(denominator)
    return sign * ((2 * numerator + denominator) // (2 * denominator))


def multiply(a: Interval, b: Interval) -> Interval:
    products = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
    return Interval(min(products), max(products))


def expression_interval(expr: Expr, bounds: Bounds) -> Interval | None:
    """The interval of an expression as a scaled integer of its own type, before any check against the type's range.

    Operands count with what their own check lets through, so the result is clipped to each operand's type range first.
    """
    if not is_exact(expr.dtype):
        return None
    raw = _raw_interval(expr, bounds)
    return raw if raw is not None else type_interval(expr.dtype)


def checked_interval(expr: Expr, bounds: Bounds) -> Interval | None:
    """The interval of an expression after the check against its type's range: what its consumer can see."""
    raw, limit = expression_interval(expr, bounds), type_interval(expr.dtype)
    return clip(raw, limit) if raw is not None and limit is not None else limit


def clip(interval: Interval, limit: Interval) -> Interval:
    """The part of `interval` inside `limit`; `limit` itself if they do not meet (every value is then an error)."""
    low, high = max(interval.low, limit.low), min(interval.high, limit.high)
    return Interval(low, high) if low <= high else limit


def scaled_value(value: object, dtype: DType) -> int:
    """A Python int or decimal.Decimal as the scaled integer of `dtype`, rounded half away from zero."""
    from decimal import Decimal

    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        number = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
        shift = exponent + scale_of(dtype)
        return number * 10**shift if shift >= 0 else divide_rounding(number, 10**-shift)
    return int(value) * 10 ** scale_of(dtype)  # type: ignore[call-overload]


def _raw_interval(expr: Expr, bounds: Bounds) -> Interval | None:
    if isinstance(expr, Literal):
        if expr.value is None:
            return Interval(0, 0)
        number = scaled_value(expr.value, expr.dtype)
        return Interval(number, number)
    if isinstance(expr, ColumnRef):
        return bounds.get(expr.column.id) or type_interval(expr.dtype)
    if isinstance(expr, Cast):
        if not is_exact(expr.operand.dtype):
            return None
        inner = checked_interval(expr.operand, bounds)
        return inner and rescale(inner, scale_of(expr.operand.dtype), scale_of(expr.dtype))
    if isinstance(expr, Case):
        branches = [checked_interval(branch, bounds) for branch in (*expr.results, expr.otherwise)]
        return _union(branches)
    if isinstance(expr, Call):
        return _call_interval(expr, bounds)
    return None


def _union(branches: list[Interval | None]) -> Interval | None:
    result = branches[0]
    for branch in branches[1:]:
        if result is None or branch is None:
            return None
        result = result.union(branch)
    return result


def _call_interval(expr: Call, bounds: Bounds) -> Interval | None:
    if expr.function in ("coalesce", "nullif", "greatest", "least"):
        branches = [checked_interval(argument, bounds) for argument in expr.arguments]
        return branches[0] if expr.function == "nullif" else _union(branches)
    if expr.function not in ("add", "subtract", "multiply", "negate", "abs", "modulo", "integer_divide"):
        return None
    scale = scale_of(expr.dtype)
    operands = []
    for argument in expr.arguments:
        interval = checked_interval(argument, bounds)
        if interval is None:
            return None
        if expr.function in ("add", "subtract", "negate", "abs", "modulo"):
            interval = rescale(interval, scale_of(argument.dtype), scale)
        operands.append(interval)
    first = operands[0]
    match expr.function:
        case "add":
            return Interval(sum(i.low for i in operands), sum(i.high for i in operands))
        case "subtract":
            return Interval(first.low - operands[1].high, first.high - operands[1].low)
        case "multiply":
            return multiply(first, operands[1])
        case "negate":
            return Interval(-first.high, -first.low)
        case "abs":
            low = 0 if first.low <= 0 <= first.high else min(abs(first.low), abs(first.high))
            return Interval(low, first.magnitude)
        case "integer_divide":
            return Interval(-first.magnitude, first.magnitude)
        case _:  # modulo: the sign of the dividend, and nearer to zero than the divisor
            limit = min(first.magnitude, max(operands[1].magnitude - 1, 0))
            return Interval(-limit if first.low < 0 else 0, limit if first.high > 0 else 0)

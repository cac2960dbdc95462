"""Arithmetic: exact types in proven tiers or with checks, floats as IEEE does it."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from exec.kernels import floats
from exec.kernels.exact_division import divide_decimals
from exec.lower.column_types import tier_type
from exec.lower.exact import (
    constant,
    convert,
    divide_half_away,
    finish,
    tier_of_magnitude,
    truncated_quotient,
    truncated_remainder,
    wider,
    zero_checked,
)
from exec.lower.expressions import Guard, Lowering, exact_constant, guarded, reduce_balanced
from planner.analysis.intervals import Interval, clip, expression_interval, rescale, type_interval
from planner.dtypes import DecimalType, is_exact, scale_of
from planner.errors import error
from planner.expr.nodes import Call, ColumnRef, Expr, Literal
from planner.physical.encodings import Encoding, encoding_for
from planner.tree import kind_mask

_COLUMNS = kind_mask(ColumnRef)


def _raw(low: Lowering, call: Call) -> Interval:
    raw = expression_interval(call, low.bounds)
    assert raw is not None
    return raw


def _can_overflow(raw: Interval, call: Call) -> bool:
    limit = type_interval(call.dtype)
    assert limit is not None
    return not raw.within(limit.low, limit.high)


def _operand(low: Lowering, expr: Expr, scale: int, tier: Encoding, guard: Guard, raises: bool = False) -> pl.Expr:
    """An exact operand with `scale` digits after the point; NULL outside of the guard if what follows `raises`."""
    factor = 10 ** (scale - scale_of(expr.dtype))
    lowered = low.in_tier(expr, tier, guard)
    if raises:
        lowered = guarded(lowered, guard)
    if factor == 1:
        return lowered
    if (value := exact_constant(expr)) is not None and not raises:
        return constant(value * factor, tier)
    return lowered * constant(factor, tier)


def add(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    if not is_exact(call.dtype):
        return reduce_balanced([low.lower(argument, guard) for argument in call.arguments], lambda a, b: a + b)
    return _sum(low, call, guard, lambda a, b: a + b)


def subtract(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    if not is_exact(call.dtype):
        left, right = (low.lower(argument, guard) for argument in call.arguments)
        return left - right
    return _sum(low, call, guard, lambda a, b: a - b)


def _sum(low: Lowering, call: Call, guard: Guard, combine: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> pl.Expr:
    scale = scale_of(call.dtype)
    magnitude = sum(rescale(low.interval(a), scale_of(a.dtype), scale).magnitude for a in call.arguments)
    tier = tier_of_magnitude(magnitude)
    raw = _raw(low, call)
    raises = tier is Encoding.DEC38 or _can_overflow(raw, call)
    operands = [_operand(low, argument, scale, tier, guard, raises) for argument in call.arguments]
    return finish(reduce_balanced(operands, combine), tier, raw, call.dtype)


def multiply(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    if not is_exact(call.dtype):
        left, right = (low.lower(argument, guard) for argument in call.arguments)
        return left * right
    first, second = (low.interval(argument) for argument in call.arguments)
    tier = tier_of_magnitude(max(first.magnitude * second.magnitude, first.magnitude, second.magnitude))
    raw = _raw(low, call)
    left, right = (low.in_tier(argument, tier, guard) for argument in call.arguments)
    if tier is Encoding.DEC38 or _can_overflow(raw, call):
        left = guarded(left, guard)
    return finish(left * right, tier, raw, call.dtype)


def negate(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    if not is_exact(call.dtype):
        return -low.lower(call.arguments[0], guard)
    operand, tier = _unary(low, call, guard)
    # Polars has no negation of Int128.
    return finish(constant(0, tier) - operand, tier, _raw(low, call), call.dtype)


def absolute(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    if not is_exact(call.dtype):
        return low.lower(call.arguments[0], guard).abs()
    operand, tier = _unary(low, call, guard)
    return finish(operand.abs(), tier, _raw(low, call), call.dtype)


def _unary(low: Lowering, call: Call, guard: Guard) -> tuple[pl.Expr, Encoding]:
    """The exact operand, in a tier that holds it and its opposite."""
    argument, raw = call.arguments[0], _raw(low, call)
    tier = tier_of_magnitude(max(low.interval(argument).magnitude, raw.magnitude))
    return _operand(low, argument, scale_of(call.dtype), tier, guard, _can_overflow(raw, call)), tier


def divide(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """DOUBLE by IEEE rules; decimals exactly, rounded half away from zero at the scale of the result."""
    dividend, divisor = call.arguments
    if not isinstance(call.dtype, DecimalType):
        return _float_quotient(low.lower(dividend, guard), low.lower(divisor, guard), low, call)
    exponent = scale_of(call.dtype) - scale_of(dividend.dtype) + scale_of(divisor.dtype)
    fixed = exact_constant(divisor)
    reach = low.interval(dividend).magnitude * 10 ** max(exponent, 0)
    if fixed and exponent >= 0 and 2 * reach + 2 * abs(fixed) < 10**38:
        return _divide_by_constant(low, call, exponent, fixed, guard)
    top = guarded(convert(low.in_tier(dividend, _work(low, dividend), guard), _work(low, dividend), Encoding.INT128), guard)
    bottom = guarded(convert(low.in_tier(divisor, _work(low, divisor), guard), _work(low, divisor), Encoding.INT128), guard)
    typed = call.dtype
    quotient = pl.map_batches(
        [top, bottom],
        lambda pair: divide_decimals(pair[0], pair[1], exponent, typed),
        return_dtype=pl.Int128(),
        is_elementwise=True,
    )
    return convert(quotient, Encoding.INT128, low.encoding(call))


def _float_quotient(top: pl.Expr, bottom: pl.Expr, low: Lowering, call: Call) -> pl.Expr:
    if call.arguments[1].kinds & _COLUMNS:
        return top / bottom
    return floats.divide(top, bottom, low.polars_type(call))


def _work(low: Lowering, expr: Expr) -> Encoding:
    return wider(Encoding.INT64, tier_of_magnitude(low.interval(expr).magnitude))


def _divide_by_constant(low: Lowering, call: Call, exponent: int, divisor: int, guard: Guard) -> pl.Expr:
    """Twice the numerator over twice the divisor, which is even, as rounding by half a divisor needs it."""
    interval = low.interval(call.arguments[0])
    tier = tier_of_magnitude(2 * interval.magnitude * 10**exponent + 2 * abs(divisor))
    factor = 2 * 10**exponent * (1 if divisor > 0 else -1)
    numerator = low.in_tier(call.arguments[0], tier, guard) * constant(factor, tier)
    signed = interval if divisor > 0 else Interval(-interval.high, -interval.low)
    quotient = divide_half_away(numerator, 2 * abs(divisor), tier, signed)
    return convert(quotient, tier, low.encoding(call))


def integer_divide(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _division(low, call, guard, remainder=False)


def modulo(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _division(low, call, guard, remainder=True)


def _division(low: Lowering, call: Call, guard: Guard, remainder: bool) -> pl.Expr:
    dividend, divisor = call.arguments
    if not is_exact(call.dtype):
        left, right = low.lower(dividend, guard), low.lower(divisor, guard)
        if remainder:
            return pl.map_batches([left, right], floats.remainder, return_dtype=low.polars_type(call), is_elementwise=True)
        return _float_quotient(left, zero_checked(guarded(right, guard), low.polars_type(divisor)), low, call)
    scale = max(scale_of(dividend.dtype), scale_of(divisor.dtype))
    first = rescale(low.interval(dividend), scale_of(dividend.dtype), scale)
    second = rescale(low.interval(divisor), scale_of(divisor.dtype), scale)
    tier = tier_of_magnitude(max(first.magnitude, second.magnitude))
    if tier is Encoding.DEC38:
        raise error("UNSUPPORTED", what=f"{call.function} of {dividend.dtype} and {divisor.dtype}")
    raw = _raw(low, call)
    may_be_zero = second.low <= 0 <= second.high
    raises = may_be_zero or _can_overflow(raw, call)
    top = _operand(low, dividend, scale, tier, guard, raises)
    bottom = _operand(low, divisor, scale, tier, guard, raises)
    if may_be_zero:
        # A NULL dividend is no division: SQL gives NULL without looking at the divisor.
        bottom = zero_checked(pl.when(top.is_not_null()).then(bottom), tier_type(tier))
    non_negative = first.low >= 0 and second.low >= 0
    result = (truncated_remainder if remainder else truncated_quotient)(top, bottom, non_negative)
    if scale_of(call.dtype) != (scale if remainder else 0) or (scale and not remainder):
        raise error("UNSUPPORTED", what=f"{call.function} of {dividend.dtype} and {divisor.dtype} as {call.dtype}")
    return finish(result, tier, raw, call.dtype)


def round_number(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """round(x) and round(x, digits): half away from zero."""
    digits = 0
    if len(call.arguments) > 1:
        argument = call.arguments[1]
        if not isinstance(argument, Literal) or not isinstance(argument.value, int):
            raise error("UNSUPPORTED", what="round with a number of digits that is not an integer literal")
        digits = argument.value
    operand = call.arguments[0]
    if is_exact(operand.dtype):
        return _round_exact(low, call, digits, guard, "round")
    value = low.lower(operand, guard)
    if digits == 0:
        return value.round(mode="half_away_from_zero")
    places = digits
    return value.map_batches(
        lambda numbers: floats.round_half_away(numbers, places), low.polars_type(operand), is_elementwise=True
    )


def floor(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    operand = call.arguments[0]
    if is_exact(operand.dtype):
        return _round_exact(low, call, 0, guard, "floor")
    return low.lower(operand, guard).floor()


def ceil(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    operand = call.arguments[0]
    if is_exact(operand.dtype):
        return _round_exact(low, call, 0, guard, "ceil")
    return low.lower(operand, guard).ceil()


def _round_exact(low: Lowering, call: Call, digits: int, guard: Guard, mode: str) -> pl.Expr:
    """An exact operand rounded to `digits` after the point (negative: before it), in the scale of the result."""
    operand = call.arguments[0]
    interval = low.interval(operand)
    dropped = scale_of(operand.dtype) - digits
    if not is_exact(call.dtype):
        value = low.in_tier(operand, _work(low, operand), guard).cast(pl.Float64())
        return floats.divide(value, 10.0 ** scale_of(operand.dtype), pl.Float64())
    if dropped > 37:
        return pl.when(low.lower(operand, guard).is_not_null()).then(pl.lit(0, dtype=low.polars_type(call)))
    dropped = max(dropped, 0)
    kept = Interval(interval.low // 10**dropped, -(-interval.high // 10**dropped))
    shift = scale_of(call.dtype) - (scale_of(operand.dtype) - dropped)
    raw = Interval(kept.low * 10 ** max(shift, 0), kept.high * 10 ** max(shift, 0))
    # At most 1.1 × 10**38, which 128 bits hold.
    tier = Encoding.INT64 if max(interval.magnitude + 10**dropped, raw.magnitude) < 2**63 else Encoding.INT128
    value = low.in_tier(operand, tier, guard)
    if dropped:
        unit = constant(10**dropped, tier)
        if mode == "round":
            value = divide_half_away(value, 10**dropped, tier, interval)
        elif mode == "floor":
            value = value // unit
        else:
            value = constant(0, tier) - ((constant(0, tier) - value) // unit)
    if shift > 0:
        value = value * constant(10**shift, tier)
    limit = type_interval(call.dtype)
    assert limit is not None
    if not raw.within(limit.low, limit.high):
        value = guarded(value, guard)
    lowered = finish(value, tier, raw, call.dtype)
    if not isinstance(call.dtype, DecimalType):
        return lowered
    return convert(lowered, encoding_for(call.dtype, clip(raw, limit)), low.encoding(call))

"""Functions of numbers, and those of values of any type."""

from __future__ import annotations

from collections.abc import Callable

from planner import dtypes as t
from planner.expr.nodes import Call, Case, Cast, Expr, IsNull, Literal
from planner.sql.coercion import cast_to, to_boolean, unify
from planner.sql.signatures.signature import Arguments, Signature, first_type

_PI = Literal(t.DOUBLE, 3.141592653589793)


def _trunc(arguments: Arguments) -> Expr:
    """Toward zero, at a constant number of digits after the point."""
    number = arguments.values[0]
    digits = arguments.constant(1, int, "a number of digits") if len(arguments.values) > 1 else 0
    if not isinstance(digits, int):
        raise arguments.context.unsupported("a number of digits that is NULL", arguments.nodes[1])
    dtype = number.dtype
    if isinstance(dtype, t.DecimalType):
        if digits >= dtype.scale:
            return number
        dtype = t.decimal(dtype.precision, max(0, digits))
    elif t.is_integer(dtype) and digits >= 0:
        return number
    elif not t.is_integer(dtype) and digits:
        raise arguments.context.unsupported("trunc of a floating-point number to a number of digits", arguments.nodes[1])
    return Call(dtype, "trunc", (number, Literal(t.INTEGER, digits)))


def _widest(function: str) -> Callable[[Arguments], Expr]:
    def build(arguments: Arguments) -> Expr:
        values = arguments.values
        if values[0].dtype in (t.INTERVAL, t.NULL):
            if values[0].dtype == t.NULL:
                return Literal(t.NULL, None)
            raise arguments.context.error("TYPE_MISMATCH", arguments.node, what=function, types=values[0].dtype)
        return values[0] if len(values) == 1 else Call(values[0].dtype, function, values)

    return build


def _log(arguments: Arguments) -> Expr:
    """log(x) is the decimal logarithm, log(base, x) that to any base."""
    if len(arguments.values) == 1:
        return Call(t.DOUBLE, "log10", arguments.values)
    base, number = arguments.values
    if isinstance(base, Literal) and base.value in (2.0, 10.0):
        return Call(t.DOUBLE, "log2" if base.value == 2.0 else "log10", (number,))
    return Call(t.DOUBLE, "divide", (Call(t.DOUBLE, "log10", (number,)), Call(t.DOUBLE, "log10", (base,))))


def _bits(function: str) -> Callable[[Arguments], Expr]:
    def build(arguments: Arguments) -> Expr:
        dtype = first_type(arguments)
        if not t.is_integer(dtype):
            raise arguments.context.error("TYPE_MISMATCH", arguments.node, what=function, types=dtype)
        return Call(dtype, function, arguments.values)

    return build


def _float_test(function: str) -> Callable[[Arguments], Expr]:
    """What exact numbers never are, or always."""

    def build(arguments: Arguments) -> Expr:
        number = arguments.values[0]
        if not t.is_float(number.dtype):
            number = cast_to(arguments.context, number, t.DOUBLE, arguments.node)
        return Call(t.BOOLEAN, function, (number,))

    return build


def _typeof(arguments: Arguments) -> Expr:
    dtype = first_type(arguments)
    names = {t.TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE", t.NULL: '"NULL"', t.REAL: "FLOAT"}
    return Literal(t.VARCHAR, names.get(dtype, str(dtype)))


def _iff(arguments: Arguments) -> Expr:
    context = arguments.context
    condition = to_boolean(context, arguments.values[0], "iff", arguments.nodes[0])
    then, otherwise = unify(context, arguments.values[1:], arguments.nodes[1:], "iff")
    return Case(then.dtype, (condition,), (then,), otherwise)


def _nvl2(arguments: Arguments) -> Expr:
    then, otherwise = unify(arguments.context, arguments.values[1:], arguments.nodes[1:], "nvl2")
    return Case(then.dtype, (IsNull(t.BOOLEAN, arguments.values[0]),), (otherwise,), then)


def _hex(arguments: Arguments) -> Expr:
    """Of an integer the digits of its 64 bits, of text those of its bytes."""
    value = arguments.values[0]
    if t.is_integer(value.dtype) and value.dtype != t.UBIGINT:
        return Call(t.VARCHAR, "hex", (cast_to(arguments.context, value, t.BIGINT, arguments.node),))
    if value.dtype not in (t.VARCHAR, t.UBIGINT, t.NULL):
        raise arguments.context.error("TYPE_MISMATCH", arguments.node, what="hex", types=value.dtype)
    return Call(t.VARCHAR, "hex", (value if value.dtype != t.NULL else Cast(t.VARCHAR, value),))


_DOUBLES = (
    "sqrt", "cbrt", "exp", "ln", "log10", "log2", "degrees", "radians", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "even",
)  # fmt: skip
_POWER = Signature("power", ("double", "double"), t.DOUBLE)
_HEX = Signature("hex", ("any",), t.VARCHAR, build=_hex)
_IFF = Signature("iff", ("any", "any", "any"), t.VARCHAR, build=_iff)

NUMBERS: dict[str, Signature] = {
    **{name: Signature(name, ("double",), t.DOUBLE) for name in _DOUBLES},
    "power": _POWER,
    "pow": _POWER,
    "atan2": Signature("atan2", ("double", "double"), t.DOUBLE),
    "log": Signature("log10", ("double", "double"), t.DOUBLE, 1, _log),
    "pi": Signature("pi", (), t.DOUBLE, build=lambda _: _PI),
    "sign": Signature("sign", ("number",), t.TINYINT),
    "trunc": Signature("trunc", ("number", "whole"), first_type, 1, _trunc),
    "gcd": Signature("gcd", ("integer", "integer"), t.BIGINT),
    "greatest_common_divisor": Signature("gcd", ("integer", "integer"), t.BIGINT),
    "lcm": Signature("lcm", ("integer", "integer"), t.BIGINT),
    "least_common_multiple": Signature("lcm", ("integer", "integer"), t.BIGINT),
    "fmod": Signature("fmod", ("double", "double"), t.DOUBLE),
    "isnan": Signature("isnan", ("number",), t.BOOLEAN, build=_float_test("isnan")),
    "isinf": Signature("isinf", ("number",), t.BOOLEAN, build=_float_test("isinf")),
    "isfinite": Signature("isfinite", ("number",), t.BOOLEAN, build=_float_test("isfinite")),
    "bit_count": Signature("bit_count", ("whole",), t.TINYINT),
    "bit_and": Signature("bit_and", ("same", "same"), t.BIGINT, build=_bits("bit_and")),
    "bit_or": Signature("bit_or", ("same", "same"), t.BIGINT, build=_bits("bit_or")),
    "xor": Signature("bit_xor", ("same", "same"), t.BIGINT, build=_bits("bit_xor")),
    "bit_not": Signature("bit_not", ("whole",), first_type),
    "hex": _HEX,
    "to_hex": _HEX,
    "greatest": Signature("greatest", ("same...",), first_type, 1, _widest("greatest")),
    "least": Signature("least", ("same...",), first_type, 1, _widest("least")),
    "typeof": Signature("typeof", ("any",), t.VARCHAR, build=_typeof),
    "iff": _IFF,
    "nvl2": Signature("nvl2", ("any", "any", "any"), t.VARCHAR, build=_nvl2),
}

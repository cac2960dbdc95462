"""Argument and result types of the arithmetic operators, by the rules of DESIGN.md section 7.

What the kernels get: `add` and `subtract` have operands of the result's type, or, for decimals, of the result's scale (their
precision may be smaller); `multiply` and `divide` of decimals have operands of any scale; everything else has one type.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import Call, Cast, Expr, Literal
from planner.expr.values import Interval
from planner.sql.coercion import cast_to, common_decimal, common_type, exact_type, unify
from planner.sql.context import BindContext
from planner.sql.literals import add_intervals

_SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "integer_divide": "//", "modulo": "%"}

Operands = tuple[Expr, Expr]


def arithmetic(context: BindContext, function: str, left: Expr, right: Expr, *nodes: exp.Expr) -> Expr:
    """The typed call of a binary operator of `FUNCTIONS`. Raises TYPE_MISMATCH, UNSUPPORTED or DECIMAL_TOO_WIDE at `nodes`."""
    if left.dtype in _TEMPORAL or right.dtype in _TEMPORAL:
        return _temporal(context, function, left, right, nodes)
    left, right = _numeric(context, function, left, right, nodes)
    if t.is_float(left.dtype) or t.is_float(right.dtype):
        dtype = t.DOUBLE if t.DOUBLE in (left.dtype, right.dtype) else t.REAL
        left, right = cast_to(context, left, dtype, *nodes), cast_to(context, right, dtype, *nodes)
        if function == "integer_divide":
            raise _mismatch(context, function, left, right, nodes)
        return Call(dtype, function, (left, right))
    if t.is_integer(left.dtype) and t.is_integer(right.dtype):
        return _integer(context, function, left, right, nodes)
    return _DECIMAL_RULES[function](context, function, left, right, nodes)


def _mismatch(context: BindContext, function: str, left: Expr, right: Expr, nodes: tuple[exp.Expr, ...]) -> Exception:
    types = f"{left.dtype} and {right.dtype}"
    return context.error("TYPE_MISMATCH", *nodes, what=f"operator {_SYMBOLS[function]}", types=types)


def _numeric(context: BindContext, function: str, left: Expr, right: Expr, nodes: tuple[exp.Expr, ...]) -> Operands:
    """Both operands as numbers: NULL takes the other's type, and a text constant is read as the other's type."""
    for expr in (left, right):
        text = isinstance(expr, Literal) and expr.dtype == t.VARCHAR
        if not (t.is_numeric(expr.dtype) or expr.dtype == t.NULL or text):
            raise _mismatch(context, function, left, right, nodes)
    if not (t.is_numeric(left.dtype) and t.is_numeric(right.dtype)):
        known = next((expr.dtype for expr in (left, right) if t.is_numeric(expr.dtype)), None)
        if known is None:
            if t.VARCHAR in (left.dtype, right.dtype):
                raise _mismatch(context, function, left, right, nodes)
            known = t.INTEGER
        left = left if t.is_numeric(left.dtype) else cast_to(context, left, known, *nodes)
        right = right if t.is_numeric(right.dtype) else cast_to(context, right, known, *nodes)
    return left, right


def _integer(context: BindContext, function: str, left: Expr, right: Expr, nodes: tuple[exp.Expr, ...]) -> Expr:
    if function == "divide":
        return Call(t.DOUBLE, "divide", (cast_to(context, left, t.DOUBLE, *nodes), cast_to(context, right, t.DOUBLE, *nodes)))
    if left.dtype != right.dtype:
        left, right = unify(context, (left, right), (nodes[0], nodes[-1]), f"operator {_SYMBOLS[function]}")
    if t.is_decimal(left.dtype):  # UBIGINT with a signed type
        return _DECIMAL_RULES[function](context, function, left, right, nodes)
    return Call(left.dtype, function, (left, right))


def rescaled(context: BindContext, expr: Expr, scale: int, *nodes: exp.Expr) -> Expr:
    """An exact operand as a decimal of another scale, as wide as needed (38 digits at most)."""
    own = exact_type(expr)
    narrow = t.as_decimal(own)
    if isinstance(expr.dtype, t.DecimalType) and expr.dtype.scale == scale:
        return expr
    whole = narrow.precision - narrow.scale
    return cast_to(context, expr, t.decimal(min(38, max(1, whole + scale)), scale), *nodes)


def _add_decimals(context: BindContext, function: str, left: Expr, right: Expr, nodes: tuple[exp.Expr, ...]) -> Expr:
    a, b = t.as_decimal(exact_type(left)), t.as_decimal(exact_type(right))
    scale = max(a.scale, b.scale)
    precision = min(38, max(a.precision - a.scale, b.precision - b.scale) + scale + 1)
    operands = (rescaled(context, left, scale, *nodes), rescaled(context, right, scale, *nodes))
    return Call(t.decimal(precision, scale), function, operands)


def _multiply_decimals(context: BindContext, function: str, left: Expr, right: Expr, nodes: tuple[exp.Expr, ...]) -> Expr:
    a, b = t.as_decimal(exact_type(left)), t.as_decimal(exact_type(right))
    if a.scale + b.scale > 38:
        raise context.error("DECIMAL_TOO_WIDE", *nodes, what=f"{left.dtype} * {right.dtype}")
    dtype = t.decimal(min(38, a.precision + b.precision), a.scale + b.scale)
    return Call(dtype, function, (cast_to(context, left, a, *nodes), cast_to(context, right, b, *nodes)))


def _divide_decimals(context: BindContext, function: str, left: Expr, right: Expr, nodes: tuple[exp.Expr, ...]) -> Expr:
    a, b = t.as_decimal(exact_type(left)), t.as_decimal(exact_type(right))
    dtype = quotient_type(a.scale)
    return Call(dtype, function, (cast_to(context, left, a, *nodes), cast_to(context, right, b, *nodes)))


def quotient_type(scale: int) -> t.DecimalType:
    """The type of a decimal of this scale divided by something, and of its average."""
    return t.decimal(38, max(scale, min(scale + 6, 12)))


def _remainder_of_decimals(context: BindContext, function: str, left: Expr, right: Expr, nodes: tuple[exp.Expr, ...]) -> Expr:
    """`%`, and `//` of whole numbers that no integer type holds, such as the difference of a UBIGINT and a BIGINT."""
    dtype = common_decimal(t.as_decimal(exact_type(left)), t.as_decimal(exact_type(right)))
    if function == "integer_divide" and dtype.scale:
        raise _mismatch(context, function, left, right, nodes)
    return Call(dtype, function, (cast_to(context, left, dtype, *nodes), cast_to(context, right, dtype, *nodes)))


_Rule = Callable[[BindContext, str, Expr, Expr, tuple[exp.Expr, ...]], Expr]

_DECIMAL_RULES: dict[str, _Rule] = {
    "add": _add_decimals,
    "subtract": _add_decimals,
    "multiply": _multiply_decimals,
    "divide": _divide_decimals,
    "integer_divide": _remainder_of_decimals,
    "modulo": _remainder_of_decimals,
}


# ------------------------------------------------------------------------------------------------------ dates and times

_TEMPORAL = frozenset({t.DATE, t.TIME, t.TIMESTAMP, t.TIMESTAMPTZ, t.INTERVAL})
_MOMENTS = (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ)


def _temporal(context: BindContext, function: str, left: Expr, right: Expr, nodes: tuple[exp.Expr, ...]) -> Expr:
    if function == "add" and right.dtype in _MOMENTS:
        left, right = right, left
    if left.dtype in _MOMENTS and function in ("add", "subtract"):
        if right.dtype == t.INTERVAL:
            dtype = t.TIMESTAMP if left.dtype == t.DATE else left.dtype
            return Call(dtype, f"{function}_interval", (left, right))
        if left.dtype == t.DATE and t.is_integer(right.dtype):
            return _shift_date(context, function, left, right, nodes)
        if function == "subtract" and left.dtype == right.dtype == t.DATE:
            return Call(t.BIGINT, "date_difference", (left, right))
        if function == "subtract" and common_type(left.dtype, right.dtype) in (t.TIMESTAMP, t.TIMESTAMPTZ):
            raise context.unsupported("the difference of two timestamps", *nodes, instead="cast both to DATE")
    if left.dtype == t.INTERVAL or right.dtype == t.INTERVAL:
        folded = _fold_interval(function, left, right)
        if folded is not None:
            return folded
    raise _mismatch(context, function, left, right, nodes)


def _shift_date(context: BindContext, function: str, left: Expr, right: Expr, nodes: tuple[exp.Expr, ...]) -> Expr:
    """DATE plus or minus whole days is a DATE."""
    if not isinstance(right, Literal):
        raise context.unsupported("adding a number of days that is not constant", *nodes, instead="an INTERVAL constant works")
    days = Literal(t.INTERVAL, None if right.value is None else Interval(days=right.value))
    return Cast(t.DATE, Call(t.TIMESTAMP, f"{function}_interval", (left, days)))


def _fold_interval(function: str, left: Expr, right: Expr) -> Expr | None:
    """Arithmetic on interval constants; None if an operand is not constant or the operator makes no sense."""
    if not (isinstance(left, Literal) and isinstance(right, Literal)):
        return None
    if left.dtype == right.dtype == t.INTERVAL and function in ("add", "subtract"):
        return Literal(t.INTERVAL, add_intervals(left.value, right.value if function == "add" else -right.value))
    if function == "multiply" and right.dtype == t.INTERVAL:
        left, right = right, left
    if function == "multiply" and t.is_integer(right.dtype) and right.value is not None:
        span, factor = left.value, right.value
        return Literal(t.INTERVAL, Interval(span.months * factor, span.days * factor, span.microseconds * factor))
    return None


def negated(context: BindContext, operand: Expr, node: exp.Expr) -> Expr:
    """Unary minus; the minus of a constant is part of the constant. Raises TYPE_MISMATCH."""
    if isinstance(operand, Literal) and operand.value is not None:
        if operand.dtype == t.INTERVAL or t.is_float(operand.dtype):
            return Literal(operand.dtype, -operand.value)
        if t.is_exact(operand.dtype):
            return _negated_number(operand)
    if not (t.is_numeric(operand.dtype) or operand.dtype == t.NULL):
        raise context.error("TYPE_MISMATCH", node, what="operator -", types=operand.dtype)
    if operand.dtype == t.NULL:
        return Literal(t.INTEGER, None)
    return Call(operand.dtype, "negate", (operand,))


def _negated_number(operand: Literal) -> Expr:
    """The least BIGINT is written as the minus of a number that is no BIGINT."""
    if t.is_decimal(operand.dtype):
        # Not by unary minus, which would round to the precision of the current context. There is no negative zero.
        value = operand.value.copy_negate() if operand.value else operand.value
        whole = operand.dtype == t.decimal(38, 0)
        return Literal(t.BIGINT, int(value)) if whole and value == -(2**63) else Literal(operand.dtype, value)
    value = -operand.value
    low, high = t.value_range(operand.dtype)
    dtype = operand.dtype if low <= value <= high else t.BIGINT
    return Literal(dtype, value)

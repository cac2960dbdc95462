"""Common types and implicit conversions.

Constants adapt to what they meet: a whole number takes the type of the other operand if it fits, text is read as the other
operand's type, a decimal counts with its own digits. Anything else meets in the narrowest type that holds both.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import Cast, Expr, Literal
from planner.sql.context import BindContext
from planner.sql.literals import convert, decimal_type_of, number_text

_TEMPORAL_RANK = {t.DATE: 0, t.TIMESTAMP: 1, t.TIMESTAMPTZ: 2}


def common_type(a: t.DType, b: t.DType) -> t.DType | None:
    """The type in which values of two types are compared or mixed; None if they have nothing in common."""
    if a == b:
        return a
    if a == t.NULL:
        return b
    if b == t.NULL:
        return a
    if t.is_numeric(a) and t.is_numeric(b):
        return _common_numeric(a, b)
    if a == t.BOOLEAN and t.is_numeric(b):
        return b
    if b == t.BOOLEAN and t.is_numeric(a):
        return a
    if a in _TEMPORAL_RANK and b in _TEMPORAL_RANK:
        return a if _TEMPORAL_RANK[a] > _TEMPORAL_RANK[b] else b
    return None


def _common_numeric(a: t.DType, b: t.DType) -> t.DType:
    if t.is_float(a) or t.is_float(b):
        return t.DOUBLE if t.DOUBLE in (a, b) else t.REAL
    if t.is_integer(a) and t.is_integer(b):
        return _common_integer(a, b)
    return common_decimal(t.as_decimal(a), t.as_decimal(b))


def _common_integer(a: t.DType, b: t.DType) -> t.DType:
    """The narrowest integer type that holds both; DECIMAL(20,0) for UBIGINT with a signed one."""
    low = min(t.value_range(a)[0], t.value_range(b)[0])
    high = max(t.value_range(a)[1], t.value_range(b)[1])
    for dtype in (a, b, *t.SIGNED_INTEGERS):
        least, greatest = t.value_range(dtype)
        if least <= low and high <= greatest:
            return dtype
    return t.decimal(20, 0)


def common_decimal(a: t.DecimalType, b: t.DecimalType) -> t.DecimalType:
    """The decimal with the digits of both before and after the point, 38 at most."""
    scale = max(a.scale, b.scale)
    return t.decimal(min(38, max(a.precision - a.scale, b.precision - b.scale) + scale), scale)


def exact_type(expr: Expr) -> t.DType:
    """The type of an operand for decimal arithmetic: a constant counts with the digits that it has."""
    if isinstance(expr, Literal) and t.is_exact(expr.dtype) and expr.value is not None:
        return decimal_type_of(expr.value) or expr.dtype
    return expr.dtype


def cast_to(context: BindContext, expr: Expr, dtype: t.DType, *nodes: exp.Expr) -> Expr:
    """`expr` in another type: a constant is converted at once, anything else becomes a Cast.

    Raises INVALID_LITERAL at `nodes` for a constant that does not fit.
    """
    if expr.dtype == dtype:
        return expr
    if isinstance(expr, Literal):
        if expr.value is None:
            return Literal(dtype, None)
        try:
            return Literal(dtype, convert(expr.value, expr.dtype, dtype))
        except LookupError:
            return Cast(dtype, expr)
        except (ValueError, ArithmeticError):
            raise context.error("INVALID_LITERAL", *nodes, text=literal_text(expr), dtype=dtype) from None
    return Cast(dtype, expr)


def literal_text(expr: Literal) -> str:
    return number_text(expr.value) if t.is_exact(expr.dtype) else str(expr.value)


def to_boolean(context: BindContext, expr: Expr, what: str, *nodes: exp.Expr) -> Expr:
    """`expr` as a condition; numbers are true unless zero. Raises TYPE_MISMATCH for other types."""
    if expr.dtype == t.BOOLEAN:
        return expr
    literal_string = isinstance(expr, Literal) and expr.dtype == t.VARCHAR
    if expr.dtype == t.NULL or t.is_integer(expr.dtype) or literal_string:
        return cast_to(context, expr, t.BOOLEAN, *nodes)
    raise context.error("TYPE_MISMATCH", *nodes, what=what, types=expr.dtype)


def to_text(context: BindContext, expr: Expr, what: str, *nodes: exp.Expr) -> Expr:
    """`expr` if it is text, or NULL as text. Raises TYPE_MISMATCH."""
    if expr.dtype == t.NULL:
        return Literal(t.VARCHAR, None)
    if expr.dtype != t.VARCHAR:
        raise context.error("TYPE_MISMATCH", *nodes, what=what, types=expr.dtype)
    return expr


def unify(
    context: BindContext, exprs: Sequence[Expr], nodes: Sequence[exp.Expr], what: str, *, comparing: bool = False
) -> list[Expr]:
    """The expressions in their common type. All NULL stays NULL.

    With `comparing`, text that meets a numeric constant is read as a number, as DuckDB does. Raises TYPE_MISMATCH.
    """
    target = exprs[0].dtype
    if all(expr.dtype == target for expr in exprs):
        return list(exprs)
    target = t.NULL
    for expr in _constants_last(exprs):
        merged = _merge(target, expr, comparing)
        if merged is None:
            types = " and ".join(dict.fromkeys(str(other.dtype) for other in exprs if other.dtype != t.NULL))
            raise context.error("TYPE_MISMATCH", *nodes, what=what, types=types)
        target = merged
    return [cast_to(context, expr, target, node) for expr, node in zip(exprs, nodes, strict=True)]


def _constants_last(exprs: Sequence[Expr]) -> list[Expr]:
    """Columns decide about a type first, then numbers and dates, then text, which can be read as anything."""

    def rank(expr: Expr) -> int:
        if not isinstance(expr, Literal):
            return 0
        return 2 if expr.dtype == t.VARCHAR else 1

    return sorted(exprs, key=rank)


def _merge(target: t.DType, expr: Expr, comparing: bool) -> t.DType | None:
    dtype = expr.dtype
    if target == t.NULL or dtype == target:
        return dtype
    if dtype == t.NULL:
        return target
    if not isinstance(expr, Literal):
        return common_type(target, dtype)
    if dtype == t.VARCHAR:
        return target
    if expr.value is None:
        return common_type(target, dtype)
    if target == t.VARCHAR:
        return dtype if comparing and t.is_numeric(dtype) else None
    if t.is_integer(dtype) and t.is_integer(target):
        low, high = t.value_range(target)
        return target if low <= expr.value <= high else common_type(target, dtype)
    if t.is_exact(dtype) and t.is_exact(target):
        own = exact_type(expr)
        assert isinstance(own, t.DecimalType)
        return common_decimal(t.as_decimal(target), own)
    return common_type(target, dtype)

"""Syntax nodes that no text makes: typed constants, frames, and columns of frames, which the DataFrame API puts into the tree.

sqlglot's classes are compiled and cannot be extended, so each of them is an `exp.Placeholder` that holds what stands in its
place. One that holds nothing is a parameter of SQL text.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from planner import dtypes as t
from planner.errors import error
from planner.expr.nodes import FALSE, TRUE, Expr, Literal
from planner.expr.values import Interval
from planner.sql.frame import Frame
from planner.sql.literals import EXACT, decimal_type_of, integer_literal


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """A column of a frame, by the expression that it is there. `outer`: of a query around the one that uses it."""

    frame: Frame
    name: str
    expr: Expr
    outer: bool = False


@dataclass(frozen=True, slots=True)
class FrameSource:
    """A frame as an item of FROM. `main`: of the query being built, not of a subquery. `hidden` aliases have no meaning in it."""

    frame: Frame
    main: bool
    hidden: frozenset[str] = frozenset()


Content = Literal | FrameColumn | FrameSource


@dataclass(frozen=True, slots=True)
class _Held:
    """sqlglot copies nodes with all they hold; this is held by reference."""

    content: Content

    def __deepcopy__(self, memo: object) -> _Held:
        return self


def placeholder(content: Content) -> exp.Expr:
    """A node that stands for `content`."""
    node = exp.Placeholder()
    node.meta["held"] = _Held(content)
    return node


def content_of(node: exp.Expr) -> Content | None:
    """What a node stands for, if it is a placeholder that holds something."""
    held = node.meta.get("held") if isinstance(node, exp.Placeholder) else None
    return held.content if isinstance(held, _Held) else None


def select_all(frame: Frame) -> exp.Expr:
    """SELECT * FROM a frame, to be used as a subquery."""
    source = placeholder(FrameSource(frame, main=False))
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=source))


def constant(value: Any) -> Literal:
    """A Python value as a typed constant, which adapts to what it meets just as the same constant in SQL does.

    bool, int, float, Decimal, str, bytes, date, datetime (with a zone: TIMESTAMPTZ), time, timedelta (INTERVAL), None, and
    the scalars of NumPy. Raises INVALID_LITERAL for anything else, and for decimals of more than 38 digits.
    """
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    match value:
        case None:
            return Literal(t.NULL, None)
        case bool():
            return TRUE if value else FALSE
        case int():
            try:
                return integer_literal(int(value))
            except OverflowError:
                text = f"an integer of {value.bit_length()} bits"
                raise error("INVALID_LITERAL", text=text, dtype="number") from None
        case float():
            return Literal(t.DOUBLE, float(value))
        case Decimal():
            return _decimal(value)
        case str():
            return Literal(t.VARCHAR, _text(value))
        case bytes():
            return Literal(t.BLOB, value)
        case datetime():
            if value.tzinfo is None:
                return Literal(t.TIMESTAMP, value)
            return Literal(t.TIMESTAMPTZ, value.astimezone(UTC))
        case date():
            return Literal(t.DATE, value)
        case time() if value.tzinfo is None:
            return Literal(t.TIME, value)
        case timedelta():
            return Literal(t.INTERVAL, Interval(days=value.days, microseconds=value.seconds * 1_000_000 + value.microseconds))
    raise error("INVALID_LITERAL", text=value, dtype=f"constant (its type is {type(value).__name__})")


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise error("INVALID_LITERAL", text=value.encode(errors="replace").decode(), dtype="VARCHAR") from None
    return str.__str__(value)


def _decimal(value: Decimal) -> Literal:
    if value.is_finite():
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int) and 0 < exponent <= 38:
            value = EXACT.quantize(value, Decimal(1))
        dtype = decimal_type_of(value) if isinstance(exponent, int) and exponent <= 38 else None
        if dtype is not None:
            return Literal(dtype, value)
    raise error("INVALID_LITERAL", text=str(value), dtype="DECIMAL of at most 38 digits")

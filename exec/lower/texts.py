"""Functions of text."""

from __future__ import annotations

import polars as pl

from exec.kernels import letter_case
from exec.kernels.like import like, like_columns
from exec.lower.expressions import Guard, Lowering, reduce_balanced
from planner.errors import error
from planner.expr.nodes import Call, Expr, Literal


def concat(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """|| of two or more texts: NULL if one of them is NULL."""
    return reduce_balanced([low.lower(argument, guard) for argument in call.arguments], lambda a, b: a + b)


def lower_like(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    text, pattern = call.arguments[:2]
    escape = _constant(call.arguments[2], str) if len(call.arguments) > 2 else ""
    if isinstance(pattern, Literal):
        if pattern.value is None:
            return pl.lit(None, dtype=pl.Boolean())
        return like(low.lower(text, guard), pattern.value, escape or "")
    return pl.map_batches(
        [low.lower(text, guard), low.lower(pattern, guard)],
        lambda pair: like_columns(pair[0], pair[1], escape or ""),
        return_dtype=pl.Boolean(),
        is_elementwise=True,
    )


def substring(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """Characters from `start`, counted from 1, or from the end if negative; a negative length takes those before `start`.

    Positions before the first character exist and are empty: substring('hello', 0, 2) is 'h'.
    """
    text = low.lower(call.arguments[0], guard)
    start = _constant(call.arguments[1], int)
    length = _constant(call.arguments[2], int) if len(call.arguments) > 2 else None
    constant_length = len(call.arguments) < 3 or length is not None
    if start is not None and start > 0 and constant_length and (length is None or length >= 0):
        return text.str.slice(start - 1, length)
    first = low.lower(call.arguments[1], guard).cast(pl.Int64)
    size = text.str.len_chars().cast(pl.Int64)
    one = pl.lit(1, dtype=pl.Int64)
    position = pl.when(first < 0).then(size + first + one).otherwise(first)
    if len(call.arguments) < 3:
        begin, end = position, size + one
    else:
        count = low.lower(call.arguments[2], guard).cast(pl.Int64).clip(-(2**32), 2**32)
        begin, end = pl.min_horizontal(position, position + count), pl.max_horizontal(position, position + count)
        # The horizontal functions skip NULL; a NULL length makes the result NULL.
        text = pl.when(count.is_not_null()).then(text)
    begin, end = begin.clip(1, None), pl.min_horizontal(end, size + one)
    taken = text.str.slice(begin - one, (end - begin).clip(0, None))
    return pl.when(first.is_not_null()).then(taken)


def upper(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return low.lower(call.arguments[0], guard).map_batches(letter_case.upper, pl.String(), is_elementwise=True)


def lower_case(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return low.lower(call.arguments[0], guard).map_batches(letter_case.lower, pl.String(), is_elementwise=True)


def length(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """In characters (code points)."""
    return low.lower(call.arguments[0], guard).str.len_chars().cast(low.polars_type(call))


def trim(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """Without blanks, or the given characters, at both ends."""
    characters = " "
    if len(call.arguments) > 1:
        given = _constant(call.arguments[1], str)
        if given is None:
            raise error("UNSUPPORTED", what="trim with characters that are not a literal")
        characters = given
    return (
        low.lower(call.arguments[0], guard).str.strip_chars(characters) if characters else low.lower(call.arguments[0], guard)
    )


def _constant(expr: Expr, kind: type):  # type: ignore[no-untyped-def]
    """The value of a literal of a Python type, else None."""
    from planner.expr.nodes import Cast

    while isinstance(expr, Cast):
        expr = expr.operand
    return expr.value if isinstance(expr, Literal) and isinstance(expr.value, kind) else None

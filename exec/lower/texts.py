"""Functions of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import polars as pl

from exec.kernels import letter_case
from exec.kernels import texts as python_texts
from exec.kernels.like import like, like_columns
from exec.kernels.texts import by_row
from exec.lower.expressions import Guard, Lowering, guarded, reduce_balanced
from planner.dtypes import VARCHAR
from planner.expr.nodes import Call, Expr, Literal

Value = TypeVar("Value")


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


def _by_row(low: Lowering, call: Call, guard: Guard, function: Callable[..., object], dtype: pl.DataType) -> pl.Expr:
    """Value by value. What is outside of the guard is NULL, since some of these functions can fail."""
    operands = [guarded(low.lower(argument, guard), guard) for argument in call.arguments]
    return pl.map_batches(operands, lambda columns: by_row(columns, function, dtype), return_dtype=dtype, is_elementwise=True)


def row_kernel(function: Callable[..., object], dtype: pl.DataType) -> Callable[[Lowering, Call, Guard], pl.Expr]:
    """A kernel that computes value by value."""

    def kernel(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
        return _by_row(low, call, guard, function, dtype)

    return kernel


def left(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """The first characters; with a negative number all but so many at the end."""
    return low.lower(call.arguments[0], guard).str.head(_count(low, call.arguments[1], guard))


def right(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """The last characters; with a negative number all but so many at the beginning."""
    return low.lower(call.arguments[0], guard).str.tail(_count(low, call.arguments[1], guard))


def _count(low: Lowering, expr: Expr, guard: Guard) -> pl.Expr:
    return low.lower(expr, guard).clip(-(2**31), 2**31)


def replace(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    old, new = (_constant(argument, str) for argument in call.arguments[1:])
    if old and new is not None:
        return low.lower(call.arguments[0], guard).str.replace_all(old, new, literal=True)
    return _by_row(low, call, guard, python_texts.replace, pl.String())


def position(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """Where a text begins in another one, in characters from 1; 0 if nowhere."""
    wanted = _constant(call.arguments[1], str)
    if not wanted:
        return _by_row(low, call, guard, python_texts.position, pl.Int64())
    text = low.lower(call.arguments[0], guard)
    before = text.str.splitn(wanted, 2).struct.field("field_0").str.len_chars().cast(pl.Int64)
    found = pl.when(text.str.contains(wanted, literal=True)).then(before + 1).otherwise(pl.lit(0, dtype=pl.Int64))
    return pl.when(text.is_not_null()).then(found)


_FEW_PARTS = 32


def split_part(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """A part of a text between delimiters, counted from 1, or from the end if negative; nothing if there are fewer."""
    delimiter, number = _constant(call.arguments[1], str), _constant(call.arguments[2], int)
    if not delimiter or number is None or not 1 <= number <= _FEW_PARTS:
        return _by_row(low, call, guard, python_texts.split_part, pl.String())
    text = low.lower(call.arguments[0], guard)
    part = text.str.splitn(delimiter, number + 1).struct.field(f"field_{number - 1}")
    return pl.when(text.is_not_null()).then(part.fill_null(""))


def pad_left(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _padded(low, call, guard, start=True)


def pad_right(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _padded(low, call, guard, start=False)


def _padded(low: Lowering, call: Call, guard: Guard, *, start: bool) -> pl.Expr:
    """A text cut to a length or filled up to it."""
    length, fill = _constant(call.arguments[1], int), _constant(call.arguments[2], str)
    if length is None or not 0 <= length <= python_texts.MOST_CHARACTERS or fill is None or len(fill) != 1:
        return _by_row(low, call, guard, python_texts.pad_left if start else python_texts.pad_right, pl.String())
    text = low.lower(call.arguments[0], guard).str.head(length)
    return text.str.pad_start(length, fill) if start else text.str.pad_end(length, fill)


def left_trim(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _trimmed(low, call, guard, "start")


def right_trim(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return _trimmed(low, call, guard, "end")


def trim(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """Without blanks, or the given characters, at both ends."""
    return _trimmed(low, call, guard, "both")


def _trimmed(low: Lowering, call: Call, guard: Guard, side: str) -> pl.Expr:
    characters = _constant(call.arguments[1], str) if len(call.arguments) > 1 else " "
    if not characters:
        functions = {"both": python_texts.strip, "start": python_texts.strip_left, "end": python_texts.strip_right}
        return _by_row(low, call, guard, functions[side], pl.String())
    text = low.lower(call.arguments[0], guard)
    if side == "both":
        return text.str.strip_chars(characters)
    return text.str.strip_chars_start(characters) if side == "start" else text.str.strip_chars_end(characters)


def starts_with(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    text, wanted = (low.lower(argument, guard) for argument in call.arguments)
    return text.str.starts_with(wanted)


def ends_with(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    text, wanted = (low.lower(argument, guard) for argument in call.arguments)
    return text.str.ends_with(wanted)


def contains(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    text, wanted = (low.lower(argument, guard) for argument in call.arguments)
    return text.str.contains(wanted, literal=True)


def reverse(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """By user-perceived characters, so that an accent stays with its letter."""
    return low.lower(call.arguments[0], guard).str.reverse()


def byte_length(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    return low.lower(call.arguments[0], guard).str.len_bytes().cast(pl.Int64)


def concat_ws(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """The texts that are not NULL with the separator between them; NULL if the separator is."""
    separator = call.arguments[0]
    texts = [low.lower(argument, guard) for argument in call.arguments[1:]]
    if isinstance(separator, Literal):
        if separator.value is None:
            return pl.when(pl.lit(value=False)).then(texts[0])
        return pl.concat_str(texts, separator=separator.value, ignore_nulls=True)
    between = low.lower(separator, guard)
    joined, some = texts[0].fill_null(""), texts[0].is_not_null()
    for text in texts[1:]:
        extended = joined + pl.when(some).then(between).otherwise(pl.lit("")) + text
        joined, some = pl.when(text.is_not_null()).then(extended).otherwise(joined), some | text.is_not_null()
    return pl.when(between.is_not_null()).then(joined)


def hexadecimal(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    function = python_texts.hex_of_text if call.arguments[0].dtype == VARCHAR else python_texts.hex_of_number
    return _by_row(low, call, guard, function, pl.String())


def _constant(expr: Expr, kind: type[Value]) -> Value | None:
    """The value of a literal of a Python type, else None."""
    from planner.expr.nodes import Cast

    while isinstance(expr, Cast):
        expr = expr.operand
    return expr.value if isinstance(expr, Literal) and isinstance(expr.value, kind) else None

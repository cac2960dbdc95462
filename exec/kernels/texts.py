"""Functions of text for which Polars has no operator, or one of another meaning: value by value, in Python.

Each takes the values of one row, none of them NULL, and gives the result. Where all arguments but the first are constant and
Polars means the same, `exec.lower.texts` does not come here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from exec.kernels.failure import failure

MOST_CHARACTERS = 1 << 28
"""A text that would be longer is refused, before the memory for it is asked for."""


def by_row(columns: Sequence[pl.Series], function: Callable[..., Any], dtype: pl.DataType) -> pl.Series:
    """The function's value for every row without a NULL; NULL for all others."""
    name = columns[0].name
    if len(columns) == 1:
        values = [None if value is None else function(value) for value in columns[0].to_list()]
        return pl.Series(name, values, dtype=dtype)
    length = max((len(column) for column in columns), default=0)
    lists = [column.to_list() if len(column) == length else column.to_list() * length for column in columns]
    values = [None if None in row else function(*row) for row in zip(*lists, strict=True)]
    return pl.Series(name, values, dtype=dtype)


def pad_left(text: str, length: int, fill: str) -> str:
    return _padding("lpad", text, length, fill) + text[: max(length, 0)]


def pad_right(text: str, length: int, fill: str) -> str:
    return text[: max(length, 0)] + _padding("rpad", text, length, fill)


def _padding(name: str, text: str, length: int, fill: str) -> str:
    missing = length - len(text)
    if missing <= 0:
        return ""
    if not fill:
        raise failure("INVALID_ARGUMENT", name=name, value="nothing to fill in")
    if length > MOST_CHARACTERS:
        raise failure("INVALID_ARGUMENT", name=name, value=f"the length {length}")
    return (fill * (missing // len(fill) + 1))[:missing]


def repeat(text: str, times: int) -> str:
    if len(text) * times > MOST_CHARACTERS:
        raise failure("INVALID_ARGUMENT", name="repeat", value=f"{times} times {len(text)} characters")
    return text * times


def split_part(text: str, delimiter: str, number: int) -> str:
    parts = text.split(delimiter) if delimiter else list(text)
    if number == 0 or abs(number) > len(parts):
        return ""
    return parts[number - 1 if number > 0 else number]


def replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def translate(text: str, old: str, new: str) -> str:
    """Characters of `old` become those of `new` at the same place, or nothing; the first of equal ones counts."""
    table: dict[int, str | None] = {}
    for at, character in enumerate(old):
        table.setdefault(ord(character), new[at] if at < len(new) else None)
    return text.translate(table)


def position(text: str, wanted: str) -> int:
    return text.find(wanted) + 1


def strip(text: str, characters: str) -> str:
    return text.strip(characters) if characters else text


def strip_left(text: str, characters: str) -> str:
    return text.lstrip(characters) if characters else text


def strip_right(text: str, characters: str) -> str:
    return text.rstrip(characters) if characters else text


def first_code(text: str, of_nothing: int) -> int:
    return ord(text[0]) if text else of_nothing


def character(code: int) -> str:
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise failure("INVALID_ARGUMENT", name="chr", value=code)
    return chr(code)


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def hex_of_number(number: int) -> str:
    return f"{number & 0xFFFFFFFFFFFFFFFF:X}"


def hex_of_text(text: str) -> str:
    return text.encode().hex().upper()

"""Columns and fields.

Inside plans a column is a number, allocated once; its name is only for people. Renaming therefore cannot change the meaning
of a plan. `Field` describes a column of a table before it has a number.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from planner.dtypes import DType


@dataclass(frozen=True, slots=True)
class Field:
    """A named, typed column of a table or of a result."""

    name: str
    dtype: DType
    nullable: bool = True


class Column:
    """A column inside a plan. Two columns are the same column exactly if their ids are equal."""

    __slots__ = ("dtype", "id", "name")

    def __init__(self, id: int, name: str, dtype: DType) -> None:
        self.id = id
        self.name = name
        self.dtype = dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Column) and other.id == self.id

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"{self.name}#{self.id}:{self.dtype}"

    def __reduce__(self) -> tuple[type[Column], tuple[int, str, DType]]:
        return Column, (self.id, self.name, self.dtype)


class ColumnAllocator:
    """Hands out column ids, each one once, for the life of one query."""

    __slots__ = ("_next",)

    def __init__(self, first: int = 1) -> None:
        self._next = itertools.count(first)

    def new(self, name: str, dtype: DType) -> Column:
        return Column(next(self._next), name, dtype)

    def copy_of(self, column: Column) -> Column:
        return self.new(column.name, column.dtype)


Schema = tuple[Column, ...]


def ids(columns: Iterable[Column]) -> frozenset[int]:
    return frozenset(column.id for column in columns)

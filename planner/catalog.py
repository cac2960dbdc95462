"""Tables as the planner sees them: immutable snapshots with statistics whose origin is known.

A snapshot never changes under a query: it names the exact bytes (`Split`) it was taken from. Statistics of exact types are
scaled integers, of temporal types their physical integers (days, microseconds), of text the text itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from planner.dir import Split
from planner.schema import Field


class Trust(IntEnum):
    """Where a statistic comes from. Weaker wins when two are combined."""

    ESTIMATED = 0
    """A guess: costs only."""
    CLAIMED = 1
    """Said by a footer, a declared key or a catalog: costs and pruning."""
    VERIFIED = 2
    """Computed by us over these bytes: may change arithmetic, order and plans."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """A value with its origin."""

    value: Any
    trust: Trust


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Statistics of one column over some rows; None where nothing is known. `minimum` and `maximum` ignore NULLs."""

    minimum: Any = None
    maximum: Any = None
    null_count: int | None = None
    trust: Trust = Trust.CLAIMED


UNKNOWN_COLUMN = ColumnStatistics()


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A part of a file that can be read alone: its first row in the file, its rows, its stored bytes, and statistics."""

    first_row: int
    rows: int
    bytes: int
    columns: tuple[ColumnStatistics, ...]


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file (or memory block) of a table and its parts. `split` covers all of it."""

    split: Split
    rows: int
    row_groups: tuple[RowGroup, ...]


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """A table at one moment.

    `format` is "parquet" or "memory". `reader` tells exec how to read it ("polars", or "pyarrow" for files that Polars
    refuses). `columns` holds statistics over all files. `trusted` is False once a file was caught lying: then its claimed
    bounds are not used for arithmetic any more. `source` are the paths, patterns and folders that the user gave for its files.
    `keeper` is an object that keeps the bytes of a table in memory: they go when no snapshot has it any more.
    """

    name: str
    format: str
    fields: tuple[Field, ...]
    files: tuple[TableFile, ...]
    columns: tuple[ColumnStatistics, ...]
    reader: str = "polars"
    trusted: bool = True
    source: tuple[str, ...] = ()
    keeper: object = field(default=None, compare=False)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(group.bytes for file in self.files for group in file.row_groups)

    def __repr__(self) -> str:
        return f"TableSnapshot({self.name}, {len(self.files)} files, {self.rows} rows)"


def merge_statistics(parts: Iterable[ColumnStatistics]) -> ColumnStatistics:
    """Statistics over the union of disjoint sets of rows. Unknown in one part is unknown in all."""
    merged: ColumnStatistics | None = None
    for part in parts:
        if merged is None:
            merged = part
            continue
        known = merged.minimum is not None and part.minimum is not None
        merged = ColumnStatistics(
            min(merged.minimum, part.minimum) if known else None,
            max(merged.maximum, part.maximum) if known else None,
            None if merged.null_count is None or part.null_count is None else merged.null_count + part.null_count,
            min(merged.trust, part.trust),
        )
    return merged or UNKNOWN_COLUMN

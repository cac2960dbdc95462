"""Tables as the planner sees them: immutable snapshots with statistics whose origin is known.

A snapshot never changes under a query: it names the exact bytes (`Split`) it was taken from. Statistics of exact types are
scaled integers, of temporal types their physical integers (days, microseconds), of text the text itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from planner.dir import Split
from planner.schema import Field

if TYPE_CHECKING:
    from planner.ports import Sample


class Trust(IntEnum):
    """Where a statistic comes from. Weaker wins when two are combined."""

    ESTIMATED = 0
    """A guess: costs only."""
    CLAIMED = 1
    """Said by a footer, a declared key or a catalog: costs and pruning."""
    VERIFIED = 2
    """Computed by us over these bytes: may change arithmetic, order and plans."""


class Certainty(IntEnum):
    """What an estimate stands on. Weaker wins when two are combined."""

    UNKNOWN = 0
    """A default, since nothing is known that it could be derived from."""
    ESTIMATED = 1
    """Derived from statistics or a sample."""
    EXACT = 2
    """Counted, as far as its source can be trusted."""


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
class ColumnDistribution:
    """How the values of a column are spread over its rows, from `sampled` of them. ESTIMATED: for costs alone.

    Values are as in ColumnStatistics; floats are themselves. `distinct` counts the values that are not NULL; it is `counted` if
    all rows were looked at. `common` are the most frequent values with their shares of all rows, the most frequent first;
    `bounds` cut the rows of all other values into parts of equal size: n + 1 ascending values for n parts. In a `clustered`
    column values ascend from the first row to the last, so that a sample of a few places has only a few of them; its bounds are
    those of the row groups, and cut the rows of all values.
    """

    distinct: float
    null_share: float = 0.0
    common: tuple[tuple[Any, float], ...] = ()
    bounds: tuple[Any, ...] = ()
    sampled: int = 0
    clustered: bool = False
    counted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class TableStatistics:
    """What was learned from the rows of a table: a distribution of each column (None: not looked at), and a sample of rows."""

    columns: tuple[ColumnDistribution | None, ...]
    sample: Sample | None = None


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
    `keeper` is an object that keeps the bytes of a table in memory: they go when no snapshot has it any more. `statistics` are
    those of its rows, as far as they were known when the snapshot was taken.
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
    statistics: TableStatistics | None = field(default=None, compare=False)

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

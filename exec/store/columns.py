"""The files of the column store, and a worker's view of them.

A column of a file is kept in *segments* of SEGMENT_ROWS rows, each an Arrow IPC file of one column in stored form
(`exec.sources.stored`) whose metadata holds its bounds. The name of a segment follows from the identity of the file, the column
and the number of the segment, and a file gets its name when it is complete; so a worker needs no index to find it, nobody sees a
half of one, and what was kept of a file that changed is never found again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from planner.dir import Split
from planner.dtypes import DType

SEGMENT_ROWS = 1 << 20
FOLDER = "columns"


class StoredColumn(NamedTuple):
    """A column of one exact file, read as `dtype`."""

    split: Split
    field: str
    dtype: DType

    def segment(self, number: int) -> str:
        """The file name of a segment."""
        return f"{_digest(self)}-{number}.arrow"


@lru_cache(maxsize=4096)
def _digest(column: StoredColumn) -> str:
    split = column.split
    key = (split.path, split.size, split.mtime_ns, split.inode, split.footer, column.field, str(column.dtype))
    return hashlib.blake2b(repr(key).encode(), digest_size=16).hexdigest()


class Segment(NamedTuple):
    """Mapped rows, and the smallest and the largest of them in the form of statistics, where there are such."""

    values: pl.Series
    bounds: tuple[int, int] | None


def segments_of(first_row: int, rows: int) -> range:
    """The numbers of the segments that hold some rows of a file."""
    return range(first_row // SEGMENT_ROWS, -(-(first_row + rows) // SEGMENT_ROWS)) if rows else range(0)


def write_segment(values: pa.Table, bounds: tuple[int, int] | None, folder: Path, name: str) -> int:
    """Write a table of one column under that name, complete or not at all. Returns its size in bytes. Raises OSError."""
    schema = values.schema.with_metadata({"bounds": json.dumps(bounds)})
    folder.mkdir(mode=0o700, exist_ok=True)
    temporary = folder / f"{name}.new"
    try:
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            writer.write_table(values.cast(schema).combine_chunks())
        size = temporary.stat().st_size
        temporary.rename(folder / name)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    return size


class StoredColumns:
    """The column store as a worker sees it. Segments stay mapped until they are dropped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._segments: dict[str, Segment] = {}

    def rows(self, columns: Sequence[StoredColumn], first_row: int, rows: int) -> list[tuple[Segment, ...]] | None:
        """Per segment the columns' rows of a range of one file, cut to it; None if one of them is not there."""
        found = []
        for number in segments_of(first_row, rows):
            parts = []
            start = number * SEGMENT_ROWS
            low, high = max(first_row - start, 0), min(first_row + rows - start, SEGMENT_ROWS)
            for column in columns:
                segment = self._segment(column.segment(number))
                if segment is None or len(segment.values) < high:
                    return None
                parts.append(segment._replace(values=segment.values.slice(low, high - low)))
            found.append(tuple(parts))
        return found

    def _segment(self, name: str) -> Segment | None:
        segment = self._segments.get(name)
        if segment is None:
            try:
                with pa.memory_map(str(self._folder / name)) as mapped:
                    reader = pa.ipc.open_file(mapped)
                    frame = pl.from_arrow(reader.get_batch(0))
                    bounds = json.loads(reader.schema.metadata[b"bounds"])
            except FileNotFoundError:
                return None
            assert isinstance(frame, pl.DataFrame)
            segment = self._segments[name] = Segment(frame.to_series(0), tuple(bounds) if bounds else None)
        return segment

    def drop(self, names: Iterable[str]) -> None:
        """Unmap segments that were evicted."""
        for name in names:
            self._segments.pop(name, None)

"""The segments of the column store as files: written by whoever fills one, mapped by every worker.

Each is an Arrow IPC file of one column in stored form (`exec.sources.stored`), whose metadata holds its bounds. It gets its name
when it is complete, so nobody ever sees half of one.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from exec.store.columns import FOLDER, SEGMENT_ROWS, StoredColumn, segments_of


class Segment(NamedTuple):
    """Mapped rows, and the smallest and the largest of them in the form of statistics, where there are such."""

    values: pl.Series
    bounds: tuple[int, int] | None


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

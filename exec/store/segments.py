"""The segments of the column store as files: written by whoever fills one, mapped by every worker.

Each is an Arrow IPC file of one column, whose metadata holds what else is known of it. It gets its name when it is complete, so
nobody ever sees half of one. What is written is the *stored form* of a column:

    integers, decimals   the narrowest signed integers that hold the values (decimals as scaled integers; Decimal(38, 0)
                         where they do not fit in 64 bits)
    strings              codes into a sorted dictionary where a segment has few distinct values, else compact string views,
                         which Polars maps without a copy
    all others           their natural type
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from exec.lower.column_types import DECIMAL38
from exec.store.columns import FOLDER, SEGMENT_ROWS, StoredColumn, segments_of
from planner import dtypes as t

MOST_CODES = 1 << 12
"""Distinct strings of a segment up to which codes are stored."""

_SAMPLE = 1 << 14
_NARROW = ((pl.Int8(), 1 << 7), (pl.Int16(), 1 << 15), (pl.Int32(), 1 << 31), (pl.Int64(), 1 << 63))


class Segment(NamedTuple):
    """Rows of a column in stored form.

    `bounds` are the smallest and the largest of all values of the segment in the form of statistics, where there are such;
    `dictionary` are the strings that the values are codes into.
    """

    values: pl.Series
    bounds: tuple[int, int] | None
    dictionary: tuple[str, ...] | None = None


def encode(values: pl.Series, dtype: t.DType, bounds: tuple[int, int] | None) -> Segment:
    """Natural values (decimals as Int128) in stored form."""
    if t.is_exact(dtype):
        low, high = bounds or (0, 0)
        fitting = (kind for kind, limit in _NARROW if -limit <= low <= high < limit)
        return Segment(values.cast(next(fitting, DECIMAL38)), bounds)
    if dtype == t.VARCHAR and values.head(_SAMPLE).n_unique() <= MOST_CODES:
        distinct = values.unique().drop_nulls().sort()
        if 0 < len(distinct) <= MOST_CODES:
            codes = values.cast(pl.Enum(distinct)).to_physical()
            return Segment(codes, bounds, tuple(distinct.to_list()))
    return Segment(values, bounds)


def write_segment(segment: Segment, folder: Path, name: str) -> int:
    """Write a segment under that name, complete or not at all. Returns the bytes that it takes up. Raises OSError."""
    table = segment.values.to_frame().to_arrow(compat_level=pl.CompatLevel.newest())
    known = {"bounds": json.dumps(segment.bounds), "dictionary": json.dumps(segment.dictionary)}
    folder.mkdir(mode=0o700, exist_ok=True)
    temporary = folder / f"{name}.new"
    try:
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, table.schema.with_metadata(known)) as writer:
            writer.write_table(table.combine_chunks())
        size = temporary.stat().st_blocks * 512
        temporary.rename(folder / name)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    return size


def map_segment(path: Path) -> Segment | None:
    """The segment in a file, mapped; None if there is none, or it cannot be mapped."""
    try:
        with pa.memory_map(str(path)) as mapped:
            reader = pa.ipc.open_file(mapped)
            frame = pl.from_arrow(pa.Table.from_batches([reader.get_batch(n) for n in range(reader.num_record_batches)]))
            known = {key: json.loads(value) for key, value in (reader.schema.metadata or {}).items()}
    except OSError:
        return None
    assert isinstance(frame, pl.DataFrame)
    bounds, dictionary = known[b"bounds"], known[b"dictionary"]
    return Segment(frame.to_series(0), tuple(bounds) if bounds else None, tuple(dictionary) if dictionary else None)


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
            segment = map_segment(self._folder / name)
            if segment is not None:
                self._segments[name] = segment
        return segment

    def drop(self, names: Iterable[str]) -> None:
        """Unmap segments that were evicted."""
        for name in names:
            self._segments.pop(name, None)

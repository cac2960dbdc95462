"""Filling the column store: one segment of a column, read from its file in a worker."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import polars as pl

from exec.lower.column_types import polars_type
from exec.sources.identity import verify
from exec.sources.parquet import read_rows
from exec.sources.stored import bounds_of
from exec.store.columns import SEGMENT_ROWS, StoredColumn
from exec.store.files import NO_SPACE
from exec.store.segments import Segment, encode, write_segment
from planner import dtypes as t
from planner.analysis.intervals import type_interval
from planner.dir import ScanRange
from planner.errors import error
from planner.physical.encodings import Encoding


class Filled(NamedTuple):
    """A segment that was written: bytes stored, and seconds that reading and converting it took."""

    size: int
    seconds: float


def fill(column: StoredColumn, number: int, reader: str, folder: str) -> Filled:
    """Read one segment of a column and write it to the folder of the column store.

    Raises FILE_CHANGED, FILE_INVALID for a decimal with more digits than its type, DISK_FULL, and what reading raises.
    """
    started = time.perf_counter()
    verify(column.split)
    part = ScanRange(column.split, number * SEGMENT_ROWS, SEGMENT_ROWS, 0)
    values = read_rows(part, [column.field], reader).collect(engine="streaming").to_series()
    verify(column.split)
    segment = _checked(_natural(values, column.dtype), column)
    try:
        size = write_segment(segment, Path(folder), column.segment(number))
    except OSError as problem:
        if problem.errno in NO_SPACE:
            raise error("DISK_FULL", path=folder) from problem
        raise
    return Filled(size, time.perf_counter() - started)


def _natural(values: pl.Series, dtype: t.DType) -> pl.Series:
    """Values of the file in the natural type of their logical type, decimals as Int128."""
    if isinstance(dtype, t.DecimalType):
        return values.to_physical().cast(pl.Int128)
    return values.cast(polars_type(dtype, Encoding.PLAIN))


def _checked(values: pl.Series, column: StoredColumn) -> Segment:
    statistics = bounds_of(values, column.dtype)
    limit = type_interval(column.dtype)
    if limit is None or statistics.minimum is None:
        return encode(values, column.dtype, None)
    if statistics.minimum < limit.low or statistics.maximum > limit.high:
        detail = f"column {column.field!r} has a value with more digits than its type"
        raise error("FILE_INVALID", path=column.split.path, format="Parquet", detail=detail)
    return encode(values, column.dtype, (statistics.minimum, statistics.maximum))

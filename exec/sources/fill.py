"""Filling the column store: one segment of some columns, read from its file in a worker."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import polars as pl

from exec.lower.column_types import polars_type
from exec.sources.identity import verify
from exec.sources.parquet import read_rows
from exec.sources.stored import bounds_of, to_arrow, to_stored
from exec.store.columns import SEGMENT_ROWS, StoredColumn
from exec.store.segments import write_segment
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
    values = to_natural(values, column)
    verify(column.split)
    bounds = bounds_of(values, column.dtype)
    limit = type_interval(column.dtype)
    decimal = isinstance(column.dtype, t.DecimalType)
    wide = False
    if decimal and bounds.minimum is not None:
        assert limit is not None
        if bounds.minimum < limit.low or bounds.maximum > limit.high:
            detail = f"column {column.field!r} has a value with more digits than its type"
            raise error("FILE_INVALID", path=column.split.path, format="Parquet", detail=detail)
        wide = bounds.minimum < -(2**63) or bounds.maximum >= 2**63
    exact = t.is_exact(column.dtype) or t.is_temporal(column.dtype)
    kept = (bounds.minimum, bounds.maximum) if exact and bounds.minimum is not None else None
    table = to_arrow(to_stored(values, column.dtype, wide).to_frame())
    try:
        size = write_segment(table, kept, Path(folder), column.segment(number))
    except OSError as problem:
        raise error("DISK_FULL", path=folder) from problem
    return Filled(size, time.perf_counter() - started)


def to_natural(values: pl.Series, column: StoredColumn) -> pl.Series:
    """Values of the file in the natural type of their logical type, decimals as Int128."""
    if isinstance(column.dtype, t.DecimalType):
        return values.to_physical().cast(pl.Int128)
    return values.cast(polars_type(column.dtype, Encoding.PLAIN))

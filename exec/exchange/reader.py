"""Reading the inputs of a task: producers' files are mapped, and only the batches of its own bucket are touched.

Producers are read in partition order, so a gather keeps the order of its input. Fixed-width columns stay in the map; strings
are converted by Polars. A file that is gone or has another size than its writer reported is a loss, not an error: the driver
computes it again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from exec.attempts import Attempt
from exec.exchange.schema import arrow_columns
from planner.physical.encodings import Encoding
from planner.schema import Schema


class InputFile(NamedTuple):
    """The part of a producer's output that a task reads: some record batches of a file of exactly `size` bytes."""

    attempt: Attempt
    path: str
    size: int
    batches: tuple[int, ...]


class InputLost(Exception):
    """Some outputs cannot be read any more."""

    def __init__(self, attempts: tuple[Attempt, ...]) -> None:
        super().__init__(", ".join(map(str, attempts)))
        self.attempts = attempts


def read_files(files: Sequence[InputFile]) -> list[pa.RecordBatch]:
    """Map the batches. Raises InputLost with all files that are gone or damaged."""
    lost = tuple(file.attempt for file in files if not intact(file.path, file.size))
    if lost:
        raise InputLost(lost)
    batches: list[pa.RecordBatch] = []
    for file in files:
        try:
            with pa.memory_map(file.path) as mapped:
                reader = pa.ipc.open_file(mapped)
                batches.extend(reader.get_batch(number) for number in file.batches)
        except (OSError, pa.ArrowInvalid) as problem:
            raise InputLost((file.attempt,)) from problem
    return batches


def intact(path: str, size: int) -> bool:
    """Whether a file is there in full. Mapping a truncated file would kill the process with SIGBUS."""
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False


def read_exchange(files: Sequence[InputFile], columns: Schema, encodings: Sequence[Encoding]) -> pl.DataFrame:
    """The rows that a task gets from an exchange, in producer order, as columns `c<id>` of their Polars types."""
    return to_frame(pa.Table.from_batches(read_files(files), arrow_columns(columns, encodings)), columns, encodings)


def read_runs(files: Sequence[InputFile]) -> list[pa.Table]:
    """What each producer has written, in their order, as tables that are only mapped; those without rows are left out."""
    return [pa.Table.from_batches(read_files([file])) for file in files]


def to_frame(table: pa.Table, columns: Schema, encodings: Sequence[Encoding]) -> pl.DataFrame:
    """Columns `c<id>` as they cross an exchange in the types of a task's frame."""
    frame = pl.from_arrow(table, rechunk=False)
    assert isinstance(frame, pl.DataFrame)
    wide = [f"c{column.id}" for column, encoding in zip(columns, encodings, strict=True) if encoding is Encoding.INT128]
    # A decimal is an Int128 underneath, so this copies nothing.
    return frame.with_columns(pl.col(wide).to_physical()) if wide else frame

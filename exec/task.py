"""Running one task in a worker: read, lower, compute, write.

The body of a stage is lowered anew for each task, since a partition's files and row ranges are part of the Polars plan; that
takes a fraction of a millisecond. Batches are written as Polars makes them, so a task holds its output only if it is scattered.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa

from exec.attempts import Attempt, TaskOutput
from exec.exchange.reader import InputFile, read_exchange, read_runs
from exec.exchange.writer import OutputWriter
from exec.lower.observe import Observer
from exec.lower.optimizations import OPTIMIZATIONS
from exec.lower.plan import deliver, lower_body
from exec.messages import RunMessage, StageMessage
from exec.sources import unchanged_files
from exec.store.segments import StoredColumns
from planner.dir import Pattern
from planner.physical.nodes import ExchangeSource

BATCH_ROWS = 1 << 18
"""Polars hands over about so many rows at a time."""

_SHARED_INPUTS = 8


class SharedInputs:
    """Broadcast inputs that this worker has mapped and decoded: all tasks of a stage read the same one."""

    def __init__(self) -> None:
        self._frames: OrderedDict[tuple[int, int, tuple[Attempt, ...]], pl.DataFrame] = OrderedDict()

    def read(self, query: int, source: ExchangeSource, files: Sequence[InputFile]) -> pl.DataFrame:
        if source.pattern is not Pattern.BROADCAST:
            return read_exchange(files, source.schema, source.encodings)
        key = (query, source.exchange, tuple(file.attempt for file in files))
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = read_exchange(files, source.schema, source.encodings)
            while len(self._frames) > _SHARED_INPUTS:
                self._frames.popitem(last=False)
        return frame

    def forget(self, query: int) -> None:
        for key in [key for key in self._frames if key[0] == query]:
            del self._frames[key]


def run_task(
    stage: StageMessage, message: RunMessage, folders: Sequence[Path], shared: SharedInputs, stored: StoredColumns
) -> TaskOutput:
    """Compute the attempt's partition and write it to the query's folder below one of `folders`.

    Raises InputLost, and whatever lowering, Polars and the file system raise (`exec.lower.failures.translate` sorts them).
    """
    started, cpu_started = time.perf_counter(), time.process_time()
    attempt = message.attempt
    inputs = dict(message.inputs)
    observer = Observer() if stage.observed else None

    def read(source: ExchangeSource) -> pl.LazyFrame:
        return shared.read(attempt.query, source, inputs[source.exchange]).lazy()

    def runs(source: ExchangeSource) -> list[pa.Table]:
        return read_runs(inputs[source.exchange])

    query_folders = [folder / query_folder(attempt.query) for folder in folders]
    name = f"{attempt}-{os.getpid()}.arrow"
    with (
        unchanged_files(stage.body, attempt.partition),
        OutputWriter(stage.output, stage.layouts, query_folders, name) as writer,
    ):
        body = lower_body(stage.body, attempt.partition, read, stored, runs, observer)
        frame = deliver(body, stage.body, stage.output)
        # Not collect_batches: there a panic in a thread of Polars ends the batches as if there were no more.
        frame.sink_batches(
            writer.write, chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming", optimizations=OPTIMIZATIONS
        )
        output = writer.finish()
    counts = observer.counts() if observer is not None else ()
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    return replace(output, seconds=seconds, cpu_seconds=cpu_seconds, operators=counts)


def query_folder(query: int) -> str:
    """The name of the folder that holds a query's files."""
    return f"q{query}"

"""Writing the output of a task: one Arrow IPC file, its record batches grouped by bucket.

A task's rows leave in one or more *layouts*, one per way in which consumers read them: in the order they were made (gather,
broadcast, forward, and the result), or scattered by a hash or range partitioning. Which record batch belongs to which layout and
bucket is the index that travels to the driver with the task's report (`TaskOutput.chunks`); the file needs none.

Scattering sorts row numbers by bucket (a radix sort, since buckets are small integers), gathers once, converts to Arrow once
and writes slices. That compacts strings, which otherwise drag the buffers of the whole input along. Measured with 1 M rows of
three numbers and a string: 11 ms for 16 buckets, against 20 ms for `partition_by` plus a conversion for each part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from exec.attempts import EMPTY_OUTPUT, Chunk, TaskOutput
from exec.exchange.schema import arrow_schema
from exec.store.files import OutputFile
from planner.dir import Dir, Hash, Range, partition_count
from planner.errors import error

Layout = Hash | Range | None
"""How rows are grouped in a file; None is as they come, all in bucket 0."""

SCATTER_ROWS = 1 << 20
SCATTER_BYTES = 64 << 20
"""So much is collected before it is scattered: many small batches for each bucket would be slow to read."""

_OPTIONS = pa.ipc.IpcWriteOptions(use_threads=False)


def write_output(
    batches: Iterable[pl.DataFrame], output: Dir, layouts: Sequence[Layout], folders: list[Path], name: str
) -> TaskOutput:
    """Write all batches in every layout. Raises DISK_FULL, and whatever the batches raise; then no file stays.

    The columns of the batches are those of `output`, in its encodings. Without rows no file is written.
    """
    schema = arrow_schema(output)
    chunks: list[Chunk] = []
    file: OutputFile | None = None
    writer: pa.ipc.RecordBatchFileWriter | None = None
    rows = 0
    try:
        for frame in _regrouped(batches, any(layout is not None for layout in layouts)):
            rows += frame.height
            for number, layout in enumerate(layouts):
                for bucket, batch in _buckets(frame, output, layout, schema):
                    if writer is None:
                        file = OutputFile(folders, name)
                        writer = pa.ipc.new_file(file.sink, schema, options=_OPTIONS)
                    writer.write_batch(batch)
                    chunks.append(Chunk(number, bucket, batch.num_rows, batch.nbytes))
        if writer is None or file is None:
            return EMPTY_OUTPUT
        writer.close()
        path, size = file.commit()
    finally:
        if file is not None:
            file.__exit__()
    return TaskOutput(path, size, rows, sum(chunk.bytes for chunk in chunks), tuple(chunks))


def _regrouped(batches: Iterable[pl.DataFrame], together: bool) -> Iterator[pl.DataFrame]:
    """The batches that have rows; if they will be scattered, so many of them at once that the parts are not tiny."""
    pending: list[pl.DataFrame] = []
    rows = size = 0
    for batch in batches:
        if batch.height == 0:
            continue
        if not together:
            yield batch
            continue
        pending.append(batch)
        rows += batch.height
        size += int(batch.estimated_size())
        if rows >= SCATTER_ROWS or size >= SCATTER_BYTES:
            yield pl.concat(pending)
            pending, rows, size = [], 0, 0
    if pending:
        yield pl.concat(pending)


def _buckets(frame: pl.DataFrame, output: Dir, layout: Layout, schema: pa.Schema) -> Iterator[tuple[int, pa.RecordBatch]]:
    if layout is None:
        for batch in _to_arrow(frame, schema).to_batches():
            yield 0, batch
        return
    if isinstance(layout, Range):
        from exec.exchange.ranging import partition_ids

        ids = partition_ids(frame, layout)
    else:
        from exec.exchange.hashing import bucket_ids

        ids = bucket_ids(frame, layout, output.schema, output.encodings)
    counts = np.bincount(ids, minlength=partition_count(layout))
    table = _to_arrow(frame[np.argsort(ids, kind="stable")].rechunk(), schema)
    whole = table.combine_chunks().to_batches()[0]
    start = 0
    for bucket, count in enumerate(counts.tolist()):
        if count:
            yield bucket, whole.slice(start, count)
        start += count


def _to_arrow(frame: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    if table.schema.names != schema.names or table.schema.types != schema.types:
        raise error("INTERNAL", detail=f"a task delivered {table.schema.types}, its stage promises {schema.types}")
    return table

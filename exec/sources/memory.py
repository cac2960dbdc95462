"""Tables of the user's Arrow, Polars and pandas objects: copied once into an Arrow IPC file that every task maps.

They are kept in stored form (`exec.sources.stored`). Bounds are computed here, so they are VERIFIED.
"""

from __future__ import annotations

import contextlib
import os
import uuid
import weakref
from typing import Any

import polars as pl
import pyarrow as pa

from exec.lower.column_types import polars_type
from exec.sources.arrow_types import logical_type
from exec.sources.key_ranges import key_interval
from exec.sources.stored import StoredScan, bounds_of, row_marks, to_arrow, to_stored
from planner import dtypes as t
from planner.catalog import ColumnStatistics, RowGroup, TableFile, TableSnapshot, Trust, merge_statistics
from planner.dir import ScanRange, Split
from planner.errors import error
from planner.physical.encodings import Encoding
from planner.physical.nodes import TableScan
from planner.schema import Field

BATCH_ROWS = 131_072


def register(table: Any, name: str, folder: str) -> TableSnapshot:
    """The snapshot of a table object, written to a new file in `folder`, which goes with the last copy of the snapshot.

    Takes pyarrow tables and record batches, Polars and pandas frames, and whatever has `__arrow_c_stream__`. Raises
    UNSUPPORTED_VALUE for other objects and for columns of types that qengine does not have, DISK_FULL, FILE_UNREADABLE.
    """
    arrow = _as_arrow(table)
    fields = _fields(arrow)
    stored = _Stored(arrow, fields)
    path = os.path.join(folder, f"memory-{uuid.uuid4().hex}.arrow")
    try:
        groups = stored.write(path)
        status = os.stat(path)
    except OSError as problem:
        import errno

        if problem.errno == errno.ENOSPC:
            raise error("DISK_FULL", path=folder) from None
        raise error("FILE_UNREADABLE", path=path, detail=problem.strerror or str(problem)) from None
    split = Split(path, status.st_size, status.st_mtime_ns, status.st_ino)
    columns = tuple(_merged([(group.columns[index], group.rows) for group in groups]) for index in range(len(fields)))
    files = (TableFile(split, arrow.num_rows, tuple(groups)),)
    return TableSnapshot(name, "memory", fields, files, columns, keeper=_Keeper(path))


def _as_arrow(table: Any) -> pa.Table:
    try:
        if isinstance(table, pa.Table):
            return table
        if isinstance(table, pa.RecordBatch):
            return pa.Table.from_batches([table])
        if isinstance(table, pl.LazyFrame):
            table = table.collect()
        if isinstance(table, pl.DataFrame):
            return table.to_arrow()
        if type(table).__module__.split(".")[0] == "pandas":
            return pa.Table.from_pandas(table, preserve_index=False)
        if hasattr(table, "__arrow_c_stream__"):
            return pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        raise error("UNSUPPORTED_VALUE", what=f"this {type(table).__name__} ({str(problem).splitlines()[0]})") from None
    raise error("UNSUPPORTED_VALUE", what=f"an object of type {type(table).__name__}")


def _fields(table: pa.Table) -> tuple[Field, ...]:
    fields, seen = [], set()
    for field, column in zip(table.schema, table.columns, strict=True):
        dtype = logical_type(field.type)
        if dtype is None:
            raise error("UNSUPPORTED_VALUE", what=f"a table whose column {field.name!r} has the type {field.type}")
        if field.name in seen:
            raise error("UNSUPPORTED_VALUE", what=f"a table with two columns named {field.name!r}")
        seen.add(field.name)
        fields.append(Field(field.name, dtype, column.null_count > 0))
    if not fields:
        raise error("UNSUPPORTED_VALUE", what="a table without columns")
    return tuple(fields)


class _Stored:
    """The table in the form in which it is written, batch by batch."""

    def __init__(self, table: pa.Table, fields: tuple[Field, ...]) -> None:
        self.table = table
        self.fields = fields
        frame = self._batch(0, 0)
        self.wide = [
            isinstance(f.dtype, t.DecimalType) and f.dtype.precision > 18 and not self._narrow(i) for i, f in enumerate(fields)
        ]
        self.schema = self._arrow(frame).schema

    def _narrow(self, index: int) -> bool:
        """Whether all values of a wide decimal column fit in 64 bits."""
        series = pl.from_arrow(self.table.column(index))
        assert isinstance(series, pl.Series)
        statistics = bounds_of(series.to_physical().cast(pl.Int128), self.fields[index].dtype)
        return statistics.minimum is None or -(2**63) <= statistics.minimum <= statistics.maximum < 2**63

    def _batch(self, first: int, rows: int) -> pl.DataFrame:
        """Some rows in natural types; decimals as Int128. Strings get buffers of their own, as large as their content."""
        part = self.table.slice(first, rows)
        columns = []
        for field, column in zip(self.fields, part.columns, strict=True):
            if pa.types.is_dictionary(column.type):
                column = column.cast(pa.large_string())
            elif pa.types.is_decimal(column.type) and column.type.bit_width != 128:
                column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
            elif pa.types.is_string_view(column.type):
                column = column.cast(pa.large_string())
            elif pa.types.is_binary_view(column.type) or pa.types.is_fixed_size_binary(column.type):
                column = column.cast(pa.large_binary()) if not pa.types.is_decimal(column.type) else column
            series = pl.from_arrow(column)
            assert isinstance(series, pl.Series)
            if isinstance(field.dtype, t.DecimalType):
                series = series.to_physical().cast(pl.Int128)
            else:
                series = series.cast(polars_type(field.dtype, Encoding.PLAIN))
            columns.append(series.alias(field.name))
        return pl.DataFrame(columns)

    def _arrow(self, frame: pl.DataFrame) -> pa.Table:
        columns = zip(self.fields, self.wide, strict=True)
        return to_arrow(pl.DataFrame([to_stored(frame[field.name], field.dtype, wide) for field, wide in columns]))

    def write(self, path: str) -> list[RowGroup]:
        groups: list[RowGroup] = []
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, self.schema) as writer:
            for first in range(0, self.table.num_rows, BATCH_ROWS):
                frame = self._batch(first, BATCH_ROWS)
                statistics = tuple(bounds_of(frame[f.name], f.dtype) for f in self.fields)
                batch = self._arrow(frame).combine_chunks()
                writer.write_table(batch)
                groups.append(RowGroup(first, frame.height, batch.nbytes, statistics))
        return groups


def _merged(parts: list[tuple[ColumnStatistics, int]]) -> ColumnStatistics:
    """Over all batches; a batch of NULLs alone has no bounds and takes none from the others."""
    nulls = sum(part.null_count or 0 for part, _ in parts)
    merged = merge_statistics(part for part, rows in parts if part.null_count != rows)
    return ColumnStatistics(merged.minimum, merged.maximum, nulls, Trust.VERIFIED)


class _Keeper:
    """Deletes a file when nobody refers to this any more. A forked child has a copy, but not the file."""

    def __init__(self, path: str) -> None:
        weakref.finalize(self, _delete, path, os.getpid()).atexit = False


def _delete(path: str, process: int) -> None:
    if os.getpid() == process:
        with contextlib.suppress(OSError):  # the engine's folder may be gone already
            os.unlink(path)
        _maps.pop(path, None)


_maps: dict[str, tuple[pa.RecordBatch, ...]] = {}
"""The batches of the tables that this process has mapped, by path; they share the memory of the file."""


def unmap_deleted() -> None:
    """Give back the memory of tables that are gone."""
    for path in [path for path in _maps if not os.path.exists(path)]:
        del _maps[path]


def _mapped(split: Split) -> tuple[pa.RecordBatch, ...]:
    """The batches of a table. Raises FILE_CHANGED if it is gone."""
    found = _maps.get(split.path)
    if found is None:
        try:
            source = pa.memory_map(split.path, "r")
        except FileNotFoundError:
            raise error("FILE_CHANGED", path=split.path) from None
        if source.size() != split.size:
            raise error("FILE_CHANGED", path=split.path)
        reader = pa.ipc.open_file(source)
        found = _maps[split.path] = tuple(reader.get_batch(index) for index in range(reader.num_record_batches))
    return found


def scan(node: TableScan, partition: int, needed: frozenset[int]) -> pl.LazyFrame:
    """The rows of one task's ranges of a registered table, as c<id>. Fixed-width columns and strings are not copied."""
    ranges = node.partitions[partition if len(node.partitions) > 1 else 0]
    stored = StoredScan(node, needed)
    names = [name for _, name in stored.columns]
    batches = [
        batch.select(names) if names else batch
        for part in ranges
        for batch in _slices(_mapped(part.split), part.first_row, part.rows)
    ]
    if not batches:
        return stored.empty()
    frame = pl.from_arrow(pa.Table.from_batches(batches)) if names else row_marks(sum(batch.num_rows for batch in batches))
    assert isinstance(frame, pl.DataFrame)
    claims = [part.claim for part in ranges if part.claim is not None]
    whole = (min(low for low, _ in claims), max(high for _, high in claims)) if claims else None
    return stored.frame(frame, whole, key_interval(node, partition))


def read_rows(part: ScanRange, names: list[str]) -> pl.DataFrame:
    """The columns of a range of rows of a registered table, in stored form. Raises FILE_CHANGED if the table is gone."""
    schema = _mapped(part.split)[0].schema
    batches = [batch.select(names) for batch in _slices(_mapped(part.split), part.first_row, part.rows)]
    frame = pl.from_arrow(pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in names])))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _slices(batches: tuple[pa.RecordBatch, ...], first_row: int, rows: int) -> list[pa.RecordBatch]:
    """The parts of the batches that lie in a range of rows."""
    parts, start = [], 0
    for batch in batches:
        low, high = max(first_row, start), min(first_row + rows, start + batch.num_rows)
        if low < high:
            parts.append(batch.slice(low - start, high - low))
        start += batch.num_rows
    return parts

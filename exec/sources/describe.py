"""Parquet files as a table: one look at every footer, no data.

Columns of types that qengine does not have (nested ones) are left out of the table, so that the others can be queried.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from exec.sources.arrow_types import leaves, logical_type
from exec.sources.identity import split_of
from planner import dtypes as t
from planner.catalog import ColumnStatistics, RowGroup, TableFile, TableSnapshot, Trust
from planner.errors import error, nearest
from planner.schema import Field

_MICROSECONDS = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}

_LARGEST_FOLDER = 1000
"""Entries of a folder among which a similar name is looked for."""


def describe(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], name: str) -> TableSnapshot:
    """The snapshot of a file, a folder (all *.parquet below it), a glob, or a list of these, in sorted order.

    Statistics are CLAIMED. Raises FILE_NOT_FOUND (also for an empty list), FILE_UNREADABLE, FILE_INVALID,
    FILE_SCHEMA_MISMATCH, or FILE_TYPE_UNSUPPORTED if no column has a supported type.
    """
    files = expand(paths)
    described = [_describe_file(path) for path in files]
    first = described[0]
    for other in described[1:]:
        _check_schema(first, other)
    names = [field.name for field in first.fields]
    fields = tuple(
        Field(field.name, field.dtype, any(file.by_name[field.name].nullable for file in described)) for field in first.fields
    )
    table_files = tuple(file.as_table_file(names) for file in described)
    groups = [group for file in table_files for group in file.row_groups]
    columns = tuple(_over_groups([(group.columns[i], group.rows) for group in groups]) for i in range(len(fields)))
    reader = "polars" if all(file.polars_reads for file in described) else "pyarrow"
    return TableSnapshot(name, "parquet", fields, table_files, columns, reader)


def expand(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The absolute paths of the files that are meant. Raises FILE_NOT_FOUND if there are none."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[str] = []
    for item in given:
        path = os.path.abspath(os.path.expanduser(os.fspath(item)))
        if os.path.isdir(path):
            matches = sorted(glob.glob(os.path.join(glob.escape(path), "**", "*.parquet"), recursive=True))
        elif os.path.exists(path):
            matches = [path]
        else:
            matches = sorted(match for match in glob.glob(path, recursive=True) if os.path.isfile(match))
        if not matches:
            raise error("FILE_NOT_FOUND", path=os.fspath(item), nearest=_nearest_file(path))
        found += matches
    if not found:
        raise error("FILE_NOT_FOUND", path="")
    return found


def _nearest_file(path: str) -> str:
    """The end of a message that names the most similar entry of a folder that is not too large."""
    folder, name = os.path.split(path)
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _LARGEST_FOLDER + 1) if entry.name != name]
    except (OSError, ValueError):
        return ""
    return nearest(name, names) if len(names) <= _LARGEST_FOLDER and not glob.has_magic(name) else ""


class _File:
    """One footer."""

    def __init__(self, path: str) -> None:
        self.split = split_of(path)
        self.path = path
        try:
            with pq.ParquetFile(path) as file:
                self.metadata = file.metadata
                self.arrow = file.schema_arrow
        except (pa.ArrowException, OSError, ValueError) as problem:
            detail = str(problem).split("\n")[0][:200]
            raise error("FILE_INVALID", path=path, format="Parquet", detail=detail) from None
        self.fields: list[Field] = []
        self.leaf: dict[str, int] = {}
        self.types: dict[str, pa.DataType] = {}
        position = 0
        for field in self.arrow:
            dtype = logical_type(field.type)
            if dtype is not None and field.name not in self.leaf:
                self.fields.append(Field(field.name, dtype, field.nullable))
                self.leaf[field.name] = position
                self.types[field.name] = field.type
            position += leaves(field.type)
        self.by_name = {field.name: field for field in self.fields}
        if not self.fields:
            column = self.arrow.field(0) if len(self.arrow) else None
            raise error(
                "FILE_TYPE_UNSUPPORTED",
                column=column.name if column else "",
                path=path,
                type=column.type if column else "no columns",
            )
        self.polars_reads = _polars_reads(path)

    def as_table_file(self, names: list[str]) -> TableFile:
        groups = []
        first_row = 0
        for index in range(self.metadata.num_row_groups):
            group = self.metadata.row_group(index)
            stored = sum(group.column(column).total_compressed_size for column in range(group.num_columns))
            columns = tuple(
                _statistics(group.column(self.leaf[name]), self.by_name[name].dtype, self.types[name]) for name in names
            )
            groups.append(RowGroup(first_row, group.num_rows, stored, columns))
            first_row += group.num_rows
        return TableFile(self.split, first_row, tuple(groups))


_describe_file = _File


def _polars_reads(path: str) -> bool:
    """Whether Polars accepts the footer; it refuses or panics on some valid files."""
    import polars as pl

    try:
        pl.read_parquet_schema(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, TypeError):
        return False
    return True


def _check_schema(first: _File, other: _File) -> None:
    detail = None
    missing = [field.name for field in first.fields if field.name not in other.by_name]
    added = [field.name for field in other.fields if field.name not in first.by_name]
    if missing:
        detail = f"column {missing[0]!r} is missing"
    elif added:
        detail = f"column {added[0]!r} is only there"
    else:
        for field in first.fields:
            found = other.by_name[field.name].dtype
            if found != field.dtype:
                detail = f"column {field.name!r} is {found} instead of {field.dtype}"
                break
    if detail is not None:
        raise error("FILE_SCHEMA_MISMATCH", path=other.path, first=first.path, detail=detail)


def _statistics(chunk: Any, dtype: t.DType, arrow: pa.DataType) -> ColumnStatistics:
    """What a footer claims about one column of a row group."""
    found = chunk.statistics if chunk.is_stats_set else None
    if found is None:
        return ColumnStatistics()
    null_count = found.null_count if found.has_null_count else None
    if not found.has_min_max:
        return ColumnStatistics(None, None, null_count)
    try:
        bounds = _value(found.min, found.min_raw, dtype, arrow), _value(found.max, found.max_raw, dtype, arrow)
    except (ValueError, OverflowError, UnicodeDecodeError, pa.ArrowException, NotImplementedError):
        return ColumnStatistics(None, None, null_count)
    if bounds[0] is None or bounds[1] is None or bounds[0] > bounds[1]:
        return ColumnStatistics(None, None, null_count)
    return ColumnStatistics(bounds[0], bounds[1], null_count)


def _value(value: Any, raw: Any, dtype: t.DType, arrow: pa.DataType) -> Any:
    """A bound in the form of `planner.catalog`; None if it cannot be used."""
    if isinstance(dtype, t.DecimalType):
        return raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)
    if t.is_integer(dtype):
        return int(value)
    if dtype == t.VARCHAR:
        return value if isinstance(value, str) else value.decode()
    if dtype == t.DATE and isinstance(raw, int) and arrow == pa.date32():
        return raw
    if dtype in (t.TIMESTAMP, t.TIMESTAMPTZ) and isinstance(raw, int):
        unit = getattr(value, "unit", None) or arrow.unit
        factor, divisor = _MICROSECONDS[unit]
        return raw * factor // divisor
    if t.is_float(dtype):
        # NaN may hide anywhere, and writers may have left it out: these bounds serve costs only.
        return float(value) if value == value else None
    return None


def _over_groups(parts: list[tuple[ColumnStatistics, int]]) -> ColumnStatistics:
    """Statistics over all row groups. A group without values has no bounds and takes none from the others."""
    counts = [part.null_count for part, _ in parts]
    null_count = None if any(count is None for count in counts) else sum(count for count in counts if count is not None)
    valued = [part for part, rows in parts if rows and part.null_count != rows]
    if not valued or any(part.minimum is None for part in valued):
        return ColumnStatistics(None, None, null_count)
    return ColumnStatistics(
        min(part.minimum for part in valued), max(part.maximum for part in valued), null_count, Trust.CLAIMED
    )

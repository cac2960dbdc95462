"""A worker's part of sampling: the rows of some places of a table, and what they say of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

import polars as pl

from exec.lower.column_types import DECIMAL38, polars_type
from exec.lower.exact import column_encoding, convert
from exec.sampling.distributions import distribution, statistic_values
from exec.sources.identity import verify
from exec.sources.memory import read_rows as read_memory
from exec.sources.parquet import read_rows as read_parquet
from planner.catalog import ColumnDistribution
from planner.dir import ScanRange
from planner.dtypes import DecimalType, DType
from planner.physical.encodings import Encoding
from planner.schema import Field

MOST_COLUMNS = 200
"""Columns that are looked at, the first ones of a table: every one costs time, and few tables have more that matter."""
MOST_BYTES = 16 << 20
"""Of a sample; of one with long texts only every second, third, ... row is kept."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is to be drawn: rows of some places of a table of `rows` rows. `format` and `reader` are those of its snapshot."""

    places: tuple[ScanRange, ...]
    fields: tuple[Field, ...]
    rows: int
    format: str
    reader: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample as Arrow IPC, its columns called p<position>, and the distributions of the columns (None: not looked at)."""

    data: bytes
    columns: tuple[ColumnDistribution | None, ...]


def draw(drawing: Drawing) -> Drawn:
    """Read the rows and describe them. Raises FILE_CHANGED, and what reading raises."""
    fields = drawing.fields[:MOST_COLUMNS]
    frame = pl.concat([read_columns(place, fields, drawing.format, drawing.reader) for place in drawing.places])
    runs = [place.rows for place in drawing.places]
    columns: list[ColumnDistribution | None] = []
    for field, values in zip(fields, frame, strict=True):
        described = statistic_values(values, field.dtype)
        columns.append(None if described is None else distribution(described, runs, drawing.rows))
    columns += [None] * (len(drawing.fields) - len(fields))
    size = int(frame.estimated_size())
    if size > MOST_BYTES:
        frame = frame.gather_every(-(-size // MOST_BYTES))
    sink = BytesIO()
    frame.cast({pl.Int128: DECIMAL38}).write_ipc(sink)
    return Drawn(sink.getvalue(), tuple(columns))


def sample_frame(data: bytes) -> pl.DataFrame:
    """The rows of a sample."""
    frame = pl.read_ipc(BytesIO(data))
    wide = [name for name, dtype in frame.schema.items() if dtype == DECIMAL38]
    return frame.with_columns(pl.col(name).to_physical().cast(pl.Int128) for name in wide)


def read_columns(part: ScanRange, fields: tuple[Field, ...], format: str, reader: str) -> pl.DataFrame:
    """Columns of a range of rows in canonical form, called p<number> in the order of `fields`.

    Raises FILE_CHANGED, and what reading raises.
    """
    names = [field.name for field in fields]
    if format == "memory":
        read = read_memory(part, names)
    else:
        verify(part.split)
        read = read_parquet(part, names, reader).collect(engine="streaming")
        verify(part.split)
    return read.select(
        _canonical(pl.col(field.name), field.dtype, read.schema[field.name]).alias(f"p{position}")
        for position, field in enumerate(fields)
    )


def _canonical(values: pl.Expr, dtype: DType, stored: pl.DataType) -> pl.Expr:
    """Values in the form that lowered expressions expect of a column without known bounds."""
    encoding = column_encoding(dtype, 0, {})
    if isinstance(dtype, DecimalType):
        values = values.to_physical() if stored.is_decimal() else values
        return convert(values.cast(pl.Int128), Encoding.INT128, encoding)
    return values.cast(polars_type(dtype, encoding))

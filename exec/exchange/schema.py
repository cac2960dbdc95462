"""The Arrow and Polars schema of what crosses an exchange: columns `c<id>` in their encodings."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa

from exec.lower.column_types import arrow_type, polars_type
from planner.dir import Dir
from planner.physical.encodings import Encoding
from planner.schema import Schema


def arrow_schema(dir: Dir) -> pa.Schema:
    """The schema of the files of a DIR."""
    return arrow_columns(dir.schema, dir.encodings)


def arrow_columns(columns: Schema, encodings: Sequence[Encoding]) -> pa.Schema:
    pairs = zip(columns, encodings, strict=True)
    return pa.schema([pa.field(f"c{column.id}", arrow_type(column.dtype, encoding)) for column, encoding in pairs])


def polars_schema(columns: Schema, encodings: Sequence[Encoding]) -> pl.Schema:
    """The schema of the frame that a body reads from an exchange."""
    pairs = zip(columns, encodings, strict=True)
    return pl.Schema({f"c{column.id}": polars_type(column.dtype, encoding) for column, encoding in pairs})

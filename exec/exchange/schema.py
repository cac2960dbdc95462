"""The Arrow schema of what crosses an exchange: columns `c<id>` in their encodings.

Rows without columns travel as their row mark, as they do inside of a task.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from exec.lower.column_types import arrow_type
from exec.lower.joins import ROW_MARK
from planner.dir import Dir
from planner.physical.encodings import Encoding
from planner.schema import Schema


def arrow_schema(dir: Dir) -> pa.Schema:
    """The schema of the files of a DIR."""
    return arrow_columns(dir.schema, dir.encodings)


def arrow_columns(columns: Schema, encodings: Sequence[Encoding]) -> pa.Schema:
    pairs = zip(columns, encodings, strict=True)
    fields = [pa.field(f"c{column.id}", arrow_type(column.dtype, encoding)) for column, encoding in pairs]
    return pa.schema(fields or [pa.field(ROW_MARK, pa.bool_())])

"""The encoded result of the root stage as the table that a user gets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from exec.lower.column_types import logical_arrow_type
from planner.dtypes import DecimalType
from planner.errors import error
from planner.physical.encodings import Encoding
from planner.schema import Schema


def decode(table: pa.Table, columns: Schema, encodings: Sequence[Encoding], names: Sequence[str]) -> pa.Table:
    """`table` holds `columns` in Arrow's form of `encodings`, in order; the result has logical types and `names`.

    Decimals are reinterpreted or widened as whole buffers. Raises OVERFLOW for a value beyond its type's precision.
    """
    arrays, fields = [], []
    for index, (column, encoding) in enumerate(zip(columns, encodings, strict=True)):
        target = logical_arrow_type(column.dtype)
        stored = table.column(index)
        if isinstance(column.dtype, DecimalType):
            chunks = [_decimal(chunk, encoding, column.dtype, target) for chunk in stored.chunks]
            stored = pa.chunked_array(chunks, target)
        elif stored.type != target:
            stored = stored.cast(target)
        arrays.append(stored)
        fields.append(pa.field(names[index], target))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _decimal(chunk: pa.Array, encoding: Encoding, dtype: DecimalType, target: pa.DataType) -> pa.Array:
    """Scaled integers as decimals: the same 128 bits under another type."""
    if encoding is Encoding.INT64:
        chunk = chunk.cast(pa.int64())
        wide = np.empty((len(chunk), 2), dtype=np.int64)
        if len(chunk):
            wide[:, 0] = np.frombuffer(chunk.buffers()[1], dtype=np.int64)[chunk.offset : chunk.offset + len(chunk)]
        np.right_shift(wide[:, 0], 63, out=wide[:, 1])
        data, offset = pa.py_buffer(wide), 0
    else:
        data, offset = chunk.buffers()[1], chunk.offset
    if chunk.null_count:
        validity = chunk.is_valid()
        valid = validity.buffers()[1] if offset == 0 and validity.offset == 0 else None
        if valid is None:
            # Bring values and validity to a common start.
            chunk = pa.concat_arrays([chunk])
            data = chunk.buffers()[1] if encoding is not Encoding.INT64 else data
            valid, offset = chunk.is_valid().buffers()[1], chunk.offset if encoding is not Encoding.INT64 else 0
    else:
        valid = None
    decoded = pa.Array.from_buffers(target, len(chunk), [valid, data], offset=offset)
    if len(chunk) > chunk.null_count and _may_exceed(encoding, dtype):
        import pyarrow.compute as pc  # takes 50 ms, which most results can do without

        bounds = pc.min_max(pa.Array.from_buffers(pa.decimal128(38, 0), len(chunk), [valid, data], offset=offset))
        limit = 10**dtype.precision - 1
        if int(bounds["min"].as_py()) < -limit or int(bounds["max"].as_py()) > limit:
            raise error("OVERFLOW", dtype=dtype)
    return decoded


def _may_exceed(encoding: Encoding, dtype: DecimalType) -> bool:
    return dtype.precision < (19 if encoding is Encoding.INT64 else 38)

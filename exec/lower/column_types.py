"""The Polars and Arrow type of every pair of logical type and encoding.

Inside of a frame a decimal is the scaled integer of its tier. Polars' Int128 cannot enter Arrow, so in Arrow both wide tiers
are decimal128(38, 0).
"""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from planner import dtypes as t
from planner.errors import error
from planner.physical.encodings import Encoding

DECIMAL38 = pl.Decimal(38, 0)
ARROW_DECIMAL38 = pa.decimal128(38, 0)

_POLARS: dict[t.DType, pl.DataType] = {
    t.NULL: pl.Null(),
    t.BOOLEAN: pl.Boolean(),
    t.TINYINT: pl.Int8(),
    t.SMALLINT: pl.Int16(),
    t.INTEGER: pl.Int32(),
    t.BIGINT: pl.Int64(),
    t.UTINYINT: pl.UInt8(),
    t.USMALLINT: pl.UInt16(),
    t.UINTEGER: pl.UInt32(),
    t.UBIGINT: pl.UInt64(),
    t.REAL: pl.Float32(),
    t.DOUBLE: pl.Float64(),
    t.VARCHAR: pl.String(),
    t.BLOB: pl.Binary(),
    t.DATE: pl.Date(),
    t.TIME: pl.Time(),
    t.TIMESTAMP: pl.Datetime("us"),
    t.TIMESTAMPTZ: pl.Datetime("us", "UTC"),
}

_ARROW: dict[t.DType, pa.DataType] = {
    t.NULL: pa.null(),
    t.BOOLEAN: pa.bool_(),
    t.TINYINT: pa.int8(),
    t.SMALLINT: pa.int16(),
    t.INTEGER: pa.int32(),
    t.BIGINT: pa.int64(),
    t.UTINYINT: pa.uint8(),
    t.USMALLINT: pa.uint16(),
    t.UINTEGER: pa.uint32(),
    t.UBIGINT: pa.uint64(),
    t.REAL: pa.float32(),
    t.DOUBLE: pa.float64(),
    t.VARCHAR: pa.large_string(),
    t.BLOB: pa.large_binary(),
    t.DATE: pa.date32(),
    t.TIME: pa.time64("ns"),
    t.TIMESTAMP: pa.timestamp("us"),
    t.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
}

_POLARS_TIER: dict[Encoding, pl.DataType] = {
    Encoding.INT64: pl.Int64(),
    Encoding.INT128: pl.Int128(),
    Encoding.DEC38: DECIMAL38,
}


def polars_type(dtype: t.DType, encoding: Encoding) -> pl.DataType:
    """The type of a column inside of a frame. Raises UNSUPPORTED for a type that columns cannot have (INTERVAL)."""
    if isinstance(dtype, t.DecimalType):
        return _POLARS_TIER[encoding]
    found = _POLARS.get(dtype)
    if found is None:
        raise error("UNSUPPORTED", what=f"a column of type {dtype}")
    return found


def tier_type(tier: Encoding) -> pl.DataType:
    """The Polars type that represents scaled integers of a tier (never PLAIN)."""
    return _POLARS_TIER[tier]


def arrow_type(dtype: t.DType, encoding: Encoding) -> pa.DataType:
    """The type of a column in an exchange or an encoded result. Raises UNSUPPORTED as `polars_type` does."""
    if isinstance(dtype, t.DecimalType):
        return pa.int64() if encoding is Encoding.INT64 else ARROW_DECIMAL38
    found = _ARROW.get(dtype)
    if found is None:
        raise error("UNSUPPORTED", what=f"a column of type {dtype}")
    return found


def logical_arrow_type(dtype: t.DType) -> pa.DataType:
    """The type of a column in a result that a user gets: decimals as decimal128(precision, scale)."""
    if isinstance(dtype, t.DecimalType):
        return pa.decimal128(dtype.precision, dtype.scale)
    return arrow_type(dtype, Encoding.PLAIN)

"""Arrow types of foreign data to logical types."""

from __future__ import annotations

import pyarrow as pa

from planner import dtypes as t

_SIMPLE: dict[pa.DataType, t.DType] = {
    pa.bool_(): t.BOOLEAN,
    pa.int8(): t.TINYINT,
    pa.int16(): t.SMALLINT,
    pa.int32(): t.INTEGER,
    pa.int64(): t.BIGINT,
    pa.uint8(): t.UTINYINT,
    pa.uint16(): t.USMALLINT,
    pa.uint32(): t.UINTEGER,
    pa.uint64(): t.UBIGINT,
    pa.float16(): t.REAL,
    pa.float32(): t.REAL,
    pa.float64(): t.DOUBLE,
    pa.string(): t.VARCHAR,
    pa.large_string(): t.VARCHAR,
    pa.string_view(): t.VARCHAR,
    pa.binary(): t.BLOB,
    pa.large_binary(): t.BLOB,
    pa.binary_view(): t.BLOB,
    pa.date32(): t.DATE,
    pa.date64(): t.DATE,
    # A column without values has no type of its own; DuckDB gives it this one too.
    pa.null(): t.INTEGER,
}


def logical_type(arrow: pa.DataType) -> t.DType | None:
    """The logical type of an Arrow type; None if qengine has none for it (nested types, intervals, decimals beyond 38)."""
    found = _SIMPLE.get(arrow)
    if found is not None:
        return found
    if pa.types.is_dictionary(arrow):
        inner = logical_type(arrow.value_type)
        return inner if inner == t.VARCHAR else None
    if pa.types.is_timestamp(arrow):
        return t.TIMESTAMPTZ if arrow.tz else t.TIMESTAMP
    if pa.types.is_time(arrow):
        return t.TIME
    if pa.types.is_fixed_size_binary(arrow) and not pa.types.is_decimal(arrow):
        return t.BLOB
    if pa.types.is_decimal(arrow) and 1 <= arrow.precision <= 38 and 0 <= arrow.scale <= arrow.precision:
        return t.decimal(arrow.precision, arrow.scale)
    return None


def leaves(arrow: pa.DataType) -> int:
    """How many Parquet columns store a value of this type."""
    if pa.types.is_nested(arrow):
        return sum(leaves(arrow.field(index).type) for index in range(arrow.num_fields))
    return 1

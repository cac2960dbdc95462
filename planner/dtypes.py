"""Logical types. They say what a value means; how it is stored is an encoding (`planner.physical.encodings`).

Names are those of DuckDB. Types are immutable, compare by value and print as SQL.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DType:
    """A type without parameters, known by its SQL name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DecimalType(DType):
    """DECIMAL(precision, scale): an integer of at most `precision` (1..38) digits, divided by 10**scale (0..precision)."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})"


def decimal(precision: int, scale: int) -> DecimalType:
    """DECIMAL(precision, scale). Raises ValueError outside 1 ≤ precision ≤ 38, 0 ≤ scale ≤ precision."""
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise ValueError(f"DECIMAL({precision},{scale}) is out of range")
    return DecimalType("DECIMAL", precision, scale)


NULL = DType("NULL")
BOOLEAN = DType("BOOLEAN")
TINYINT = DType("TINYINT")
SMALLINT = DType("SMALLINT")
INTEGER = DType("INTEGER")
BIGINT = DType("BIGINT")
UTINYINT = DType("UTINYINT")
USMALLINT = DType("USMALLINT")
UINTEGER = DType("UINTEGER")
UBIGINT = DType("UBIGINT")
REAL = DType("REAL")
DOUBLE = DType("DOUBLE")
VARCHAR = DType("VARCHAR")
BLOB = DType("BLOB")
DATE = DType("DATE")
TIME = DType("TIME")
TIMESTAMP = DType("TIMESTAMP")
TIMESTAMPTZ = DType("TIMESTAMPTZ")
INTERVAL = DType("INTERVAL")

SIGNED_INTEGERS = (TINYINT, SMALLINT, INTEGER, BIGINT)
UNSIGNED_INTEGERS = (UTINYINT, USMALLINT, UINTEGER, UBIGINT)
INTEGERS = SIGNED_INTEGERS + UNSIGNED_INTEGERS
FLOATS = (REAL, DOUBLE)

INTEGER_BITS = {
    TINYINT: 8, SMALLINT: 16, INTEGER: 32, BIGINT: 64, UTINYINT: 8, USMALLINT: 16, UINTEGER: 32, UBIGINT: 64,
}  # fmt: skip

INTEGER_DIGITS = {
    TINYINT: 3, SMALLINT: 5, INTEGER: 10, BIGINT: 19, UTINYINT: 3, USMALLINT: 5, UINTEGER: 10, UBIGINT: 20,
}  # fmt: skip
"""Decimal digits that hold every value of an integer type."""


def is_integer(dtype: DType) -> bool:
    return dtype in INTEGER_BITS


def is_decimal(dtype: DType) -> bool:
    return isinstance(dtype, DecimalType)


def is_exact(dtype: DType) -> bool:
    """Integers and decimals: arithmetic on them is exact or an error."""
    return dtype in INTEGER_BITS or isinstance(dtype, DecimalType)


def is_float(dtype: DType) -> bool:
    return dtype in FLOATS


def is_numeric(dtype: DType) -> bool:
    return is_exact(dtype) or is_float(dtype)


def is_temporal(dtype: DType) -> bool:
    return dtype in (DATE, TIME, TIMESTAMP, TIMESTAMPTZ)


def scale_of(dtype: DType) -> int:
    """Digits after the point of an exact type; integers have none."""
    return dtype.scale if isinstance(dtype, DecimalType) else 0


def value_range(dtype: DType) -> tuple[int, int]:
    """The least and greatest value of an exact type, decimals as scaled integers."""
    if isinstance(dtype, DecimalType):
        limit = 10**dtype.precision - 1
        return -limit, limit
    bits = INTEGER_BITS[dtype]
    return (0, 2**bits - 1) if dtype in UNSIGNED_INTEGERS else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def as_decimal(dtype: DType) -> DecimalType:
    """The narrowest decimal that holds every value of an exact type."""
    if isinstance(dtype, DecimalType):
        return dtype
    return decimal(INTEGER_DIGITS[dtype], 0)

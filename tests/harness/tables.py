"""The tables that random queries and the switchboard read: every type, with NULLs, duplicates, nothing at all, and extremes.

There are several worlds of the same three tables `t`, `s` and `u`; the tables of world 1 are `t1`, `s1` and `u1`. In each
table one column of a type is calm, so that arithmetic and sums on it succeed, and another one is extreme. Floats that are
calm are multiples of a quarter, whose sums are exact in any order.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

D = Decimal
_DAY = datetime.date
_EPOCH = datetime.datetime(1970, 1, 1)
_NAN, _INFINITY = float("nan"), float("inf")

INTEGER, DECIMAL, FLOAT, TEXT, BOOLEAN, DATE, TIMESTAMP, TIME, ZONED, BLOB = (
    "integer", "decimal", "float", "text", "boolean", "date", "timestamp", "time", "zoned", "blob",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """A column of the test tables: `family` decides which expressions it may be part of, `calm` whether it can overflow."""

    name: str
    family: str
    calm: bool
    arrow: pa.DataType
    draw: Callable[[random.Random], Any]
    tables: str = "tsu"
    nulls: float = 0.2


def _one_of(*values: Any) -> Callable[[random.Random], Any]:
    return lambda generator: generator.choice(values)


def _extremes(low: int, high: int) -> Callable[[random.Random], Any]:
    return _one_of(low, low + 1, high, high - 1, 0, 1, max(low, -1), high // 2)


def _moment(year: int, *rest: int) -> int:
    """Microseconds since 1970 of a naive timestamp."""
    return (datetime.datetime(year, *rest) - _EPOCH) // datetime.timedelta(microseconds=1)


_WIDE = [
    D("9" * 35 + ".999"),
    D("-" + "9" * 35 + ".999"),
    D("9" * 31 + ".125"),
    D("0.001"),
    D("-0.001"),
    D("0.000"),
    D("2.500"),
]
_FLOATS = [_NAN, _INFINITY, -_INFINITY, -0.0, 0.0, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, 2.0**53 + 2, 0.1]
_TEXTS = ["", "a", "A", "ab", "abc", "b", "ba", "B a", " a ", "ä", "ÄB"]
_ODD_TEXTS = [
    "", " ", "%", "_", "a%b_c", "\\", "it's", 'say "x"', "x\ny", "\t", "ünïcode ☃", "ÅÉß", "日本語", "👩‍👩‍👧", "é", "é",
    "12", "-7", "1.50", "1e3", "true", "2020-02-29", "nan", "NULL", "a" * 13, "long " * 20,
]  # fmt: skip

COLUMNS = (
    ColumnKind("i", INTEGER, True, pa.int32(), lambda g: g.randrange(-5, 20)),
    ColumnKind("g", INTEGER, True, pa.int32(), _one_of(0, 1, 1, 2, 3)),
    ColumnKind("b", INTEGER, True, pa.int64(), lambda g: g.choice([0, 1, 2, 3, g.randrange(-(10**6), 10**6)])),
    ColumnKind("m", INTEGER, True, pa.int16(), lambda g: g.randrange(-50, 50), "t"),
    ColumnKind("e1", INTEGER, False, pa.int8(), _extremes(-(2**7), 2**7 - 1), "ts"),
    ColumnKind("e2", INTEGER, False, pa.int16(), _extremes(-(2**15), 2**15 - 1), "t"),
    ColumnKind("e4", INTEGER, False, pa.int32(), _extremes(-(2**31), 2**31 - 1), "tu"),
    ColumnKind("e8", INTEGER, False, pa.int64(), _extremes(-(2**63), 2**63 - 1), "ts"),
    ColumnKind("u1", INTEGER, False, pa.uint8(), _extremes(0, 2**8 - 1), "t"),
    ColumnKind("u4", INTEGER, False, pa.uint32(), _extremes(0, 2**32 - 1), "t"),
    ColumnKind("u8", INTEGER, False, pa.uint64(), _extremes(0, 2**64 - 1), "ts"),
    ColumnKind("d", DECIMAL, True, pa.decimal128(15, 2), lambda g: D(g.choice([0, 100, 250, g.randrange(-9999, 9999)])) / 100),
    ColumnKind("n", DECIMAL, True, pa.decimal128(4, 4), lambda g: D(g.randrange(-9999, 9999)) / 10_000, "t"),
    ColumnKind("w", DECIMAL, False, pa.decimal128(38, 3), _one_of(*_WIDE), "ts"),
    ColumnKind("h", DECIMAL, False, pa.decimal128(38, 0), _one_of(D("9" * 38), D("-" + "9" * 38), D(10**19), D(0), D(1)), "t"),
    ColumnKind("x", FLOAT, True, pa.float64(), lambda g: g.choice([0.0, -0.0, 1.0, 2.5, g.randrange(-99, 99) / 4])),
    ColumnKind("y", FLOAT, False, pa.float64(), _one_of(*_FLOATS, 1.0), "ts"),
    ColumnKind("r", FLOAT, False, pa.float32(), _one_of(_NAN, 0.5, -0.0, 3.4028234663852886e38, -_INFINITY, 16777216.0), "t"),
    ColumnKind("v", TEXT, True, pa.string(), _one_of(*_TEXTS)),
    ColumnKind("c", TEXT, False, pa.string(), _one_of(*_ODD_TEXTS), "ts"),
    ColumnKind("o", BOOLEAN, True, pa.bool_(), _one_of(True, False), "ts", 0.3),
    ColumnKind("dt", DATE, True, pa.date32(), lambda g: _DAY(2020, 1, 1) + datetime.timedelta(days=20 * g.randrange(40))),
    ColumnKind(
        "ed", DATE, False, pa.date32(),
        _one_of(_DAY(1, 1, 1), _DAY(9999, 12, 31), _DAY(1969, 12, 31), _DAY(1970, 1, 1), _DAY(2000, 2, 29), _DAY(1582, 10, 10)),
        "ts",
    ),
    ColumnKind("ts", TIMESTAMP, True, pa.timestamp("us"), lambda g: _moment(2020, 1, g.randrange(1, 5), 12 * g.randrange(2), 30)),
    ColumnKind(
        "et", TIMESTAMP, False, pa.timestamp("us"),
        _one_of(_moment(1, 1, 1), _moment(9999, 12, 31, 23, 59, 59, 999_999), -1, 0, _moment(1969, 12, 31), _moment(2000, 2, 29)),
        "t",
    ),
    ColumnKind("tm", TIME, True, pa.time64("us"), _one_of(0, 86_399_999_999, 43_200_000_000, 1), "t"),
    ColumnKind("z", ZONED, True, pa.timestamp("us", "UTC"), _one_of(0, -1, _moment(2020, 1, 2), _moment(9999, 12, 31)), "t"),
    ColumnKind("bl", BLOB, True, pa.binary(), _one_of(b"", b"a", b"\x00\xff", b"ab"), "t"),
)  # fmt: skip

KEY = ColumnKind("id", INTEGER, True, pa.int64(), lambda g: 0, nulls=0.0)
"""The row number: unique, never NULL, and the order in which the rows are stored."""


def columns_of(table: str) -> tuple[ColumnKind, ...]:
    """The columns of `t`, `s` or `u`, the key first."""
    return (KEY, *(column for column in COLUMNS if table in column.tables))


def _table(table: str, rows: int, seed: int, all_null: bool = False) -> pa.Table:
    generator = random.Random(f"{table} {rows} {seed}")
    values: dict[str, pa.Array] = {"id": pa.array(range(1, rows + 1), pa.int64())}
    for column in columns_of(table)[1:]:
        drawn: Sequence[Any] = [
            None if all_null or generator.random() < column.nulls else column.draw(generator) for _ in range(rows)
        ]
        values[column.name] = pa.array(drawn, column.arrow)
    return pa.table(values)


WORLDS = (
    {"t": (23, False), "s": (11, False), "u": (6, False)},
    {"t": (160, False), "s": (40, False), "u": (15, False)},
    {"t": (1, False), "s": (5, True), "u": (0, False)},
    {"t": (0, False), "s": (7, False), "u": (3, False)},
)
"""Rows of each table, and whether all of its values but the key are NULL."""


def worlds() -> dict[str, pa.Table]:
    """All tables of all worlds by name."""
    return {
        f"{table}{number}": _table(table, rows, number, all_null)
        for number, world in enumerate(WORLDS)
        for table, (rows, all_null) in world.items()
    }

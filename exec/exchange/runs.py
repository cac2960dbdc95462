"""Sorted runs: regular samples of them, and where a range of their order begins.

A run is a mapped table, and only the rows that a search touches are read: cutting it at a boundary takes a binary search and no
pass over its keys. Values are compared here as Polars sorts them: NULL first or last as the key says, NaN above all numbers and
equal to itself, text by its bytes (that is, by code points).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from planner.dir import OrderKey

_TEMPORAL = (pa.Date32Scalar, pa.Time64Scalar, pa.TimestampScalar)


def regular_sample(runs: Sequence[pa.Table], step: int) -> list[pa.Table]:
    """Every `step`-th row of each run, beginning in the middle of the first step."""
    return [run.slice(row, 1) for run in runs for row in range(step // 2, run.num_rows, step)]


def rows_before(run: pa.Table, boundaries: pa.Table, row: int, order: Sequence[OrderKey]) -> int:
    """How many rows of a sorted run precede the row `row` of `boundaries`. Both hold the keys as c<id> in one encoding."""
    keys = [(run.column(f"c{key.column}"), boundaries.column(f"c{key.column}")[row], key) for key in order]
    targets = [(column, _value(scalar), key) for column, scalar, key in keys]

    def reached(at: int) -> bool:
        for column, target, key in targets:
            compared = compare(_value(column[at]), target, key)
            if compared:
                return compared > 0
        return True

    return bisect_left(range(run.num_rows), True, key=reached)


def compare(first: Any, second: Any, key: OrderKey) -> int:
    """-1, 0 or 1: whether a value comes before another in the order of a key, ties with it, or comes after it."""
    if first is None or second is None:
        if first is second:
            return 0
        return -1 if (first is None) == key.nulls_first else 1
    if first == second:
        return 0
    is_nan = second != second
    if first != first and is_nan:
        return 0
    less = is_nan or first < second
    return -1 if less != key.descending else 1


def _value(scalar: pa.Scalar) -> Any:
    """A comparable Python value; moments as numbers, since Python has none beyond the year 9999."""
    return scalar.value if isinstance(scalar, _TEMPORAL) else scalar.as_py()

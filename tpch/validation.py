"""Whether another engine's answer is valid, by the tolerances of the specification (clause 2.1.3.5).

qengine's answers have to be exactly those of DuckDB (`answers.check`); engines that compute in floats, or decide otherwise about
the places of a quotient, are not wrong for that. The specification allows

    COUNT, plain columns       no difference
    SUM                        100 (dollars) up or down; of l_quantity none
    AVG and ratios             1 %, as they are or rounded to two places

Rows are matched by their exact columns, which are unique in every answer: they hold the keys of its groups. Then the order of the
rows that were given is checked against their own sort keys, and where a LIMIT cuts a tie any of the tied rows will do. Names and
types of columns are the engine's choice, as long as values are the same numbers, texts and days.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from tpch.queries import Query

Tolerance = Callable[[Any, Any], bool]
"""Whether a value may stand for an expected one."""

Row = tuple[Any, ...]

SUM_TOLERANCE = 100
RATIO_TOLERANCE = Decimal("0.01")


def within_sum(value: Any, expected: Any) -> bool:
    """Up to 100 more or less."""
    return _are_numbers(value, expected) and abs(Decimal(value) - Decimal(expected)) <= SUM_TOLERANCE


def within_ratio(value: Any, expected: Any) -> bool:
    """Up to 1 % more or less, as the values are or as they are rounded to two places."""
    if not _are_numbers(value, expected):
        return False
    pairs = ((Decimal(value), Decimal(expected)), (round(Decimal(value), 2), round(Decimal(expected), 2)))
    return any(abs(mine - target) <= RATIO_TOLERANCE * abs(target) for mine, target in pairs)


TOLERANCES: Mapping[int, Mapping[int, Tolerance]] = MappingProxyType(
    {
        1: {3: within_sum, 4: within_sum, 5: within_sum, 6: within_ratio, 7: within_ratio, 8: within_ratio},
        3: {1: within_sum},
        5: {1: within_sum},
        6: {0: within_sum},
        7: {3: within_sum},
        8: {1: within_ratio},
        9: {2: within_sum},
        10: {2: within_sum},
        11: {1: within_sum},
        14: {0: within_ratio},
        15: {4: within_sum},
        17: {0: within_ratio},
        19: {0: within_sum},
        22: {2: within_sum},
    }
)
"""By query, the columns of its answer that need not be exact."""


def validate(actual: pa.Table, uncut: pa.Table, query: Query) -> str | None:
    """None if `actual` is a valid answer to `query`, else the first difference in one line.

    `uncut` is the expected answer to the end of the tie that a limit cuts, as `answers.make` gives it.
    """
    count = uncut.num_rows if query.limit is None else min(query.limit, uncut.num_rows)
    if actual.num_columns != uncut.num_columns:
        return f"expected {uncut.num_columns} columns, got {actual.num_columns}"
    if actual.num_rows != count:
        return f"expected {count} rows, got {actual.num_rows}"
    tolerances = TOLERANCES.get(query.number, {})
    exact = [column for column in range(uncut.num_columns) if column not in tolerances]
    names = uncut.column_names
    offered: dict[Row, list[Row]] = {}
    pool = _rows(uncut)
    for row in pool:
        offered.setdefault(tuple(row[column] for column in exact), []).append(row)
    rows = _rows(actual)
    for index, row in enumerate(rows):
        candidates = offered.get(tuple(row[column] for column in exact))
        if not candidates:
            return f"row {index} is not in the expected answer, or too often: {_show(row)}"
        expected = candidates.pop()
        for column, tolerated in tolerances.items():
            if (row[column], expected[column]) != (None, None) and not tolerated(row[column], expected[column]):
                return f"row {index}, column {column} ({names[column]}): expected {expected[column]}, got {row[column]}"
    keys = [column for column, _, _ in query.order_by]
    cut = [pool[-1][column] for column in keys] if pool else []
    for missing in (row for rest in offered.values() for row in rest):
        if [missing[column] for column in keys] != cut:
            return f"a row of the expected answer is missing: {_show(missing)}"
    return _disorder(rows, query, names)


def _disorder(rows: list[Row], query: Query, names: list[str]) -> str | None:
    """Where a row comes before one that its own sort keys put first."""
    for index in range(1, len(rows)):
        for column, descending, _ in query.order_by:
            before, after = rows[index - 1][column], rows[index][column]
            if before == after:
                continue
            if (before < after) == descending:
                return f"rows {index - 1} and {index} are not in the order of column {column} ({names[column]})"
            break
    return None


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float | Decimal) and math.isfinite(value) for value in values)


def _rows(table: pa.Table) -> list[Row]:
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, datetime.datetime):
        return value.date() if value.time() == datetime.time() else value
    return value


def _show(row: Row) -> str:
    return "(" + ", ".join(str(value) for value in row) + ")"

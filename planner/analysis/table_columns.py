"""Estimates of a table's columns, from its statistics and types."""

from __future__ import annotations

from planner.analysis.estimates import ColumnEstimate
from planner.catalog import ColumnStatistics, TableSnapshot, Trust
from planner.dtypes import BOOLEAN, VARCHAR, DType, is_float

UNKNOWN_TEXT_VALUES = 25
"""Assumed number of different texts in a column of a larger table."""
SMALL_TABLE = 1000
"""In a table of no more rows a text column is assumed to be unique."""


def describe_column(table: TableSnapshot, position: int) -> ColumnEstimate:
    """Range and distinct values of a table's column, from its statistics and its type."""
    statistics = table.columns[position] if position < len(table.columns) else ColumnStatistics()
    dtype, rows = table.fields[position].dtype, float(max(table.rows, 1))
    nulls = (statistics.null_count or 0) / rows
    low, high = statistics.minimum, statistics.maximum
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and not is_float(dtype):
        span = float(high) - float(low) + 1.0
        return ColumnEstimate(max(1.0, min(rows, span)), rows, int(low), int(high), nulls, statistics.trust)
    if isinstance(low, str) and isinstance(high, str):
        return ColumnEstimate(_text_values(rows, low, high), rows, low, high, nulls, Trust.ESTIMATED)
    return ColumnEstimate(_guess(dtype, rows), rows, None, None, nulls, Trust.ESTIMATED)


def _text_values(rows: float, low: str, high: str) -> float:
    if low == high:
        return 1.0
    if rows <= SMALL_TABLE:
        return rows
    numbered = len(low) == len(high) and low[-6:].isdigit() and high[-6:].isdigit()
    longer = max(len(low), len(high)) > 25
    return rows if numbered or longer else float(UNKNOWN_TEXT_VALUES)


def _guess(dtype: DType, rows: float) -> float:
    if dtype == BOOLEAN:
        return 2.0
    return min(rows, float(UNKNOWN_TEXT_VALUES)) if dtype == VARCHAR and rows > SMALL_TABLE else rows

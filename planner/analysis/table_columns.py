"""Estimates of a table's columns, from its statistics and types."""

from __future__ import annotations

from planner.analysis.estimates import ColumnEstimate
from planner.catalog import Certainty, ColumnDistribution, ColumnStatistics, TableSnapshot, Trust
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
    span = rows
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and not is_float(dtype):
        low, high, span = int(low), int(high), float(high) - float(low) + 1.0
    elif not isinstance(low, str) or not isinstance(high, str):
        low = high = None
    distribution = table.statistics.columns[position] if table.statistics is not None else None
    if distribution is not None:
        ndv = max(1.0, min(distribution.distinct, rows, span))
        nulls = nulls if statistics.null_count is not None else distribution.null_share
        return ColumnEstimate(ndv, rows, low, high, nulls, Trust.ESTIMATED, _certainty(distribution), distribution)
    if isinstance(low, int):
        ndv, certainty = max(1.0, min(rows, span)), Certainty.ESTIMATED
        return ColumnEstimate(ndv, rows, low, high, nulls, statistics.trust, certainty)
    guess = _text_values(rows, low, high) if low is not None and high is not None else _guess(dtype, rows)
    return ColumnEstimate(guess, rows, low, high, nulls)


def _certainty(distribution: ColumnDistribution) -> Certainty:
    return Certainty.EXACT if distribution.counted else Certainty.ESTIMATED


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

"""What is known of a table's rows, for people."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exec.kernels.parse_text import decimal_of
from planner import dtypes as t
from planner.analysis.table_columns import describe_column
from planner.catalog import ColumnDistribution, ColumnStatistics, TableSnapshot

_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """What is known of a column; None is unknown. Values are Python's for the type of the column.

    `minimum`, `maximum` and `null_count` are claimed by the file, or counted for a table in memory. `distinct` are the values
    other than NULL: `certainty` says whether that is "exact", "estimated" from a sample or a sketch of all rows or from the
    range of the values, or "unknown", a guess. `common` are the most frequent values with their shares of all rows; `histogram`
    the bounds of parts of the other rows that are equally many (long texts cut).
    """

    name: str
    dtype: str
    minimum: Any
    maximum: Any
    null_count: int | None
    null_share: float
    distinct: float
    certainty: str
    common: tuple[tuple[Any, float], ...]
    histogram: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TableSummary:
    """What is known of a table: its rows, how many of them a sample has (0: none was drawn), and its columns in order."""

    name: str
    rows: int
    sampled_rows: int
    columns: tuple[ColumnSummary, ...]


def summary_of(table: TableSnapshot) -> TableSummary:
    """What a snapshot knows of its table."""
    sample = table.statistics.sample if table.statistics is not None else None
    columns = tuple(_column(table, position) for position in range(len(table.fields)))
    return TableSummary(table.name, table.rows, sample.rows if sample is not None else 0, columns)


def _column(table: TableSnapshot, position: int) -> ColumnSummary:
    field = table.fields[position]
    claimed = table.columns[position] if position < len(table.columns) else ColumnStatistics()
    found = table.statistics.columns[position] if table.statistics is not None else None
    known = found or ColumnDistribution(0.0)
    estimate = describe_column(table, position)
    value = _values(field.dtype)
    return ColumnSummary(
        field.name,
        str(field.dtype),
        value(claimed.minimum),
        value(claimed.maximum),
        claimed.null_count,
        estimate.null_share,
        estimate.ndv if table.rows else 0.0,
        estimate.certainty.name.lower(),
        tuple((value(common), share) for common, share in known.common),
        tuple(map(value, known.bounds)),
    )


def _values(dtype: t.DType) -> Callable[[Any], Any]:
    """From a value as statistics have it to that of the type."""

    def value(physical: Any) -> Any:
        if physical is None or isinstance(physical, (str, float)):
            return physical
        if isinstance(dtype, t.DecimalType):
            return decimal_of(physical, dtype.scale)
        if dtype == t.DATE:
            return _EPOCH.date() + datetime.timedelta(physical)
        if dtype in (t.TIMESTAMP, t.TIMESTAMPTZ):
            moment = _EPOCH + datetime.timedelta(microseconds=physical)
            return moment if dtype == t.TIMESTAMP else moment.replace(tzinfo=datetime.UTC)
        if dtype == t.TIME:
            return (_EPOCH + datetime.timedelta(microseconds=physical)).time()
        return bool(physical) if dtype == t.BOOLEAN else physical

    def value_or_unknown(physical: Any) -> Any:
        try:
            return value(physical)
        except OverflowError:  # a date that Python does not have
            return None

    return value_or_unknown

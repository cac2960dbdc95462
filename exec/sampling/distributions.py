"""How the values of a column are spread, from a sample of its table.

The sample consists of runs of rows. In most columns a run is as good as rows drawn one by one. In a *clustered* column it is not:
values ascend through the table, so that the runs hold a few values many times and most values not at all. Such a column is
recognized by runs that do not overlap in value; its distinct values then grow with the rows, and its histogram is made of the
bounds of the row groups, which say exactly where values are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from planner import dtypes as t
from planner.catalog import ColumnDistribution, TableSnapshot

COMMON = 50
"""Most frequent values that are kept one by one."""
PARTS = 50
"""Parts of a histogram."""
FREQUENT = 50
"""Rows of a sample above which a value is frequent for `distinct_values`."""
OUTSTANDING = 6.0
"""Standard deviations of the rows per value by which a frequent value stands out, if not all values are kept."""
LONGEST_TEXT = 64
"""Characters of a value that is kept, in a histogram its first ones."""


def distribution(values: pl.Series, runs: Sequence[int], rows: int) -> ColumnDistribution:
    """The distribution of a column of a table of `rows` rows.

    `values` are those of the sample as ColumnStatistics has them, Int128 allowed: one run after the other, of lengths `runs`.
    """
    sampled = len(values)
    present = values.drop_nulls()
    if values.dtype.is_float():
        present = present.drop_nans()
    nulls = 1.0 - len(present) / sampled if sampled else 0.0
    if present.is_empty():
        return ColumnDistribution(0.0, nulls, sampled=sampled)
    counts = present.value_counts(name="rows")
    clustered = sampled < rows and _ascends(values, runs)
    if clustered:
        distinct = _distinct_ascending(values, runs, counts.height, rows)
    else:
        distinct = distinct_values(counts["rows"].value_counts(name="values").rows(), rows * (1.0 - nulls))
    common = _common(values, counts, runs, distinct, clustered)
    bounds = _bounds(present, [] if clustered else [value for value, _ in common])
    return ColumnDistribution(distinct, nulls, common, bounds, sampled, clustered, sampled == rows)


def distinct_values(occurrences: Sequence[tuple[int, int]], rows: float) -> float:
    """The distinct values of `rows` rows, from a sample in which so many values occur so many times: (times, values).

    This is the estimator Duj2a (Haas and Stokes, Estimating the number of classes in a finite population, JASA 1998): values
    that occur often are simply counted, the others estimated by the second-order jackknife, which looks at how unequal they are.
    """
    whole = sum(times * values for times, values in occurrences)
    frequent = sum(values for times, values in occurrences if times > FREQUENT)
    rare = [(times, values) for times, values in occurrences if times <= FREQUENT]
    seen, sampled = sum(values for _, values in rare), sum(times * values for times, values in rare)
    if whole >= rows or not seen:
        return float(frequent + seen)
    share = whole / rows
    population = sampled / share
    single = sum(values for times, values in rare if times == 1)
    unseen = 1.0 - single * (1.0 - share) / sampled
    first = seen / unseen
    pairs = sum(times * (times - 1) * values for times, values in rare)
    variation = max(0.0, first / sampled**2 * pairs + first / population - 1.0)
    second = (seen - single * (1.0 - share) * math.log(1.0 - share) * variation / share) / unseen
    return frequent + min(population, second)


def with_row_group_bounds(found: ColumnDistribution, table: TableSnapshot, position: int) -> tuple[Any, ...]:
    """The histogram of a clustered column from the bounds of its table's row groups, as far as they are known."""
    groups = [(group.columns[position], group.rows) for file in table.files for group in file.row_groups if group.rows]
    known = [(part.minimum, part.maximum, rows) for part, rows in groups if isinstance(part.minimum, (int, float, str))]
    if not known or len(known) < len(groups):
        return found.bounds
    known.sort(key=lambda group: group[0])
    total = sum(rows for _, _, rows in known)
    bounds, done, parts = [known[0][0]], 0, min(PARTS, len(known))
    for (_, _, rows), (low, _, _) in pairwise(known):
        done += rows
        while len(bounds) < parts and done >= total * len(bounds) / parts:
            bounds.append(low)
    return (*map(_shortened, bounds), _shortened(max(high for _, high, _ in known)))


def _ascends(values: pl.Series, runs: Sequence[int]) -> bool:
    """Whether every run holds values that are at least as large as all in the runs before, and there are several."""
    bounds = _run_bounds(values, runs)
    return len(bounds) > 2 and bounds[0][0] < bounds[-1][1] and all(a[1] <= b[0] for a, b in pairwise(bounds))


def _run_bounds(values: pl.Series, runs: Sequence[int]) -> list[tuple[Any, Any]]:
    """The smallest and the largest value of every run that has values."""
    bounds: list[tuple[Any, Any]] = []
    first = 0
    for length in runs:
        part = values[first : first + length]
        first += length
        if part.null_count() < length:
            bounds.append((part.min(), part.max()))
    return bounds


def _distinct_ascending(values: pl.Series, runs: Sequence[int], seen: int, rows: int) -> float:
    """The distinct values of a clustered column: between two runs there are as many per row as within, or none if they meet."""
    bounds = _run_bounds(values, runs)
    apart = sum(a[1] != b[0] for a, b in pairwise(bounds)) + 1
    between = (rows - len(values)) * apart / len(bounds)
    return seen + between * max(0, seen - len(bounds)) / max(len(values) - len(bounds), 1)


def _common(
    values: pl.Series, counts: pl.DataFrame, runs: Sequence[int], distinct: float, clustered: bool
) -> tuple[tuple[Any, float], ...]:
    """The most frequent values with their shares: all values if they are few, else those of several runs that stand out.

    Among values that are all equally frequent, some are met more often than others; rows per value are Poisson distributed then.
    """
    name = values.name
    if clustered or counts.height > COMMON:
        if not clustered:
            expected = len(values) / max(distinct, 1.0)
            counts = counts.filter(pl.col("rows") > expected + OUTSTANDING * max(expected, 1.0) ** 0.5)
        counts = counts.sort("rows", descending=True).head(COMMON)
        if len(runs) > 1 and counts.height:
            numbers = pl.Series("run", [number for number, length in enumerate(runs) for _ in range(length)], dtype=pl.UInt8)
            met = pl.DataFrame([values, numbers]).filter(pl.col(name).is_in(counts[name].implode()))
            several = met.group_by(name).agg(pl.col("run").n_unique().alias("runs")).filter(pl.col("runs") > 1)
            counts = counts.filter(pl.col(name).is_in(several[name].implode()))
    counts = counts.sort("rows", name, descending=[True, False])
    pairs = zip(counts[name].to_list(), counts["rows"].to_list(), strict=True)
    return tuple((value, rows / len(values)) for value, rows in pairs if not _is_long(value))


def _bounds(present: pl.Series, common: list[Any]) -> tuple[Any, ...]:
    """The bounds of parts of about equal size of the values that are not frequent."""
    others = present.filter(~present.is_in(pl.Series(common, dtype=present.dtype).implode())) if common else present
    if others.is_empty():
        return ()
    others = others.sort()
    parts = min(PARTS, len(others))
    return tuple(_shortened(others[(len(others) - 1) * part // parts]) for part in range(parts + 1))


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > LONGEST_TEXT


def _shortened(value: Any) -> Any:
    return value[:LONGEST_TEXT] if isinstance(value, str) else value


def statistic_values(values: pl.Series, dtype: t.DType) -> pl.Series | None:
    """Values of a frame as ColumnStatistics has them; None for types whose values are not described."""
    if dtype in (t.BLOB, t.NULL):
        return None
    if t.is_temporal(dtype):
        values = values.to_physical()
        return values // 1000 if dtype == t.TIME else values
    if dtype == t.BOOLEAN:
        return values.cast(pl.Int8)
    return values.to_physical() if values.dtype.is_decimal() else values

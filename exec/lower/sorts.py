"""Sorting: within a task, and across tasks by ranges of sorted runs (parallel sorting by regular sampling, Shi and Schaeffer
1992).

Runs are taken as the exchange has them, since a task needs a part of each: it is cut out of the map before anything is converted.
Merging is a stable sort of the parts one after the other, which finds the runs in them and merges those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl
import pyarrow as pa

from exec.exchange.reader import to_frame
from exec.exchange.runs import regular_sample, rows_before
from exec.exchange.schema import arrow_columns
from exec.lower.expressions import Lowering
from exec.lower.received import received
from planner.dir import OrderKey
from planner.errors import error
from planner.expr.nodes import ColumnRef, Literal, SortKey
from planner.physical.nodes import BoundariesExec, ExchangeSource, MergeExec, PhysicalPlan

ReadRuns = Callable[[ExchangeSource], list[pa.Table]]
"""What each producer of an exchange has written, mapped."""


def no_runs(source: ExchangeSource) -> list[pa.Table]:
    """What a plan without exchanges reads. Raises INTERNAL."""
    raise error("INTERNAL", detail=f"exchange {source.exchange} is not expected to deliver runs")


SAMPLES = 64
"""Rows drawn for each range: with r runs, ranges differ in size by about √r / 200 of their mean."""


def lower_sort(frame: pl.LazyFrame, keys: tuple[SortKey, ...], low: Lowering) -> pl.LazyFrame:
    keys = tuple(key for key in keys if not isinstance(key.expr, Literal))
    if not keys:
        return frame
    return frame.sort(
        [low.lower_rows(key.expr) for key in keys],
        descending=[key.descending for key in keys],
        nulls_last=[not key.nulls_first for key in keys],
        maintain_order=True,
    )


def lower_boundaries(node: BoundariesExec, read_runs: ReadRuns) -> pl.LazyFrame:
    """The rows at equal distances in the sorted sample of all runs."""
    source = _narrowed(node.input, {column.id for column in node.columns})
    runs = [run.select([f"c{column.id}" for column in source.schema]) for run in read_runs(source)]
    rows, ranges = sum(run.num_rows for run in runs), node.ranges
    if node.limit is not None and node.limit < rows:
        rows, ranges = node.limit, node.ranges - 1
    step = max(1, rows // (SAMPLES * ranges))
    sample = lower_sort(_frame(source, regular_sample(runs, step)), node.keys, Lowering(dict(source.bounds)))
    places = pl.Series([number * rows // ranges // step for number in range(1, node.ranges)])
    drawn = sample.select([f"c{column.id}" for column in node.columns]).collect()
    return drawn[places.filter(places < drawn.height)].lazy()


def lower_merge(node: MergeExec, partition: int, read_runs: ReadRuns) -> pl.LazyFrame:
    """The rows from the boundary below this task's range to the one above it, of every run."""
    assert isinstance(node.input, ExchangeSource) and isinstance(node.boundaries, ExchangeSource)
    runs = read_runs(node.input)
    order = [OrderKey(_column(key), key.descending, key.nulls_first) for key in node.keys]
    boundaries = read_runs(node.boundaries)
    count = sum(part.num_rows for part in boundaries)
    if partition > count:
        return _frame(node.input, []).lazy()
    low = [rows_before(run, boundaries[0], partition - 1, order) if partition else 0 for run in runs]
    high = [rows_before(run, boundaries[0], partition, order) if partition < count else run.num_rows for run in runs]
    first, last = 0, None
    if node.limit is not None:
        passed = sum(low)
        first, last = max(0, node.offset - passed), max(0, node.offset + node.limit - passed)
        high = [min(end, start + last) for start, end in zip(low, high, strict=True)]
    parts = [run.slice(start, end - start) for run, start, end in zip(runs, low, high, strict=True)]
    merged = lower_sort(_frame(node.input, parts), node.keys, Lowering(dict(node.input.bounds)))
    return merged if last is None else merged.slice(first, min(max(0, last - first), sum(part.num_rows for part in parts)))


def _narrowed(plan: PhysicalPlan, columns: set[int]) -> ExchangeSource:
    """A source of runs with only some of its columns."""
    assert isinstance(plan, ExchangeSource)
    pairs = [pair for pair in zip(plan.schema, plan.encodings, strict=True) if pair[0].id in columns]
    bounds = tuple((column, interval) for column, interval in plan.bounds if column in columns)
    return plan.replace(schema=tuple(pair[0] for pair in pairs), encodings=tuple(pair[1] for pair in pairs), bounds=bounds)


def _frame(source: ExchangeSource, parts: Sequence[pa.Table]) -> pl.LazyFrame:
    schema = arrow_columns(source.schema, source.encodings)
    table = pa.concat_tables([part for part in parts if part.num_rows] or [schema.empty_table()])
    return received(source, to_frame(table, source.schema, source.encodings).lazy())


def _column(key: SortKey) -> int:
    assert isinstance(key.expr, ColumnRef)
    return key.expr.column.id

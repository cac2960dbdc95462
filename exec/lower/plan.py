"""A stage's body as one Polars query per task.

Columns are called c<id>. A decimal column is in the tier that `encoding_for` gives for its bounds; the planner computes the
same bounds for the edges, so both ends of an exchange agree without a word. A frame with rows but without columns
carries `joins.ROW_MARK`.

Lowering may run parts of the plan already (`joins` collects where Polars has no operator), so its errors are those of running.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import polars as pl

from exec.kernels.key_filter import KeyFilter
from exec.lower.aggregates import lower_aggregate
from exec.lower.column_types import polars_type
from exec.lower.exact import column_encoding, convert
from exec.lower.expressions import Lowering, physical_value
from exec.lower.joins import ROW_MARK, apply_filter, collect, lower_join, pick
from exec.lower.observe import Observer
from exec.lower.received import received
from exec.lower.sorts import ReadRuns, lower_boundaries, lower_merge, lower_sort, no_runs
from exec.lower.windows import lower_window
from exec.sources import scan_table
from exec.sources.filtered import ScanFilter
from exec.store.segments import StoredColumns
from planner.analysis.bounds import BoundsAnalysis
from planner.analysis.intervals import scaled_value
from planner.dir import Dir
from planner.dtypes import DecimalType, is_exact
from planner.errors import error
from planner.expr.nodes import ColumnRef
from planner.physical.encodings import Encoding
from planner.physical.nodes import (
    AggregateExec,
    BoundariesExec,
    ExchangeSource,
    FilterExec,
    JoinExec,
    LimitExec,
    MergeExec,
    PhysicalPlan,
    ProjectExec,
    RuntimeFilterExec,
    SortExec,
    TableScan,
    TopNExec,
    UnionExec,
    ValuesScan,
    WindowExec,
)
from planner.tree import Node, kind_mask, walk

Read = Callable[[ExchangeSource], pl.LazyFrame]
_COLUMNS = kind_mask(ColumnRef)
_FILTERED = kind_mask(RuntimeFilterExec)


@lru_cache(maxsize=16)
def analysis_of(body: PhysicalPlan) -> BoundsAnalysis:
    """The bounds of a body, computed once for all of its tasks in this process."""
    return BoundsAnalysis()


def lower_body(
    body: PhysicalPlan,
    partition: int,
    read: Read,
    stored: StoredColumns | None = None,
    read_runs: ReadRuns = no_runs,
    observer: Observer | None = None,
) -> pl.LazyFrame:
    """The query of task `partition`. `read` gives what an exchange delivers to this task, in Arrow's form of its encodings.

    `stored` holds columns of files that need not be read. `read_runs` gives the outputs of an exchange's producers one by one.
    An `observer` counts what operators deliver.

    Raises the errors of opening files, and those of evaluating where an operator has to be run here.
    """
    analysis = analysis_of(body)
    needed = _needed(body)
    sources = {id(source) for plan in walk(body, _FILTERED) if isinstance(plan, RuntimeFilterExec) for source in plan.sources}
    frames: dict[int, pl.LazyFrame] = {}
    stack = [body]
    while stack:
        node = stack[-1]
        if id(node) in frames:
            stack.pop()
            continue
        children = _lowered_before(node)
        pending = [child for child in children if id(child) not in frames]
        if pending:
            stack.extend(reversed(pending))
            continue
        stack.pop()
        inputs = [frames[id(child)] for child in children]
        frame = _lower_node(node, inputs, partition, read, stored, read_runs, analysis, needed)
        frame = frame if observer is None else observer.watch(node, frame)
        frames[id(node)] = collect(frame).lazy() if id(node) in sources else frame
    return frames[id(body)]


def _lowered_before(node: PhysicalPlan) -> tuple[PhysicalPlan, ...]:
    """The inputs whose frames an operator is made of."""
    match node:
        case BoundariesExec() | MergeExec():
            return ()  # these cut what they read
        case RuntimeFilterExec():
            return node.sources  # the scan applies it
    return node.inputs


def deliver(frame: pl.LazyFrame, body: PhysicalPlan, output: Dir) -> pl.LazyFrame:
    """The columns of `output`, in order and in the form in which they enter Arrow: Int64 or Decimal(38, 0) for decimals."""
    bounds = analysis_of(body).columns(body)
    selected = []
    for column, encoding in zip(output.schema, output.encodings, strict=True):
        expr = pl.col(f"c{column.id}")
        if isinstance(column.dtype, DecimalType):
            arrow = Encoding.INT64 if encoding is Encoding.INT64 else Encoding.DEC38
            expr = convert(expr, column_encoding(column.dtype, column.id, bounds), arrow)
        selected.append(expr)
    return frame.select(selected) if selected else pick(frame, ())


def _lower_node(
    node: PhysicalPlan,
    inputs: list[pl.LazyFrame],
    partition: int,
    read: Read,
    stored: StoredColumns | None,
    read_runs: ReadRuns,
    analysis: BoundsAnalysis,
    needed: Mapping[int, frozenset[int]],
) -> pl.LazyFrame:
    match node:
        case TableScan():
            return scan_table(node, partition, needed[id(node)], stored)
        case RuntimeFilterExec():
            assert isinstance(node.input, TableScan)
            filters = _scan_filters(node, inputs)
            return scan_table(node.input, partition, needed[id(node.input)], stored, filters)
        case ValuesScan():
            return _values(node, partition)
        case ExchangeSource():
            return received(node, read(node))
        case FilterExec():
            return apply_filter(inputs[0], node.predicate, Lowering(analysis.columns(node.input)))
        case ProjectExec():
            return _project(node, inputs[0], Lowering(analysis.columns(node.input)), needed[id(node)])
        case JoinExec():
            return lower_join(node, inputs[0], inputs[1], analysis, needed)
        case AggregateExec():
            return lower_aggregate(node, inputs[0], analysis)
        case WindowExec():
            return lower_window(node, inputs[0], analysis, needed[id(node)])
        case UnionExec():
            return _union(node, inputs, analysis, needed[id(node)])
        case SortExec():
            return lower_sort(inputs[0], node.keys, Lowering(analysis.columns(node.input)))
        case TopNExec():
            ordered = lower_sort(inputs[0], node.keys, Lowering(analysis.columns(node.input)))
            return _slice(ordered, node.offset, node.limit)
        case BoundariesExec():
            return lower_boundaries(node, read_runs)
        case MergeExec():
            return lower_merge(node, partition, read_runs)
        case LimitExec():
            return _slice(inputs[0], node.offset, node.limit)
    raise error("INTERNAL", detail=f"{type(node).__name__} cannot be executed")


def _scan_filters(node: RuntimeFilterExec, sources: list[pl.LazyFrame]) -> list[ScanFilter]:
    """The filters of a scan; `sources` are collected."""
    found = []
    for key, source_key, source in zip(node.keys, node.source_keys, sources, strict=True):
        members = KeyFilter.of(collect(source.select(f"c{source_key.id}")).to_series())
        if members is not None:
            found.append(ScanFilter(key.id, members))
    return found


_UNLIMITED = (1 << 32) - 1
"""Polars counts the rows of a frame in 32 bits; a limit of so many is none."""

_BEYOND = 1 << 62


def _slice(frame: pl.LazyFrame, offset: int, limit: int | None) -> pl.LazyFrame:
    if limit is None and not offset:
        return frame
    return frame.slice(min(offset, _BEYOND), limit if limit is not None and limit < _UNLIMITED else None)


def _project(node: ProjectExec, frame: pl.LazyFrame, low: Lowering, needed: frozenset[int]) -> pl.LazyFrame:
    assigns = [assign for assign in node.assigns if assign.column.id in needed]
    exprs = [low.lower_rows(assign.expr).alias(f"c{assign.column.id}") for assign in assigns]
    if any(assign.expr.kinds & _COLUMNS for assign in assigns):
        return frame.select(exprs)
    # Constants alone would make a frame of one row.
    return pick(frame.with_columns(exprs), tuple(assign.column for assign in assigns))


def _union(node: UnionExec, frames: list[pl.LazyFrame], analysis: BoundsAnalysis, needed: frozenset[int]) -> pl.LazyFrame:
    """The needed columns of all arms, in one encoding and under their new names."""
    bounds = analysis.columns(node)
    places = [at for at, column in enumerate(node.schema) if column.id in needed]
    selected = []
    for arm, frame in zip(node.arms, frames, strict=True):
        own = analysis.columns(arm)
        exprs = []
        for at in places:
            source, target = arm.columns[at], node.schema[at]
            value = pl.col(f"c{source.id}")
            if isinstance(target.dtype, DecimalType):
                stored = column_encoding(source.dtype, source.id, own)
                value = convert(value, stored, column_encoding(target.dtype, target.id, bounds))
            exprs.append(value.alias(f"c{target.id}"))
        selected.append(frame.select(exprs) if exprs else pick(frame, ()))
    return pl.concat(selected, how="vertical")


def _values(node: ValuesScan, partition: int) -> pl.LazyFrame:
    rows = node.rows if partition == 0 else ()
    if not node.schema:
        return pl.LazyFrame({ROW_MARK: pl.Series([False] * len(rows), dtype=pl.Boolean)})
    columns = []
    for index, column in enumerate(node.schema):
        values = [row[index] for row in rows]
        if is_exact(column.dtype):
            values = [None if value is None else scaled_value(value, column.dtype) for value in values]
        else:
            values = [physical_value(value, column.dtype) for value in values]
        typed = polars_type(column.dtype, column_encoding(column.dtype, column.id, {}))
        columns.append(pl.Series(f"c{column.id}", values, dtype=typed))
    return pl.DataFrame(columns).lazy()


def _needed(body: PhysicalPlan) -> dict[int, frozenset[int]]:
    """For every operator the ids of those of its columns that anything above it uses."""
    found: dict[int, frozenset[int]] = {}
    stack: list[tuple[PhysicalPlan, frozenset[int]]] = [(body, frozenset(column.id for column in body.columns))]
    while stack:
        node, wanted = stack.pop()
        known = found.get(id(node))
        wanted = wanted if known is None else wanted | known
        if wanted == known:
            continue
        found[id(node)] = wanted
        if isinstance(node, UnionExec):
            for arm in node.arms:
                positions = zip(node.schema, arm.columns, strict=True)
                stack.append((arm, frozenset(given.id for column, given in positions if column.id in wanted)))
            continue
        wanted = _used(node, wanted) if isinstance(node, (ProjectExec, AggregateExec)) else wanted | _used(node, wanted)
        for child in node.inputs:
            stack.append((child, wanted & frozenset(column.id for column in child.columns)))
    return found


def _used(node: PhysicalPlan, wanted: frozenset[int]) -> frozenset[int]:
    """The columns that an operator itself looks at in order to give those that are wanted."""
    if isinstance(node, ProjectExec):
        assigns = [assign for assign in node.assigns if assign.column.id in wanted]
        return frozenset(ref.column.id for assign in assigns for ref in _references(assign))
    used = {ref.column.id for child in node.children if not isinstance(child, PhysicalPlan) for ref in _references(child)}
    if isinstance(node, RuntimeFilterExec):
        used |= {key.id for key in node.keys + node.source_keys}
    if isinstance(node, JoinExec):
        used |= {key.id for key in node.left_keys + node.right_keys}
    if isinstance(node, AggregateExec):
        used |= {key.id for key in node.keys}
    if isinstance(node, WindowExec):
        used |= {key.id for key in node.partition}
    return frozenset(used)


def _references(expr: Node) -> list[ColumnRef]:
    return [ref for ref in walk(expr, _COLUMNS) if isinstance(ref, ColumnRef)]

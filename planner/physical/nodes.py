"""Physical operators: how and where. Each knows its output `columns`.

Before the cut a plan holds `ExchangePlan` nodes, put there by `enforce` alone. `cut_stages` replaces each by an
`ExchangeSource` in the consumer's body. `number` is the stable operator number that metrics and EXPLAIN use; 0 until it is given.
`estimated_rows` are those that an operator was planned for, all tasks together; None where nobody had to know. `placement` of an
exchange says why it is needed, `placements` of other operators how each of their inputs came to lie as they require.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from planner.analysis.intervals import Interval
from planner.dir import Determinism, Layout, Partitioning, Pattern, ScanRange, Split
from planner.expr.nodes import Assign, ColumnRef, Expr, SortKey
from planner.join_kind import JoinKind, join_columns
from planner.physical.encodings import Encoding
from planner.physical.properties import Placement
from planner.schema import Column, Schema
from planner.tree import Node, kind_mask, node, walk


@node
class PhysicalPlan(Node):
    """Base of all physical operators."""

    @property
    def columns(self) -> Schema:
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[PhysicalPlan, ...]:
        return tuple(child for child in self.children if isinstance(child, PhysicalPlan))


@node
class TableScan(PhysicalPlan):
    """Reads `output` columns of a table, keeping the rows for which `predicate` is true (None: all).

    `names` are the columns' names in the file, parallel to `output`. Task i reads the ranges of `partitions[i]`; with a single
    partition every task reads it. `claims` are bounds (scaled integers) taken from footers that arithmetic relies on: the scan
    checks them on the rows it delivers and fails with StatisticsViolated. For columns of exact types without a claim nothing
    beyond the type's own range is assumed, and for decimals that range is checked in the same way. Rows keep the file's order.

    With a `range_key`, partition i delivers the rows with boundaries[i - 1] ≤ key < boundaries[i] and no others. Its ranges are
    the row groups that may hold such rows by their claims, so the scan also checks each range against its own claim: a row
    outside of it would be delivered by no task.
    """

    table_name: str
    format: str
    reader: str
    output: Schema
    names: tuple[str, ...]
    partitions: tuple[tuple[ScanRange, ...], ...]
    predicate: Expr | None
    claims: tuple[tuple[int, Interval], ...] = ()
    row_bound: int = 2**62
    range_key: Column | None = None
    boundaries: tuple[int, ...] = ()
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.output


@node
class ValuesScan(PhysicalPlan):
    """Constant rows, delivered by task 0 alone (it is planned as Single)."""

    schema: Schema
    rows: tuple[tuple[Any, ...], ...]
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.schema


class Origin(NamedTuple):
    """Which rows an exchange moves: those of a logical operator, or the partial states of an aggregate.

    `operator` is its place in the logical plan (`planner.physical.plan.operators`). `partitionings` say how the rows lie before
    they are moved. `sources` pairs the columns that the operator's consumers know with those that they are below the exchange;
    empty: they are the same.
    """

    operator: int
    partial: bool = False
    partitionings: tuple[Partitioning, ...] = ()
    sources: tuple[tuple[Column, Column], ...] = ()


@node
class ExchangePlan(PhysicalPlan):
    """Re-distributes the rows of its input. The only place where a plan may be cut."""

    input: PhysicalPlan
    pattern: Pattern
    partitioning: Partitioning
    estimated_rows: float | None = None
    origin: Origin | None = None
    placement: Placement | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.input.columns


@node
class ExchangeSource(PhysicalPlan):
    """Reads what an exchange delivers to this task. `bounds` are VERIFIED by the producer's checks."""

    exchange: int
    pattern: Pattern
    schema: Schema
    encodings: tuple[Encoding, ...]
    bounds: tuple[tuple[int, Interval], ...]
    row_bound: int = 2**62
    placement: Placement | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.schema


@node
class StageOutput(PhysicalPlan):
    """The rows of a stage that has started: a leaf of a plan that is made while its query runs.

    `schema` are the columns as this plan calls them, `sources` as the stage does (parallel). It occurs below exchanges alone.
    They read its files as these are: whole, one by one (FORWARD), or by the buckets of one of `layouts`, which are in terms of
    `schema`. `unstable` are float columns that a second run may give with other last bits.
    """

    stage: int
    schema: Schema
    sources: Schema
    layouts: tuple[Layout, ...]
    determinism: Determinism
    unstable: frozenset[int]
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.schema


@node
class FilterExec(PhysicalPlan):
    """Keeps rows for which the predicate is true; keeps their order."""

    input: PhysicalPlan
    predicate: Expr
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.input.columns


@node
class ProjectExec(PhysicalPlan):
    """Computes exactly the assigned columns; keeps the order of rows."""

    input: PhysicalPlan
    assigns: tuple[Assign, ...]
    number: int = 0

    @property
    def columns(self) -> Schema:
        return tuple(assign.column for assign in self.assigns)

    @property
    def passed(self) -> dict[int, tuple[int, ...]]:
        """By the id of an input column the ids of the output columns that equal it."""
        kept: dict[int, tuple[int, ...]] = {}
        for assign in self.assigns:
            if isinstance(assign.expr, ColumnRef):
                source = assign.expr.column.id
                kept[source] = (*kept.get(source, ()), assign.column.id)
        return kept


@node
class RuntimeFilterExec(PhysicalPlan):
    """Rows of a scan that may find a match in a join above: those whose `keys[i]` is among the `source_keys[i]` of `sources[i]`.

    It drops no other rows than such that provably find none, and may keep some of these. A source is the other side of that
    join, as every task has it (`planner.physical.runtime_filters`).
    """

    input: PhysicalPlan
    sources: tuple[PhysicalPlan, ...]
    keys: tuple[Column, ...]
    source_keys: tuple[Column, ...]
    number: int = 0
    estimated_rows: float | None = None

    @property
    def columns(self) -> Schema:
        return self.input.columns


class JoinEstimates(NamedTuple):
    """The rows of both inputs, and for each key the share of either one's rows whose value the other one has."""

    left: float
    right: float
    left_shares: tuple[float, ...]
    right_shares: tuple[float, ...]


@node
class JoinExec(PhysicalPlan):
    """Joins `left` and `right` on equal keys (parallel tuples of columns, NULL matching nothing) and a residual condition.

    Without keys it is a nested-loop join. `build` names the side that is hashed. The order of the output is unspecified.
    """

    left: PhysicalPlan
    right: PhysicalPlan
    kind: JoinKind
    left_keys: tuple[Column, ...]
    right_keys: tuple[Column, ...]
    residual: Expr | None
    mark: Column | None = None
    build: str = "right"
    estimates: JoinEstimates | None = None
    placements: tuple[Placement, ...] = ()
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return join_columns(self.kind, self.left.columns, self.right.columns, self.mark)


class AggregateMode(StrEnum):
    PARTIAL = "partial"
    """Over the rows of one task; its output is merged by FINAL."""
    FINAL = "final"
    """Merges partial results; its aggregate calls are the merging functions over the partial columns."""
    COMPLETE = "complete"
    """Sees all rows of each of its groups."""


@node
class AggregateExec(PhysicalPlan):
    """Groups by `keys` (columns of the input). `aggregates` are AggregateCalls from this mode's point of view.

    `sum` over integers or decimals has the type DECIMAL(38, scale) here; the physical planner adds the conversion to the
    type of SQL.
    Without keys: COMPLETE and FINAL give exactly one row, PARTIAL gives one row per task.
    """

    input: PhysicalPlan
    mode: AggregateMode
    keys: tuple[Column, ...]
    aggregates: tuple[Assign, ...]
    placements: tuple[Placement, ...] = ()
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.keys + tuple(assign.column for assign in self.aggregates)


@node
class WindowExec(PhysicalPlan):
    """The input's columns and one more for every call, in the order of partitions and keys.

    `partition` are columns of the input; all rows of a partition are in one task. `sum` over integers or decimals has the type
    DECIMAL(38, scale) here, as in AggregateExec.
    """

    input: PhysicalPlan
    partition: tuple[Column, ...]
    order: tuple[SortKey, ...]
    calls: tuple[Assign, ...]
    placements: tuple[Placement, ...] = ()
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.input.columns + tuple(assign.column for assign in self.calls)


@node
class UnionExec(PhysicalPlan):
    """The rows of this task's part of every arm, one arm after the other; column i of `schema` is column i of every arm."""

    arms: tuple[PhysicalPlan, ...]
    schema: Schema
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.schema


@node
class SortExec(PhysicalPlan):
    """Sorts the rows of its partition (stable)."""

    input: PhysicalPlan
    keys: tuple[SortKey, ...]
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.input.columns


@node
class TopNExec(PhysicalPlan):
    """The first `limit` rows after `offset` of its partition in the order of the keys, sorted."""

    input: PhysicalPlan
    keys: tuple[SortKey, ...]
    limit: int
    offset: int = 0
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.input.columns


@node
class MergeExec(PhysicalPlan):
    """The sorted rows of a range of sorted runs; over all partitions in order, those of a sort of all runs (stable).

    With a `limit` it delivers of its range only the rows among the first `limit` of all partitions after `offset`. `input` is
    an exchange by a SampledRange of the keys, which are columns. When stages are cut, `boundaries` becomes the exchange that
    delivers the rows at which ranges begin; before that there is one range, of everything.
    """

    input: PhysicalPlan
    keys: tuple[SortKey, ...]
    limit: int | None = None
    offset: int = 0
    boundaries: PhysicalPlan | None = None
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.input.columns


@node
class BoundariesExec(PhysicalPlan):
    """At most `ranges` - 1 rows of the sort keys, in order, that cut the sorted runs of `input` into ranges of like size.

    With a `limit` only so many rows of the whole order matter: the last range holds what comes after them, and the others
    share them.
    """

    input: PhysicalPlan
    keys: tuple[SortKey, ...]
    ranges: int
    limit: int | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return tuple(key.expr.column for key in self.keys if isinstance(key.expr, ColumnRef))


@node
class LimitExec(PhysicalPlan):
    """The first `limit` rows (None: all) of its partition after `offset`, in input order."""

    input: PhysicalPlan
    limit: int | None
    offset: int = 0
    estimated_rows: float | None = None
    number: int = 0

    @property
    def columns(self) -> Schema:
        return self.input.columns


def exchange_sources(body: PhysicalPlan) -> tuple[ExchangeSource, ...]:
    """The exchange sources of a stage's body, in plan order."""
    return tuple(source for source in walk(body, kind_mask(ExchangeSource)) if isinstance(source, ExchangeSource))


def table_scans(body: PhysicalPlan) -> tuple[TableScan, ...]:
    """The table scans of a stage's body, in plan order."""
    return tuple(scan for scan in walk(body, kind_mask(TableScan)) if isinstance(scan, TableScan))


def task_splits(body: PhysicalPlan, partition: int) -> frozenset[Split]:
    """The splits of files that the task of a partition reads."""
    scans = [scan for scan in table_scans(body) if scan.format != "memory"]
    return frozenset(part.split for scan in scans for part in scan.partitions[partition if len(scan.partitions) > 1 else 0])

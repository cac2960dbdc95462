"""Scan, and Filter directly over Scan: which row groups are read, by which task, and which footer claims are relied on."""

from __future__ import annotations

from planner.analysis.intervals import Interval
from planner.catalog import ColumnStatistics, RowGroup, TableSnapshot
from planner.dir import ScanRange, Single, Spread
from planner.dtypes import DATE, TIMESTAMP, is_decimal, is_exact, is_integer
from planner.expr.nodes import Expr
from planner.logical.nodes import Scan
from planner.physical.clustering import find_clustering, task_shares
from planner.physical.context import PhysicalContext, Planned
from planner.physical.cost import row_width
from planner.physical.nodes import TableScan
from planner.physical.properties import Offered
from planner.physical.prune_row_groups import may_match

REPLICATE_BYTES = 1 << 18
REPLICATE_ROWS = 20_000
"""A scan below both limits is read by every task that wants all of it, since an exchange would cost more."""


def plan_scan(scan: Scan, predicate: Expr | None, rows: float, context: PhysicalContext) -> Planned:
    """`rows` estimates what is left by the predicate, which must not be able to raise."""
    table = scan.table
    kept = _kept_row_groups(scan, predicate)
    stored = sum(group.bytes for _, groups in kept for group in groups) * _share(scan)
    partitions = _partitions(table, kept, _task_count(stored, context))
    plan = TableScan(
        table.name,
        table.format,
        table.reader,
        scan.columns,
        tuple(table.fields[position].name for _, position in scan.output),
        partitions,
        predicate,
        _claims(scan, context),
        sum(group.rows for _, groups in kept for group in groups),
    )
    clusterings = _clusterings(scan, kept, context)
    if len(partitions) > 1:
        return Planned(plan, Offered((Spread(len(partitions)),), clusterings=clusterings), rows)
    replicable = stored <= REPLICATE_BYTES and plan.row_bound <= REPLICATE_ROWS
    return Planned(plan, Offered((Single(),), (), replicable, clusterings), rows)


def _clusterings(scan: Scan, kept: list[tuple[int, list[RowGroup]]], context: PhysicalContext) -> tuple[tuple[int, int], ...]:
    """The columns by whose ranges the scan can be cut; their clusterings are noted in the context.

    Footers are trusted for this as far as the scan checks them.
    """
    if not scan.table.trusted or context.options.single:
        return ()
    offered = []
    for column, position in scan.output:
        if not (is_integer(column.dtype) or column.dtype in (DATE, TIMESTAMP)):
            continue
        clustering = find_clustering(_claimed_groups(scan.table, position, kept))
        if clustering is not None:
            context.clusterings[column.id] = clustering
            offered.append((column.id, column.id))
    return tuple(offered)


def _claimed_groups(table: TableSnapshot, position: int, kept: list[tuple[int, list[RowGroup]]]) -> list[ScanRange]:
    """The row groups with what they claim of a column; none if one claims nothing.

    NULL keys belong to partition 0 wherever they are stored, so a column that may have some is no candidate.
    """
    nullable = table.fields[position].nullable
    found = []
    for index, row_groups in kept:
        split = table.files[index].split
        for group in row_groups:
            known = group.columns[position]
            unknown = not isinstance(known.minimum, int) or not isinstance(known.maximum, int)
            if unknown or (nullable and known.null_count != 0):
                return []
            found.append(ScanRange(split, group.first_row, group.rows, group.bytes, (known.minimum, known.maximum)))
    return found


def _kept_row_groups(scan: Scan, predicate: Expr | None) -> list[tuple[int, list[RowGroup]]]:
    """The row groups that may hold matching rows, by position of their file."""
    position = {column.id: index for column, index in scan.output}
    kept = []
    for index, file in enumerate(scan.table.files):
        groups = []
        for group in file.row_groups:

            def statistics(column: int, group: RowGroup = group) -> ColumnStatistics | None:
                return group.columns[position[column]] if column in position else None

            if may_match(predicate, statistics):
                groups.append(group)
        if groups:
            kept.append((index, groups))
    return kept


def _share(scan: Scan) -> float:
    """The estimated share of the stored bytes that belong to the columns read."""
    from planner.physical.cost import width

    total = sum(width(field.dtype) for field in scan.table.fields)
    return row_width(scan.columns) / total if total else 1.0


def _task_count(stored: float, context: PhysicalContext) -> int:
    options = context.options
    if options.single:
        return 1
    by_size = -(-int(stored) // options.task_bytes)
    one_each = min(options.workers, int(stored) // options.least_task_bytes)
    several_each = min(options.workers * options.tasks_per_worker, int(stored) // (4 * options.least_task_bytes))
    return max(1, by_size, one_each, several_each)


def _partitions(table: TableSnapshot, kept: list[tuple[int, list[RowGroup]]], count: int) -> tuple[tuple[ScanRange, ...], ...]:
    """Whole row groups in file order, cut into at most `count` parts of the bytes of `task_shares`; adjacent groups are one."""
    ends = task_shares(count)
    total = sum(max(group.bytes, 1) for _, groups in kept for group in groups)
    parts: list[list[ScanRange]] = [[]]
    done = 0
    for index, groups in kept:
        split = table.files[index].split
        for group in groups:
            if parts[-1] and len(parts) < count and done >= total * ends[len(parts) - 1]:
                parts.append([])
            last = parts[-1][-1] if parts[-1] else None
            if last is not None and last.split is split and last.first_row + last.rows == group.first_row:
                parts[-1][-1] = ScanRange(split, last.first_row, last.rows + group.rows, last.bytes + group.bytes)
            else:
                parts[-1].append(ScanRange(split, group.first_row, group.rows, group.bytes))
            done += max(group.bytes, 1)
    return tuple(tuple(part) for part in parts)


def _claims(scan: Scan, context: PhysicalContext) -> tuple[tuple[int, Interval], ...]:
    """Bounds for the columns that take part in exact arithmetic, unless the table was caught lying."""
    if not scan.table.trusted:
        return ()
    claims = []
    for column, position in scan.output:
        statistics = scan.table.columns[position]
        relevant = is_decimal(column.dtype) or (is_exact(column.dtype) and column.id in context.arithmetic)
        if relevant and isinstance(statistics.minimum, int) and isinstance(statistics.maximum, int):
            claims.append((column.id, Interval(statistics.minimum, statistics.maximum)))
    return tuple(claims)

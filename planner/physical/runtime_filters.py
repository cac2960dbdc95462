"""Runtime filters: a scan on one side of a join drops the rows whose key no row of the other side has.

    HashJoin inner on l_partkey = p_partkey            HashJoin inner on l_partkey = p_partkey
      Project l_partkey, l_tax                           Project l_partkey, l_tax
        TableScan lineitem                       ⇒         RuntimeFilter l_partkey in p_partkey
      Read broadcast [p_partkey]                             TableScan lineitem
                                                         Read broadcast [p_partkey]   (the filter reads this, too)

The plan becomes a graph: the side that is hashed is also an input of the filter, is computed before the scan, and then serves
both. Which side filters the other is decided once per join, so there is no cycle.

Sound for the left side of INNER and SEMI joins, and for the right side of all but FULL: such rows without a match are in no
result. NULL keys match nothing. A filter goes down through what keeps rows and their key as they are: projections that pass
the key, filters, sorts, aggregates and windows by the key, and into the left side of any join but FULL, by an equal key into
both. It stops at limits, whose rows it would change, at nodes that other operators read as well, and at exchanges: below those
the other side's rows of all tasks would have to be known.

It pays where few rows find a match. Filters along chains of joins pass on what they know, since the side that is hashed is itself
filtered (predicate transfer, Yang, Zhao and others, CIDR 2024).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from planner.dtypes import DATE, TIMESTAMP, DType, is_integer
from planner.expr.nodes import ColumnRef
from planner.join_kind import JoinKind
from planner.physical.nodes import (
    AggregateExec,
    FilterExec,
    JoinExec,
    PhysicalPlan,
    ProjectExec,
    RuntimeFilterExec,
    SortExec,
    TableScan,
    WindowExec,
)
from planner.schema import Column
from planner.tree import kind_mask, walk

MOST_KEPT = 0.4
"""A filter that is expected to keep more of a scan's rows is not worth looking every row up."""
LEAST_DROPPED = 0.4
"""It looks at all rows of the row groups, before the scan's predicate: at least this share has to pass that and be dropped."""
LEAST_ROWS = 100_000
"""Of smaller scans all rows are decoded and joined in a millisecond."""
LARGEST_SOURCE = 0.25
"""The side that filters has at most this share of the scan's rows."""
MOST_FILTERS = 3


class _Filter(NamedTuple):
    """A scan's column `key` is to be among the `source_key` of `source`."""

    scan: TableScan
    key: Column
    source: PhysicalPlan
    source_key: Column
    share: float


def add_runtime_filters(root: PhysicalPlan, forced: bool = False) -> PhysicalPlan:
    """The plan with filters over its scans wherever they pay; `forced`: wherever they are sound. The same object if nowhere."""
    if not root.kinds & kind_mask(JoinExec):
        return root
    nodes = {id(plan): plan for plan in walk(root, kind_mask(PhysicalPlan)) if isinstance(plan, PhysicalPlan)}
    readers = Counter(id(child) for plan in nodes.values() for child in plan.inputs)
    found: dict[int, list[_Filter]] = {}
    for plan in nodes.values():
        if isinstance(plan, JoinExec):
            for one in _filters_of(plan, readers, forced):
                found.setdefault(id(one.scan), []).append(one)
    return _rebuild(root, found) if found else root


def _filters_of(join: JoinExec, readers: Counter[int], forced: bool) -> list[_Filter]:
    """From one side of a join to scans of the other: in that direction in which most rows are expected to be dropped."""
    if join.estimates is None or join.kind is JoinKind.FULL:
        return []
    left, right, left_shares, right_shares = join.estimates
    sides = [(join.right, join.right_keys, join.left, join.left_keys, left, right_shares)]
    if join.kind in (JoinKind.INNER, JoinKind.SEMI):
        sides.append((join.left, join.left_keys, join.right, join.right_keys, right, left_shares))
    best: tuple[float, list[_Filter]] = (-1.0, [])
    for probe, probe_keys, source, source_keys, source_rows, shares in sides:
        filters = []
        for key, source_key, share in zip(probe_keys, source_keys, shares, strict=True):
            if key.dtype != source_key.dtype or not _has_bitmap(key.dtype):
                continue
            for scan, column in _scans_below(probe, key, readers):
                scanned = _rows(scan)
                drops = scanned * (1 - share) >= LEAST_DROPPED * scan.row_bound
                small = source_rows <= LARGEST_SOURCE * scanned
                pays = share <= MOST_KEPT and scanned >= LEAST_ROWS and drops and small
                if forced or pays:
                    filters.append(_Filter(scan, column, source, source_key, share))
        dropped = sum(_rows(one.scan) * (1 - one.share) for one in filters)
        if filters and dropped > best[0]:
            best = dropped, filters
    return best[1]


def _rows(scan: TableScan) -> float:
    return float(scan.row_bound) if scan.estimated_rows is None else scan.estimated_rows


def _has_bitmap(dtype: DType) -> bool:
    return is_integer(dtype) or dtype in (DATE, TIMESTAMP)


def _scans_below(plan: PhysicalPlan, column: Column, readers: Counter[int]) -> Iterator[tuple[TableScan, Column]]:
    """The scans in the same stage whose rows have the column as it is, and what it is called there."""
    stack = [(plan, column)]
    while stack:
        current, key = stack.pop()
        if readers[id(current)] > 1:
            continue
        match current:
            case TableScan():
                yield current, key
            case FilterExec() | SortExec():
                stack.append((current.input, key))
            case ProjectExec():
                passed = (a.expr.column for a in current.assigns if a.column.id == key.id and isinstance(a.expr, ColumnRef))
                stack.extend((current.input, source) for source in passed)
            case AggregateExec() if key.id in {column.id for column in current.keys}:
                stack.append((current.input, key))
            case WindowExec() if key.id in {column.id for column in current.partition}:
                stack.append((current.input, key))
            case JoinExec():
                stack.extend(_sides_with(current, key))


def _sides_with(join: JoinExec, key: Column) -> Iterator[tuple[PhysicalPlan, Column]]:
    """The sides of a join whose rows may be dropped by a column of its output."""
    inner = join.kind is JoinKind.INNER
    on_left = any(column.id == key.id for column in join.left.columns)
    if join.kind is JoinKind.FULL or not (on_left or inner):
        return
    yield (join.left if on_left else join.right), key
    pairs = list(zip(join.left_keys, join.right_keys, strict=True))
    partners = [b for a, b in pairs if a.id == key.id] if on_left else [a for a, b in pairs if b.id == key.id]
    for partner in partners:
        if partner.dtype == key.dtype:
            yield (join.right if on_left else join.left), partner


def _rebuild(root: PhysicalPlan, found: dict[int, list[_Filter]]) -> PhysicalPlan:
    """The plan bottom-up; a scan with filters comes after what these read."""
    done: dict[int, PhysicalPlan] = {}
    stack = [root]
    while stack:
        current = stack[-1]
        if id(current) in done:
            stack.pop()
            continue
        filters = sorted(found.get(id(current), ()), key=lambda one: one.share)[:MOST_FILTERS]
        children = (*current.inputs, *(one.source for one in filters))
        pending = [child for child in children if id(child) not in done]
        if pending:
            stack.extend(reversed(pending))
            continue
        stack.pop()
        done[id(current)] = current.map_children(lambda child: done.get(id(child), child))
        if filters:
            done[id(current)] = RuntimeFilterExec(
                done[id(current)],
                tuple(done[id(one.source)] for one in filters),
                tuple(one.key for one in filters),
                tuple(one.source_key for one in filters),
            )
    return done[id(root)]

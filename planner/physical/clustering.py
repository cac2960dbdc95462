"""Clustering: scans whose row groups are ranged by a key, cut into partitions at boundaries that several of them share.

Files are often written in the order of a key, and their footers say which keys each row group holds. Such a scan can be cut by
ranges of the key at *any* boundaries without moving a row: partition i reads the row groups that overlap its range and drops
what lies outside. Row groups that touch, overlap or come in any order only make some of them be read twice.

A *co-partitioned group* is what `push_boundaries` reaches from a column: the scans (and range exchanges) below a tree of joins on
equal keys. One vector of boundaries holds for all of them; joining a further member may replace it, in every member at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from planner.dir import Pattern, Range, ScanRange, partition_count
from planner.expr.nodes import ColumnRef
from planner.physical.nodes import (
    AggregateExec,
    ExchangePlan,
    FilterExec,
    JoinExec,
    PhysicalPlan,
    ProjectExec,
    StageOutput,
    TableScan,
)

TRIAL_PARTS = 8
MOST_READ_AGAIN = 0.75
"""A scan offers no clustering if cutting it into TRIAL_PARTS would read more than this share of its bytes a second time."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """The row groups of a scan by ascending claim of a key; every range has its claim."""

    groups: tuple[ScanRange, ...]


Clusterings = dict[int, Clustering]
"""By the id of the scan's column."""


def find_clustering(groups: Sequence[ScanRange]) -> Clustering | None:
    """The clustering of row groups with claims, if there are several and cutting them does not read too much twice."""
    ordered = sorted(groups, key=lambda group: group.claim or (0, 0))
    clustering = Clustering(tuple(ordered))
    parts = max(2, min(TRIAL_PARTS, len(ordered) // 2))
    boundaries = choose_boundaries(clustering, parts)
    if 2 * len(boundaries) < parts:
        return None
    total = sum(group.bytes for group in ordered)
    read = sum(part.bytes for partition in cut(clustering, boundaries) for part in partition)
    return clustering if read <= total * (1 + MOST_READ_AGAIN) else None


def task_shares(tasks: int) -> tuple[float, ...]:
    """What share of a scan the first 1, 2, ... of its tasks read together.

    Later tasks are smaller, down to 0.6 of the mean: tasks are pulled in order, so the workers end their last ones closer
    together (guided self-scheduling, Polychronopoulos and Kuck 1987, with a linear decrease).
    """
    if tasks == 1:
        return (1.0,)
    weights = [1.4 - 0.8 * index / (tasks - 1) for index in range(tasks)]
    return tuple(accumulate(weight / tasks for weight in weights))


def choose_boundaries(clustering: Clustering, parts: int) -> tuple[int, ...]:
    """At most parts - 1 ascending boundaries between row groups, so that the partitions have the bytes of `task_shares`."""
    total = sum(max(group.bytes, 1) for group in clustering.groups)
    ends = task_shares(parts)
    boundaries: list[int] = []
    done, least = 0, None
    for group in clustering.groups:
        assert group.claim is not None
        if least is None:
            least = group.claim[0]
        if len(boundaries) < parts - 1 and done >= total * ends[len(boundaries)] and group.claim[0] > least:
            least = group.claim[0]
            boundaries.append(least)
        done += max(group.bytes, 1)
    return tuple(boundaries)


def cut(clustering: Clustering, boundaries: tuple[int, ...]) -> tuple[tuple[ScanRange, ...], ...]:
    """For each partition the row groups that may hold its keys. Neighbours in a file that lie inside of it are one range."""
    partitions: list[tuple[ScanRange, ...]] = []
    for index in range(len(boundaries) + 1):
        low = boundaries[index - 1] if index else None
        high = boundaries[index] if index < len(boundaries) else None
        partitions.append(tuple(_overlapping(clustering, low, high)))
    return tuple(partitions)


def _overlapping(clustering: Clustering, low: int | None, high: int | None) -> list[ScanRange]:
    found: list[ScanRange] = []
    last_inside = False
    for group in clustering.groups:
        assert group.claim is not None
        least, greatest = group.claim
        if (low is not None and greatest < low) or (high is not None and least >= high):
            continue
        inside = (low is None or least >= low) and (high is None or greatest < high)
        last = found[-1] if found else None
        if last is not None and inside and last_inside and last.split is group.split and _follows(last, group):
            assert last.claim is not None
            claim = min(last.claim[0], least), max(last.claim[1], greatest)
            found[-1] = ScanRange(last.split, last.first_row, last.rows + group.rows, last.bytes + group.bytes, claim)
        else:
            found.append(group)
        last_inside = inside
    return found


def _follows(first: ScanRange, second: ScanRange) -> bool:
    return first.first_row + first.rows == second.first_row


def push_boundaries(
    plan: PhysicalPlan, column: int, boundaries: tuple[int, ...], clusterings: Clusterings
) -> PhysicalPlan | None:
    """The plan cut by ranges of one of its columns, in every scan and range exchange of the group; None if it cannot be."""
    match plan:
        case TableScan():
            clustering = clusterings.get(column)
            key = next((candidate for candidate in plan.output if candidate.id == column), None)
            if clustering is None or key is None:
                return None
            return plan.replace(partitions=cut(clustering, boundaries), range_key=key, boundaries=boundaries)
        case ExchangePlan(pattern=Pattern.RANGE, partitioning=Range(key=key)) if key == column:
            assert isinstance(plan.partitioning, Range)
            if isinstance(plan.input, StageOutput):
                return plan if plan.partitioning.boundaries == boundaries else None
            return plan.replace(partitioning=replace(plan.partitioning, boundaries=boundaries))
        case ProjectExec():
            passed = (a.expr.column.id for a in plan.assigns if a.column.id == column and isinstance(a.expr, ColumnRef))
            source = next(passed, None)
            below = push_boundaries(plan.input, source, boundaries, clusterings) if source is not None else None
            return below and plan.replace(input=below)
        case FilterExec() | AggregateExec():
            below = push_boundaries(plan.input, column, boundaries, clusterings)
            return below and plan.replace(input=below)
        case JoinExec():
            return _push_into_join(plan, column, boundaries, clusterings)
    return None


def _push_into_join(join: JoinExec, column: int, boundaries: tuple[int, ...], clusterings: Clusterings) -> JoinExec | None:
    """Into the side that has the column, and, if the other side is partitioned as well, into that by the equal key."""
    sides: dict[str, PhysicalPlan] = {"left": join.left, "right": join.right}
    keys = {"left": join.left_keys, "right": join.right_keys}
    own = "left" if any(candidate.id == column for candidate in join.left.columns) else "right"
    other = "right" if own == "left" else "left"
    changed = push_boundaries(sides[own], column, boundaries, clusterings)
    if changed is None:
        return None
    changes = {own: changed}
    if part_count(sides[other]) > 1:
        partner = next((b.id for a, b in zip(keys[own], keys[other], strict=True) if a.id == column), None)
        changed = push_boundaries(sides[other], partner, boundaries, clusterings) if partner is not None else None
        if changed is None:
            return None
        changes[other] = changed
    return join.replace(**changes)


def part_count(plan: PhysicalPlan) -> int:
    """How many tasks a plan has, by its leaves; 1 also for what every task reads whole."""
    if isinstance(plan, ExchangePlan):
        return partition_count(plan.partitioning)
    if isinstance(plan, TableScan):
        return len(plan.partitions)
    return max((part_count(child) for child in plan.inputs), default=1)

"""The part of a scan's rows that belongs to one task, where a scan is partitioned by ranges of a key."""

from __future__ import annotations

import polars as pl

from planner.physical.nodes import TableScan

KeyInterval = tuple[int | None, int | None]
"""Half-open: low ≤ key < high; None where it is open. In the form of statistics."""


def key_interval(scan: TableScan, partition: int) -> KeyInterval:
    """The keys that belong to a task; all of them if the scan has no range key."""
    if scan.range_key is None:
        return None, None
    low = scan.boundaries[partition - 1] if partition > 0 else None
    high = scan.boundaries[partition] if partition < len(scan.boundaries) else None
    return low, high


def restrict(frame: pl.LazyFrame, column: str, claim: tuple[int, int], interval: KeyInterval) -> pl.LazyFrame:
    """The rows whose key lies in the interval. Nothing is compared where the claim, which was checked, says that all do."""
    low, high = interval
    key = pl.col(column).to_physical()
    if low is not None and claim[0] < low:
        frame = frame.filter(key >= low)
    if high is not None and claim[1] >= high:
        frame = frame.filter(key < high)
    return frame

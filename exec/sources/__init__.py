"""Where rows come from: files and tables in memory, as snapshots (`describe`, `memory.register`) and as scans.

identity   the identity of a split, and its check when a task opens it
describe   paths and globs of Parquet files to a TableSnapshot, from footers alone
parquet    scans of Parquet files: row ranges, predicates, conversion to tiers, and the check of claims
memory     tables of Arrow, Polars and pandas objects, written once as Arrow IPC and mapped by every task
"""

from __future__ import annotations

import polars as pl

from planner.physical.nodes import TableScan


def scan_table(scan: TableScan, partition: int, needed: frozenset[int]) -> pl.LazyFrame:
    """The rows of one task's ranges, with the `needed` columns (by id) alone."""
    from exec.sources import memory, parquet

    reader = memory.scan if scan.format == "memory" else parquet.scan
    return reader(scan, partition, needed)

"""Where rows come from: files and tables in memory, as snapshots (`describe`, `memory.register`) and as scans.

identity   the identity of a split, and its check when a task opens it
describe   paths and globs of Parquet files to a TableSnapshot, from footers alone
parquet    scans of Parquet files: row ranges, predicates, conversion to tiers, and the check of claims
stored     scans of columns in stored form: those of `memory`, and those of files that the column store holds
memory     tables of Arrow, Polars and pandas objects, written once as Arrow IPC and mapped by every task
filtered   runtime filters, as scans apply them
fill       a segment of a column of a file, read and put into the column store
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import polars as pl

from exec.lower.failures import FOREIGN, translate
from exec.lower.optimizations import OPTIMIZATIONS
from exec.sources.filtered import ScanFilter, filtered
from exec.sources.identity import verify
from exec.store.segments import StoredColumns
from planner.dir import Split
from planner.errors import InternalError, error
from planner.physical.nodes import PhysicalPlan, TableScan, table_scans, task_splits


@contextmanager
def unchanged_files(body: PhysicalPlan, partition: int) -> Iterator[None]:
    """What is read inside comes from the files that the plan names. Raises FILE_CHANGED at the end if one is another by then.

    Scans look before they read, but a file is opened by its path once more when Polars runs, and may be replaced in between.
    What the readers raise becomes an error that names the files.
    """
    splits = task_splits(body, partition)
    try:
        yield
    except (Exception, *FOREIGN) as problem:
        _verify_all(splits)
        if not isinstance(problem, FOREIGN):
            raise
        raised = translate(problem, {split.path for split in splits})
        if isinstance(raised, InternalError) and (broken := _broken_scan(body, partition)):
            raised = error("FILE_INVALID", path=broken, format="Parquet", detail="the reader failed on it")
        raise raised from problem
    _verify_all(splits)


def _broken_scan(body: PhysicalPlan, partition: int) -> str | None:
    """A file of the first scan of a task that fails when it runs alone: a panic does not say what it is about."""
    for scan in table_scans(body):
        if scan.format != "memory":
            try:
                rows = scan_table(scan, partition, frozenset(column.id for column in scan.columns))
                rows.sink_batches(lambda batch: None, engine="streaming", optimizations=OPTIMIZATIONS)
            except FOREIGN:
                return min(split.path for split in task_splits(scan, partition))
    return None


def _verify_all(splits: Collection[Split]) -> None:
    for split in splits:
        verify(split)


def scan_table(
    scan: TableScan,
    partition: int,
    needed: frozenset[int],
    stored: StoredColumns | None = None,
    filters: Sequence[ScanFilter] = (),
) -> pl.LazyFrame:
    """The rows of one task's ranges, with the `needed` columns (by id) alone. `stored` is the column store, if there is one.

    Rows that one of the `filters` drops are left out; their columns are needed.
    """
    from exec.sources import memory, parquet

    if scan.format == "memory":
        return filtered(memory.scan(scan, partition, needed), filters)
    return parquet.scan(scan, partition, needed, stored, filters)

"""When a plan may run inside the driver: only if it is proven, not estimated, to be small."""

from __future__ import annotations

from planner.analysis.bounds import BoundsAnalysis
from planner.logical.nodes import LogicalPlan, Scan
from planner.physical.nodes import ExchangePlan, PhysicalPlan, TableScan
from planner.tree import kind_mask, walk

INPUT_BYTES = 8 << 20
OPERATOR_ROWS = 1_000_000


def reads_files(plan: LogicalPlan) -> bool:
    """Whether a plan cannot run inline, which is known before it is planned."""
    return any(isinstance(scan, Scan) and scan.table.format != "memory" for scan in walk(plan, kind_mask(Scan)))


def may_run_inline(plan: PhysicalPlan, bounds: BoundsAnalysis) -> bool:
    """Whether a plan without exchanges reads no file, at most 8 MiB, and no operator can give more than a million rows.

    A damaged page aborts the process that decodes it, however well the footer looked, and the driver is the user's process.
    A worker is no slower: a query over a file of a hundred rows takes 3 ms there.
    """
    read = 0
    for current in walk(plan, kind_mask(PhysicalPlan)):
        assert isinstance(current, PhysicalPlan)
        if isinstance(current, ExchangePlan):
            return False
        if isinstance(current, TableScan):
            if current.format != "memory":
                return False
            read += sum(part.bytes for partition in current.partitions for part in partition)
        if read > INPUT_BYTES or bounds.rows(current) > OPERATOR_ROWS:
            return False
    return True

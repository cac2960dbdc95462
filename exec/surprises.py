"""When the actual size of a stage is so far from its estimate that a new plan for the rest may pay.

A new plan costs some milliseconds, and meanwhile nothing else starts. So a stage is a surprise only if there is work left that it
could change: some reader of it has not started, and what it was or was expected to be, or what incomplete stages read from
tables, is large. Two things count: rows that are off by a factor, and no rows at all, since inner joins with an
empty input need nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from exec.queries import QueryState
from planner.dir import Stage
from planner.physical.cost import row_width
from planner.physical.nodes import table_scans

FACTOR = 8.0
"""Rows that are off by less do not change many decisions, since costs of alternatives cross slowly."""

LEAST_ROWS = 1000
"""Fewer rows, expected and found, are a broadcast whatever else is decided."""

LEAST_BYTES = 32 << 20
"""Moving or scanning so much takes tens of milliseconds, several times what a new plan costs."""


def surprises(query: QueryState, actuals: Mapping[int, tuple[int, int]]) -> tuple[int, ...]:
    """Those of some complete stages, given as (rows, bytes) by id, that are worth a new plan."""
    incomplete = [stage for stage in query.graph.stages if query.missing[stage.id]]
    found = []
    for stage, (rows, size) in actuals.items():
        expected = query.stages[stage].estimated_rows
        if expected is None or all(edge.consumer in query.started for edge in query.outputs[stage]):
            continue
        if rows and (max(rows, expected) < LEAST_ROWS or max(rows / max(expected, 1.0), expected / rows) < FACTOR):
            continue
        width = size / rows if rows else max(1, row_width(query.stages[stage].output.schema))
        if max(size, expected * width, _scanned(incomplete)) >= LEAST_BYTES:
            found.append(stage)
    return tuple(found)


def _scanned(stages: Iterable[Stage]) -> int:
    """Stored bytes of the row groups that stages read."""
    scans = [scan for stage in stages for scan in table_scans(stage.body)]
    return sum(part.bytes for scan in scans for partition in scan.partitions for part in partition)

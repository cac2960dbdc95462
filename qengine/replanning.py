"""What a session does when a stage of its running query is a surprise: it plans what has not started once more."""

from __future__ import annotations

import time

from exec.events import Replan
from exec.metrics import QueryMetrics, Replanned, Surprise
from planner.adaptive import RunningPlan, replan
from planner.dir import StageGraph
from planner.physical.context import PhysicalOptions
from planner.schema import ColumnAllocator


class Replanning:
    """The changing plan of one run of a query; calling it answers the scheduler (`exec.progress.Replanner`)."""

    def __init__(self, plan: RunningPlan, allocator: ColumnAllocator, options: PhysicalOptions) -> None:
        self._plan = plan
        self._allocator = allocator
        self._options = options

    def __call__(self, asked: Replan, metrics: QueryMetrics) -> StageGraph | None:
        began = time.perf_counter()
        actuals = {stage: (rows, size) for stage, rows, size in asked.actuals}
        found = replan(self._plan, actuals, asked.started, self._allocator, self._options)
        surprises = []
        for id in asked.surprises:
            expected = self._plan.graph.stage(id).estimated_rows
            surprises.append(Surprise(id, expected if expected is not None else 0.0, *actuals[id]))
        version, changes = (found.plan.graph.version, found.changes) if found is not None else (asked.version, ())
        metrics.replans.append(Replanned(version, tuple(surprises), changes, time.perf_counter() - began))
        if found is None:
            return None
        self._plan = found.plan
        return found.plan.graph

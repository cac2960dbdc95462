"""What strategies share while one query is planned, and the planned form of an input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from planner.logical.nodes import LogicalPlan
from planner.physical.enforce import enforce
from planner.physical.nodes import PhysicalPlan
from planner.physical.properties import Distribution, Offered
from planner.schema import ColumnAllocator, Schema


@dataclass(frozen=True, slots=True)
class PhysicalOptions:
    """`workers`: how many tasks can run at once. `single`: plan for one process, without any exchange.

    `task_bytes` is the target of stored bytes for the tasks of a scan, `least_task_bytes` the size below which more tasks do
    not pay; `buckets` (a power of two) fixes the parts of hash exchanges, 0 lets the planner choose.
    """

    workers: int = 2
    single: bool = False
    task_bytes: int = 64 << 20
    least_task_bytes: int = 4 << 20
    tasks_per_worker: int = 4
    buckets: int = 0


@dataclass(frozen=True, slots=True)
class Planned:
    """A physical plan, what it offers, and its estimated rows."""

    plan: PhysicalPlan
    offered: Offered
    rows: float

    @property
    def columns(self) -> Schema:
        return self.plan.columns


@dataclass(slots=True)
class PhysicalContext:
    allocator: ColumnAllocator
    options: PhysicalOptions
    estimate: Callable[[LogicalPlan], float]
    buckets: int
    arithmetic: frozenset[int] = field(default_factory=frozenset)
    """Columns whose bounds matter for arithmetic."""

    def enforce(self, planned: Planned, required: Distribution) -> Planned:
        plan, offered = enforce(planned.plan, planned.offered, required, self.buckets)
        return Planned(plan, offered, planned.rows)

"""What strategies share while one query is planned, and the planned form of an input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from planner.dir import Range
from planner.logical.nodes import LogicalPlan
from planner.physical.clustering import Clusterings, choose_boundaries, push_boundaries
from planner.physical.enforce import enforce
from planner.physical.nodes import ExchangePlan, PhysicalPlan
from planner.physical.properties import ClusteredDistribution, Distribution, Offered, satisfies
from planner.schema import Column, ColumnAllocator, Schema

OPTIONAL_STEPS = ("reuse_exchanges",)
"""Steps of physical planning that only make a query faster and can be switched off by their names, as rules can."""


@dataclass(frozen=True, slots=True)
class PhysicalOptions:
    """`workers`: how many tasks can run at once. `single`: plan for one process, without any exchange.

    `task_bytes` is the target of stored bytes for the tasks of a scan, `least_task_bytes` the size below which more tasks do
    not pay; `buckets` (a power of two) fixes the parts of hash exchanges, 0 lets the planner choose. `disabled` names the steps
    of `OPTIONAL_STEPS` to leave out. A sort or top-n of at least `least_sort_bytes`, as
    estimated from its rows, stays in many tasks.
    """

    workers: int = 2
    single: bool = False
    task_bytes: int = 64 << 20
    least_task_bytes: int = 1 << 20
    tasks_per_worker: int = 4
    buckets: int = 0
    disabled: frozenset[str] = frozenset()
    least_sort_bytes: int = 64 << 20


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
    clusterings: Clusterings = field(default_factory=dict)
    """What the scans planned so far are clustered by."""

    def enforce(self, planned: Planned, required: Distribution) -> Planned:
        """The cheapest way to what is required: as it is, cut by ranges of a clustered column, or under an exchange."""
        if isinstance(required, ClusteredDistribution) and not satisfies(planned.offered, required):
            for column in required.columns:
                ranged = self.cut_by_range(planned, column)
                if ranged is not None:
                    return ranged
        plan, offered = enforce(planned.plan, planned.offered, required, self.buckets)
        return Planned(plan, offered, planned.rows)

    def needs_exchange(self, planned: Planned, required: Distribution) -> bool:
        return isinstance(self.enforce(planned, required).plan, ExchangePlan)

    def cut_by_range(self, planned: Planned, column: Column, boundaries: tuple[int, ...] | None = None) -> Planned | None:
        """The plan cut into ranges of a column that it is clustered by, at given or at its own boundaries."""
        source = planned.offered.clustering(column.id)
        if source is None:
            return None
        if boundaries is None:
            boundaries = choose_boundaries(self.clusterings[source], planned.offered.count)
        plan = push_boundaries(planned.plan, column.id, boundaries, self.clusterings) if boundaries else None
        if plan is None:
            return None
        partitionings = (Range(column.id, column.dtype, boundaries),)
        return Planned(plan, Offered(partitionings, clusterings=planned.offered.clusterings), planned.rows)

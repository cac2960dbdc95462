"""What strategies share while one query is planned, and the planned form of an input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from planner.dir import Range
from planner.logical.nodes import LogicalPlan
from planner.physical.clustering import Clusterings, choose_boundaries, push_boundaries
from planner.physical.cost import move_cost
from planner.physical.enforce import enforce
from planner.physical.nodes import ExchangePlan, Origin, PhysicalPlan
from planner.physical.properties import ClusteredDistribution, Distribution, Offered, Placement, satisfies, satisfying
from planner.physical.stage_outputs import is_reading, read_otherwise
from planner.schema import Column, ColumnAllocator, Schema

OPTIONAL_STEPS = ("reuse_exchanges", "distinct_phases", "replan_stages", "runtime_filters")
"""Steps of physical planning that only make a query faster and can be switched off by their names, as rules can."""


@dataclass(frozen=True, slots=True)
class PhysicalOptions:
    """`workers`: how many tasks can run at once. `single`: plan for one process, without any exchange.

    `task_bytes` is the target of stored bytes for the tasks of a scan, `least_task_bytes` the size below which more tasks do
    not pay; `buckets` (a power of two) fixes the parts of hash exchanges, 0 lets the planner choose. `disabled` names the steps
    of `OPTIONAL_STEPS` to leave out; with `force_runtime_filters` scans get all those that are sound, whether they pay or not.
    A sort or top-n of at least `least_sort_bytes`, as
    estimated from its rows, stays in many tasks.
    """

    workers: int = 2
    single: bool = False
    task_bytes: int = 64 << 20
    least_task_bytes: int = 1 << 20
    tasks_per_worker: int = 4
    buckets: int = 0
    disabled: frozenset[str] = frozenset()
    force_runtime_filters: bool = False
    least_sort_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Planned:
    """A physical plan, what it offers, its estimated rows, and which rows of the logical plan they are, if they are such."""

    plan: PhysicalPlan
    offered: Offered
    rows: float
    origin: Origin | None = None
    placement: Placement | None = None
    """How it met what was last required of it."""

    @property
    def columns(self) -> Schema:
        return self.plan.columns


def placements_of(*inputs: Planned) -> tuple[Placement, ...]:
    """How inputs met what an operator requires of them."""
    return tuple(input.placement for input in inputs if input.placement is not None)


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
    operator: int = 0
    """The place of the logical operator that is being planned."""

    def enforce(self, planned: Planned, required: Distribution) -> Planned:
        """The cheapest way to what is required: as it is, cut by ranges of a clustered column, or under an exchange.

        What a stage has written already is read in another way, if its files allow that.
        """
        reading = read_otherwise(planned.plan, planned.offered, required)
        if reading is not None:
            return replace(planned, plan=reading[0], offered=reading[1], placement=None)
        if isinstance(required, ClusteredDistribution) and not satisfies(planned.offered, required):
            for column in required.columns:
                ranged = self.cut_by_range(planned, column)
                if ranged is not None:
                    return ranged
        plan, offered = enforce(planned.plan, planned.offered, required, self.buckets)
        met_by = satisfying(planned.offered, required)
        placement = Placement(required, planned.offered.partitionings, met_by, planned.columns)
        if plan is not planned.plan:
            origin = planned.origin and planned.origin._replace(partitionings=planned.offered.partitionings)
            plan = plan.replace(estimated_rows=planned.rows, origin=origin, placement=placement)
        return replace(planned, plan=plan, offered=offered, placement=placement)

    def needs_exchange(self, planned: Planned, required: Distribution) -> bool:
        return _moves(planned, self.enforce(planned, required))

    def cost_of_moving(self, before: Planned, after: Planned) -> float:
        """What it costs to bring rows from one distribution to another; nothing if they are read from where they are."""
        return move_cost(before.rows, before.columns) if _moves(before, after) else 0.0

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
        ranges = Range(column.id, column.dtype, boundaries)
        offered = Offered((ranges,), clusterings=planned.offered.clusterings)
        before = planned.offered.partitionings
        placement = Placement(ClusteredDistribution((column,)), before, ranges, planned.columns, is_cut=True)
        return replace(planned, plan=plan, offered=offered, placement=placement)


def _moves(before: Planned, after: Planned) -> bool:
    """Whether there is a new exchange on top that has to write rows."""
    return after.plan is not before.plan and isinstance(after.plan, ExchangePlan) and not is_reading(after.plan)

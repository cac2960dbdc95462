"""Why an exchange is there, or is not: what was required of rows and how they lay, as text."""

from __future__ import annotations

from collections.abc import Iterable

from planner.dir import Hash, Partitioning, Range, Replicated, SampledRange, Single, Spread
from planner.explain import ColumnNames
from planner.physical.nodes import AggregateExec, ExchangePlan, ExchangeSource, JoinExec, PhysicalPlan, WindowExec
from planner.physical.properties import (
    AnyDistribution,
    ClusteredDistribution,
    Distribution,
    HashDistribution,
    OrderedDistribution,
    Placement,
    RangeDistribution,
    ReplicatedDistribution,
    SingleDistribution,
)
from planner.schema import Column


def placement_texts(plan: PhysicalPlan, names: ColumnNames) -> tuple[str, ...]:
    """For an exchange why it is needed; for a join, aggregate or window what made an exchange of an input unnecessary."""
    if isinstance(plan, (ExchangePlan, ExchangeSource)):
        return () if plan.placement is None else (f"needed: {_needed(plan.placement, names)}",)
    if not isinstance(plan, (JoinExec, AggregateExec, WindowExec)):
        return ()
    sides = ("left: ", "right: ") if len(plan.placements) == 2 else ("",) * len(plan.placements)
    return tuple(
        f"no exchange: {side}{_avoided(placement, names)}"
        for side, placement in zip(sides, plan.placements, strict=True)
        if placement.met_by is not None
    )


def _needed(placement: Placement, names: ColumnNames) -> str:
    lie = " and ".join(_lie(partitioning, placement, names) for partitioning in placement.offered)
    return f"{_required(placement.required, placement, names)}, and they are {lie}"


def _avoided(placement: Placement, names: ColumnNames) -> str:
    met_by = placement.met_by
    assert met_by is not None
    if isinstance(placement.required, AnyDistribution):
        return "its rows stay where they are, as the other side comes to them"
    if placement.is_cut:
        return f"row groups are ranged by {_keys(met_by, placement, names)}, so that scans are cut there"
    if isinstance(met_by, Single):
        return "all rows are in one task"
    return f"{_required(placement.required, placement, names)}, and they are {_lie(met_by, placement, names)}"


def _required(required: Distribution, placement: Placement, names: ColumnNames) -> str:
    match required:
        case SingleDistribution():
            return "all rows have to be in one task"
        case ReplicatedDistribution():
            return "every task reads all rows"
        case ClusteredDistribution(columns):
            return f"rows with equal {names.list(columns)} have to meet"
        case HashDistribution(partitioning) | RangeDistribution(partitioning):
            return f"rows have to be {_lie(partitioning, placement, names)}, as on the other side"
        case OrderedDistribution(partitioning):
            return f"sorted rows have to be {_lie(partitioning, placement, names)}"
        case AnyDistribution():
            return "rows may be anywhere"


def _lie(partitioning: Partitioning, placement: Placement, names: ColumnNames) -> str:
    match partitioning:
        case Single():
            return "in one task"
        case Replicated():
            return "in every task"
        case Spread(count):
            return f"spread over {count} tasks"
        case Hash():
            return f"hashed by {_keys(partitioning, placement, names)}"
        case Range() | SampledRange():
            return f"in ranges of {_keys(partitioning, placement, names)}"


def _keys(partitioning: Partitioning, placement: Placement, names: ColumnNames) -> str:
    keys: Iterable[int] = () if isinstance(partitioning, (Single, Spread, Replicated)) else partitioning.keys
    known: dict[int, Column] = {column.id: column for column in placement.columns}
    return ", ".join(names.name(known[key]) if key in known else "a column that is gone" for key in keys)

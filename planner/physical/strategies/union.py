"""Union: the arms of one stage, each task with its part of every arm.

A stage has one number of tasks, so the parts of the arms have to be brought to it:

- one task, if every arm is in one part: arm after arm;
- *stacked*, if no arm meets in buckets: an arm's scans have parts in tasks of its own and nothing to read in all others, so the
  tasks, and with them the rows, keep the order of the arms;
- *by bucket*, if an arm is spread by a hash or by ranges: the parts of the other arms' scans are dealt out to as many tasks.

An arm in one part that is more than a scan with filters and projections (a limit, a group, a gather) cannot be in a stage of
several tasks, which all would run it: its rows go through a hash exchange. If moving the arms that are in parts costs less,
everything meets in one task.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.dir import Hash, Pattern, ScanRange, Single, Spread
from planner.logical.nodes import Union
from planner.physical.context import PhysicalContext, Planned
from planner.physical.cost import move_cost
from planner.physical.nodes import ExchangePlan, FilterExec, PhysicalPlan, ProjectExec, TableScan, UnionExec, ValuesScan
from planner.physical.properties import HashDistribution, Offered, SingleDistribution, hash_by
from planner.tree import Node, kind_mask, rewrite

Parts = tuple[tuple[ScanRange, ...], ...]


def plan_union(union: Union, arms: list[Planned], context: PhysicalContext) -> Planned:
    rows = sum(arm.rows for arm in arms)
    if all(arm.offered.count == 1 for arm in arms) or _gather_pays(arms) or context.buckets == 1:
        arms = [context.enforce(arm, SingleDistribution()) for arm in arms]
        return Planned(UnionExec(tuple(arm.plan for arm in arms), union.schema), Offered((Single(),)), rows)
    if any(_is_cut_by_key(arm.plan) or not _is_pipeline(arm) for arm in arms):
        arms = [_bucketed(arm, context) for arm in arms]
        offered = Offered((*_common_hashes(union, arms), Spread(context.buckets)))
    else:
        arms = _stacked(arms)
        offered = Offered((Spread(arms[0].offered.count),))
    return Planned(UnionExec(tuple(arm.plan for arm in arms), union.schema), offered, rows)


def _gather_pays(arms: list[Planned]) -> bool:
    """Whether the arms that have to be moved in order to be spread are larger than those that are spread already."""
    single = [arm for arm in arms if arm.offered.count == 1 and not _is_pipeline(arm)]
    spread = [arm for arm in arms if arm.offered.count > 1]
    return sum(move_cost(a.rows, a.columns) for a in single) > sum(move_cost(a.rows, a.columns) for a in spread)


def _is_pipeline(arm: Planned) -> bool:
    """Whether a task that is given no rows of the arm's scans gives none: always if the arm is in parts."""
    plan = arm.plan
    if arm.offered.count > 1:
        return True
    while isinstance(plan, (FilterExec, ProjectExec)):
        plan = plan.input
    return isinstance(plan, (TableScan, ValuesScan))


def _is_cut_by_key(plan: PhysicalPlan) -> bool:
    """Whether the parts of a plan are buckets of an exchange or ranges of a key, so that they cannot be dealt out anew."""
    return any(
        source.pattern not in (Pattern.GATHER, Pattern.BROADCAST) if isinstance(source, ExchangePlan) else _has_ranges(source)
        for source in (*_own(plan, ExchangePlan), *_own(plan, TableScan))
    )


def _has_ranges(scan: PhysicalPlan) -> bool:
    return isinstance(scan, TableScan) and bool(scan.boundaries)


def _own(plan: PhysicalPlan, cls: type[PhysicalPlan]) -> list[PhysicalPlan]:
    """The operators of a class in the stage of a plan: nothing below an exchange."""
    found, stack = [], [plan]
    while stack:
        current = stack.pop()
        if isinstance(current, cls):
            found.append(current)
        if not isinstance(current, ExchangePlan):
            stack.extend(current.inputs)
    return found


def _stacked(arms: list[Planned]) -> list[Planned]:
    """The arms with their parts in tasks of their own, in order."""
    counts = [arm.offered.count for arm in arms]
    total, before = sum(counts), 0
    placed = []
    for arm, count in zip(arms, counts, strict=True):
        empty_before, empty_after = ((),) * before, ((),) * (total - before - count)
        plan = _with_parts(arm, lambda parts, a=empty_before, b=empty_after: (*a, *parts, *b))  # type: ignore[misc]
        placed.append(Planned(plan, Offered((Spread(total),)), arm.rows))
        before += count
    return placed


def _bucketed(arm: Planned, context: PhysicalContext) -> Planned:
    """The arm in as many parts as there are buckets."""
    cut = _is_cut_by_key(arm.plan)
    if cut and arm.offered.count == context.buckets and not any(_has_ranges(scan) for scan in _own(arm.plan, TableScan)):
        return arm
    if cut or not _is_pipeline(arm):
        return context.enforce(arm, HashDistribution(hash_by(arm.columns, context.buckets)))

    def deal(parts: Parts) -> Parts:
        return tuple(tuple(r for part in parts[task :: context.buckets] for r in part) for task in range(context.buckets))

    return Planned(_with_parts(arm, deal), Offered((Spread(context.buckets),)), arm.rows)


def _with_parts(arm: Planned, change: Callable[[Parts], Parts]) -> PhysicalPlan:
    """The arm with other parts of the scans that make up its own; scans that every task reads as a whole stay."""
    count = arm.offered.count
    changed = {id(scan) for scan in _own(arm.plan, TableScan) if isinstance(scan, TableScan) and len(scan.partitions) == count}
    if not changed:
        return arm.plan

    def replace(node: Node) -> Node:
        if isinstance(node, TableScan) and id(node) in changed:
            return node.replace(partitions=change(node.partitions))
        return node

    plan = rewrite(arm.plan, replace, kind_mask(TableScan))
    assert isinstance(plan, PhysicalPlan)
    return plan


def _common_hashes(union: Union, arms: list[Planned]) -> tuple[Hash, ...]:
    """The hash partitionings that every arm offers, in terms of the union's columns."""
    offers = []
    for arm in arms:
        place = {column.id: out.id for column, out in zip(arm.columns, union.schema, strict=True)}
        offers.append(
            {
                Hash(tuple(place[key] for key in offer.keys), offer.key_types, offer.buckets, offer.version)
                for offer in arm.offered.hashes
                if all(key in place for key in offer.keys)
            }
        )
    return tuple(sorted(set.intersection(*offers), key=lambda offer: offer.keys))

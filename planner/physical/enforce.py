"""Inserts an exchange where what is offered does not satisfy what is required, and nowhere else."""

from __future__ import annotations

from planner.dir import Pattern, Replicated, Single
from planner.physical.nodes import ExchangePlan, PhysicalPlan
from planner.physical.properties import (
    AnyDistribution,
    ClusteredDistribution,
    Distribution,
    HashDistribution,
    Offered,
    OrderedDistribution,
    RangeDistribution,
    ReplicatedDistribution,
    SingleDistribution,
    hash_by,
    satisfies,
)


def enforce(plan: PhysicalPlan, offered: Offered, required: Distribution, buckets: int) -> tuple[PhysicalPlan, Offered]:
    """The plan itself, or under one exchange; and what it then offers. `buckets` is used where the choice is free.

    A gather keeps the order of partitions but not an order of rows across them, so no exchange offers an order.
    """
    if satisfies(offered, required):
        return plan, offered
    match required:
        case SingleDistribution():
            return ExchangePlan(plan, Pattern.GATHER, Single()), Offered((Single(),))
        case ReplicatedDistribution():
            return ExchangePlan(plan, Pattern.BROADCAST, Replicated()), Offered((Replicated(),))
        case ClusteredDistribution(columns):
            partitioning = hash_by(columns, buckets)
        case HashDistribution(partitioning):
            pass
        case RangeDistribution(ranges):
            return ExchangePlan(plan, Pattern.RANGE, ranges), Offered((ranges,))
        case OrderedDistribution(sampled):
            return ExchangePlan(plan, Pattern.RANGE, sampled), Offered((sampled,))
        case AnyDistribution():
            raise AssertionError("any offer satisfies AnyDistribution")
    return ExchangePlan(plan, Pattern.HASH, partitioning), Offered((partitioning,))

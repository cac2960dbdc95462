"""Required against offered: the one comparison that decides whether rows have to move."""

import pytest

from planner.dir import Hash, OrderKey, Pattern, Replicated, SampledRange, Single, Spread
from planner.dtypes import BIGINT, INTEGER
from planner.physical.enforce import enforce
from planner.physical.nodes import ExchangePlan, ValuesScan
from planner.physical.properties import (
    AnyDistribution,
    ClusteredDistribution,
    HashDistribution,
    Offered,
    OrderedDistribution,
    ReplicatedDistribution,
    SingleDistribution,
    hash_by,
    satisfies,
)
from planner.schema import Column

A, B, C = (Column(number, name, INTEGER) for number, name in enumerate("abc", start=1))
PLAN = ValuesScan((A, B), ())
SAMPLED = SampledRange((OrderKey(1, True, False), OrderKey(2, False, True)), 6)
BY_A, BY_AB = hash_by((A,), 4), hash_by((A, B), 4)


@pytest.mark.parametrize(
    "offered, required, enough",
    [
        (Spread(3), AnyDistribution(), True),
        (Spread(3), SingleDistribution(), False),
        (Single(), SingleDistribution(), True),
        (Single(), ClusteredDistribution((A,)), True),
        (Spread(3), ClusteredDistribution((A,)), False),
        (BY_A, ClusteredDistribution((A, B)), True),  # equal in a and b means equal in a
        (BY_AB, ClusteredDistribution((A,)), False),  # equal in a may differ in b
        (BY_A, HashDistribution(BY_A), True),
        (BY_A, HashDistribution(hash_by((A,), 8)), False),
        (BY_A, HashDistribution(Hash((1,), (BIGINT,), 4)), False),  # hashed in another canonical type
        (BY_AB, HashDistribution(hash_by((B, A), 4)), False),
        (Single(), HashDistribution(BY_A), False),  # one partition is not where buckets are expected
        (Replicated(), SingleDistribution(), False),
        (Single(), OrderedDistribution(SAMPLED), True),
        (Spread(3), OrderedDistribution(SAMPLED), False),
        (SAMPLED, SingleDistribution(), False),
    ],
)
def test_satisfies(offered, required, enough):
    assert satisfies(Offered((offered,)), required) is enough


def test_only_a_cheap_single_partition_is_replicated_without_an_exchange():
    assert satisfies(Offered((Single(),), replicable=True), ReplicatedDistribution())
    assert not satisfies(Offered((Single(),)), ReplicatedDistribution())
    assert not satisfies(Offered((Spread(2),), replicable=True), ReplicatedDistribution())


def test_any_of_several_offers_may_satisfy():
    offered = Offered((BY_A, hash_by((C,), 4)))
    assert satisfies(offered, ClusteredDistribution((C,)))
    assert satisfies(offered, HashDistribution(hash_by((C,), 4)))


def test_a_projection_renames_keys_and_loses_what_it_drops():
    offered = Offered((BY_A, hash_by((B,), 4)), (OrderKey(1, False, False), OrderKey(2, True, False)))
    renamed = offered.rename({1: (9,)})
    assert renamed.partitionings == (Hash((9,), (INTEGER,), 4),)
    assert renamed.ordering == (OrderKey(9, False, False),)
    assert offered.rename({}).partitionings == (Spread(4),)
    sampled = Offered((SAMPLED,))
    assert sampled.rename({1: (9,), 2: (8, 7)}).partitionings == (
        SampledRange((OrderKey(9, True, False), OrderKey(8, False, True)), 6),
    )
    assert sampled.rename({1: (9,)}).partitionings == (Spread(6),)


def test_enforce_inserts_nothing_where_the_offer_is_enough():
    offered = Offered((BY_A,))
    assert enforce(PLAN, offered, ClusteredDistribution((A,)), 4) == (PLAN, offered)


@pytest.mark.parametrize(
    "required, pattern, partitioning",
    [
        (SingleDistribution(), Pattern.GATHER, Single()),
        (ReplicatedDistribution(), Pattern.BROADCAST, Replicated()),
        (ClusteredDistribution((A, B)), Pattern.HASH, hash_by((A, B), 16)),
        (HashDistribution(BY_A), Pattern.HASH, BY_A),
        (OrderedDistribution(SAMPLED), Pattern.RANGE, SAMPLED),
    ],
)
def test_enforce_inserts_one_exchange(required, pattern, partitioning):
    plan, offered = enforce(PLAN, Offered((Spread(3),), (OrderKey(1, False, False),)), required, 16)
    assert isinstance(plan, ExchangePlan)
    assert plan.input is PLAN
    assert (plan.pattern, plan.partitioning) == (pattern, partitioning)
    assert offered == Offered((partitioning,))
    assert satisfies(offered, required) or pattern in (Pattern.BROADCAST, Pattern.RANGE)

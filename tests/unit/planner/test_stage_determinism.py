"""A value that differs in its last bits from run to run makes rows differ as soon as it decides where they go."""

from __future__ import annotations

import pytest

from planner.dir import Determinism, Hash
from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.plan import plan_physical
from tests.golden.tpch_catalog import tpch_sf1
from tests.plans import bound, verifying

GROUPS = "(SELECT o_orderkey AS k, avg(o_totalprice::DOUBLE) AS a FROM orders GROUP BY o_orderkey)"


@pytest.mark.parametrize(
    "key, level",
    [("a", Determinism.INDETERMINATE), ("k + 0.5::DOUBLE", Determinism.SET)],
)
def test_a_stage_that_is_scattered_by_an_unstable_key_is_indeterminate(key, level):
    text = f"SELECT p.k, q.o_custkey FROM {GROUPS} p JOIN orders q ON p.{key} = q.o_totalprice::DOUBLE"
    plan, allocator = bound(text, tpch_sf1())
    graph = cut_stages(plan_physical(optimize(plan, verifying(allocator)), allocator, PhysicalOptions(workers=2)))
    scattered = [exchange for exchange in graph.exchanges if isinstance(exchange.dir.partitioning, Hash)]
    levels = {graph.stage(exchange.producer).determinism for exchange in scattered}
    assert min(levels) is level and len(scattered) == 2

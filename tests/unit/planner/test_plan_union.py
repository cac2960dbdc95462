"""How the arms of a union become parts of one stage: side by side, by bucket, or all in one task."""

from __future__ import annotations

from planner.dir import Determinism, StageGraph
from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.explain import physical_text
from planner.physical.nodes import UnionExec, table_scans
from planner.physical.plan import plan_physical
from planner.rule import OptimizerContext
from planner.sql import bind
from planner.tree import kind_mask, walk
from tests.golden.tpch_catalog import tpch_sf1

OPTIONS = PhysicalOptions(workers=2, buckets=4)


def planned(sql: str, options: PhysicalOptions = OPTIONS) -> tuple[str, StageGraph]:
    bound = bind(sql, tpch_sf1())
    plan = optimize(bound.plan, OptimizerContext(allocator=bound.allocator, verify=True))
    physical = plan_physical(plan, bound.allocator, options)
    return physical_text(physical), cut_stages(physical)


def test_scans_stand_side_by_side_and_keep_their_order() -> None:
    text, graph = planned("SELECT l_orderkey FROM lineitem UNION ALL SELECT o_orderkey FROM orders UNION ALL VALUES (1)")
    assert "Exchange" not in text
    stage = graph.stage(graph.root)
    assert stage.determinism is Determinism.ORDERED
    lines, orders = table_scans(stage.body)
    assert len(lines.partitions) == len(orders.partitions) == stage.tasks > 2
    used = [[task for task, part in enumerate(scan.partitions) if part] for scan in (lines, orders)]
    assert max(used[0]) < min(used[1])
    assert sum(bool(a) + bool(b) for a, b in zip(lines.partitions, orders.partitions, strict=True)) == stage.tasks - 1


def test_groups_that_lie_by_the_same_keys_are_grouped_again_without_an_exchange() -> None:
    counted = "SELECT {0} AS k, count(*) AS n FROM {1} GROUP BY {0}"
    arms = [counted.format("l_suppkey", "lineitem"), counted.format("ps_suppkey", "partsupp")]
    text, graph = planned(f"SELECT k, sum(n) FROM ({' UNION ALL '.join(arms)}) t GROUP BY k", PhysicalOptions(2, buckets=4))
    assert text.count("Exchange") <= 3
    assert any(walk(graph.stage(graph.root).body, kind_mask(UnionExec)))


def test_an_arm_in_one_part_is_scattered_beside_a_large_one() -> None:
    text, graph = planned(
        "SELECT l_orderkey FROM lineitem UNION ALL (SELECT o_orderkey FROM orders ORDER BY o_totalprice LIMIT 5)"
    )
    assert "Exchange hash" in text
    (union,) = (stage for stage in graph.stages if any(walk(stage.body, kind_mask(UnionExec))))
    assert union.tasks == 4


def test_small_arms_meet_in_one_task() -> None:
    text, graph = planned("SELECT n_name FROM nation UNION SELECT r_name FROM region")
    assert "Exchange" not in text
    assert len(graph.stages) == 1

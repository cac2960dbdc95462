"""How sorts and top-n are planned over the committed snapshot of TPC-H: `sorts/NAME.txt` holds the query, the physical plan and
the stage graph for two workers. `pytest --rewrite` regenerates the plans.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.explain import physical_text, stages_text
from planner.physical.plan import plan_physical
from tests.golden.tpch_catalog import tpch_sf1
from tests.plans import bound, verifying

FOLDER = Path(__file__).with_name("sorts")
QUERIES = {
    "sampled": "SELECT l_orderkey, l_comment, l_shipmode FROM lineitem ORDER BY l_shipmode DESC, l_comment NULLS FIRST",
    "computed_key": "SELECT l_orderkey FROM lineitem ORDER BY l_extendedprice * (1 - l_discount) DESC, l_orderkey, 1 DESC",
    "known_ranges": "SELECT l_orderkey, l_linenumber, l_tax FROM lineitem ORDER BY l_orderkey, l_linenumber",
    "ranges_of_a_join": "SELECT o_orderkey, l_tax FROM orders JOIN lineitem ON l_orderkey = o_orderkey ORDER BY o_orderkey",
    "ranges_descending": "SELECT l_orderkey, l_tax FROM lineitem ORDER BY l_orderkey DESC",
    "large_top_n": "SELECT l_orderkey, l_comment FROM lineitem ORDER BY l_comment LIMIT 3000000 OFFSET 500000",
    "small_top_n": "SELECT l_orderkey, l_comment FROM lineitem ORDER BY l_comment LIMIT 1000 OFFSET 50",
    "small_sort": "SELECT s_suppkey, s_name FROM supplier ORDER BY s_name",
    "unstable_key": "SELECT avg(l_tax::DOUBLE) AS a, l_comment FROM lineitem GROUP BY l_orderkey, l_linenumber, 2 ORDER BY a",
}


@pytest.mark.parametrize("name", QUERIES)
def test_plan(name: str, rewrite: bool) -> None:
    plan, allocator = bound(QUERIES[name], tpch_sf1())
    physical = plan_physical(optimize(plan, verifying(allocator)), allocator, PhysicalOptions(workers=2))
    text = "\n----\n".join((QUERIES[name], physical_text(physical), stages_text(cut_stages(physical)))) + "\n"
    path = FOLDER / f"{name}.txt"
    if rewrite:
        path.write_text(text, encoding="utf-8")
    else:
        assert text == path.read_text(encoding="utf-8")

"""Which scans get runtime filters: where they are sound, and of these where they pay."""

from __future__ import annotations

import pytest

from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.explain import stages_text
from planner.physical.plan import plan_physical
from planner.rule import OptimizerContext
from planner.sql import bind
from tests.golden.tpch_catalog import tpch_sf1

FORCED = PhysicalOptions(single=True, force_runtime_filters=True)


def filters(sql: str, options: PhysicalOptions = FORCED) -> list[str]:
    """The lines of the plan that are runtime filters, without their depth."""
    bound = bind(sql, tpch_sf1())
    plan = plan_physical(optimize(bound.plan, OptimizerContext(bound.allocator)), bound.allocator, options)
    lines = [line.strip() for line in stages_text(cut_stages(plan)).split("\n")]
    return [line.removeprefix("RuntimeFilter ") for line in lines if line.startswith("RuntimeFilter")]


PARTS = "(SELECT p_partkey FROM part WHERE p_size = 3)"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"SELECT l_tax, p_partkey FROM lineitem JOIN {PARTS} ON l_partkey = p_partkey", ["l_partkey in p_partkey"]),
        (f"SELECT l_tax FROM lineitem WHERE l_partkey IN {PARTS}", ["l_partkey in p_partkey"]),
        # The preserved side keeps its rows; the other one does not need those without a match.
        (f"SELECT p_partkey, l_tax FROM {PARTS} LEFT JOIN lineitem ON l_partkey = p_partkey", ["l_partkey in p_partkey"]),
        (f"SELECT 1 FROM {PARTS} p WHERE NOT EXISTS (FROM lineitem WHERE l_partkey = p_partkey AND l_tax * l_discount < p_partkey)", ["l_partkey in p_partkey"]),  # noqa: E501
        (f"SELECT l_partkey, p_partkey FROM lineitem FULL JOIN {PARTS} ON l_partkey = p_partkey", []),
        # NULL finds NULL.
        (f"SELECT l_tax, p_partkey FROM lineitem JOIN {PARTS} ON l_partkey IS NOT DISTINCT FROM p_partkey", []),
        # Other rows would be among the first ones.
        (f"SELECT l_tax, p_partkey FROM (FROM lineitem LIMIT 9) JOIN (FROM {PARTS} LIMIT 5) ON l_partkey = p_partkey", []),
        # The key is computed.
        (f"SELECT l_tax FROM (SELECT l_tax, l_partkey + 1 AS k FROM lineitem) JOIN (FROM {PARTS} LIMIT 5) ON k = p_partkey", []),
        (f"SELECT n, p_partkey FROM (SELECT l_partkey AS k, count(*) AS n FROM lineitem GROUP BY 1) JOIN (FROM {PARTS} LIMIT 5) ON k = p_partkey", ["l_partkey in p_partkey"]),  # noqa: E501
        (f"SELECT n, p_partkey FROM (SELECT count(*) AS n, min(l_partkey) AS k FROM lineitem GROUP BY l_tax) JOIN (FROM {PARTS} LIMIT 5) ON k = p_partkey", []),  # noqa: E501
    ],
)  # fmt: skip
def test_where_they_are_sound(sql: str, expected: list[str]) -> None:
    assert filters(sql) == expected


def test_the_preserved_side_is_left_alone() -> None:
    """Neither its scan nor, by the equal key, any other one is filtered by the side that may have no match."""
    found = filters(f"SELECT l_tax, p_partkey FROM lineitem LEFT JOIN {PARTS} ON l_partkey = p_partkey")
    assert not any(line.startswith("l_") for line in found)


def test_filters_pass_through_other_joins() -> None:
    sql = f"""
        SELECT l_tax, o_clerk, p_partkey
        FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN {PARTS} ON l_partkey = p_partkey
        WHERE o_orderdate = DATE '1995-01-01'
    """
    assert any("l_partkey in p_partkey" in line and "l_orderkey in o_orderkey" in line for line in filters(sql))


SELECTIVE = f"SELECT l_tax, p_partkey FROM lineitem JOIN {PARTS} ON l_partkey = p_partkey"
UNSELECTIVE = "SELECT l_tax, p_name FROM lineitem JOIN part ON l_partkey = p_partkey WHERE p_size > 3"


def test_only_selective_ones_pay() -> None:
    assert filters(SELECTIVE, PhysicalOptions()) == ["l_partkey in p_partkey"]
    assert filters(UNSELECTIVE, PhysicalOptions()) == []
    assert (
        filters("SELECT 1 FROM supplier JOIN nation ON s_nationkey = n_nationkey WHERE n_name = 'PERU'", PhysicalOptions())
        == []
    )


def test_they_can_be_switched_off() -> None:
    assert filters(SELECTIVE, PhysicalOptions(disabled=frozenset(("runtime_filters",)))) == []

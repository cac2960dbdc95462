"""How many values computed columns are estimated to have."""

from __future__ import annotations

import pytest

from planner.analysis.cardinality import CardinalityAnalysis
from planner.analysis.computed_columns import describe_expression
from planner.catalog import ColumnStatistics
from planner.dtypes import DATE, INTEGER, TIMESTAMP, VARCHAR
from planner.logical.nodes import Aggregate, Project
from planner.optimizer import optimize
from planner.tree import kind_mask, walk
from tests.golden.tpch_catalog import tpch_sf1
from tests.plans import TestCatalog, bound, snapshot, verifying

DAY = 86_400_000_000
FIELDS = [("a", INTEGER, False), ("b", INTEGER, False), ("d", DATE, False), ("t", TIMESTAMP, False), ("s", VARCHAR, False)]
STATISTICS = [
    ColumnStatistics(1, 20, 0),
    ColumnStatistics(1, 100_000, 0),
    ColumnStatistics(0, 3 * 365, 0),
    ColumnStatistics(0, 10 * DAY, 0),
    ColumnStatistics(None, None, 0),
]
CATALOG = TestCatalog({"x": snapshot("x", FIELDS, 100_000, STATISTICS)})

CASES = {
    "a": 20, "a + 1": 20, "a * b": 100_000, "a % 7": 20, "-a": 20, "a > 3": 2, "a IN (1, 2)": 2, "a IS NULL": 2, "3": 1,
    "a::VARCHAR": 20, "coalesce(a, 0)": 20, "b + 1": 100_000, "abs(b)": 100_000, "sign(b)": 3,
    "extract(year FROM d)": 3, "extract(month FROM d)": 12, "extract(dow FROM d)": 7, "extract(hour FROM t)": 24,
    "date_trunc('month', d)": 37, "date_trunc('day', t)": 11, "dayname(d)": 7, "extract(year FROM d) * 100 + a": 60,
    "CASE WHEN a > 3 THEN 'x' WHEN a > 2 THEN 'y' END": 3, "CASE WHEN a > 3 THEN a ELSE 0 END": 21,
    "CASE WHEN a = 1 THEN 'x' ELSE 'x' END": 1, "left(s, 1)": 25, "upper(s)": 25,
}  # fmt: skip


@pytest.mark.parametrize("expression", CASES)
def test_values(expression):
    plan, _ = bound(f"SELECT {expression} AS e FROM x", CATALOG)
    project = next(node for node in walk(plan, kind_mask(Project)) if isinstance(node, Project))
    below = CardinalityAnalysis().estimate(project.input)
    described = describe_expression(project.assigns[0].expr, below.columns, below.rows)
    assert described is not None
    assert described.ndv == pytest.approx(CASES[expression], abs=1)


def groups_of(sql):
    plan, allocator = bound(sql, tpch_sf1())
    plan = optimize(plan, verifying(allocator))
    aggregate = next(node for node in walk(plan, kind_mask(Aggregate)) if isinstance(node, Aggregate))
    return CardinalityAnalysis().rows(aggregate)


def test_groups_by_a_computed_key():
    assert groups_of("SELECT extract(year FROM o_orderdate) AS y, count(*) FROM orders GROUP BY y") <= 8
    assert groups_of("SELECT y, count(*) FROM (SELECT extract(year FROM o_orderdate) AS y FROM orders) q GROUP BY y") <= 8


def test_nothing_is_known_of_an_aggregate_as_a_key():
    assert groups_of("SELECT n, count(*) FROM (SELECT count(*) AS n FROM orders GROUP BY o_custkey) q GROUP BY n") > 100


def test_depth_is_bounded():
    deep = "a" + " + 1".join("" for _ in range(3)) + "".join(f" * ({n} - b)" for n in range(80))
    plan, _ = bound(f"SELECT {deep} AS e FROM x", CATALOG)
    assert CardinalityAnalysis().rows(plan) == 100_000


def test_groups_are_no_more_than_the_rows_of_the_relation_that_the_key_is_from():
    text = "SELECT s_name, count(*) FROM lineitem, supplier, nation WHERE l_suppkey = s_suppkey AND s_nationkey = n_nationkey"
    assert groups_of(f"{text} AND n_nationkey = 3 GROUP BY s_name") <= 500

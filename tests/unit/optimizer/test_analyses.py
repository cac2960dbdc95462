"""What rules rely on: what can raise, unique keys, nullability, free columns, estimates."""

from __future__ import annotations

import pytest

from planner.analysis.can_raise import can_raise
from planner.analysis.cardinality import CardinalityAnalysis
from planner.analysis.free_columns import free_columns, is_correlated, output_ids
from planner.analysis.keys import at_most_one_row, exactly_one_row, is_unique_on
from planner.analysis.nullability import non_null_columns
from planner.logical.nodes import LogicalPlan, Project
from planner.optimizer import optimize
from tests.golden.tpch_catalog import tpch_sf1
from tests.plans import SMALL_CATALOG, bound, verifying


def plan_of(sql: str) -> LogicalPlan:
    plan, allocator = bound(sql, SMALL_CATALOG)
    return optimize(plan, verifying(allocator))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + 1", True),
        ("CAST(a AS BIGINT) + 1", False),
        ("CAST(k AS DECIMAL(12, 2)) + 1.5", False),
        ("CAST(a AS DOUBLE) + 1", False),
        ("a // 2", False),
        ("a // k", True),
        ("a % 3", False),
        ("a / k", False),
        ("-a", True),
        ("a < b AND NOT a = 1 OR s IS NULL", False),
        ("CAST(a AS BIGINT)", False),
        ("CAST(a AS SMALLINT)", True),
        ("TRY_CAST(a AS SMALLINT)", False),
        ("CAST(s AS INTEGER)", True),
        ("CAST(a AS VARCHAR)", False),
        ("CASE WHEN a = 1 THEN 1 // k ELSE 0 END", True),
        ("coalesce(a, 1)", False),
        ("upper(s) || 'x'", False),
    ],
)
def test_can_raise(expression: str, expected: bool) -> None:
    plan, _ = bound(f"SELECT {expression} AS x FROM o", SMALL_CATALOG)
    assert isinstance(plan, Project)
    assert can_raise(plan.assigns[0].expr) is expected


@pytest.mark.parametrize(
    ("sql", "unique"),
    [
        ("SELECT a, count(*) AS n FROM o GROUP BY a", {"a"}),
        ("SELECT DISTINCT a, b FROM o", {"a", "b"}),
        ("SELECT max(a) AS m FROM o", set()),
        ("SELECT t.a, t.n, i.c FROM (SELECT a, count(*) AS n FROM o GROUP BY a) AS t LEFT JOIN i ON t.a = i.a", None),
        (
            "SELECT t.a, u.m FROM (SELECT a, count(*) AS n FROM o GROUP BY a) AS t"
            " LEFT JOIN (SELECT a, max(c) AS m FROM i GROUP BY a) AS u ON t.a = u.a",
            {"a"},
        ),
        ("SELECT k FROM o", None),
    ],
)
def test_unique_keys(sql: str, unique: set[str] | None) -> None:
    plan = plan_of(sql)
    if unique is None:
        assert not is_unique_on(plan, output_ids(plan))
        return
    wanted = frozenset(column.id for column in plan.columns if column.name in unique)
    assert is_unique_on(plan, wanted)
    if wanted:
        assert not is_unique_on(plan, frozenset())


@pytest.mark.parametrize(
    ("sql", "most", "exactly"),
    [
        ("SELECT count(*) FROM o", True, True),
        ("SELECT count(*) FROM o HAVING count(*) > 1", True, False),
        ("SELECT a FROM o LIMIT 1", True, False),
        ("SELECT a FROM o", False, False),
        ("SELECT 1", True, True),
        ("SELECT count(*) AS n, 1 AS x FROM o, i", True, True),
    ],
)
def test_single_rows(sql: str, most: bool, exactly: bool) -> None:
    plan, _ = bound(sql, SMALL_CATALOG)
    assert (at_most_one_row(plan), exactly_one_row(plan)) == (most, exactly)


@pytest.mark.parametrize(
    ("sql", "known"),
    [
        ("SELECT a, k FROM o", [False, True]),
        ("SELECT a, b FROM o WHERE a > 1", [True, False]),
        ("SELECT a, b FROM o WHERE a > 1 OR b IS NULL", [False, False]),
        ("SELECT a, b FROM o WHERE a + b = 3", [True, True]),
        ("SELECT o.k, i.k FROM o LEFT JOIN i ON o.a = i.a", [True, False]),
        ("SELECT o.k, i.k FROM o FULL JOIN i ON o.a = i.a", [False, False]),
        ("SELECT o.a, i.c FROM o JOIN i ON o.a = i.a", [True, False]),
        ("SELECT count(*), count(a), max(k), sum(k) FROM o", [True, True, False, False]),
        ("SELECT k, max(k), max(a), max(k) FILTER (WHERE a = 1) FROM o GROUP BY k", [True, True, False, False]),
        (
            "SELECT coalesce(a, k), coalesce(a, b), a IS NULL, CASE WHEN a = 1 THEN 1 ELSE k END FROM o",
            [True, False, True, True],
        ),
    ],
)
def test_nullability(sql: str, known: list[bool]) -> None:
    plan, _ = bound(sql, SMALL_CATALOG)
    found = non_null_columns(plan)
    assert [column.id in found for column in plan.columns] == known


def test_free_columns_of_a_subquery() -> None:
    plan, _ = bound("SELECT k, (SELECT count(*) FROM i WHERE i.a = o.a AND i.c > o.b) AS n FROM o", SMALL_CATALOG)
    assert isinstance(plan, Project)
    subquery = plan.assigns[1].expr
    names = {column.id: column.name for column in plan.input.columns}
    assert {names[id] for id in free_columns(subquery)} == {"a", "b"}
    assert not is_correlated(plan)


@pytest.mark.parametrize(
    ("sql", "least", "most"),
    [
        ("SELECT l_orderkey FROM lineitem", 6_001_215, 6_001_215),
        ("SELECT 1 FROM lineitem WHERE l_shipdate < DATE '1993-07-01'", 800_000, 1_500_000),
        ("SELECT 1 FROM orders WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'", 50_000, 65_000),
        ("SELECT 1 FROM customer WHERE c_custkey = 5", 1, 1),
        ("SELECT 1 FROM lineitem, orders WHERE l_orderkey = o_orderkey", 5_500_000, 6_500_000),
        ("SELECT 1 FROM lineitem, partsupp WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey", 5_500_000, 6_500_000),
        ("SELECT 1 FROM customer, nation WHERE c_nationkey = n_nationkey AND n_name = 'FRANCE'", 5_000, 7_000),
        ("SELECT o_custkey FROM orders GROUP BY o_custkey", 85_000, 115_000),
        ("SELECT 1 FROM part WHERE p_size IN (1, 2, 3)", 10_000, 14_000),
        ("SELECT 1 FROM orders WHERE o_custkey IN (SELECT c_custkey FROM customer WHERE c_nationkey = 3)", 50_000, 70_000),
        ("SELECT 1 FROM orders LIMIT 7", 7, 7),
    ],
)
def test_estimates(sql: str, least: float, most: float) -> None:
    plan, allocator = bound(sql, tpch_sf1())
    rows = CardinalityAnalysis().rows(optimize(plan, verifying(allocator)))
    assert least <= rows <= most

"""Eager aggregation wherever it is right, whatever it costs: the small tables would never be worth it."""

from __future__ import annotations

from importlib import import_module
from itertools import product

import pytest

from planner.optimizer import optimize
from tests.plans import SMALL_CATALOG, SMALL_TABLES, bound, outcome, verifying

RULE = "push_aggregate_through_join"
CALLS = (
    "count(*)",
    "count(i.c), sum(i.c), count(*)",
    "min(i.c), max(i.c), max(i.k)",
    "sum(i.c), sum(CAST(i.c AS BIGINT)), count(*) FILTER (i.c > 1), sum(i.c) FILTER (i.k > 2)",
    "bool_and(i.c > 1), bool_or(i.c > i.k)",
    "sum(o.b), count(*), count(o.s)",
    "avg(i.c), count(*), avg(CAST(i.c AS DECIMAL(12, 2))) FILTER (i.k > 1), sum(i.c)",
    "sum(o.b) FILTER (o.s = 'x'), max(o.s)",
)
JOINS = ("o JOIN i ON o.a = i.a", "o LEFT JOIN i ON o.a = i.a", "i LEFT JOIN o ON o.a = i.a AND o.k > i.k")
GROUPS = ("", "GROUP BY o.s", "GROUP BY o.a, i.a", "GROUP BY i.k, o.b + 1")
UNSOUND = (
    "SELECT o.k, count(DISTINCT i.c) FROM o JOIN i ON o.a = i.a GROUP BY o.k",
    "SELECT o.k, avg(DISTINCT i.c) FROM o JOIN i ON o.a = i.a GROUP BY o.k",
    "SELECT o.k, sum(i.c + o.b) FROM o JOIN i ON o.a = i.a GROUP BY o.k",
    "SELECT o.k, sum(10 // i.k) FROM o JOIN i ON o.a = i.a GROUP BY o.k",
    "SELECT o.k, count(*) FILTER (i.c IS NULL), max(i.c) FROM o LEFT JOIN i ON o.a = i.a GROUP BY o.k",
    "SELECT o.k, sum(coalesce(i.c, 7)) FROM o LEFT JOIN i ON o.a = i.a GROUP BY o.k",
    "SELECT o.k, max(1), max(i.c) FROM o LEFT JOIN i ON o.a = i.a GROUP BY o.k",
    "SELECT o.k, count(i.c) FROM o FULL JOIN i ON o.a = i.a GROUP BY o.k",
    "SELECT i.a, sum(i.c) FROM (SELECT a, max(c) AS c FROM i GROUP BY a) AS i JOIN o ON o.a = i.a GROUP BY i.a",
    "SELECT o.k, max(i.a) FROM o JOIN i ON o.a = i.a GROUP BY o.k",
    "SELECT o.k, sum(i.c) FROM o JOIN (SELECT CAST(a AS DOUBLE) AS x, c FROM i) AS i ON CAST(o.a AS DOUBLE) = i.x GROUP BY o.k",
)


@pytest.fixture(autouse=True)
def always_worthwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module(f"planner.optimizer.{RULE}"), "_pays", lambda *_: True)


def _optimized(sql: str) -> bool:
    """Whether the rule fired. The rows are those of the query as it is written."""
    plan, allocator = bound(sql, SMALL_CATALOG)
    fired: set[str] = set()
    optimized = optimize(plan, verifying(allocator, trace=lambda name, _before, _after: fired.add(name)))
    for tables in SMALL_TABLES:
        assert outcome(optimized, tables) == outcome(plan, tables), sql
    return RULE in fired


@pytest.mark.parametrize("calls", CALLS)
def test_partial_results_are_merged(calls: str) -> None:
    fired = [_optimized(f"SELECT {calls} FROM {join} {group}") for join, group in product(JOINS, GROUPS)]
    assert sum(fired) >= len(fired) // 2


@pytest.mark.parametrize("sql", UNSOUND)
def test_what_would_be_wrong_stays(sql: str) -> None:
    assert not _optimized(sql)


def test_sums_of_integers_are_checked_above_the_join() -> None:
    """Two values of this size are an overflow, but only where the join lets both into one sum."""
    large = "SELECT a, k, c + 9000000000000000000 AS c FROM i"
    assert _optimized(f"SELECT o.k, sum(i.c) FROM o JOIN ({large}) AS i ON o.a = i.a AND o.k < i.k GROUP BY o.k, o.b, o.s")
    assert _optimized(f"SELECT o.k, sum(i.c) FROM o JOIN ({large}) AS i ON o.a = i.a WHERE o.k > 100 GROUP BY o.k")

"""EXPLAIN as data; as text it is in tests/golden/statements."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import qengine
from planner.rule import JoinSearch
from qengine import query


@pytest.fixture(scope="module")
def session():
    with qengine.Session(workers=2, inline="off", sampling="off") as opened:
        opened.register("t", pa.table({"i": pa.array(range(1000), pa.int64()), "g": pa.array([0, 1] * 500, pa.int64())}))
        yield opened


def explained(session, statement):
    return json.loads(session.sql(statement).collect()["plan"][0].as_py())


def test_stages_are_those_of_the_text(session):
    query = "SELECT a.g, count(*) FROM t a JOIN t b ON a.i = b.i GROUP BY a.g"
    found = explained(session, f"EXPLAIN (FORMAT JSON) {query}")
    assert list(found) == ["inline", "stages"]
    assert not found["inline"]
    texts = []

    def collect(operator, depth):
        texts.append("  " * depth + operator["text"])
        for below in operator["inputs"]:
            collect(below, depth + 1)

    for stage in found["stages"]:
        collect(stage["plan"], 1)
    lines = session.sql(query).explain("stages").splitlines()
    assert texts == [line for line in lines if not line.startswith(("Stage", "  →"))]


def test_estimates_are_those_of_the_planner(session):
    found = explained(session, "EXPLAIN (FORMAT JSON) SELECT g, count(*) FROM t WHERE i < 100 GROUP BY g")
    plan = found["stages"][-1]["plan"]
    while plan["operator"] != "TableScan":
        plan = plan["inputs"][0]
    assert plan["estimated_rows"] == pytest.approx(100, rel=0.05)


def test_analyze_has_what_every_operator_did(session):
    found = explained(session, "EXPLAIN (ANALYZE, FORMAT JSON) SELECT g, count(*) FROM t WHERE i < 100 GROUP BY g")
    assert list(found) == ["inline", "stages", "steps", "idle_seconds", "critical_path", "replans"]
    last = found["stages"][-1]
    assert (last["attempts"], last["rows"]) == (1, 2)
    assert last["bytes"] > 0
    assert 0 < last["begin"] < last["end"] <= found["steps"]["execute"]
    plan = last["plan"]
    while plan["operator"] != "TableScan":
        plan = plan["inputs"][0]
    assert plan["rows"] == 100
    assert plan["q_error"] == pytest.approx(max(plan["estimated_rows"], 100) / min(plan["estimated_rows"], 100))
    assert plan["bytes"] > 0
    assert 0 < plan["seconds"] < last["end"]


def test_verbose_has_rules_and_counts(session):
    found = explained(session, "EXPLAIN (VERBOSE, FORMAT JSON) SELECT i FROM (SELECT i FROM t LIMIT 3) LIMIT 2")
    merged = [firing for firing in found["rules"] if firing["rule"] == "merge_limits"]
    assert merged == [
        {
            "rule": "merge_limits",
            "before": ["Limit 2", "  Limit 3", "    Scan t [i, g]"],
            "after": ["Limit 2", "  Scan t [i, g]"],
        }
    ]
    counts = {count["rule"]: count for count in found["rule_counts"]}
    assert counts["merge_limits"]["fired"] == 1
    assert counts["merge_limits"]["tried"] >= 1
    assert counts["prune_columns"]["seconds"] > 0
    assert found["logical"][0] == found["optimized"][0] == "Limit 2"


def test_searches_for_join_orders_are_told(session, monkeypatch):
    searches = [JoinSearch(5, "dphyp", 1234, True, 5e6, 2e3, 0.002), JoinSearch(2, "greedy", 1, False, 10.0, 10.0, 0.0)]
    optimize = query.optimize

    def searching(plan, context):
        context.join_searches[:] = searches
        return optimize(plan, context)

    monkeypatch.setattr(query, "optimize", searching)
    lines = session.sql("EXPLAIN VERBOSE SELECT g FROM t LIMIT 1").collect()["plan"].to_pylist()
    assert [line for line in lines if line.startswith("Join order")] == [
        "Join order of 5 relations: 1,234 pairs by dphyp in 2.0 ms, cost 2,000, as written 5,000,000",
        "Join order of 2 relations: 1 pair by greedy in 0.0 ms, as written is best",
    ]
    found = explained(session, "EXPLAIN (VERBOSE, FORMAT JSON) SELECT g FROM t LIMIT 1")
    assert [search["pairs"] for search in found["join_searches"]] == [1234, 1]

"""What the figures are made of: which operators count, what is counted, and the search for the best order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.plan_quality.best_order import equal_columns, fewest_rows
from tests.plan_quality.comparison import Comparison, compare, table, total_ratio
from tests.plan_quality.counts import Counts
from tests.plan_quality.duckdb_plans import intermediate
from tests.plan_quality.movie_queries import JoinQuery, Relation, join_queries, join_query
from tests.plan_quality.our_plans import Operator
from tests.plan_quality.workloads import Workload

ROWS = 100
TABLES = {
    "a": pa.table({"k": range(ROWS), "g": [i % 10 for i in range(ROWS)]}),
    "b": pa.table({"k": [i % 20 for i in range(ROWS)], "v": range(ROWS)}),
    "c": pa.table({"k": range(10), "s": ["even", "odd"] * 5}),
}
QUERIES = {
    "join": "SELECT count(*) FROM a JOIN b ON a.k = b.k",
    "scan": "SELECT g, count(*) FROM a GROUP BY g",
    "aggregate below": "SELECT a.g, n FROM a JOIN (SELECT k, count(*) AS n, max(v) AS m FROM b GROUP BY k) AS x "
    "ON a.k = x.k AND a.g < x.m",
    "semi": "SELECT count(*) FROM a WHERE k IN (SELECT k FROM b)",
    "list": "SELECT count(*) FROM a WHERE g IN (1, 3, 7)",
    "mark": "SELECT count(*) FROM a WHERE g > 8 OR k IN (SELECT k FROM c WHERE s = 'odd')",
}  # fmt: skip
EXPECTED = {
    "join": [("inner", ROWS)],
    "scan": [],
    "aggregate below": [("aggregate", 20), ("inner", 20)],
    "semi": [("semi", 20)],
    "list": [],
    "mark": [("mark", 14)],
}
"""Five odd keys of c, and ten rows with g = 9, one of which is among them."""


def write(folder: Path, tables: Mapping[str, pa.Table]) -> dict[str, Path]:
    for name, rows in tables.items():
        never_null = pa.schema([field.with_nullable(False) for field in rows.schema])
        pq.write_table(rows.cast(never_null), folder / f"{name}.parquet")
    return {name: folder / f"{name}.parquet" for name in tables}


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory) -> dict[str, Comparison]:
    workload = Workload("small", write(tmp_path_factory.mktemp("tables"), TABLES), QUERIES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Counts.__init__, "__defaults__", (tmp_path_factory.mktemp("counts"),))
        return {one.query: one for one in compare(workload)}


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


@pytest.mark.parametrize("name", QUERIES)
def test_our_operators(comparisons: dict[str, Comparison], name: str) -> None:
    assert sorted((one.kind, one.rows) for one in comparisons[name].ours) == EXPECTED[name]


@pytest.mark.parametrize("name", QUERIES)
def test_operators_of_duckdb(comparisons: dict[str, Comparison], name: str) -> None:
    found = sorted((kind.removeprefix("right_"), rows) for kind, rows in comparisons[name].duckdb)
    assert found == EXPECTED[name]


def test_what_is_computed_once_counts_once(connection) -> None:
    """A CTE is read twice, below a join and not."""
    text = (
        "WITH x AS MATERIALIZED (SELECT i % 5 AS k, count(*) AS n FROM range(100) t(i) GROUP BY k) "
        "SELECT count(*) FROM x AS p JOIN x AS q ON p.n = q.n"
    )
    row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {text}").fetchone()
    assert row is not None
    assert sorted(intermediate(json.loads(row[1])["operator"][0])) == [("aggregate", 5), ("inner", 25)]


def test_q_error() -> None:
    assert Operator("inner", 2, 50.0, 100).q_error == 2.0
    assert Operator("inner", 2, 400.0, 100).q_error == 4.0
    assert Operator("inner", 2, 1.0, 0).q_error == 1.0


def test_ratios(comparisons: dict[str, Comparison]) -> None:
    double = Comparison("x", (Operator("inner", 2, 1.0, 20),), (("inner", 10),), 0.0, best=5)
    assert (double.ratio, double.by_best) == (2.0, 4.0)
    assert total_ratio([double, comparisons["semi"]]) == (20 + 20) / (10 + 20)
    assert table([double, comparisons["semi"]]).splitlines()[1].split()[:5] == ["x", "20", "10", "2.00", "4.00"]


def test_the_best_order(connection) -> None:
    """a joined with b first has 1,000 rows, b with c 10; and the three have 100."""
    connection.execute("CREATE TABLE a AS SELECT i % 10 AS k FROM range(100) t(i)")
    connection.execute("CREATE TABLE b AS SELECT i % 10 AS k, i AS l FROM range(100) t(i)")
    connection.execute("CREATE TABLE c AS SELECT i AS l FROM range(10) t(i)")
    query = JoinQuery("abc", [Relation(name, name) for name in "abc"], [("a.k", "b.k"), ("b.l", "c.l")])
    assert fewest_rows(query, connection, 10_000) == 110
    assert fewest_rows(query, connection, 110) == 110
    assert fewest_rows(query, connection, 50) == 50
    filtered = JoinQuery("abc", [*query.relations[:2], Relation("c", "c", ("c.l < 3",))], query.joins)
    assert fewest_rows(filtered, connection, 10_000) == 33
    with pytest.raises(ValueError, match="17 relations"):
        fewest_rows(next(one for one in join_queries() if len(one.relations) == 17), connection, 1)


def test_columns_are_equal_by_way_of_others() -> None:
    query = JoinQuery("x", [], [("a.k", "b.k"), ("c.k", "d.k"), ("b.k", "c.k"), ("a.v", "d.v")])
    assert set(equal_columns(query)) == {frozenset(("a.k", "b.k", "c.k", "d.k")), frozenset(("a.v", "d.v"))}


def test_counts_are_kept_for_the_same_files(tmp_path) -> None:
    first = Counts("x", "one", tmp_path)
    assert first.of("what", lambda: 1) == 1
    assert Counts("x", "one", tmp_path).of("what", lambda: 2) == 1
    assert Counts("x", "two", tmp_path).of("what", lambda: 3) == 3


def test_the_join_order_suite_is_what_it_says() -> None:
    queries = join_queries()
    assert len(queries) >= 40
    assert len({one.text for one in queries}) == len(queries)
    assert {len(one.relations) for one in queries} == set(range(5, 18))
    assert join_query(8, 3).text == join_query(8, 3).text
    cyclic = [one for one in queries if len(one.joins) >= len(one.relations)]
    twice = [one for one in queries if len({relation.table for relation in one.relations}) < len(one.relations)]
    assert len(cyclic) >= 5
    assert len(twice) >= 20
    for words in ("LIKE", " IN (", "BETWEEN", "IS NULL", "character_id = "):
        assert any(words in one.text for one in queries), words

"""Every kind of join with equal and unequal conditions over NULLs, ANY and ALL, row values, and ORDER BY, against DuckDB."""

from __future__ import annotations

import pyarrow as pa
import pytest

from planner.errors import QEngineError
from tests.lowered import run, run_duckdb, snapshots
from tpch.same_answer import same_answer

TABLES = {
    "l": pa.table({"k": pa.array([1, 2, 2, None, 5, 7], pa.int32()), "v": pa.array([1, None, 3, 4, 0, 2], pa.int64())}),
    "r": pa.table({"k": pa.array([2, 2, None, 5, 6], pa.int32()), "w": pa.array([1, 3, None, 9, 0], pa.int64())}),
    "e": pa.table({"k": pa.array([], pa.int32()), "w": pa.array([], pa.int64())}),
}

CONDITIONS = [
    "l.k = {0}.k",
    "l.k = {0}.k AND l.v < {0}.w",
    "l.k < {0}.k",
    "l.k <> {0}.k AND l.v = 4",
    "l.v = {0}.w AND {0}.k > 2",
    "l.k IS NOT DISTINCT FROM {0}.k",
    "l.k + 1 = {0}.k * 1",
    "l.k = {0}.k OR l.v = {0}.w",
    "l.k = {0}.k AND l.k > 100",
    "true",
    "false",
    "{0}.k IS NULL",
    "NULL",
]
JOINS = [
    f"SELECT * FROM l {kind} JOIN {right} ON {condition.format(right)}"
    for kind in ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")
    for condition in CONDITIONS
    for right in ("r", "e")
] + [
    "SELECT * FROM l LEFT JOIN r USING (k)",
    "SELECT * FROM l FULL JOIN r USING (k)",
    "SELECT * FROM l RIGHT JOIN r USING (k)",
    "SELECT * FROM l SEMI JOIN r USING (k)",
    "SELECT * FROM l ANTI JOIN r USING (k)",
    "SELECT * FROM l NATURAL JOIN r",
    "SELECT * FROM l NATURAL FULL JOIN r",
    "SELECT * FROM l CROSS JOIN r",
    "SELECT * FROM l, r WHERE l.k > r.k OR r.k IS NULL",
    "SELECT * FROM l LEFT JOIN r ON l.k = r.k RIGHT JOIN e ON e.k = r.k",
    "SELECT * FROM l FULL JOIN r ON l.k = r.k FULL JOIN l AS m ON m.v = r.w",
    "SELECT * FROM e LEFT JOIN r ON e.k = r.k",
    "SELECT * FROM e FULL JOIN r ON e.k < r.k",
]

SUBQUERIES = ["SELECT k FROM r", "SELECT k FROM r WHERE k IS NOT NULL", "SELECT k FROM e", "SELECT w FROM r WHERE r.k = l.k"]
QUANTIFIERS = [
    f"SELECT k, v, k {op} {quantifier} ({query}) FROM l"
    for op in ("=", "<>", "<", "<=", ">", ">=")
    for quantifier in ("ANY", "ALL")
    for query in SUBQUERIES
] + [
    "SELECT k FROM l WHERE k < ANY (SELECT k FROM r)",
    "SELECT k FROM l WHERE k >= ALL (SELECT k FROM r WHERE k IS NOT NULL)",
    "SELECT k FROM l WHERE NOT k > SOME (SELECT k FROM r WHERE r.w = l.v)",
    "SELECT NULL > ALL (SELECT k FROM e), NULL > ANY (SELECT k FROM e), 1 < ALL (SELECT NULL), 1 < ANY (VALUES (1), (2))",
    "SELECT k, count(*) > ALL (SELECT 1) FROM l GROUP BY k HAVING max(v) <= ANY (SELECT w FROM r)",
    "SELECT k FROM l WHERE (k, v) IN (SELECT k, w FROM r)",
    "SELECT k, v FROM l WHERE (k, v) NOT IN (SELECT k, w FROM r)",
    "SELECT k, v, (k, v) IN (SELECT k, w FROM r), (v, k) NOT IN (SELECT k, w FROM r WHERE k > 2) FROM l",
    "SELECT k, v FROM l WHERE v > 0 AND ((k, v) IN (SELECT k, w FROM r WHERE w < 100))",
    "SELECT k, v, (k, v) IN ((2, 3), (NULL, 4)), (k, v) = (1, 1), (k, v) <> (1, 1) FROM l",
]

DISTINCT_AGGREGATES = [
    f"SELECT k > 1, {call} FROM l GROUP BY k > 1"
    for call in (
        "count(DISTINCT v)",
        "sum(DISTINCT v)",
        "avg(DISTINCT v)",
        "min(DISTINCT v), max(DISTINCT k)",
        "bool_and(DISTINCT v > 1), bool_or(DISTINCT v > 1)",
        "stddev(DISTINCT v), var_samp(DISTINCT k)",
        "count(DISTINCT v) FILTER (WHERE v > 1), sum(DISTINCT k) FILTER (WHERE v > 1)",
        "count(DISTINCT k), count(k), sum(DISTINCT k + 1)",
    )
]

ORDERED = [
    "SELECT k AS x, v FROM l ORDER BY x NULLS FIRST, v DESC NULLS LAST",
    "SELECT k AS x, v FROM l ORDER BY 1 DESC, 2 NULLS FIRST OFFSET 1",
    "SELECT k AS x, v AS k FROM l ORDER BY k, x LIMIT 3 OFFSET 2",
    "SELECT k + 1 AS x, sum(v) FROM l GROUP BY 1 ORDER BY x DESC NULLS LAST LIMIT 2",
    "SELECT k + 1 AS x, count(*) AS n FROM l GROUP BY x HAVING n > 0 ORDER BY n DESC, x",
    "SELECT DISTINCT k AS x FROM l ORDER BY x DESC NULLS LAST OFFSET 1",
    "SELECT v % 2 AS x, count(*) FROM l GROUP BY ALL ORDER BY ALL",
    "SELECT * FROM (VALUES (1, 'x'), (NULL, 'y'), (0, NULL)) AS t(a, b) ORDER BY b NULLS FIRST",
    "VALUES (3, 'c'), (1, 'a'), (2, NULL) ORDER BY col0 DESC LIMIT 2",
    "WITH a AS (WITH b AS (SELECT k FROM l) SELECT k FROM b WHERE k > 1), b AS (SELECT 9 AS k) SELECT * FROM a, b ORDER BY a.k",
    "WITH a AS (SELECT k FROM l), c AS (SELECT k FROM a WHERE k IN (WITH a AS (SELECT 2) SELECT * FROM a)) FROM c ORDER BY 1",
    "SELECT k FROM l ORDER BY k LIMIT ALL OFFSET 4",
    "SELECT k FROM l ORDER BY k FETCH FIRST 2 ROWS ONLY",
    "SELECT k FROM l ORDER BY (SELECT count(*) FROM r WHERE r.k = l.k) DESC, k",
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return snapshots(TABLES, str(tmp_path_factory.mktemp("tables")))


@pytest.mark.parametrize("optimized", [True, False])
def test_joins(optimized, tables) -> None:
    for sql in JOINS:
        assert same_answer(run(sql, tables, optimized), run_duckdb(sql, TABLES)) is None, sql


@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("sql", QUANTIFIERS)
def test_quantifiers(sql, optimized, tables) -> None:
    assert same_answer(run(sql, tables, optimized), run_duckdb(sql, TABLES)) is None


@pytest.mark.parametrize("sql", DISTINCT_AGGREGATES)
def test_distinct_aggregates(sql, tables) -> None:
    expected = run_duckdb(sql, TABLES)
    columns = [c.cast(pa.int64()) if pa.types.is_decimal(c.type) else c for c in expected.columns]  # HUGEINT
    assert same_answer(run(sql, tables), pa.table(columns, names=[str(i) for i in range(len(columns))])) is None


@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("sql", ORDERED)
def test_order(sql, optimized, tables) -> None:
    expected = run_duckdb(sql, TABLES)
    columns = [c.cast(pa.int64()) if pa.types.is_decimal(c.type) else c for c in expected.columns]
    answer = same_answer(run(sql, tables, optimized), pa.table(columns, names=expected.column_names), in_sequence=True)
    assert answer is None


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT (k, v) IN (SELECT k FROM r) FROM l", "COLUMN_COUNT"),
        ("SELECT (k, v) = (1, 2, 3) FROM l", "COLUMN_COUNT"),
        ("SELECT k > ANY (SELECT k, w FROM r) FROM l", "COLUMN_COUNT"),
    ],
)
def test_refused(sql, code, tables) -> None:
    with pytest.raises(QEngineError) as refusal:
        run(sql, tables)
    assert refusal.value.code == code

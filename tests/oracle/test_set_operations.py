"""UNION, INTERSECT and EXCEPT against DuckDB: types, NULL, NaN, duplicates, nesting, CTEs and correlation."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from planner.errors import QEngineError
from tests.lowered import run, run_duckdb, snapshots
from tpch.same_answer import same_answer

TABLES = {
    "a": pa.table(
        {
            "i": pa.array([1, 2, 2, None, 3, None], pa.int32()),
            "d": pa.array([Decimal("1.00"), Decimal("2.50"), Decimal("2.50"), None, None, None], pa.decimal128(9, 2)),
            "f": pa.array([1.0, float("nan"), -0.0, None, float("nan"), None]),
            "s": ["x", "y", "y", None, "", None],
        }
    ),
    "b": pa.table(
        {
            "i": pa.array([2, None, 5, 2, 7], pa.int64()),
            "d": pa.array(
                [Decimal("2.500"), None, Decimal("99999999999999999999.125"), Decimal("2.5"), None], pa.decimal128(38, 3)
            ),
            "f": pa.array([0.0, float("nan"), None, 7.0, 7.0], pa.float32()),
            "s": ["y", None, "z", "y", "x"],
        }
    ),
    "e": pa.table({"i": pa.array([], pa.int32()), "s": pa.array([], pa.string())}),
}

QUERIES = [
    "SELECT i, s FROM a UNION ALL SELECT i, s FROM b",
    "SELECT i, s FROM a UNION SELECT i, s FROM b",
    "SELECT i, s FROM a INTERSECT SELECT i, s FROM b",
    "SELECT i, s FROM a EXCEPT SELECT i, s FROM b",
    "SELECT i, s FROM a INTERSECT ALL SELECT i, s FROM b",
    "SELECT i, s FROM a EXCEPT ALL SELECT i, s FROM b",
    "SELECT f FROM a INTERSECT ALL SELECT f FROM b",
    "SELECT d FROM a EXCEPT ALL SELECT d FROM b ORDER BY d",
    "SELECT x FROM (VALUES (1), (1), (1), (2)) t(x) EXCEPT ALL SELECT x FROM (VALUES (1), (3)) t(x)",
    "SELECT i FROM a WHERE EXISTS (SELECT b.i FROM b EXCEPT ALL SELECT a.i)",
    "SELECT d FROM a UNION ALL SELECT d FROM b",
    "SELECT d FROM a UNION SELECT d FROM b",
    "SELECT d FROM a INTERSECT SELECT d FROM b",
    "SELECT d FROM b EXCEPT SELECT d FROM a",
    "SELECT f FROM a UNION SELECT f FROM b",
    "SELECT f FROM a INTERSECT SELECT f FROM b",
    "SELECT f FROM a EXCEPT SELECT f FROM b",
    "SELECT i FROM a UNION ALL SELECT d FROM b UNION ALL SELECT f FROM b",
    "SELECT i FROM a UNION ALL SELECT s FROM b",
    "SELECT 1 AS x UNION ALL SELECT 'a'",
    "SELECT NULL AS x UNION ALL SELECT 1",
    "SELECT NULL UNION ALL SELECT NULL",
    "SELECT NULL UNION SELECT NULL",
    "SELECT true UNION ALL SELECT 2",
    "SELECT 1::UTINYINT UNION ALL SELECT -1",
    "SELECT DATE '2020-01-01' UNION ALL SELECT TIMESTAMP '2020-01-02 03:04:05'",
    "SELECT DATE '2020-01-01' UNION ALL SELECT '2020-01-01'",
    "SELECT 1.5 UNION ALL SELECT 2.25 UNION ALL SELECT 10",
    "SELECT i FROM a UNION ALL SELECT i FROM e",
    "SELECT i FROM e UNION SELECT i FROM e",
    "SELECT i FROM e UNION ALL SELECT i FROM e",
    "SELECT i FROM a EXCEPT SELECT i FROM e",
    "SELECT i FROM a INTERSECT SELECT i FROM e",
    "SELECT i FROM a UNION SELECT i FROM b UNION ALL SELECT i FROM a UNION SELECT 9",
    "SELECT i FROM a UNION ALL SELECT i FROM b EXCEPT SELECT 2",
    "SELECT i FROM a UNION SELECT 2 INTERSECT SELECT 2",
    "(SELECT i FROM a UNION SELECT 7) INTERSECT (SELECT i FROM b EXCEPT SELECT 2)",
    "SELECT i FROM a UNION ALL (SELECT i FROM b ORDER BY i LIMIT 1) ORDER BY i NULLS FIRST",
    "SELECT i AS x, s FROM a UNION ALL SELECT i, s FROM b ORDER BY x DESC, 2 NULLS FIRST LIMIT 5 OFFSET 2",
    "SELECT i AS x FROM a UNION ALL SELECT i FROM b ORDER BY -x",
    "SELECT i FROM a UNION ALL SELECT i FROM b LIMIT 4",
    "SELECT count(*), sum(x) FROM (SELECT i AS x FROM a UNION ALL SELECT i FROM b) t",
    "SELECT x, count(*) FROM (SELECT i AS x, s FROM a UNION ALL SELECT i, s FROM b) t WHERE x > 1 GROUP BY x",
    "SELECT s FROM (SELECT i, s FROM a UNION ALL SELECT i, s FROM b) t WHERE 10 // (i + 1) > 2",
    "WITH u AS (SELECT i FROM a UNION SELECT i FROM b), v AS (SELECT * FROM u EXCEPT SELECT 3) SELECT i FROM u JOIN v USING (i)",
    "WITH u AS (SELECT i FROM a UNION ALL SELECT i FROM b) SELECT x.i, y.i FROM u x, u y WHERE x.i = y.i",
    "SELECT i FROM a WHERE i IN (SELECT i FROM b UNION SELECT 3)",
    "SELECT i FROM a WHERE i NOT IN (SELECT 2 UNION ALL SELECT 5)",
    "SELECT (SELECT 1 UNION SELECT 1)",
    "SELECT i FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.i = a.i UNION ALL SELECT 1 FROM b WHERE b.s = a.s)",
    "SELECT i FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.i = a.i UNION SELECT 2 WHERE a.i = 3)",
    "SELECT i, (SELECT max(x) FROM (SELECT b.i AS x FROM b WHERE b.s = a.s UNION ALL SELECT a.i) t) FROM a",
    "SELECT i, (SELECT count(*) FROM (SELECT b.s FROM b WHERE b.i >= a.i UNION SELECT a.s) t) FROM a",
    "SELECT i FROM a WHERE i IN (SELECT b.i FROM b WHERE b.s = a.s INTERSECT SELECT 2)",
    "SELECT i FROM a WHERE EXISTS (SELECT b.s FROM b EXCEPT SELECT a.s)",
    "VALUES (1, 'a'), (2, 'b') UNION VALUES (1, 'a')",
    "SELECT * FROM (VALUES (1), (2)) v(x) UNION ALL SELECT i FROM a",
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return snapshots(TABLES, str(tmp_path_factory.mktemp("tables")))


@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("sql", QUERIES)
def test_same_as_duckdb(sql: str, optimized: bool, tables) -> None:
    actual, expected = run(sql, tables, optimized), run_duckdb(sql, TABLES)
    difference = same_answer(actual, expected, in_sequence=") ORDER BY" not in sql and "ORDER BY" in sql)
    assert difference is None, difference


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT 1, 2 UNION SELECT 3", "COLUMN_COUNT"),
        ("SELECT TIME '10:00:00' UNION ALL SELECT DATE '2020-01-01'", "TYPE_MISMATCH"),
        ("SELECT 1 AS x INTERSECT BY NAME SELECT 2 AS x", "UNSUPPORTED"),
        ("SELECT 1 AS x UNION ALL SELECT 2 ORDER BY y", "UNKNOWN_COLUMN"),
    ],
)
def test_refused(sql: str, code: str, tables) -> None:
    with pytest.raises(QEngineError) as refusal:
        run(sql, tables)
    assert refusal.value.code == code


def test_the_order_of_the_inputs_is_kept(tables) -> None:
    assert run("SELECT i FROM b UNION ALL SELECT i FROM a", tables).column(0).to_pylist() == [
        2,
        None,
        5,
        2,
        7,
        1,
        2,
        2,
        None,
        3,
        None,
    ]

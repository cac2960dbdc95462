"""Set operations and windows in many tasks: every row group is a task of its own, every hash exchange has four buckets."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from tests.scattered import difference_from_duckdb, scattered

UNIONS = [
    "SELECT k, v FROM t UNION ALL SELECT k, v FROM u",
    "SELECT k, v FROM t UNION ALL SELECT k, v FROM small",
    "SELECT k, v FROM t UNION SELECT k, v FROM u",
    "SELECT k, s FROM t INTERSECT SELECT k, s FROM u",
    "SELECT k, s FROM t EXCEPT SELECT k, s FROM u",
    "SELECT k, sum(v) FROM (SELECT k, v FROM t UNION ALL SELECT k, v FROM u) x GROUP BY k",
    "SELECT count(*) FROM (SELECT k FROM t UNION ALL SELECT k FROM u UNION ALL VALUES (1), (2)) x",
    "SELECT k, n FROM (SELECT k, count(*) AS n FROM t GROUP BY k UNION ALL SELECT k, count(*) FROM u GROUP BY k) x WHERE n > 1",
    "SELECT k, sum(n) FROM (SELECT k, 1 AS n FROM t GROUP BY k UNION ALL SELECT k, count(*) FROM u GROUP BY k) x GROUP BY k",
    "SELECT count(*) FROM t UNION ALL SELECT sum(v) FROM u",
    "SELECT k, v FROM t UNION ALL SELECT count(*), 7 FROM u",
    "SELECT k, v FROM t UNION ALL (SELECT k, v FROM u ORDER BY v, k, s LIMIT 3)",
    "SELECT t.k, u.v FROM t JOIN u ON t.k = u.k UNION ALL SELECT k, v FROM small",
    "SELECT t.k, small.v FROM t JOIN small ON t.k = small.k UNION ALL SELECT k, v FROM u",
    "SELECT t.k, small.v FROM t LEFT JOIN small ON t.k = small.k UNION ALL SELECT t.k, u.v FROM t FULL JOIN u ON t.k = u.k",
    "SELECT x.k, u.s FROM (SELECT k FROM t UNION ALL SELECT k FROM small) x JOIN u ON x.k = u.k",
    "SELECT k FROM t WHERE k IN (SELECT k FROM u UNION ALL SELECT v FROM small)",
]

WINDOWS = [
    "SELECT k, v, id, row_number() OVER (PARTITION BY k ORDER BY id), sum(v) OVER (PARTITION BY k ORDER BY id) FROM t",
    "SELECT k, sum(p) OVER (PARTITION BY k), avg(p) OVER (PARTITION BY k), count(*) OVER () FROM t",
    "SELECT k, s, rank() OVER (PARTITION BY k, s ORDER BY v), max(v) OVER (PARTITION BY k) FROM t",
    "SELECT k, id FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY id DESC) = 1",
    "SELECT k, n, sum(n) OVER (ORDER BY k) FROM (SELECT k, count(*) AS n FROM t GROUP BY k) x",
    "SELECT k, count(*), rank() OVER (ORDER BY count(*) DESC) FROM t GROUP BY k",
    (
        "SELECT x.k, x.r, u.s FROM (SELECT k, rank() OVER (PARTITION BY k ORDER BY id) AS r FROM t) x JOIN u ON "
        "x.k = u.k AND x.r < 3"
    ),
    "SELECT k, v FROM t INTERSECT ALL SELECT k, v FROM u",
    "SELECT k, v FROM t EXCEPT ALL SELECT k, v FROM u",
]

ORDERED = [
    "SELECT k, v FROM t UNION ALL SELECT k, v FROM u",
    "SELECT k, v FROM t WHERE v > 3 UNION ALL SELECT k, v FROM small UNION ALL SELECT k, v FROM u WHERE v < 9",
    "SELECT k FROM t UNION ALL SELECT v FROM small LIMIT 50",
    "SELECT k, s FROM t UNION SELECT k, s FROM u ORDER BY k, s NULLS FIRST",
]


def _tables() -> dict[str, pa.Table]:
    generator = random.Random(4)

    def table(rows: int) -> pa.Table:
        return pa.table(
            {
                "k": pa.array([generator.choice([None, *range(8)]) for _ in range(rows)], pa.int32()),
                "v": pa.array([generator.choice([None, *range(12)]) for _ in range(rows)], pa.int64()),
                "s": [generator.choice([None, "x", "y", ""]) for _ in range(rows)],
                "p": pa.array([generator.choice([None, 1, 25, -3]) for _ in range(rows)], pa.int32()).cast(
                    pa.decimal128(12, 2)
                ),
                "id": pa.array(generator.sample(range(rows), rows), pa.int32()),
            }
        )

    return {"t": table(60), "u": table(45), "small": table(5)}


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scattered")
    oracle = duckdb.connect()
    with qengine.Session(workers=2, inline="off") as session:
        for name, table in _tables().items():
            path = folder / f"{name}.parquet"
            pq.write_table(table, path, row_group_size=max(8, table.num_rows // 6))
            session.register(name, session.read_parquet(str(path)))
            oracle.register("arrow", table)
            oracle.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
        yield session, oracle
    oracle.close()


@pytest.fixture(autouse=True)
def many_tasks():
    with scattered():
        yield


def _difference(databases, text: str, *, in_sequence: bool) -> str | None:
    session, oracle = databases
    return difference_from_duckdb(session.sql(text).collect(), oracle, text, in_sequence=in_sequence)


@pytest.mark.parametrize("text", UNIONS + WINDOWS)
def test_the_same_rows_as_duckdb(databases, text):
    difference = _difference(databases, text, in_sequence=False)
    assert difference is None, difference


@pytest.mark.parametrize("text", ORDERED)
def test_the_same_sequence_as_duckdb(databases, text):
    difference = _difference(databases, text, in_sequence=True)
    assert difference is None, difference

"""Queries with equal parts: a stage with several consumers gives each of them the right rows, in its own layout.

Exchanges cost nothing here, so that rows of small tables are scattered as those of large ones would be.
"""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from planner.dir import StageGraph
from tests.scattered import difference_from_duckdb, scattered

_UNITED = "SELECT k, v FROM t UNION ALL SELECT k, id FROM u"
_NUMBERED = "SELECT k, v, p, rank() OVER (PARTITION BY v ORDER BY id) AS r FROM t WHERE v > 1"
_PAIRS = "SELECT t.k, t.v, u.v AS w, u.s FROM t JOIN u ON t.v = u.v AND t.id < u.id"
_GROUPED = "SELECT k, v, sum(p) AS a FROM t GROUP BY k, v"

SHARED = [
    # the same layout twice, other layouts, a layout beside none
    "WITH r AS (SELECT k, v, p FROM t WHERE id > 5) SELECT x.k, n, a, m, b FROM"
    " (SELECT k, count(DISTINCT v) AS n, max(p) AS a FROM r GROUP BY k) x"
    " JOIN (SELECT k, sum(DISTINCT p) AS m, max(v) AS b FROM r GROUP BY k) y ON x.k = y.k",
    "SELECT x.v, y.id FROM t x JOIN t y ON x.k = y.v AND x.id < y.id",
    "SELECT x.id, n FROM t x JOIN t y ON x.k = y.v CROSS JOIN (SELECT count(DISTINCT id) AS n FROM t) z",
    # NULL keys of outer joins
    "SELECT x.id, x.v, y.id, y.k FROM t x LEFT JOIN t y ON x.k = y.v AND x.id < y.id",
    "SELECT x.id, x.v, y.id, y.k FROM t x FULL JOIN t y ON x.k = y.v AND x.id < y.id",
    "SELECT x.id, x.v FROM t x ANTI JOIN t y ON x.k = y.v AND x.id < y.id AND y.k <> x.v",
    # fewer columns, in either order, and none at all
    "SELECT x.id, y.k FROM t x JOIN (SELECT k FROM t) y ON x.k = y.k CROSS JOIN t z",
    "SELECT x.id, x.s, y.k FROM t x JOIN (SELECT k FROM t) y ON x.k = y.k",
    "SELECT x.id, x.s, y.k FROM (SELECT k FROM t) y JOIN t x ON x.k = y.k",
    # a scan that is widened for columns that the other reader lacks, some of them known to its filter
    "SELECT x.id, y.id, y.s FROM t x LEFT JOIN t y ON x.k = y.v AND x.id < y.id",
    "SELECT x.p, y.s FROM (SELECT k, p FROM t WHERE v > 3) x JOIN (SELECT k, v, s FROM t WHERE v > 3) y ON x.k = y.v",
    "SELECT x.q, x.p, y.v FROM (SELECT k + 1 AS q, p FROM t) x JOIN (SELECT k, v FROM t) y ON x.q = y.k AND x.p < y.v",
    "SELECT x.a, y.b, z.c FROM (SELECT k, p AS a FROM t) x JOIN (SELECT k, v AS b FROM t) y ON x.k = y.k"
    " JOIN (SELECT v, id * 2 AS c FROM t) z ON y.b = z.v",
    # computed columns, and arithmetic in only one of two consumers
    "SELECT x.q * 2 + y.q FROM (SELECT k, id + v AS q FROM t) x JOIN (SELECT k, id + v AS q FROM t) y ON x.k = y.k",
    "SELECT y.id * 3, x.p FROM t x JOIN t y ON x.k = y.k AND x.p < y.p * y.p",
    # operators in the shared part
    f"SELECT x.v, y.v FROM ({_UNITED}) x JOIN ({_UNITED}) y ON x.k = y.k AND x.v < y.v",
    f"SELECT x.v, y.r FROM ({_NUMBERED}) x JOIN ({_NUMBERED}) y ON x.k = y.k AND x.r < y.r",
    f"SELECT x.w, y.s FROM ({_PAIRS}) x JOIN ({_PAIRS}) y ON x.k = y.k AND x.v < y.w",
    f"SELECT x.a, y.a FROM ({_GROUPED}) x JOIN ({_GROUPED}) y ON x.k = y.v AND x.a < y.a",
    # a part that is shared within one that is
    f"WITH a AS ({_PAIRS}), b AS (SELECT x.k, y.w FROM a x JOIN a y ON x.k = y.w AND x.v < y.w) SELECT x.k, y.k FROM b x JOIN b y"
    " ON x.w = y.w AND x.k < y.k",
    # A CTE is one table, even if its rows are any ones: what one use of it has, every use has.
    "WITH r AS (SELECT id, v FROM t LIMIT 20) SELECT count(*) FROM r x ANTI JOIN r y ON x.id = y.id",
]


def _tables() -> dict[str, pa.Table]:
    generator = random.Random(5)

    def table(rows: int) -> pa.Table:
        return pa.table(
            {
                "k": pa.array([generator.choice([None, *range(8)]) for _ in range(rows)], pa.int64()),
                "v": pa.array([generator.choice([None, *range(12)]) for _ in range(rows)], pa.int64()),
                "s": [generator.choice([None, "x", "y", ""]) for _ in range(rows)],
                "p": pa.array([generator.choice([None, 1, 25, -3]) for _ in range(rows)], pa.int32()).cast(
                    pa.decimal128(12, 2)
                ),
                "id": pa.array(generator.sample(range(rows), rows), pa.int64()),
            }
        )

    return {"t": table(60), "u": table(45)}


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    oracle = duckdb.connect()
    with qengine.Session(workers=2, inline="off") as session:
        for name, table in _tables().items():
            path = folder / f"{name}.parquet"
            pq.write_table(table, path, row_group_size=10)
            session.register(name, session.read_parquet(str(path)))
            oracle.register("arrow", table)
            oracle.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
        yield session, oracle
    oracle.close()


@pytest.fixture(autouse=True)
def many_tasks():
    with scattered(free_stages=True):
        yield


def has_several_consumers(graph: StageGraph) -> bool:
    return any(len(graph.outputs(stage.id)) > 1 for stage in graph.stages)


def difference(databases, text: str) -> str | None:
    session, oracle = databases
    frame = session.sql(text)
    assert has_several_consumers(frame._current_query().stages()), frame.explain("stages")
    return difference_from_duckdb(frame.collect(), oracle, text)


@pytest.mark.parametrize("text", SHARED)
def test_the_same_rows_as_duckdb(databases, text):
    found = difference(databases, text)
    assert found is None, found


@pytest.mark.parametrize(("disabled", "shared"), [((), True), (("reuse_exchanges",), False)])
def test_a_session_may_leave_it_out(disabled, shared):
    with qengine.Session(2, inline="off", disabled_rules=disabled) as session:
        session.register("t", _tables()["t"])
        frame = session.sql("SELECT x.id, y.id FROM t x JOIN t y ON x.k = y.v")
        assert has_several_consumers(frame._current_query().stages()) is shared
        assert frame.collect().num_rows > 60

"""ROLLUP, CUBE, GROUPING SETS and GROUPING through the whole engine against DuckDB: NULL keys, no rows, repeated sets, HAVING."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

import qengine
from planner.explain import logical_text
from tests.unit.sql.small_tables import query
from tpch.same_answer import same_answer

TABLES = {
    "t": pa.table(
        {
            "id": pa.array(range(1, 10), pa.int64()),
            "g": ["x", "y", "x", None, "y", "x", None, "z", "z"],
            "h": [True, None, True, False, False, None, True, False, True],
            "v": pa.array([3, 1, None, 2, 5, 1, 4, None, 7], pa.int32()),
            "f": [1.5, None, 0.25, 2.0, -1.0, 4.5, None, None, 3.0],
        }
    ),
    "u": pa.table({"g": ["x", "y", "q"], "w": pa.array([4, 6, 1], pa.int64())}),
}

QUERIES = [
    "SELECT g, sum(v) AS s FROM t GROUP BY ROLLUP (g)",
    "SELECT g, h, sum(v), count(*), avg(f), count(DISTINCT v) FROM t GROUP BY ROLLUP (g, h)",
    "SELECT g, h, min(id), max(f) FROM t GROUP BY CUBE (g, h)",
    "SELECT g, h, v, count(*) FROM t GROUP BY ROLLUP ((g, h), v)",
    "SELECT g, h, sum(v) FROM t GROUP BY GROUPING SETS ((g, h), g, (), ())",
    "SELECT g, h, sum(v) FROM t GROUP BY GROUPING SETS (ROLLUP (g), CUBE (g, h), h)",
    "SELECT g, h, v % 2 AS o, count(*) FROM t GROUP BY g, ROLLUP (h), CUBE (o)",
    "SELECT v % 2 AS o, g, o + 1, count(*) FROM t GROUP BY CUBE (1, g)",
    "SELECT v, v + 1, sum(v) FROM t GROUP BY ROLLUP (v)",
    "SELECT g, g, count(*) FROM t GROUP BY ROLLUP (g, g)",
    "SELECT g, h, grouping(g), grouping(h), grouping(h, g), grouping_id(g, h) FROM t GROUP BY CUBE (g, h)",
    "SELECT g, sum(v) AS s FROM t GROUP BY ROLLUP (g) HAVING grouping(g) = 1 OR sum(v) > 4",
    "SELECT CASE WHEN grouping(g) = 1 THEN 'all' ELSE g END AS k, count(*) FROM t GROUP BY ROLLUP (g)",
    "SELECT g, h FROM t GROUP BY ROLLUP (g, h) ORDER BY grouping(g), grouping(h), g, h",
    "SELECT g, rank() OVER (PARTITION BY grouping(g) ORDER BY sum(v)) FROM t GROUP BY ROLLUP (g)",
    "SELECT DISTINCT g FROM t GROUP BY ROLLUP (g, h)",
    "SELECT g, count(*), sum(v), count(v), grouping(g) FROM t WHERE id > 100 GROUP BY ROLLUP (g)",
    "SELECT g, count(*) FROM t WHERE id > 100 GROUP BY GROUPING SETS ((g), (), ())",
    "SELECT g, count(*) FROM t WHERE id > 100 GROUP BY GROUPING SETS ((g), (g, h))",
    "SELECT count(*), sum(v), bool_or(h) FROM t WHERE false GROUP BY ()",
    "SELECT g, sum(v) FILTER (WHERE h) FROM t GROUP BY ROLLUP (g)",
    "SELECT * FROM (SELECT g, h, sum(v) AS s FROM t GROUP BY CUBE (g, h)) AS q WHERE g = 'x'",
    "SELECT q.g, s, w FROM (SELECT g, sum(v) AS s FROM t GROUP BY ROLLUP (g)) AS q JOIN u ON s = w",
    "SELECT g, (SELECT max(w) FROM u WHERE u.g = t.g) FROM t GROUP BY ROLLUP (g)",
    "SELECT t.g, w, sum(v) FROM t JOIN u ON t.g = u.g GROUP BY ROLLUP (t.g, w)",
]


@pytest.fixture(scope="module")
def oracle():
    with duckdb.connect() as connection:
        for name, table in TABLES.items():
            connection.register(name, table)
        yield connection


@pytest.fixture(scope="module", params=["off", "auto"])
def session(request):
    with qengine.Session(workers=2, inline=request.param) as opened:
        for name, table in TABLES.items():
            opened.register(name, table)
        yield opened


@pytest.mark.parametrize("text", QUERIES)
def test_the_rows_of_duckdb(session, oracle, text):
    table = oracle.sql(text).to_arrow_table()
    columns = [c.cast(pa.int64()) if pa.types.is_decimal(c.type) else c for c in table.columns]
    expected = pa.table(columns, names=[str(at) for at in range(len(columns))])
    difference = same_answer(session.sql(text).collect(), expected, in_sequence="ORDER BY g" in text)
    assert difference is None, difference


def test_with_rollup_of_other_dialects():
    keys = "SELECT i, b, count(*) FROM t GROUP BY"
    assert logical_text(query(f"{keys} i, b WITH ROLLUP", "spark").plan) == logical_text(query(f"{keys} ROLLUP (i, b)").plan)

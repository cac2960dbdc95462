"""Rules that move, merge and introduce aggregates, wherever they are right and whatever they cost, against DuckDB.

With values whose order and equality are not plain: NaN, infinities, both zeros, NULLs alone in a group, empty text, large sums.
"""

from __future__ import annotations

from decimal import Decimal
from importlib import import_module

import pyarrow as pa
import pytest

from tests.lowered import run, run_duckdb, snapshots
from tpch.same_answer import same_answer

NAN, INFINITY = float("nan"), float("inf")
TABLES = {
    "f": pa.table(
        {
            "k": pa.array([1, 1, 1, 2, 2, 3, 3, 4, None, None, 5, 5], pa.int32()),
            "x": pa.array([NAN, NAN, 1.0, 0.0, -0.0, NAN, NAN, None, 1.0, 2.0, -INFINITY, INFINITY], pa.float64()),
            "t": pa.array(["a", "", "b", "a", "a", None, "z", None, "a", "b", "", ""], pa.string()),
            "n": pa.array([2**62, 2**62, 1, -5, 0, None, 3, None, 4, 4, 7, -7], pa.int64()),
            "p": pa.array([Decimal(v) for v in range(12)], pa.decimal128(12, 2)),
        }
    ),
    "d": pa.table(
        {
            "k": pa.array([1, 2, 2, 3, 4, None, 5, 9], pa.int32()),
            "x": pa.array([NAN, -0.0, 1.0, NAN, 1.0, None, 0.0, 2.0], pa.float64()),
            "t": pa.array(["b", "a", "c", "z", None, "", "", "q"], pa.string()),
            "n": pa.array([1, 0, -5, 3, None, 4, 8, 2], pa.int64()),
        }
    ),
    "e": pa.table({"k": pa.array([], pa.int32()), "n": pa.array([], pa.int64()), "x": pa.array([], pa.float64())}),
}
EXTREMES = [
    f"SELECT d.k, d.n FROM d WHERE {negation} EXISTS (SELECT 1 FROM f WHERE {key} f.{column} {op} d.{column})"
    for negation in ("", "NOT")
    for key in ("f.k = d.k AND", "f.k IS NOT DISTINCT FROM d.k AND", "")
    for column in "xtn"
    for op in ("<>", "<", "<=", ">", ">=")
] + [
    "SELECT d.k, EXISTS (SELECT 1 FROM f WHERE f.k = d.k AND f.x <> d.x) FROM d",
    "SELECT d.k, EXISTS (SELECT 1 FROM e WHERE e.n < d.n), EXISTS (SELECT 1 FROM e WHERE e.k = d.k AND e.x <> d.x) FROM d",
]
EAGER = [
    f"SELECT {group + ',' if group else ''} {calls} FROM {join} {'GROUP BY ' + group if group else ''}"
    for join in ("d JOIN f ON d.k = f.k", "d LEFT JOIN f ON d.k = f.k", "d LEFT JOIN f ON d.k = f.k AND d.n > f.k")
    for group in ("", "d.t", "f.k", "d.k, d.x")
    for calls in (
        "count(*), count(f.t), min(f.t), max(f.t)",
        "min(f.x), max(f.x), count(*) FILTER (f.x > 0)",
        "sum(f.p), sum(f.k), sum(f.k) FILTER (f.t = 'a')",
        "avg(f.p), avg(f.k) FILTER (f.t = 'a'), avg(f.k + 0.5::DOUBLE), max(f.k)",
    )
]
GROUPS = [
    f"SELECT d.t, {calls} FROM d, f WHERE d.k IN (SELECT k FROM f GROUP BY k HAVING {having}) AND d.k = f.k GROUP BY d.t"
    for calls in ("count(*), sum(f.p)", "min(f.x), max(f.x), count(f.x)", "sum(f.k), max(f.p), avg(f.k)")
    for having in ("count(*) > 1", "max(n) > 2", "sum(p) > 5")
]
OTHERS = [
    "SELECT DISTINCT k, x, n FROM (SELECT k, x, count(*) AS n FROM f GROUP BY k, x) AS g",
    "SELECT k, x, min(n), sum(n) FILTER (n > 1) FROM (SELECT k, x, count(*) AS n FROM f GROUP BY ALL) AS g GROUP BY k, x",
    "SELECT (SELECT max(x) FROM f), (SELECT min(x) FROM f), (SELECT count(*) FROM f), (SELECT sum(p) + 1 FROM f WHERE k > 1)",
    "SELECT k, (SELECT max(x) FROM f WHERE f.k = d.k), (SELECT count(*) FROM f WHERE f.k = d.k), (SELECT min(n) FROM e) FROM d",
    "SELECT k FROM d WHERE x < (SELECT max(x) FROM f WHERE f.k = d.k) AND x >= (SELECT min(x) FROM f WHERE f.k = d.k)",
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return snapshots(TABLES, str(tmp_path_factory.mktemp("tables")))


@pytest.fixture(autouse=True)
def always_worthwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("compare_with_extremes", "push_aggregate_through_join"):
        monkeypatch.setattr(import_module(f"planner.optimizer.{name}"), "_pays", lambda *_: True)


@pytest.mark.parametrize("queries", [EXTREMES, EAGER, GROUPS, OTHERS], ids=["extremes", "eager", "groups", "others"])
def test_same_answers(queries, tables) -> None:
    for sql in queries:
        expected = run_duckdb(sql, TABLES)
        columns = [
            c.cast(pa.int64()) if pa.types.is_decimal(c.type) and not c.type.scale else c
            for c in expected.columns  # HUGEINT
        ]
        difference = same_answer(run(sql, tables), pa.table(columns, names=[str(i) for i in range(len(columns))]))
        assert difference is None, f"{sql}\n{difference}"

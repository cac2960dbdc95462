"""Window functions against DuckDB: every function, every frame, every type, NULL, NaN, ties, grouping, QUALIFY, correlation."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from planner.dir import Determinism
from planner.errors import QEngineError
from planner.expr.functions import AGGREGATES, WINDOW_FUNCTIONS
from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.explain import physical_text
from planner.physical.plan import plan_physical
from planner.rule import OptimizerContext
from planner.sql import bind
from tests.lowered import run, run_duckdb, snapshots
from tests.plans import TestCatalog
from tpch.same_answer import same_answer

D = Decimal
_NAN = float("nan")

TABLES = {
    "t": pa.table(
        {
            "id": pa.array(range(1, 13), pa.int32()),
            "g": pa.array([1, 1, 1, 1, 2, 2, None, None, 3, 2, 1, None], pa.int32()),
            "v": pa.array([5, 3, None, 3, 7, 7, 1, None, 9, -2, 0, 1], pa.int64()),
            "d": pa.array(
                [D("1.25"), None, D("-3.5"), D("1.25"), None, D("7"), D("0"), D("2.5"), None, D("1"), D("9.99"), D("3")],
                pa.decimal128(9, 2),
            ),
            "w": pa.array(
                [D("1.5"), None, D("9" * 30), D("1"), None, D("7"), D("0"), D("2"), None, D("-" + "9" * 30), D("9"), D("3")],
                pa.decimal128(38, 3),
            ),
            "f": [1.5, _NAN, None, 0.0, -0.0, 2.0, _NAN, None, None, _NAN, -7.5, 3.0],
            "s": ["b", "a", None, "", "b", "z", None, None, "q", "a", "c", "é"],
            "o": [True, None, False, True, None, True, False, None, None, True, True, True],
        }
    ),
    "u": pa.table({"g": pa.array([1, 2, 5, None], pa.int32()), "x": pa.array([3, 7, 1, 2], pa.int64())}),
    "e": pa.table({"g": pa.array([], pa.int32()), "v": pa.array([], pa.int64())}),
}

_WINDOWS = [
    "PARTITION BY g ORDER BY id",
    "ORDER BY id DESC",
    "PARTITION BY g",
    "",
    "PARTITION BY g ORDER BY v",
    "ORDER BY g NULLS FIRST, id",
]
_TIED = [
    "PARTITION BY g ORDER BY v DESC",
    "ORDER BY s",
    "ORDER BY f DESC NULLS FIRST",
    "PARTITION BY f ORDER BY s",
    "PARTITION BY o",
]
_PLACES = ["rank()", "dense_rank()", "percent_rank()", "cume_dist()"]
_EXACT = ["row_number()", "ntile(3)", "ntile(1)", "ntile(100)", "ntile(NULL)", *(
    f"{name}({arguments})"
    for name in ("lag", "lead")
    for arguments in ("v", "d, 2", "s, 1, 'none'", "f, 0", "v, -1, id", "w, NULL", "o, 3, true", "d, 1, 0.5")
), *(f"{name}({x})" for name in ("first_value", "last_value") for x in ("v", "d", "w", "s", "f", "o", "v + id")),
    "nth_value(v, 2)", "nth_value(s, 1)", "nth_value(d, NULL)", "nth_value(v, 50)", "first(v)", "last(v)"]  # fmt: skip
_TOTALS = [
    "count(*)", "count(v)", "count(s)", "sum(v)", "sum(d)", "sum(w)", "avg(v)", "min(v)", "max(v)", "min(d)", "max(w)", "min(s)",
    "max(s)", "min(f)", "max(f)", "bool_and(o)", "bool_or(o)", "count(*) FILTER (WHERE v > 1)", "sum(v) FILTER (WHERE o)",
    "max(d) FILTER (WHERE v > 100)", "sum(v * 2 + id)", "sum(o::INTEGER)", "count(NULL)",
]  # fmt: skip
_LAST = ["last_value(v)", "nth_value(d, 2)"]
_GROUPED = ["count(DISTINCT v)", "sum(DISTINCT v)", "stddev(v)", "var_samp(d)", "avg(DISTINCT v)"]
_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_ALL = "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_FRAMES = [
    "ROWS 2 PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING",
    "ROWS BETWEEN 1 FOLLOWING AND 100 FOLLOWING",
    "ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING",
    "ROWS BETWEEN CURRENT ROW AND CURRENT ROW",
]
_PEER_FRAMES = [
    "RANGE CURRENT ROW",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "GROUPS 1 PRECEDING",
    "GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
    "GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "GROUPS BETWEEN 100 PRECEDING AND 1 FOLLOWING",
]
_IN_FRAMES = [
    *_TOTALS, "first_value(v)", "last_value(s)", "nth_value(d, 2)", "any_value(v)",
    "sum(f) FILTER (WHERE f < 10)", "avg(f) FILTER (WHERE f < 10)", "sum(f)", "avg(d)",
]  # fmt: skip

CALLS = [
    *(f"{call} OVER ({window})" for call in _PLACES + _TOTALS for window in _WINDOWS + _TIED),
    *(f"{call} OVER ({window})" for call in _EXACT for window in (_WINDOWS[0], _WINDOWS[1], _WINDOWS[5])),
    *(f"{call} OVER (PARTITION BY g ORDER BY id {frame})" for call in [*_TOTALS, *_LAST] for frame in (_ROWS, _ALL)),
    *(f"{call} OVER ({window})" for call in _GROUPED for window in ("PARTITION BY g", "", f"ORDER BY id {_ALL}")),
    *(f"{call} OVER (PARTITION BY g ORDER BY id {frame})" for call in _IN_FRAMES for frame in _FRAMES),
    *(f"{call} OVER (ORDER BY g, v {frame})" for call in [*_TOTALS, "sum(f)"] for frame in _PEER_FRAMES),
    "count(*) OVER (RANGE CURRENT ROW)", "sum(v) OVER (ORDER BY id ROWS 9223372036854775807 PRECEDING)",
    "any_value(s) OVER (PARTITION BY g ORDER BY id)", "any_value(v) OVER (ORDER BY id)", "any_value(g) OVER (PARTITION BY g)",
    "sum(v) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING)", "sum(f) OVER (PARTITION BY o)",
    "sum(f) FILTER (WHERE f < 10) OVER (ORDER BY id)", "avg(f) FILTER (WHERE f < 10) OVER (ORDER BY id)",
]  # fmt: skip

QUERIES = [
    "SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY id) = 1",
    "SELECT id, rank() OVER (ORDER BY v) AS r FROM t QUALIFY r <= 3 AND id > 1",
    "SELECT id FROM t WHERE v > 0 QUALIFY v = max(v) OVER (PARTITION BY g)",
    "SELECT g, sum(v), rank() OVER (ORDER BY sum(v)), sum(sum(v)) OVER (), sum(count(*)) OVER (ORDER BY g) FROM t GROUP BY g",
    "SELECT g + 1 AS k, max(v) - min(max(v)) OVER () AS x FROM t GROUP BY k HAVING count(*) > 1",
    "SELECT g, sum(v) AS x FROM t GROUP BY g QUALIFY row_number() OVER (ORDER BY x DESC) < 3",
    "SELECT DISTINCT g, count(*) OVER (PARTITION BY g) FROM t",
    "SELECT id FROM t ORDER BY row_number() OVER (ORDER BY id DESC)",
    "SELECT id, sum(v) OVER w, count(*) OVER w FROM t WINDOW w AS (PARTITION BY g ORDER BY id)",
    "SELECT id, sum(v) OVER (w ORDER BY id), count(*) OVER (w ORDER BY id ROWS 1 PRECEDING) FROM t WINDOW w AS (PARTITION BY g)",
    "SELECT id, sum(v) OVER x FROM t WINDOW w AS (PARTITION BY g ORDER BY id), x AS (w ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING)",
    "SELECT g, sum(v) OVER (ORDER BY g ROWS 1 PRECEDING) FROM e",
    "select id, sum(v) over (order by id rows between 1 preceding and 1 following) from t",
    "select id, sum(v) over (order by id rows between unbounded preceding and current row) from t",
    "select id, sum(v) over (partition by g order by v range between current row and unbounded following) from t",
    "SELECT id, sum(v) OVER (PARTITION BY g) - v, 1 + row_number() OVER (ORDER BY id) * 2 FROM t",
    "SELECT id, CASE WHEN row_number() OVER (ORDER BY id) > 3 THEN 'late' ELSE s END FROM t",
    "SELECT id, sum(v) OVER (PARTITION BY g % 2, s > 'a' ORDER BY id + 1) FROM t",
    "SELECT id, sum(v) OVER (PARTITION BY 1 ORDER BY 'x') FROM t",
    "SELECT n, g FROM (SELECT g, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM t) AS q WHERE g > 1 AND n = 1",
    "SELECT g FROM (SELECT g, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM t) AS q WHERE g = 1",
    (
        "SELECT * FROM (SELECT id, rank() OVER (ORDER BY v) AS r FROM t) a JOIN (SELECT id, rank() OVER (ORDER BY "
        "d) AS r FROM t) b USING (id)"
    ),
    "SELECT count(*) FROM (SELECT row_number() OVER () AS n FROM t) q WHERE n <= 5",
    "SELECT row_number() OVER (), sum(v) OVER (ORDER BY v), count(*) OVER () FROM e",
    "SELECT ntile(0) OVER () FROM e",
    "SELECT id, (SELECT sum(x) OVER (ORDER BY x) FROM u WHERE u.g = t.g) FROM t",
    "SELECT id FROM t WHERE v IN (SELECT max(x) OVER () FROM u WHERE u.g >= t.g)",
    "SELECT id FROM t WHERE EXISTS (SELECT rank() OVER (ORDER BY x) FROM u WHERE u.g = t.g)",
    "SELECT id, (SELECT max(r) FROM (SELECT x, rank() OVER (ORDER BY x) AS r FROM u WHERE u.x <= t.v) q) FROM t",
    "SELECT id, max((SELECT max(x) FROM u WHERE u.g = t.g)) OVER (PARTITION BY o) FROM t",
    "SELECT row_number() OVER (ORDER BY x) FROM (SELECT v AS x FROM t UNION ALL SELECT x FROM u) q",
    "SELECT sum(v) OVER (ORDER BY id) FROM t UNION ALL SELECT row_number() OVER () FROM u",
    "SELECT 1, count(*) OVER (), row_number() OVER ()",
    (
        "WITH r AS (SELECT g, v, dense_rank() OVER (PARTITION BY g ORDER BY v DESC) AS n FROM t) SELECT r.g, r.v "
        "FROM r JOIN u USING (g) WHERE n = 1"
    ),
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return snapshots(TABLES, str(tmp_path_factory.mktemp("tables")))


def _expected(sql: str) -> pa.Table:
    """DuckDB's answer, its sums of integers as BIGINT."""
    table = run_duckdb(sql, TABLES)
    columns = [c.cast(pa.int64()) if pa.types.is_decimal(c.type) and c.type.scale == 0 else c for c in table.columns]
    return pa.table(columns, names=[str(at) for at in range(len(columns))])


@pytest.mark.parametrize("first", range(0, len(CALLS), 20))
def test_calls(first: int, tables) -> None:
    for call in CALLS[first : first + 20]:
        sql = f"SELECT id, {call} FROM t"
        difference = same_answer(run(sql, tables), _expected(sql))
        assert difference is None, f"{sql}: {difference}"


@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("sql", QUERIES)
def test_queries(sql: str, optimized: bool, tables) -> None:
    difference = same_answer(run(sql, tables, optimized), _expected(sql), in_sequence=sql.endswith("DESC)"))
    assert difference is None, difference


def test_exact_decimal_average_is_right(tables) -> None:
    """DuckDB's is a DOUBLE."""
    found = run("SELECT avg(d) OVER (PARTITION BY g) AS a, id FROM t WHERE g = 1", tables)
    assert set(found["a"].to_pylist()) == {D("2.24750000")}
    running = run("SELECT id, avg(d) OVER (ORDER BY id) AS a FROM t WHERE id < 5", tables).sort_by("id")
    assert running["a"].to_pylist() == [D("1.25"), D("1.25"), D("-1.125"), D("-0.33333333")]


def test_what_filter_leaves_out_is_not_evaluated(tables) -> None:
    found = run("SELECT id, sum(10 // v) FILTER (WHERE v > 0) OVER (ORDER BY id) AS x FROM t WHERE id IN (1, 11)", tables)
    assert found["x"].to_pylist() == [2, 2]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT sum(v + 9223372036854775000) OVER (ORDER BY id) FROM t", "OVERFLOW"),
        ("SELECT ntile(0) OVER () FROM t", "INVALID_ARGUMENT"),
        ("SELECT id FROM t QUALIFY id = 1", "SYNTAX"),
        ("SELECT sum(v) OVER w FROM t", "SYNTAX"),
        ("SELECT upper(s) OVER () FROM t", "UNSUPPORTED"),
        ("SELECT row_number() FROM t", "UNSUPPORTED"),
        ("SELECT lag(v, id) OVER (ORDER BY id) FROM t", "UNSUPPORTED"),
        ("SELECT lag(v) IGNORE NULLS OVER (ORDER BY id) FROM t", "UNSUPPORTED"),
        ("SELECT rank() OVER (ORDER BY id) AS r, (SELECT r) FROM t", "UNSUPPORTED"),
    ],
)
def test_refused(sql: str, code: str, tables) -> None:
    with pytest.raises(QEngineError) as refusal:
        run(sql, tables)
    assert refusal.value.code == code


@pytest.mark.parametrize(
    ("call", "level"),
    [
        ("row_number() OVER (PARTITION BY g ORDER BY v)", Determinism.INDETERMINATE),
        ("lag(v) OVER (PARTITION BY g ORDER BY v)", Determinism.INDETERMINATE),
        ("rank() OVER (PARTITION BY g ORDER BY v)", Determinism.SET),
        ("sum(v) OVER (PARTITION BY g ORDER BY v)", Determinism.SET),
        ("sum(v) OVER (PARTITION BY g ORDER BY v ROWS UNBOUNDED PRECEDING)", Determinism.INDETERMINATE),
        ("row_number() OVER (PARTITION BY g ORDER BY v, n)", Determinism.SET),
    ],
)
def test_a_choice_among_ties_is_indeterminate(call: str, level: Determinism, tables) -> None:
    """Over rows in any order; all columns of the input together make the order total."""
    sql = f"SELECT g, v, n, {call} AS x FROM (SELECT g, v, count(*) AS n FROM t GROUP BY g, v) q"
    bound = bind(sql, TestCatalog(tables))
    plan = optimize(bound.plan, OptimizerContext(allocator=bound.allocator, verify=True))
    graph = cut_stages(plan_physical(plan, bound.allocator, PhysicalOptions(2)))
    assert graph.stage(graph.root).determinism is level


def test_partitions_meet_by_hash(tables) -> None:
    bound = bind("SELECT g, sum(v) OVER (PARTITION BY g) AS s FROM t", TestCatalog(tables))
    options = PhysicalOptions(2, task_bytes=1, least_task_bytes=1, buckets=4)
    plan = plan_physical(optimize(bound.plan, OptimizerContext(allocator=bound.allocator)), bound.allocator, options)
    assert "Window by g: sum(v) whole partition AS s" in physical_text(plan)


def test_every_function_is_called() -> None:
    text = " ".join(CALLS)
    named = {"stddev_samp": "stddev", "count_star": "count(*)"}
    for name in WINDOW_FUNCTIONS.keys() | AGGREGATES.keys() - {"sum_counts"}:
        assert named.get(name, f"{name}(") in text, name

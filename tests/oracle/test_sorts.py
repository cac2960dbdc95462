"""Sorts and top-n that stay in many tasks: random keys, directions and places of NULLs, against DuckDB and across layouts."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exec.sources.describe import describe
from planner.catalog import TableSnapshot
from planner.dir import Range, SampledRange, Single, StageGraph
from planner.physical.context import PhysicalOptions
from planner.physical.nodes import MergeExec
from planner.tree import kind_mask, walk
from tests.harness.tables import columns_of, worlds
from tests.in_process import execute, plan
from tpch.same_answer import same_answer

KEYS = [column.name for column in columns_of("t")]
EXPRESSIONS = ["i + g", "-x", "v || 'x'", "d * 2", "i % 3", "length(v)", "CASE WHEN o THEN x END"]


def options(workers: int = 2, **changes: int) -> PhysicalOptions:
    return PhysicalOptions(workers, **{"least_task_bytes": 1, "buckets": 4, "least_sort_bytes": 1, **changes})


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> dict[str, TableSnapshot]:
    folder = tmp_path_factory.mktemp("sorts")
    found = {}
    for name, table in (*worlds().items(), ("same", pa.table({"k": [7] * 500, "id": range(500)})), ("ranged", _ranged())):
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=max(3, table.num_rows // 6))
        found[name] = describe(str(folder / f"{name}.parquet"), name)
    return found


def _ranged() -> pa.Table:
    """Clustered by a key without NULLs, in groups that touch."""
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("id", pa.int64()), pa.field("v", pa.string())])
    values = [[row // 7 for row in range(600)], list(range(600)), [f"{row * 37 % 101}" for row in range(600)]]
    return pa.table([pa.array(column) for column in values], schema=schema)


@pytest.fixture(scope="module")
def oracle(tables):
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, snapshot in tables.items():
            path = snapshot.files[0].split.path if snapshot.files else ""
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM '{path}'")
        yield connection


def merges(graph: StageGraph) -> int:
    return sum(1 for stage in graph.stages for _ in walk(stage.body, kind_mask(MergeExec)))


def run(sql: str, tables, folder: Path, planned: PhysicalOptions, batch_rows: int | None = None) -> tuple[StageGraph, pa.Table]:
    graph, names = plan(sql, tables, planned)
    return graph, pa.concat_tables(execute(graph, names, folder, batch_rows))


def random_order(generator: random.Random) -> list[tuple[str, bool, bool]]:
    """One to four keys: text, descending, NULLs last."""
    pool = [*KEYS, *EXPRESSIONS]
    return [
        (generator.choice(pool), generator.random() < 0.5, generator.random() < 0.5) for _ in range(generator.randint(1, 4))
    ]


@pytest.mark.parametrize("seed", range(60))
def test_random_orders(tables, oracle, tmp_path, seed):
    generator = random.Random(seed)
    keys = random_order(generator)
    table = generator.choice(["t0", "t1", "t1", "t1", "t2", "t3"])
    listed = ", ".join(f"{key}{' DESC' * down} NULLS {'LAST' if last else 'FIRST'}" for key, down, last in keys)
    whole = f"SELECT {', '.join(key for key, _, _ in keys)}, id, w, v AS v_too FROM {table} ORDER BY {listed}"
    order = [(at, down, last) for at, (_, down, last) in enumerate(keys)]
    limit, offset = generator.choice([(None, 0), (None, 0), (5, 0), (40, 3), (999, 0), (2**62, 4), (7, 150), (99, 99), (0, 2)])
    cut = whole if limit is None else f"{whole} LIMIT {limit} OFFSET {offset}"
    planned = options(generator.choice([1, 2, 4]), tasks_per_worker=generator.choice([2, 3, 8]))
    graph, actual = run(cut, tables, tmp_path, planned, generator.choice([None, 1, 7]))
    expected, uncut = (_typed(oracle.sql(text).to_arrow_table(), actual) for text in (cut, whole))
    assert same_answer(actual, expected, order, limit=limit, offset=offset, uncut=uncut) is None
    if len(tables[table].files[0].row_groups if tables[table].files else ()) > 1 and limit != 0:
        assert merges(graph) == 1


def _typed(expected: pa.Table, actual: pa.Table) -> pa.Table:
    """The oracle's answer, its exact numbers in the types of ours."""
    columns = [
        column.cast(field.type) if pa.types.is_decimal(column.type) and pa.types.is_integer(field.type) else column
        for column, field in zip(expected.columns, actual.schema, strict=True)
    ]
    return pa.table(columns, names=expected.column_names)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_rows_that_all_tie_keep_the_order_of_their_input(tables, tmp_path, workers):
    """One partition gets them all, and a stable sort changes nothing."""
    graph, names = plan("SELECT k, id FROM same ORDER BY k DESC", tables, options(workers))
    parts = execute(graph, names, tmp_path)
    assert len(parts) > 1 and sorted(part.num_rows for part in parts)[-1] == 500
    assert pa.concat_tables(parts)["id"].to_pylist() == list(range(500))


def test_ranges_are_of_like_size(tables, tmp_path):
    graph, names = plan("SELECT id FROM same ORDER BY id DESC", tables, options(tasks_per_worker=4))
    parts = execute(graph, names, tmp_path)
    assert len(parts) == 8 and all(40 <= part.num_rows <= 90 for part in parts)
    assert pa.concat_tables(parts)["id"].to_pylist() == list(range(499, -1, -1))


def test_a_top_n_spreads_what_it_keeps(tables, tmp_path):
    graph, names = plan("SELECT id FROM same ORDER BY id LIMIT 200 OFFSET 50", tables, options(tasks_per_worker=4))
    parts = execute(graph, names, tmp_path)
    assert [part.num_rows > 0 for part in parts].count(True) >= 5
    assert pa.concat_tables(parts)["id"].to_pylist() == list(range(50, 250))


def test_known_ranges_need_no_exchange(tables, oracle, tmp_path):
    text = "SELECT k, v, id FROM ranged ORDER BY k, v DESC"
    graph, actual = run(text, tables, tmp_path, options())
    root = graph.stage(graph.root)
    assert len(graph.stages) == 1 and root.tasks > 1 and isinstance(root.output.partitioning, Range)
    assert [key.column for key in root.output.ordering] == [column.id for column in root.output.schema[:2]]
    assert same_answer(actual, oracle.sql(text).to_arrow_table(), [(0, False, True), (1, True, True)]) is None


@pytest.mark.parametrize("order", ["k DESC", "id", "k + 1"])
def test_other_orders_over_the_same_table_are_sampled(tables, order):
    graph, _ = plan(f"SELECT k, id FROM ranged ORDER BY {order}", tables, options())
    assert merges(graph) == 1


def test_the_result_has_the_order_and_the_partitioning_of_the_sort(tables):
    graph, _ = plan("SELECT id, i, v FROM t1 ORDER BY v DESC NULLS FIRST, i", tables, options())
    root = graph.stage(graph.root).output
    assert isinstance(root.partitioning, SampledRange)
    assert root.partitioning.order == root.ordering
    named = {column.id: column.name for column in root.schema}
    assert [(named[key.column], key.descending, key.nulls_first) for key in root.ordering] == [
        ("v", True, True),
        ("i", False, False),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, i FROM t1 ORDER BY i LIMIT 10",
        "SELECT i, count(*) FROM t1 GROUP BY i ORDER BY i",
    ],
)
def test_small_sorts_are_gathered(tables, text):
    """Small by their limit, or by the estimate."""
    graph, _ = plan(text, tables, options(least_sort_bytes=2000))
    assert merges(graph) == 0
    assert isinstance(graph.stage(graph.root).output.partitioning, Single)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.id, b.v FROM (SELECT id, g FROM t1 ORDER BY i, id LIMIT 60 OFFSET 5) a JOIN s1 b ON a.g = b.g",
        "SELECT g, count(*), min(id) FROM (SELECT id, g FROM t1 ORDER BY x DESC, id LIMIT 100) q GROUP BY g",
        "SELECT count(*) FROM (SELECT id FROM t1 ORDER BY v, id LIMIT 70) q",
        "SELECT id FROM (SELECT id, i FROM t1 ORDER BY i, id LIMIT 50) a UNION ALL SELECT id FROM s1",
        "WITH q AS (SELECT id, g FROM t1 ORDER BY d, id LIMIT 90) SELECT a.id, b.id FROM q a JOIN q b ON a.id = b.id + 1",
        "SELECT g, id, rank() OVER (PARTITION BY g ORDER BY id) AS s FROM t1 ORDER BY s, g, id",
    ],
)
def test_merged_rows_go_into_any_operator(tables, oracle, tmp_path, text):
    graph, actual = run(text, tables, tmp_path, options())
    assert merges(graph) >= 1
    assert same_answer(actual, _typed(oracle.sql(text).to_arrow_table(), actual)) is None

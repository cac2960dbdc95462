"""Joins and groups over files whose row groups are ranged by the key, in all the ways in which writers leave them."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from planner.physical import plan as planning
from planner.physical.context import PhysicalOptions
from tpch.same_answer import same_answer

ROWS = 4000


def _keys(layout: str) -> list[int | None]:
    dice = random.Random(layout)
    keys = sorted(dice.randrange(1500) for _ in range(ROWS))
    match layout:
        case "touching":
            return keys
        case "overlapping":
            return [key + dice.randrange(30) for key in keys]
        case "reversed":
            return keys[::-1]
        case "shuffled groups":
            groups = [keys[i : i + 250] for i in range(0, ROWS, 250)]
            dice.shuffle(groups)
            return [key for group in groups for key in group]
        case "nulls":
            return [None if dice.random() < 0.01 else key for key in keys]
        case _:
            dice.shuffle(keys)
            return keys


LAYOUTS = ["touching", "overlapping", "reversed", "shuffled groups", "nulls", "unsorted"]
QUERIES = [
    "SELECT b.k, count(*), sum(b.v) FROM b GROUP BY b.k",
    "SELECT s.w, sum(b.v) FROM b JOIN s ON b.k = s.k GROUP BY s.w",
    "SELECT b.v, s.w FROM b LEFT JOIN s ON b.k = s.k AND s.w > 3",
    "SELECT s.k FROM s WHERE EXISTS (SELECT 1 FROM b WHERE b.k = s.k AND b.v > 900)",
    "SELECT s.k FROM s WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = s.k)",
    "SELECT x.k, n FROM (SELECT k, count(*) AS n FROM b GROUP BY k) x JOIN s ON s.k = x.k JOIN b y ON y.k = s.k WHERE y.v < 100",
    "SELECT count(*) FROM b FULL JOIN s ON b.k = s.k",
    "SELECT u.w, count(*) FROM b JOIN u ON b.k = u.k GROUP BY u.w",
]  # fmt: skip


@pytest.fixture(scope="module")
def session():
    with qengine.Session(workers=2, inline="off") as opened:
        yield opened


@pytest.fixture(scope="module", params=LAYOUTS)
def tables(request, session, tmp_path_factory):
    """b is clustered as the layout says, s by touching row groups of another size, u not at all."""
    folder = tmp_path_factory.mktemp("clustered")
    dice = random.Random(7)
    made = {
        "b": (
            pa.table({"k": pa.array(_keys(request.param), pa.int64()), "v": [dice.randrange(1000) for _ in range(ROWS)]}),
            250,
        ),
        "s": (pa.table({"k": pa.array(range(0, 1600, 2), pa.int64()), "w": [dice.randrange(10) for _ in range(800)]}), 111),
        "u": (pa.table({"k": pa.array(dice.sample(range(1600), 600), pa.int64()), "w": range(600)}), 100),
    }
    connection = duckdb.connect()
    for name, (table, size) in made.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=size)
        session.register(name, session.read_parquet(folder / f"{name}.parquet"))
        connection.register("arrow", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
    yield request.param, connection
    connection.close()


@pytest.fixture(autouse=True)
def many_tasks(monkeypatch):
    """Scans of these small files in several tasks each."""
    small = PhysicalOptions(workers=2, task_bytes=4000, least_task_bytes=500)
    original = planning.plan_physical
    monkeypatch.setattr(
        "qengine.query.plan_physical", lambda root, allocator, options, **rest: original(root, allocator, small, **rest)
    )


@pytest.mark.parametrize("text", QUERIES)
def test_clustered_files_give_the_same_rows(session, tables, text):
    layout, oracle = tables
    result = session.sql(text)
    difference = same_answer(result.collect(), _sums_as_bigint(oracle.sql(text).to_arrow_table()))
    assert difference is None, difference
    cut = "by ranges of k" in result.explain("physical")
    if text == QUERIES[0]:
        assert cut is (layout not in ("nulls", "unsorted"))


def _sums_as_bigint(table: pa.Table) -> pa.Table:
    columns = [column.cast(pa.int64()) if pa.types.is_decimal(column.type) else column for column in table.columns]
    return pa.table(columns, names=table.column_names)


def test_a_footer_that_lies_about_the_key_loses_no_row(session, tmp_path):
    """The second row group claims keys from 1000 on, but holds 5 as well, which belongs to the first partition."""
    import struct

    keys = [*range(1000), *range(1000, 1999), 1005]
    path = tmp_path / "lying.parquet"
    table = pa.table({"k": pa.array([*keys[:1000], *keys[1000:]], pa.int64())})
    pq.write_table(table, path, row_group_size=250, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    footer = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]
    # The last group's least key is 1005 and its greatest 1998; claim that it begins at 1750.
    honest, lie = struct.pack("<q", 1005), struct.pack("<q", 1750)
    assert content[footer:].count(honest) > 0
    content[footer:] = content[footer:].replace(honest, lie)
    path.write_bytes(content)
    text = f"SELECT k, count(*) AS n FROM '{path}' GROUP BY k HAVING count(*) > 1"
    assert "by ranges of k" in session.sql(text).explain("physical")
    assert session.sql(text).collect().to_pylist() == [{"k": 1005, "n": 2}]
    assert "by ranges of k" not in session.sql(text).explain("physical")

"""Session and DataFrame: what goes in, what comes out, and what EXPLAIN says."""

from __future__ import annotations

import datetime
import re
import threading
from decimal import Decimal

import pandas
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from planner.dtypes import BIGINT, DATE, VARCHAR, decimal
from planner.schema import Field
from qengine.errors import QEngineError

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "price": pa.array([Decimal("1.50"), None, Decimal("2.25")], pa.decimal128(10, 2)),
        "day": pa.array([datetime.date(1994, 1, 1)] * 3),
        "name": ["a", "b", None],
    }
)


@pytest.fixture(scope="module")
def session():
    with qengine.Session(workers=2, inline="off") as opened:
        opened.register("t", TABLE)
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("parts")
    for part in range(3):
        pq.write_table(
            pa.table({"part": pa.array([part] * 4, pa.int32()), "v": pa.array(range(4), pa.int64())}), path / f"{part}.parquet"
        )
    return path


def test_types_survive_the_way_through_the_engine(session):
    collected = session.sql("SELECT * FROM t").collect()
    assert collected.schema.field("price").type == pa.decimal128(10, 2)
    assert collected.schema.field("day").type == pa.date32()
    assert collected.to_pylist() == TABLE.to_pylist()


def test_the_schema_is_known_before_anything_runs(session):
    result = session.sql("SELECT day, count(*) AS n, max(name) AS m, 1.25 AS c FROM t GROUP BY day")
    assert result.schema == (
        Field("day", DATE, False), Field("n", BIGINT, False), Field("m", VARCHAR, True), Field("c", decimal(3, 2), False),
    )  # fmt: skip
    assert result.columns == ("day", "n", "m", "c")


def test_the_three_forms_of_a_result(session):
    result = session.sql("SELECT id, price FROM t ORDER BY id")
    assert isinstance(result.collect(), pa.Table)
    assert result.to_polars().equals(
        pl.DataFrame({"id": [1, 2, 3], "price": TABLE["price"].to_pylist()}, schema_overrides={"price": pl.Decimal(10, 2)})
    )
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["price"].tolist() == [Decimal("1.50"), None, Decimal("2.25")]
    assert pa.table(result).num_rows == 3  # the Arrow PyCapsule interface


def test_names_may_repeat_in_arrow_and_are_refused_by_polars(session):
    result = session.sql("SELECT id, id FROM t")
    assert result.collect().column_names == ["id", "id"]
    with pytest.raises(ValueError, match="'id' twice"):
        result.to_polars()


def test_show_prints_a_table(session, capsys):
    session.sql("SELECT name FROM t ORDER BY id").show(2)
    assert capsys.readouterr().out.splitlines()[-1] == "3 rows, the first 2 shown"


@pytest.mark.parametrize(
    "table", [TABLE, TABLE.slice(1), pl.from_arrow(TABLE), TABLE.to_pandas(), pl.from_arrow(TABLE).lazy().collect()],
    ids=["arrow", "slice", "polars", "pandas", "frame"],
)  # fmt: skip
def test_register_takes_every_kind_of_table(session, table):
    session.register("kind", table)
    collected = session.sql("SELECT count(*) AS n, sum(price) AS s FROM kind").collect().to_pylist()
    rows = len(table)
    assert collected == [{"n": rows, "s": Decimal("3.75") if rows == 3 else Decimal("2.25")}]


def test_registering_again_replaces_and_names_ignore_case(session):
    session.register("Again", pa.table({"a": [1]}))
    session.register("again", pa.table({"a": [2]}))
    assert session.sql("SELECT a FROM AGAIN").collect().to_pylist() == [{"a": 2}]


@pytest.mark.parametrize("thing", [3, "path.parquet", [1, 2]])
def test_what_is_no_table_is_refused(session, thing):
    with pytest.raises(QEngineError) as caught:
        session.register("thing", thing)
    assert caught.value.code == "UNSUPPORTED_VALUE"


def test_the_result_of_another_session_is_not_registered_unread(session):
    with qengine.Session(workers=2) as other, pytest.raises(QEngineError, match="collect it first"):
        session.register("view", other.sql("SELECT 1"))


@pytest.mark.parametrize("spelling", ["glob", "folder", "list", "sql"])
def test_several_files_are_one_table_in_their_order(session, folder, spelling):
    match spelling:
        case "glob":
            result = session.read_parquet(str(folder / "*.parquet"))
        case "folder":
            result = session.read_parquet(folder)
        case "list":
            result = session.read_parquet([folder / "2.parquet", folder / "0.parquet", folder / "1.parquet"])
        case "sql":
            result = session.sql(f"SELECT * FROM '{folder}/*.parquet'")
    parts = result.collect()["part"].to_pylist()[::4]
    assert parts == ([2, 0, 1] if spelling == "list" else [0, 1, 2])


def test_a_registered_file_has_its_name(session, folder):
    session.register("parts", session.read_parquet(folder))
    assert session.sql("SELECT count(*) AS n FROM parts").collect().to_pylist() == [{"n": 12}]


@pytest.mark.parametrize("level", ["logical", "optimized", "physical", "stages"])
def test_explain_is_stable_and_free_of_ids(session, level):
    text = "SELECT a.name, sum(b.price) FROM t a JOIN t b ON a.id = b.id WHERE a.id > 1 GROUP BY a.name ORDER BY 2 LIMIT 5"
    plan = session.sql(text).explain(level)
    assert plan == session.sql(text).explain(level)
    assert not re.search(r"#\d|0x|c\d+|/", plan)


def test_explain_stages_shows_the_dir_on_every_edge(session):
    plan = session.sql("SELECT name, sum(price) FROM t GROUP BY name ORDER BY name").explain("stages")
    edges = [line for line in plan.splitlines() if "→" in line]
    assert edges
    assert all("lazy · lineage · sync" in edge for edge in edges)
    with pytest.raises(QEngineError, match="level must be one of"):
        session.sql("SELECT 1").explain("everything")


def test_progress_ends_with_all_tasks_done(session):
    seen = []
    session.sql("SELECT count(*) FROM t").collect(progress=seen.append)
    assert seen[-1].tasks_done == seen[-1].tasks > 0


def test_a_set_cancel_event_ends_the_query(session):
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(QEngineError) as caught:
        session.sql("SELECT count(*) FROM t").collect(cancel=cancel)
    assert caught.value.code == "CANCELLED"
    assert session.sql("SELECT 1 AS one").collect().to_pylist() == [{"one": 1}]


def test_sessions_of_one_process_share_their_workers():
    with qengine.Session(workers=2) as one, qengine.Session(workers=2) as two:
        assert one._engine is two._engine
        two.close()
        assert one.sql("SELECT 1 AS one").collect().num_rows == 1


def test_an_engine_that_was_given_belongs_to_whoever_gave_it():
    with qengine.Session(workers=2) as owner:
        with qengine.Session(engine=owner._engine) as guest:
            assert guest.sql("SELECT 1 AS one").collect().num_rows == 1
        assert owner.sql("SELECT 1 AS one").collect().num_rows == 1


def test_threads_share_a_session(session):
    answers = []

    def ask(number: int) -> None:
        answers.append(session.sql(f"SELECT count(*) + {number} AS n FROM t").collect()["n"][0].as_py() - number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [3] * 8

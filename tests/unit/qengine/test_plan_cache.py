"""The plan cache: a text is planned once, for as long as every name in it means what it meant."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
import qengine.plan_cache as plan_cache
from exec.engine import Engine
from qengine.errors import QEngineError

TEXT = "SELECT sum(a) AS s FROM t"


@pytest.fixture(scope="module")
def engine():
    with Engine(workers=1) as opened:
        yield opened


@pytest.fixture
def session(engine):
    with qengine.Session(engine=engine) as opened:
        yield opened


def planned(session, text=TEXT):
    """The plans of a text as the session has them."""
    return session.sql(text)._planned()


def answer(session, text=TEXT):
    return session.sql(text).collect().to_pydict()


def test_the_same_text_is_planned_once(session):
    session.register("t", pa.table({"a": [1, 2]}))
    assert answer(session) == answer(session) == {"s": [3]}
    assert planned(session) is planned(session)
    assert planned(session) is not planned(session, f"{TEXT} ")
    profile = session.sql(TEXT).profile()
    assert "bind" not in profile.steps and profile.planning_seconds < 0.05


def test_switched_off(engine):
    with qengine.Session(engine=engine, plan_cache="off") as session:
        session.register("t", pa.table({"a": [1]}))
        assert planned(session) is not planned(session)
    with pytest.raises(QEngineError, match="plan_cache"):
        qengine.Session(engine=engine, plan_cache="on")


def test_a_name_that_means_another_table(session):
    session.register("t", pa.table({"a": [1]}))
    assert answer(session) == {"s": [1]}
    session.register("T", pa.table({"a": [10.5]}))
    assert answer(session) == {"s": [10.5]}


def test_a_view_that_is_defined_anew(session):
    session.register("base", pa.table({"a": [1, 2]}))
    session.register("t", session.sql("SELECT a FROM base"))
    assert answer(session) == {"s": [3]}
    session.register("t", session.sql("SELECT a + 1 AS a FROM base"))
    assert answer(session) == {"s": [5]}


def test_a_file_that_is_replaced(session, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    session.register("t", session.read_parquet(path))
    session.register("v", session.sql("SELECT a FROM t"))
    through_view = "SELECT max(a) AS m FROM v"
    assert answer(session) == {"s": [1]} and answer(session, through_view) == {"m": [1]}
    assert planned(session) is planned(session) and planned(session, through_view) is planned(session, through_view)
    pq.write_table(pa.table({"a": [5, 7]}), tmp_path / "new")
    os.replace(tmp_path / "new", path)
    assert answer(session) == {"s": [12]} and answer(session, through_view) == {"m": [7]}


def test_a_file_that_is_gone_is_said_with_its_place(session, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    text = f"SELECT a FROM '{path}'"
    assert answer(session, text) == {"a": [1]}
    path.unlink()
    with pytest.raises(QEngineError) as raised:
        session.sql(text)
    assert raised.value.position is not None


def test_files_that_are_added_to_a_folder(session, tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    text = f"SELECT count(*) AS n FROM '{tmp_path}/*.parquet'"
    assert answer(session, text) == {"n": [1]}
    pq.write_table(pa.table({"a": [1]}), tmp_path / "2.parquet")
    assert answer(session, text) == {"n": [2]}


def test_settings_are_part_of_what_is_planned(engine, session):
    session.register("t", pa.table({"a": [1]}))
    known = planned(session)
    session._settings = type(session._settings)("off")
    assert planned(session) is not known


def test_what_time_it_is_is_asked_each_time(session):
    text = "SELECT now() AS n, current_date AS d"
    first = answer(session, text)
    time.sleep(0.01)
    assert answer(session, text)["n"] != first["n"]
    frame = session.sql(text)
    assert frame.collect().equals(frame.collect())


def test_frames_of_one_text_have_columns_of_their_own(session):
    session.register("t", pa.table({"a": [1, 2], "b": [2, 3]}))
    text = "SELECT a, b FROM t"
    left, right = session.sql(text), session.sql(text)
    joined = left.join(right, left["b"] == right["a"]).select(x=left["a"], y=right["b"])
    assert joined.collect().to_pydict() == {"x": [1], "y": [3]}
    assert right.columns == ("a", "b")


def test_a_frame_is_bound_to_the_tables_that_its_plans_read(session):
    session.register("t", pa.table({"a": [1]}))
    answer(session, "SELECT * FROM t")
    frame = session.sql("SELECT * FROM t")
    session.register("t", pa.table({"b": ["x"]}))
    assert frame.collect().to_pydict() == frame.filter("a > 0").collect().to_pydict() == {"a": [1]}


def test_a_table_in_memory_goes_with_its_name(session):
    session.register("t", pa.table({"a": [1]}))
    answer(session)
    keeper = weakref.ref(session._catalog.table("t").keeper)
    assert keeper() is not None
    session.register("t", pa.table({"a": [2]}))
    gc.collect()
    assert keeper() is None


def test_the_least_recently_used_go_first(session, monkeypatch):
    monkeypatch.setattr(plan_cache, "MOST_PLANS", 2)
    one, two = planned(session, "SELECT 1"), planned(session, "SELECT 2")
    assert planned(session, "SELECT 1") is one
    planned(session, "SELECT 3")
    assert len(session._plans) == 2
    assert planned(session, "SELECT 1") is one and planned(session, "SELECT 2") is not two


def test_long_texts_are_not_kept(session):
    text = f"SELECT {' + '.join(['1'] * 10_000)} AS s"
    assert planned(session, text) is not planned(session, text)


def test_many_threads_share_one_plan(session):
    session.register("t", pa.table({"a": list(range(100))}))
    answers, threads = [], []
    for _ in range(8):
        threads.append(threading.Thread(target=lambda: answers.extend(answer(session)["s"] for _ in range(5))))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert answers == [[4950]] * 40


def test_a_plan_is_found_in_a_third_of_a_millisecond(session, tmp_path):
    """The figure of a cached plan, with room for a busy machine: the best of what comes before the execution."""
    names = [f"t{number}" for number in range(8)]
    for name in names:
        pq.write_table(pa.table({"k": [1]}), tmp_path / f"{name}.parquet")
        session.register(name, session.read_parquet(tmp_path / f"{name}.parquet"))
    text = f"SELECT count(*) AS n FROM {', '.join(names)} WHERE {' AND '.join(f't0.k = {name}.k' for name in names[1:])}"
    assert answer(session, text) == {"n": [1]}
    assert min(session.sql(text).profile().planning_seconds for _ in range(20)) < 0.0006

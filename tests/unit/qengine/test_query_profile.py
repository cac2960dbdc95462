"""Profiles: what a run did, stage by stage, against its plan and its result; and the critical path of known times."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from exec.metrics import QueryMetrics, StageMetrics, TaskMetrics
from planner.errors import error
from qengine.errors import QEngineError
from qengine.query import Query
from qengine.query_profile import Record, profile_of
from tests.cluster.graphs import count_pairs

SIZES = {"a": 2_000_000, "b": 30_000}
TEXT = "SELECT a.k % 7 AS g, count(*) AS n FROM a JOIN b ON a.k = b.k WHERE a.k < 15000 GROUP BY g ORDER BY n DESC, g LIMIT 3"


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    with qengine.Session(workers=2, inline="off") as opened:
        for name, rows in SIZES.items():
            keys = np.random.default_rng(1).permutation(rows)
            pq.write_table(pa.table({"k": keys}), folder / f"{name}.parquet", row_group_size=100_000)
            opened.register(name, opened.read_parquet(folder / f"{name}.parquet"))
        yield opened


def test_the_result_is_that_of_collect(session):
    frame = session.sql(TEXT)
    assert frame.profile().result.equals(frame.collect())


def test_steps_are_in_order_and_make_up_the_total(session):
    frame = session.sql(f"{TEXT} OFFSET 0")
    profile = frame.profile()
    assert list(profile.steps) == ["look up", "parse", "bind", "refresh", "optimize", "plan", "execute", "deliver"]
    assert all(seconds > 0 for seconds in profile.steps.values())
    assert profile.seconds == pytest.approx(sum(profile.steps.values()))
    assert profile.planning_seconds == pytest.approx(sum(list(profile.steps.values())[:6]))
    assert frame.profile().steps["parse"] == profile.steps["parse"]  # parsed once, in session.sql
    assert list(session.sql(f"{TEXT} OFFSET 0").profile().steps)[:2] == ["look up", "refresh"]
    assert next(iter(session.table("a").filter("k > 3").profile().steps)) == "refresh"


def test_stages_are_those_of_the_plan(session):
    frame = session.sql(TEXT)
    profile = frame.profile()
    headers = re.findall(r"^Stage (\d+) \(batch, (\d+) task", frame.explain("stages"), re.M)
    assert len(headers) > 2
    assert [(stage.number, stage.tasks) for stage in profile.stages] == [(int(n), int(tasks)) for n, tasks in headers]
    last = profile.stages[-1]
    assert last.rows == profile.result.num_rows == 3
    assert "TopN" in last.operators and last.table_rows == 0
    assert {table for stage in profile.stages for table in re.findall(r"TableScan (\w)", stage.operators)} == {"a", "b"}
    assert sum(stage.table_rows for stage in profile.stages) == sum(SIZES.values())
    for stage in profile.stages:
        assert stage.attempts == stage.tasks and stage.bytes > 0
        assert stage.cpu_seconds > 0 and 0 <= stage.begin < stage.end <= profile.steps["execute"]
        assert all(profile.stage(number).end <= stage.end for number in stage.inputs)
    assert 0 <= profile.idle_seconds < profile.steps["execute"]
    assert profile.critical_path[-1] == last.number


def test_a_query_in_this_process_has_no_stages():
    with qengine.Session(workers=1) as session:
        profile = session.sql("SELECT 1 AS one").profile()
    assert profile.inline and profile.stages == () and profile.critical_path == ()
    assert profile.result.to_pylist() == [{"one": 1}]
    assert "in this process" in str(profile)


def test_text(session):
    profile = session.sql(TEXT).profile()
    lines = str(profile).splitlines()
    assert re.match(r"total [\d.]+ ms: look up [\d.]+ ms, ", lines[0])
    assert lines[2].startswith("critical path: stage ")
    assert len(lines) == 5 + len(profile.stages)
    assert not any(line != line.rstrip() for line in lines)


def test_errors_are_those_of_collect(session):
    with pytest.raises(QEngineError, match="zero"):
        session.sql("SELECT 1 // (k - k) FROM a").profile()


def test_planning_and_running_once_more_is_a_step(session, monkeypatch):
    original, calls = Query.run, []

    def run(self, *arguments):
        calls.append(self)
        if len(calls) == 1:
            raise error("FILE_CHANGED", path="t.parquet")
        return original(self, *arguments)

    monkeypatch.setattr(Query, "run", run)
    profile = session.sql(TEXT).profile()
    assert len(calls) == 2 and profile.steps["repeat"] > 0 and profile.result.num_rows == 3


def test_critical_path_and_idle_time_of_known_tasks():
    """Of the two inputs of a stage one is late; a gap of 0.2 s has no task."""
    graph = count_pairs(10)
    record = Record({"execute": 2.0})
    record.graph = graph
    record.metrics = QueryMetrics(
        {stage.id: StageMetrics(stage.tasks) for stage in graph.stages},
        [TaskMetrics(0, 0, 0.1, 0.5), TaskMetrics(1, 0, 0.1, 0.9), TaskMetrics(2, 0, 1.2, 0.6), TaskMetrics(2, 1, 1.3, 0.1)],
    )
    profile = profile_of(pa.table({}), record)
    assert profile.stage(3).inputs == (1, 2)
    assert profile.idle_seconds == pytest.approx(2.0 - 0.9 - 0.6)
    assert profile.critical_path == (2, 3)
    assert "stage 2 900.0 ms (waited 100.0 ms) → stage 3 600.0 ms (waited 200.0 ms)" in str(profile)

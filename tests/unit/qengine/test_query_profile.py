"""Profiles: what a run did, stage by stage, against its plan and its result; and the critical path of known times."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from exec.attempts import EMPTY_OUTPUT, Attempt, OperatorCount
from exec.metrics import QueryMetrics, Replanned, StageMetrics, Surprise, TaskMetrics
from exec.progress import Execution
from planner.errors import error
from qengine.errors import QEngineError
from qengine.query import Query
from qengine.query_profile import OperatorProfile, Record, profile_of
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


def rows_of(profile, name):
    return [operator.rows for operator in profile.operators if operator.name == name]


def test_operators_are_counted_over_all_tasks(session):
    """Every key of b, which are 0 to 29999, is in a once; the filter leaves half of them."""
    profile = session.sql(TEXT).profile()
    scans = {operator.text.split()[1]: operator for operator in profile.operators if operator.name == "TableScan"}
    assert max(stage.tasks for stage in profile.stages) > 1
    assert scans["a"].rows == 15_000
    assert scans["b"].rows in (15_000, 30_000)
    assert rows_of(profile, "Join") == [15_000]
    assert rows_of(profile, "Aggregate")[-1] == 7
    assert rows_of(profile, "TopN")[-1] == 3
    observed = [operator for operator in profile.operators if operator.rows is not None]
    assert all(operator.bytes > 0 and operator.seconds > 0 for operator in observed)
    assert {operator.name for operator in profile.operators} - {operator.name for operator in observed} <= {
        "Project", "ExchangeSource",
    }  # fmt: skip
    assert all(operator.text in session.sql(TEXT).explain("stages") for operator in profile.operators)


@pytest.mark.parametrize(
    "join, rows",
    [
        ("a JOIN b ON a.k = b.k AND (a.k + b.k) % 4 = 0", 15_000),
        ("b LEFT JOIN a ON a.k = b.k AND (a.k + b.k) % 4 = 0", 30_000),
        ("b FULL JOIN (SELECT k FROM a WHERE k < 10) c ON c.k = b.k AND (c.k + b.k) % 4 = 0", 30_005),
        ("b WHERE EXISTS (SELECT 1 FROM a WHERE a.k = b.k AND (a.k + b.k) % 4 = 0)", 15_000),
        ("(SELECT k FROM a WHERE k < 5) c JOIN (SELECT k FROM b WHERE k < 7) d ON c.k < d.k", 20),
    ],
)
def test_rows_of_joins_that_run_in_several_steps(session, join, rows):
    profile = session.sql(f"SELECT * FROM {join}").profile()
    assert profile.result.num_rows == rows
    assert rows_of(profile, "Join") == [rows]


@pytest.mark.parametrize(
    "text, name, rows",
    [
        ("SELECT k FROM b ORDER BY k", "Sort", 30_000),
        ("SELECT k, row_number() OVER (ORDER BY k) FROM b", "Window", 30_000),
        ("SELECT k FROM b UNION ALL SELECT k FROM b WHERE k < 10", "Union", 30_010),
        ("SELECT k FROM b LIMIT 10", "Limit", 10),
        ("SELECT count(*) FROM b", "Aggregate", 1),
        ("SELECT b.k FROM b JOIN a ON a.k = b.k WHERE a.k + b.k > 30000 AND 100 // (a.k + b.k + 1) < 50", "Filter", None),
    ],
)
def test_rows_of_every_operator(session, text, name, rows):
    profile = session.sql(text).profile()
    found = rows_of(profile, name)
    assert (found[0] if found else None) == rows or (rows is None and None not in found)


def test_operators_need_not_be_counted(session):
    profile = session.sql(TEXT).profile(operators=False)
    assert {(operator.rows, operator.bytes, operator.seconds, operator.q_error) for operator in profile.operators} == {
        (None, None, None, None)
    }
    assert session.sql(TEXT).profile(operators=False).result.equals(session.sql(TEXT).profile().result)


def test_operators_of_a_query_in_this_process():
    with qengine.Session(workers=1) as session:
        session.register("t", pa.table({"i": pa.array(range(10), pa.int64())}))
        profile = session.sql("SELECT i % 3 AS g, count(*) FROM t WHERE i > 1 GROUP BY g").profile()
    assert profile.inline
    assert [(operator.stage, operator.name, operator.rows) for operator in profile.operators if operator.rows is not None] == [
        (1, "Aggregate", 3), (1, "TableScan", 8),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "estimated, rows, expected",
    [(10.0, 10, 1.0), (10.0, 40, 4.0), (40.0, 10, 4.0), (0.2, 0, 1.0), (5.0, 0, 5.0), (None, 3, None), (3.0, None, None)],
)
def test_q_error(estimated, rows, expected):
    assert OperatorProfile(1, 1, "Filter", "Filter x", estimated, rows, 0, 0.0).q_error == expected


def test_an_attempt_that_is_repeated_counts_once():
    graph = count_pairs(10)
    metrics = QueryMetrics(observed=True)
    execution = Execution(1, graph, metrics=metrics)
    for number in (1, 2):
        output = replace(EMPTY_OUTPUT, operators=(OperatorCount(7, 100, 800, 0.1),))
        execution.finished(Attempt(1, 1, 0, 0, number), output)
    assert metrics.stages[0].attempts == 2
    assert metrics.operators == {(0, 0): (OperatorCount(7, 100, 800, 0.1),)}


def test_new_plans_are_told():
    record = Record({"execute": 1.0})
    record.graph = graph = count_pairs(10)
    record.metrics = QueryMetrics(
        {stage.id: StageMetrics(stage.tasks) for stage in graph.stages},
        graph=graph,
        replans=[Replanned(2, (Surprise(0, 10.0, 5000, 40_000),), ("the join hashes its left side",), 0.004)],
    )
    lines = str(profile_of(pa.table({}), record)).splitlines()
    assert lines[3] == "planned again in 4.0 ms: a stage delivered 5,000 rows, not 10: the join hashes its left side"


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

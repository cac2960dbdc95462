"""Statements that are no queries: what they change, and that what they say are rows (tests/golden has more texts)."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

import qengine
from planner.dtypes import BIGINT, VARCHAR
from planner.schema import Field
from planner.sql.statements import Explain, parse_statement
from qengine.errors import QEngineError


@pytest.fixture
def session():
    with qengine.Session(workers=1, sampling="off") as opened:
        opened.register("t", pa.table({"i": pa.array([1, 2, 2], pa.int64())}))
        yield opened


@pytest.mark.parametrize(
    "text",
    [
        "", "-- nothing", "SELECT 1", "(SELECT 1)", "FROM explain", "WITH show AS (SELECT 1) FROM show", '"explain" (SELECT 1)',
        "'SET' a = 1", "explains SELECT 1", "/* EXPLAIN */ SELECT 1", "/* EXPLAIN", "'abc", "VALUES (1)", "set_up",
    ],
)  # fmt: skip
def test_other_texts_are_left_to_the_parser_of_queries(text):
    assert parse_statement(text) is None


def test_a_query_inside_keeps_its_place():
    statement = parse_statement("EXPLAIN\n (ANALYZE) /* x */ SELECT 1")
    assert isinstance(statement, Explain)
    assert statement.query.text == "       \n                   SELECT 1"


def test_what_a_statement_says_are_rows(session):
    tables = session.sql("SHOW TABLES")
    assert tables.schema == (Field("name", VARCHAR, False), Field("kind", VARCHAR, False))
    assert tables.filter("name = 't'").collect().to_pylist() == [{"name": "t", "kind": "table"}]
    assert session.sql("SHOW TABLES").collect().num_rows == 1
    described = session.sql("DESCRIBE t")
    session.register("described", described)
    joined = described.join(session.table("described"), "column_name")
    assert joined.collect().num_rows == 1
    with_workers = session.sql("SET inline = off").select("name", "value")
    assert with_workers.collect().to_pylist() == [{"name": "inline", "value": "off"}]


def test_rows_of_statements_have_types(session):
    statistics = session.sql("ANALYZE t")
    assert statistics.schema[2] == Field("rows", BIGINT, False)
    assert statistics.collect()["distinct_values"].to_pylist() == [2.0]


def test_settings_hold_for_the_queries_after_them(session):
    text = "SELECT i FROM (SELECT i, i AS j FROM t) WHERE j > 1"
    before, earlier = session.sql(text).explain(), session.sql(text)
    session.sql("SET optimizer.disable = 'push_filter_through_project, merge_projects'")
    after = session.sql(text).explain()
    assert before != after
    assert earlier.explain() == before
    assert session.table("t").filter("i > 1")._planned().settings.disabled_rules
    session.sql("RESET ALL")
    assert session.sql(text).explain() == before


def test_resetting_gives_what_the_session_was_opened_with():
    with qengine.Session(workers=1, inline="off", disabled_rules={"merge_limits"}) as session:
        session.sql("SET inline = auto")
        session.sql("SET optimizer.disable = ''")
        assert session.sql("SHOW ALL").collect()["value"].to_pylist() == ["auto", "", "auto"]
        session.sql("RESET optimizer.disable")
        assert session.sql("SHOW optimizer.disable").collect()["value"].to_pylist() == ["merge_limits"]
        session.sql("RESET ALL")
        assert session.sql("SHOW inline").collect()["value"].to_pylist() == ["off"]


def test_a_setting_that_is_refused_changes_nothing(session):
    for name in ("nope", "unnest_subqueries"):  # later layers rely on this one
        with pytest.raises(QEngineError) as raised:
            session.sql(f"SET optimizer.disable = 'merge_limits, {name}'")
        assert raised.value.code == "UNKNOWN_RULE"
    assert session.sql("SHOW optimizer.disable").collect()["value"].to_pylist() == [""]


def test_inline_off_uses_the_workers(session):
    assert session.sql("SELECT sum(i) FROM t").profile().inline
    session.sql("SET inline = 'off'")
    profile = session.sql("SELECT sum(i) FROM t").profile()
    assert not profile.inline
    assert profile.result.to_pydict() == {"sum(i)": [5]}


def test_a_query_to_be_explained_has_parameters(session):
    lines = session.sql("EXPLAIN SELECT * FROM t WHERE i > ?", parameters=[41]).collect()["plan"].to_pylist()
    assert any("i > 41" in line for line in lines)


def test_statements_are_prepared(session):
    explain = session.prepare("EXPLAIN SELECT * FROM t WHERE i > $low AND i < $high")
    assert explain.parameters == ("high", "low")
    lines = explain.execute(low=7, high=9).collect()["plan"].to_pylist()
    assert any("i > 7 AND i < 9" in line for line in lines)
    show = session.prepare("SHOW ALL")
    assert show.parameters == ()
    session.sql("SET inline = off")
    assert show.execute().collect()["value"][0].as_py() == "off"
    with pytest.raises(QEngineError) as raised:
        session.prepare("DESCRIBE SELECT (1")
    assert raised.value.position is not None
    assert raised.value.position.text == "DESCRIBE SELECT (1"


@pytest.mark.parametrize("text", ["SHOW ALL", "DESCRIBE t", "EXPLAIN SELECT i FROM t"])
def test_a_parameter_that_a_statement_does_not_have(session, text):
    with pytest.raises(QEngineError) as raised:
        session.sql(text, parameters=[1])
    assert raised.value.code == "UNKNOWN_PARAMETER"


def test_the_error_of_a_fragment_keeps_its_own_text(session):
    with pytest.raises(QEngineError) as raised:
        session.sql("EXPLAIN SELECT i FROM t").filter("nope > 1")
    assert raised.value.position is not None
    assert raised.value.position.text == "nope > 1"


def test_the_command_line_runs_statements():
    command = [sys.executable, "-m", "qengine", "--workers", "1", "--format", "csv", "-c"]
    done = subprocess.run([*command, "SHOW plan_cache"], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("name,value,description\nplan_cache,auto,"), done.stderr
    done = subprocess.run([*command, "EXPLAIN (SELECT nope)"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == ["LINE 1: EXPLAIN (SELECT nope)", f"{' ' * 24}^^^^"]


def test_prepared_queries_take_values_of_all_types(session):
    session.sql("PREPARE typed AS SELECT ? AS a, ? AS b, ? AS c, ? AS d")
    row = session.sql("EXECUTE typed(1, DATE '2020-01-02', 1.50, NULL)").collect().to_pylist()
    assert row == [{"a": 1, "b": date(2020, 1, 2), "c": Decimal("1.50"), "d": None}]
    session.sql("PREPARE typed AS SELECT ? + 1 AS a")  # in place of the earlier one
    assert session.sql("EXECUTE typed(1)").filter("a = 2").collect().num_rows == 1
    with pytest.raises(QEngineError, match="no parameter"):
        session.sql("EXECUTE typed(1, 2)")

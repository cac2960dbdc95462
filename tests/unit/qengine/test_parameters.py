"""Parameters of SQL text and prepared statements: values by place and by name, never text."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import qengine
from qengine.errors import QEngineError

ROWS = pa.table(
    {"a": [1, 2, 3, None], "s": ["x", "y'; --", "z", None], "d": [datetime.date(2020, 1, day) for day in (1, 2, 3, 4)]}
)


@pytest.fixture(scope="module")
def session():
    with qengine.Session(workers=1) as opened:
        opened.register("t", ROWS)
        yield opened


SAME = [
    ("SELECT a FROM t WHERE a > ? AND s <> ?", [1, "z"]),
    ("SELECT a FROM t WHERE s = ?", ["y'; --"]),
    ("SELECT a FROM t WHERE d BETWEEN ? AND ?", [datetime.date(2020, 1, 2), "2020-01-03"]),
    ("SELECT a FROM t WHERE a IN ($1, $2) OR a = $1 + $2", [1, 2]),
    ("SELECT a + $step AS b FROM t WHERE a < $most", {"step": 10, "most": 3}),
    ("SELECT a FROM t ORDER BY a LIMIT ? OFFSET ?", [2, 1]),
    ("WITH u AS (SELECT a FROM t WHERE a >= ?) SELECT a FROM u WHERE a <= ? UNION ALL SELECT ?", [2, 2, 7]),
    ("SELECT d + INTERVAL (?) DAY AS e FROM t WHERE d < ?::DATE", [3, "2020-01-03"]),
    ("SELECT count(*) AS n FROM t WHERE a = ?", [None]),
    ("SELECT sum(a * ?) AS s FROM t GROUP BY s HAVING sum(a) > ? ORDER BY 1", [Decimal("1.5"), 1]),
]


@pytest.mark.parametrize(("text", "parameters"), SAME)
def test_the_same_as_duckdb(session, text, parameters):
    connection = duckdb.connect()
    connection.register("t", ROWS)
    expected = connection.execute(text, parameters).fetchall()
    found = session.sql(text, parameters=parameters).collect()
    assert sorted(map(str, zip(*found.to_pydict().values(), strict=True))) == sorted(map(str, expected))


@pytest.mark.parametrize("dialect", ["postgres", "spark", "duckdb"])
def test_numbers_in_every_dialect(session, dialect):
    assert session.sql("SELECT $1 + $2 AS s", dialect, parameters=[1, 2]).collect().to_pydict() == {"s": [3]}
    assert session.sql("SELECT ? - ? AS s", dialect, parameters=[1, 2]).collect().to_pydict() == {"s": [-1]}


def test_names_with_a_colon(session):
    assert session.sql("SELECT :a AS s", "postgres", parameters={"a": "x"}).collect().to_pydict() == {"s": ["x"]}


def test_each_value_has_a_plan_of_its_own(session):
    text = "SELECT ? AS v"
    for value in (1, True, 1.0, Decimal("1.0"), Decimal("1.00"), "1", None):
        column = session.sql(text, parameters=[value]).collect()["v"]
        assert column.to_pylist() == [value] and type(column.to_pylist()[0]) is type(value)
    assert session.sql(text, parameters=[1])._planned() is session.sql(text, parameters=[1])._planned()


def test_a_frame_of_a_cached_plan_has_the_values(session):
    for _ in range(2):
        frame = session.sql("SELECT a FROM t WHERE a > ?", parameters=[1])
        assert frame.filter("a < 3").collect().to_pydict() == {"a": [2]}


def test_a_prepared_statement(session):
    statement = session.prepare("SELECT a FROM t WHERE a >= $low AND a <= $high")
    assert statement.parameters == ("high", "low")
    assert statement.execute(low=2, high=2).collect().to_pydict() == {"a": [2]}
    assert statement.execute(low=1, high=2).collect().to_pydict() == {"a": [1, 2]}
    by_place = session.prepare("SELECT ? || ? AS s")
    assert by_place.parameters == ("1", "2")
    assert by_place.execute("a", "b").collect().to_pydict() == {"s": ["ab"]}
    assert session.prepare("SELECT 1 AS s").execute().collect().to_pydict() == {"s": [1]}


def test_a_statement_may_be_prepared_before_its_table(session):
    statement = session.prepare("SELECT b FROM later WHERE b = ?")
    session.register("later", pa.table({"b": [5]}))
    assert statement.execute(5).collect().to_pydict() == {"b": [5]}


WRONG = [
    ("SELECT ?", (), "MISSING_PARAMETER"),
    ("SELECT ? + ?", [1], "MISSING_PARAMETER"),
    ("SELECT $a", {"b": 1}, "UNKNOWN_PARAMETER"),
    ("SELECT 1", [1], "UNKNOWN_PARAMETER"),
    ("SELECT ? + $a", [1], "SYNTAX"),
    ("SELECT ?", 3, "INVALID_SETTING"),
    ("SELECT ?", "3", "INVALID_SETTING"),
    ("SELECT ?", [object()], "INVALID_LITERAL"),
    ("SELECT ? FROM t LIMIT ?", [1, -1], "INVALID_LIMIT"),
    ("SELECT a FROM t WHERE d > ?", ["no date"], "INVALID_LITERAL"),
]


@pytest.mark.parametrize(("text", "parameters", "code"), WRONG)
def test_refused(session, text, parameters, code):
    with pytest.raises(QEngineError) as raised:
        session.sql(text, parameters=parameters)
    assert raised.value.code == code


def test_by_place_and_by_name_at_once(session):
    with pytest.raises(QEngineError, match="all by place or all by name"):
        session.prepare("SELECT $1, $a").execute(1, a=2)


class Hidden(str):
    """A text that does not show itself."""

    def __repr__(self):
        return "***"


class Broken(str):
    def __repr__(self):
        raise RuntimeError("nothing to show")


def test_values_are_told_apart_by_what_they_are_and_not_by_how_they_are_shown(session):
    for value in (Hidden("a"), Hidden("b"), Broken("c")):
        assert session.sql("SELECT ? AS v", parameters=[value]).collect().to_pydict() == {"v": [str.__str__(value)]}
    for value in (0.0, -0.0):
        assert str(session.sql("SELECT ? AS v", parameters=[value]).collect()["v"][0].as_py()) == str(value)


@pytest.mark.parametrize("value", [10**5000, -(10**5000), "\ud800"], ids=["large", "small", "surrogate"])
def test_values_that_no_constant_has(session, value):
    with pytest.raises(QEngineError) as raised:
        session.sql("SELECT ? AS v", parameters=[value])
    assert raised.value.code == "INVALID_LITERAL"

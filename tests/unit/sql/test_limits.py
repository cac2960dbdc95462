"""Text that is deep, long or repeats itself: an answer or a refusal, soon, and never a crash of the process."""

from __future__ import annotations

import time

import pytest

from planner.errors import QueryError
from tests.unit.sql.small_tables import query

SECONDS = 2.0


def outcome(text: str) -> str:
    """The code of the refusal, or "OK"; in time."""
    started = time.process_time()
    try:
        query(text)
    except QueryError as refused:
        found = refused.code
        assert len(str(refused)) < 5000
    else:
        found = "OK"
    assert time.process_time() - started < SECONDS
    return found


def joins(count: int, conditions: int) -> str:
    return "SELECT 1 FROM t" + "".join(f" JOIN u AS u{n}" for n in range(count)) + " ON true" * conditions


@pytest.mark.parametrize("text", [
    joins(30, 0), joins(30, 29), joins(3000, 0), joins(16, 15) + " JOIN u ON true" * 2000,
    "SELECT 1 FROM t" + " LEFT JOIN u" * 100, "SELECT 1 FROM t" + " SEMI JOIN u" * 100,
    "SELECT 1 FROM t" + " JOIN (SELECT * FROM t JOIN u" * 40 + ")" * 40,
])  # fmt: skip
def test_joins_that_wait_for_conditions_are_refused(text):
    """sqlglot would take hours for most of these."""
    with pytest.raises(QueryError, match="wait for a condition") as refused:
        query(text)
    assert refused.value.code == "SYNTAX"
    position = refused.value.position
    assert position is not None and text[position.start : position.end] == "JOIN"


@pytest.mark.parametrize("text", [
    joins(10, 10), joins(15, 15),
    "SELECT 1 FROM t" + "".join(f" NATURAL LEFT JOIN u AS u{n}" for n in range(40)),
    "SELECT 1 FROM t" + "".join(f" CROSS JOIN u AS u{n}" for n in range(40)),
    "SELECT 1 FROM t" + "".join(f" JOIN u AS u{n} ON u{n}.i = t.i" for n in range(199)),
    "SELECT 1 FROM t" + "".join(f" JOIN u AS u{n} USING (i)" for n in range(100)),
    "SELECT 1 FROM t JOIN u ON t.i = u.i WHERE t.i IN (" + ", ".join(map(str, range(10_000))) + ")",
])  # fmt: skip
def test_joins_that_people_write_are_not(text):
    assert outcome(text) == "OK"


def test_a_few_joins_without_conditions_are_cross_joins_where_the_dialect_says_so():
    assert query(joins(10, 0) + " WHERE t.i IN (" + ", ".join(map(str, range(5000))) + ")", "mysql").names == ("1",)


@pytest.mark.parametrize(("prefix", "unit", "middle", "end"), [
    ("SELECT ", "(", "1", ")"), ("SELECT ", "CASE WHEN true THEN ", "1", " END"), ("SELECT ", "NOT ", "true", ""),
    ("SELECT ", "- ", "1", ""), ("", "FROM ", "t", ""), ("", "SELECT * FROM (", "SELECT 1", ")"),
    ("SELECT ", "INT(", "1", ")"), ("SELECT ", "STRUCT(", "1", ")"), ("SELECT ", "((INT128 ", "1", "))"),
    ("SELECT CAST(1 AS ", "STRUCT(a ", "INT", ")"), ("SELECT ", "[", "1", "]"), ("SELECT ", "{'a': ", "1", "}"),
    ("SELECT ", "upper(", "'a'", ")"), ("SELECT i", "[1]", " FROM t", ""), ("SELECT 1", "::INT", "", ""),
    ("", "WITH a AS (", "SELECT 1", ") SELECT 1"),
])  # fmt: skip
@pytest.mark.parametrize("count", [40, 149, 3000, 100_000])
def test_nesting(prefix, unit, middle, end, count):
    count = min(count, 200_000 // len(unit))
    found = outcome(prefix + unit * count + middle + end * count)
    assert found != "OK" or count < 3000


@pytest.mark.parametrize("text", [
    "SELECT 1 FROM t WHERE i IN (" + ", ".join(map(str, range(10_000))) + ")",
    "SELECT 1 FROM t WHERE " + " AND ".join(f"i <> {n}" for n in range(2000)),
    "SELECT 1 FROM t WHERE " + " OR ".join(f"i = {n}" for n in range(2000)),
    "SELECT " + " + ".join(["i"] * 10_000) + " FROM t",
    "SELECT " + " || ".join(["v"] * 10_000) + " FROM t",
    "SELECT " + ", ".join(f"i AS c{n}" for n in range(10_000)) + " FROM t",
    "SELECT dt + " + " + ".join(["INTERVAL '1 day'"] * 100) + " FROM t",
    "SELECT '" + "a" * 1_000_000 + "'", "SELECT '" + "😀" * 100_000 + "'", "SELECT 1 AS " + "é" * 100_000,
    "SELECT 1 " + "/* why */ " * 10_000, "SELECT 1 -- " + "x" * 100_000, "SELECT 1" + ";" * 100_000,
    " UNION ALL ".join(["SELECT 1"] * 2000), "VALUES " + ", ".join(["(1, 'a')"] * 5000),
])  # fmt: skip
def test_long_text_is_no_deep_text(text):
    assert outcome(text) == "OK"


@pytest.mark.parametrize("text", [
    "SELECT " + "9" * 100_000, "SELECT " + "9" * 400, "SELECT " + "," * 100_000, "SELECT " + "\0" * 100_000,
    "SELECT '" * 30_001, "SELECT /* " * 10_000, "SELECT " + "\u202e" * 10_000, "SELECT \ud800", "SELECT '\ud800' + 1",
    "SELECT " + "x -> " * 10_000, "SELECT" + " 1;SELECT" * 5000, "SELECT 1" + " AS a" * 10_000, "SELECT" + "." * 10_000,
    "SELECT " + "@" * 10_000, "SELECT 1 FROM .. x", "SELECT x ->", "SELECT (x, y) -> ;", "SELECT @ FROM t",
        "SELECT CASE \x11 paid THEN 1", "SELECT CAST(1 AS DECIMAL(²))", "SELECT CAST(1 AS DECIMAL(" + "9" * 5000 + "))",
        "SELECT CAST(1 AS DECIMAL(5, 2, 1))", "SELECT (SELECT 1\r",
])  # fmt: skip
def test_nonsense(text):
    assert outcome(text) != "OK"


@pytest.mark.parametrize("text", [
    "SELECT 1 FROM t" + "".join(f" NATURAL JOIN t AS t{n}" for n in range(3000)),
    "SELECT 1 FROM t" + "".join(f" JOIN t AS t{n} USING (i)" for n in range(3000)),
    "SELECT 1 FROM t" + "".join(f", t AS t{n}" for n in range(9000)),
])  # fmt: skip
def test_too_many_tables(text):
    assert outcome(text) == "UNSUPPORTED"


def test_many_intervals():
    assert outcome("SELECT " + ", ".join(f"dt + INTERVAL '{n} day'" for n in range(3000)) + " FROM t") == "OK"

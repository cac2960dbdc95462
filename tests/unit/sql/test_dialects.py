"""What dialects mean is settled when the query is bound."""

from __future__ import annotations

import pytest

from planner.explain import ColumnNames, expression_text
from planner.expr.nodes import Call, Literal, Or
from planner.logical.nodes import Join, Project, Sort
from tests.unit.sql.small_tables import expression, query


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("duckdb", "CAST(i AS DOUBLE) / 2.0"),
        ("postgres", "i // 2"),
        ("mysql", "CAST(i AS DOUBLE) / 2.0"),
        ("spark", "CAST(i AS DOUBLE) / 2.0"),
        ("tsql", "i // 2"),
        ("bigquery", "CAST(i AS DOUBLE) / 2.0"),
    ],
)
def test_dividing_integers(dialect, text):
    assert expression_text(expression("i / 2", dialect), ColumnNames()) == text


@pytest.mark.parametrize(("dialect", "guarded"), [("duckdb", False), ("postgres", False), ("mysql", True), ("spark", True)])
def test_dividing_by_zero_is_null_where_the_dialect_says_so(dialect, guarded):
    quotient = expression("d / e", dialect)
    assert isinstance(quotient, Call)
    divisor = quotient.arguments[1]
    assert (isinstance(divisor, Call) and divisor.function == "nullif") is guarded


@pytest.mark.parametrize(
    ("dialect", "ascending_first", "descending_first"),
    [
        ("duckdb", False, False),
        ("postgres", False, True),
        ("mysql", True, False),
        ("spark", True, False),
        ("snowflake", False, True),
    ],
)
def test_where_nulls_are_sorted(dialect, ascending_first, descending_first):
    plan = query("SELECT i, b FROM t ORDER BY i, b DESC", dialect).plan
    assert isinstance(plan, Sort)
    assert [key.nulls_first for key in plan.keys] == [ascending_first, descending_first]
    explicit = query(
        "SELECT i, b FROM t ORDER BY i NULLS FIRST, b DESC NULLS LAST", dialect if dialect != "mysql" else "duckdb"
    )
    assert isinstance(explicit.plan, Sort)
    assert [key.nulls_first for key in explicit.plan.keys] == [True, False]


@pytest.mark.parametrize(("dialect", "escape"), [("duckdb", ""), ("postgres", "\\"), ("mysql", "\\"), ("spark", "\\")])
def test_the_default_escape_character_of_like(dialect, escape):
    found = expression("v LIKE 'a'", dialect)
    assert isinstance(found, Call)
    character = found.arguments[2]
    assert isinstance(character, Literal)
    assert character.value == escape


def test_concat_of_null():
    skipping, strict = expression("concat(v, 'x')"), expression("concat(v, 'x')", "mysql")
    assert expression_text(skipping, ColumnNames()) == "coalesce(v, '') || 'x'"
    assert expression_text(strict, ColumnNames()) == "v || 'x'"


def test_bars_are_or_in_mysql():
    assert isinstance(expression("bo || bo", "mysql"), Or)
    assert expression_text(expression("v || 'x'", "postgres"), ColumnNames()) == "v || 'x'"


def test_float_is_double_in_postgres():
    assert str(expression("CAST(i AS FLOAT)").dtype) == "REAL"
    assert str(expression("CAST(i AS FLOAT)", "postgres").dtype) == "DOUBLE"


def test_date_functions_of_dialects():
    for dialect in ("duckdb", "mysql", "spark", "bigquery", "snowflake"):
        assert str(expression("year(dt)" if dialect != "bigquery" else "extract(year from dt)", dialect).dtype) == "BIGINT"
    added = expression("date_add(dt, INTERVAL 1 DAY)", "mysql")
    assert expression_text(added, ColumnNames()) == "dt + INTERVAL '1 days'"


def test_quoted_names():
    assert query("SELECT `i` FROM `t`", "mysql").names == ("i",)
    assert query("SELECT [i] FROM [t]", "tsql").names == ("i",)
    assert query('SELECT "I" FROM "T"').names == ("i",)


def test_a_join_without_condition_is_a_cross_join_only_where_it_is_one():
    plan = query("SELECT 1 FROM t JOIN u", "mysql").plan
    assert isinstance(plan, Project)
    assert isinstance(plan.input, Join)

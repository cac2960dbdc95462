"""Long chains are one level deep; what is nested too deeply is refused, never a traceback."""

from __future__ import annotations

import pytest

from planner.errors import QueryError
from planner.expr.nodes import And, Call, Or
from planner.logical.nodes import Filter, Project
from planner.sql.context import MAX_DEPTH
from tests.unit.sql.small_tables import expression, query

COUNT = 10_000


def test_ten_thousand_terms():
    conjunction = expression(" AND ".join(f"i <> {n}" for n in range(COUNT)))
    disjunction = expression(" OR ".join(f"i = {n}" for n in range(COUNT)))
    assert isinstance(conjunction, And)
    assert isinstance(disjunction, Or)
    assert len(conjunction.terms) == len(disjunction.terms) == COUNT


@pytest.mark.parametrize("operand", ["i", "d", "f"])
def test_ten_thousand_summands(operand):
    total = expression("+".join([operand] * COUNT))
    assert isinstance(total, Call)
    assert len(total.arguments) == COUNT


def test_short_float_sums_keep_their_order():
    total = expression("f + 1 + f")
    assert isinstance(total, Call)
    assert len(total.arguments) == 2


def test_sums_and_differences_mix():
    total = expression("i + i + i - i - i + i + i")
    assert isinstance(total, Call)
    assert (total.function, len(total.arguments)) == ("add", 3)
    difference = total.arguments[0]
    assert isinstance(difference, Call)
    assert difference.function == "subtract"


def test_ten_thousand_pieces_of_text():
    joined = expression("||".join(["v"] * COUNT))
    assert isinstance(joined, Call)
    assert len(joined.arguments) == COUNT


def test_ten_thousand_columns_options_and_rows():
    assert len(query("SELECT " + ", ".join(["i"] * COUNT) + " FROM t").plan.columns) == COUNT
    assert isinstance(query(f"SELECT i FROM t WHERE i IN ({', '.join(map(str, range(COUNT)))})").plan, Project)
    assert len(query("VALUES " + ", ".join(f"({n})" for n in range(COUNT))).plan.rows) == COUNT


NESTINGS = {
    "parentheses": ("(", "1", ")"),
    "derived tables": ("SELECT * FROM (", "SELECT i FROM t", ")"),
    "scalar subqueries": ("(SELECT ", "1", ")"),
    "existence": ("EXISTS (SELECT 1 WHERE ", "true", ")"),
    "functions": ("upper(", "'a'", ")"),
    "branches": ("CASE WHEN bo THEN ", "1", " END"),
    "negations": ("NOT ", "bo", ""),
    "signs": ("- ", "i", ""),
    "differences": ("i - (", "i", ")"),
}


@pytest.mark.parametrize("depth", [5, 300, 3000])
@pytest.mark.parametrize("what", NESTINGS)
def test_nesting(what, depth):
    before, core, after = NESTINGS[what]
    nested = before * depth + core + after * depth
    text = nested if what == "derived tables" else f"SELECT {nested} FROM t"
    try:
        query(text)
    except QueryError as raised:
        assert raised.code == "TOO_DEEP"
        assert depth > 5
    else:
        assert depth == 5 or what == "parentheses"


@pytest.mark.parametrize(
    "text", [f"SELECT i{'[1]' * 20_000} FROM t", f"SELECT CAST(i AS {'ARRAY<' * 20_000}INT{'>' * 20_000}) FROM t"]
)
def test_what_the_parser_would_recurse_into_is_refused_before(text):
    with pytest.raises(QueryError) as raised:
        query(text)
    assert raised.value.code == "TOO_DEEP"
    assert raised.value.position is not None


def test_a_long_chain_that_cannot_be_flattened_is_refused():
    assert expression("-".join(["i"] * (MAX_DEPTH - 10))).dtype.name == "INTEGER"
    with pytest.raises(QueryError) as raised:
        expression("*".join(["i"] * (MAX_DEPTH + 10)))
    assert raised.value.code == "TOO_DEEP"


def test_aliases_that_double_are_refused():
    items = ", ".join(f"x{n} + x{n} AS x{n + 1}" for n in range(25))
    with pytest.raises(QueryError) as raised:
        query(f"SELECT i AS x0, {items} FROM t")
    assert raised.value.code == "UNSUPPORTED"


def test_ctes_that_double_are_refused():
    steps = ", ".join(f"c{n} AS (SELECT x.i FROM c{n - 1} x, c{n - 1} y)" for n in range(1, 25))
    with pytest.raises(QueryError) as raised:
        query(f"WITH c0 AS (SELECT i FROM t), {steps} SELECT * FROM c24")
    assert raised.value.code == "UNSUPPORTED"
    assert isinstance(query(f"WITH c0 AS (SELECT i FROM t), {steps} SELECT * FROM c2 WHERE i = 1").plan, (Filter, Project))

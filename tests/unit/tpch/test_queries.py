"""The table of sort keys and limits says what the texts say, and parameters go into the texts and nowhere else."""

from __future__ import annotations

import hashlib
from decimal import Decimal

import pytest
import sqlglot
from sqlglot import expressions as sql

from tpch.queries import NUMBERS, parse_numbers, query


def sort_keys(tree: sql.Select) -> list[tuple[int, bool]]:
    names = [projection.alias_or_name for projection in tree.selects]
    order = tree.args.get("order")
    return [(names.index(key.this.name), bool(key.args.get("desc"))) for key in order.expressions] if order else []


@pytest.mark.parametrize("number", NUMBERS)
def test_sort_keys_and_limits_are_those_of_the_text(number: int) -> None:
    asked = query(number)
    tree = sqlglot.parse_one(asked.text, dialect="duckdb")
    assert isinstance(tree, sql.Select)
    assert [(column, descending) for column, descending, _ in asked.order_by] == sort_keys(tree)
    limit = tree.args.get("limit")
    assert asked.limit == (int(limit.expression.this) if limit else None)
    uncut = sqlglot.parse_one(asked.uncut_text, dialect="duckdb")
    assert uncut.args.get("limit") is None
    tree.set("limit", None)
    assert uncut == tree


def test_the_threshold_of_q11_follows_the_scale_factor() -> None:
    assert "* 0.0001\n" in query(11).text
    assert "* 0.00001\n" in query(11, Decimal(10)).text
    assert "* 0.001\n" in query(11, Decimal("0.1")).text
    assert query(6, Decimal(10)).text == query(6).text


def test_the_validation_texts_never_change() -> None:
    """Answers are committed for them and plans approved: a change of a single space shows here."""
    texts = "\n;\n".join(query(number).text for number in NUMBERS)
    assert hashlib.sha256(texts.encode()).hexdigest() == "73ca9fbb10472c2ff4803d1995c7c0ab597d973507733bc34677e8c568570dab"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_seed_changes_the_parameters_and_nothing_else(number: int) -> None:
    asked, drawn = query(number), query(number, seed=5)
    assert (drawn.order_by, drawn.limit) == (asked.order_by, asked.limit)
    kinds = [token.token_type for token in sqlglot.tokenize(asked.text, dialect="duckdb")]
    assert [token.token_type for token in sqlglot.tokenize(drawn.text, dialect="duckdb")] == kinds
    assert drawn.text != asked.text
    assert query(number, seed=5) == drawn
    assert len({query(number, seed=seed).text for seed in range(20)}) > 1


def test_lists_of_queries() -> None:
    assert parse_numbers("1,3,18") == (1, 3, 18)
    assert parse_numbers("Q3, 1-3") == (3, 1, 2)
    for text in ("", "0", "23", "3-1", "a", "1,", "1;2", "1-99"):
        with pytest.raises(ValueError, match=r"queries are given as|there is no query|begins with the smaller number"):
            parse_numbers(text)
    with pytest.raises(ValueError, match="no query 23"):
        query(23)

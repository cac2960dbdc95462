"""Constructs that hold an operand twice, nested in each other: the plan stays small, or the text is refused, soon."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from planner.errors import QueryError
from planner.sql import bind
from qengine.query import Query, Settings
from tests.unit.sql.small_tables import CATALOG

SECONDS = 3.0
LEVELS = 40


def nested(wrap: Callable[[str], str], text: str) -> str:
    for _ in range(LEVELS):
        text = wrap(text)
    return text


@pytest.mark.parametrize("text", [
    "SELECT " + nested(lambda x: f"({x}) BETWEEN false AND true", "bo") + " FROM t",
    "SELECT " + nested(lambda x: f"CASE {x} WHEN 1 THEN 2 WHEN 2 THEN 3 ELSE 4 END", "i") + " FROM t",
    "SELECT " + nested(lambda x: f"nullif({x}, 1.5)", "i") + " FROM t",
    "SELECT " + nested(lambda x: f"({x}, true) < (false, bo)", "bo") + " FROM t",
    nested(lambda x: f"SELECT i, v || v AS v FROM ({x}) AS q WHERE length(v) < 9", "SELECT i, v FROM t"),
    nested(lambda x: f"SELECT i + i AS i FROM ({x}) AS q", "SELECT i FROM t"),
    "SELECT i AS a0" + "".join(f", a{n} + a{n} AS a{n + 1}" for n in range(LEVELS)) + " FROM t",
], ids=["between", "case", "nullif", "rows", "filters", "projections", "aliases"])  # fmt: skip
def test_no_doubling(text):
    started = time.process_time()
    try:
        Query(bind(text, CATALOG), Settings(), workers=2).stages()
    except QueryError as refused:
        assert refused.code in ("TOO_DEEP", "UNSUPPORTED")
    assert time.process_time() - started < SECONDS

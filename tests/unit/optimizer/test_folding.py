"""Constants: by plain Python, and by the executor's evaluator for what Python leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from planner.errors import error
from planner.explain import logical_text
from planner.expr.nodes import Call, Expr
from planner.logical.nodes import Project, Values
from planner.optimizer import optimize
from planner.rule import OptimizerContext
from tests.plans import SMALL_CATALOG, bound


class Upper:
    """Evaluates upper() of a literal, and fails on everything else."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Expr]] = []

    def evaluate(self, expressions: Sequence[Expr]) -> Sequence[Any]:
        self.batches.append(expressions)
        return [
            expr.arguments[0].value.upper()  # type: ignore[attr-defined]
            if isinstance(expr, Call) and expr.function == "upper"
            else error("DIVISION_BY_ZERO")
            for expr in expressions
        ]


def projected(sql: str, evaluator: Upper | None = None) -> str:
    plan, allocator = bound(sql, SMALL_CATALOG)
    text = logical_text(optimize(plan, OptimizerContext(allocator, evaluator, verify=evaluator is None)))
    return text.splitlines()[0]


@pytest.mark.parametrize(
    ("sql", "folded"),
    [
        ("1 + 2 * 3", "7"),
        ("7 // 2", "3"),
        ("-7 // 2", "-3"),
        ("-7 % 3", "-1"),
        ("1.25 + 1.5", "2.75"),
        ("1.11 * 2.22", "2.4642"),
        ("1.0 / 3", "0.3333333"),
        ("DATE '1994-01-31' + INTERVAL 1 MONTH", "TIMESTAMP '1994-02-28 00:00:00'"),
        ("DATE '1996-02-29' + INTERVAL 1 YEAR", "TIMESTAMP '1997-02-28 00:00:00'"),
        ("DATE '1994-01-01' - INTERVAL 90 DAY", "TIMESTAMP '1993-10-03 00:00:00'"),
        ("DATE '1994-03-01' - DATE '1994-02-01'", "28"),
        ("CAST(2.5 AS INTEGER)", "3"),
        ("CAST(-2.5 AS INTEGER)", "-3"),
        ("'a' || 'b'", "'ab'"),
        ("2 IN (1, NULL)", "NULL"),
        ("2 IN (2, NULL)", "TRUE"),
        ("NULL = 1", "NULL"),
        ("NULL IS NOT DISTINCT FROM NULL", "TRUE"),
        ("coalesce(NULL, 3)", "3"),
        ("extract(year FROM DATE '1994-05-06')", "1994"),
    ],
)
def test_folded_by_python(sql: str, folded: str) -> None:
    plan, allocator = bound(f"SELECT {sql} AS x FROM o", SMALL_CATALOG)
    optimized = optimize(plan, OptimizerContext(allocator, verify=True))
    assert isinstance(optimized, Project)
    assert logical_text(optimized).splitlines()[0] == f"Project {folded} AS x"
    assert optimized.columns[0].dtype == plan.columns[0].dtype
    assert not isinstance(optimized.input, Values)


@pytest.mark.parametrize("sql", ["1 // 0", "1 % 0", "2147483647 + 1"])
def test_an_error_is_not_folded(sql: str) -> None:
    assert not projected(f"SELECT a, {sql} AS x FROM o").endswith("NULL AS x")
    assert any(symbol in projected(f"SELECT a, {sql} AS x FROM o") for symbol in ("//", "%", "+"))


def test_the_evaluator_is_asked_once_for_all() -> None:
    evaluator = Upper()
    text = projected("SELECT upper('ab') || s AS x, upper('cd') AS y, 1 // 0 AS z FROM o", evaluator)
    assert text == "Project 'AB' || s AS x, 'CD' AS y, 1 // 0 AS z"
    assert [len(batch) for batch in evaluator.batches] == [3]


def test_a_shared_constant_is_folded_in_all_of_its_places() -> None:
    """The projection below is copied into the one above: its constant is one there, and part of one beside it."""
    text = projected("SELECT x, lower(x) AS y FROM (SELECT upper('ab') AS x, a FROM o) q WHERE a > 0", Upper())
    assert text.startswith("Project 'AB' AS x, ")
    assert "upper" not in text


def test_nothing_to_evaluate() -> None:
    evaluator = Upper()
    projected("SELECT upper(s) AS x, a + 1 AS y FROM o", evaluator)
    assert evaluator.batches == []

"""Tests against the least and the greatest value of a group wherever they are right, whatever they cost."""

from __future__ import annotations

from importlib import import_module

import pytest

from planner.optimizer import optimize
from tests.plans import SMALL_CATALOG, SMALL_TABLES, bound, outcome, verifying

RULE = "compare_with_extremes"
SHAPES = {
    "semi": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE {})",
    "anti": "SELECT * FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE {})",
    "mark": "SELECT k, EXISTS (SELECT 1 FROM i WHERE {}) AS m FROM o",
}
CONDITIONS = (
    "i.a = o.a AND i.c {} o.b",
    "i.a = o.a AND o.b {} i.c AND i.k > 1",
    "i.a = o.a AND i.k = o.k AND i.c {} o.b AND o.b > 1",
    "i.a IS NOT DISTINCT FROM o.a AND i.c {} o.b",
    "CAST(i.c AS VARCHAR) {} o.s",
    "CAST(i.c AS DOUBLE) {} o.b + 0.5 AND o.k = i.k",
)


@pytest.mark.parametrize("op", ["<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("shape", SHAPES)
def test_same_rows(shape: str, op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module(f"planner.optimizer.{RULE}"), "_pays", lambda *_: True)
    for condition in CONDITIONS:
        sql = SHAPES[shape].format(condition.format(op))
        plan, allocator = bound(sql, SMALL_CATALOG)
        fired: set[str] = set()
        optimized = optimize(plan, verifying(allocator, trace=lambda name, _before, _after, to=fired: to.add(name)))
        assert RULE in fired, sql
        for tables in SMALL_TABLES:
            assert outcome(optimized, tables) == outcome(plan, tables), sql

"""The optimized logical plans of the 22 TPC-H queries, over the committed snapshot: a refactoring leaves them as they are.

`pytest --rewrite` regenerates `tpch/`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.explain import logical_text
from planner.optimizer import optimize
from tests.golden.tpch_catalog import tpch_sf1
from tests.plans import bound, verifying

QUERIES = Path(__file__).resolve().parents[2] / "tpch" / "queries"
PLANS = Path(__file__).with_name("tpch")


@pytest.mark.parametrize("number", range(1, 23))
def test_plan(number: int, rewrite: bool) -> None:
    plan, allocator = bound((QUERIES / f"q{number:02}.sql").read_text(encoding="utf-8"), tpch_sf1())
    text = logical_text(optimize(plan, verifying(allocator))) + "\n"
    path = PLANS / f"q{number:02}.txt"
    if rewrite:
        path.write_text(text, encoding="utf-8")
    else:
        assert text == path.read_text(encoding="utf-8")

"""SQL and DataFrame cannot drift apart: for the 22 TPC-H queries both give the same optimized plan, to the letter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import qengine
from planner.explain import logical_text
from planner.optimizer import optimize
from tests.golden.tpch_catalog import tpch_sf1
from tests.plans import verifying
from tests.tpch_frames import QUERIES

PLANS = Path(__file__).with_name("tpch")


@pytest.fixture(scope="module")
def session() -> Iterator[qengine.Session]:
    """A session whose tables are the committed snapshot: good for planning, not for running."""
    catalog = tpch_sf1()
    with qengine.Session(workers=1) as opened:
        for name in catalog.names():
            opened._catalog.register_snapshot(name, catalog.table(name))
        yield opened


@pytest.mark.parametrize("number", range(1, 23))
def test_the_plan_of_the_frame_is_that_of_the_text(session: qengine.Session, number: int) -> None:
    bound = session._binder.bound(QUERIES[number](session)._frame)
    text = logical_text(optimize(bound.plan, verifying(bound.allocator))) + "\n"
    assert text == (PLANS / f"q{number:02}.txt").read_text(encoding="utf-8")

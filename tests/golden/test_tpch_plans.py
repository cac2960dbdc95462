"""The plans of the 22 TPC-H queries over the committed snapshot, in two levels: a refactoring leaves them as they are.

`tpch/qNN.txt` is the optimized logical plan, `tpch/qNN.stages.txt` the stage graph for two workers with the DIR on every edge.
`pytest --rewrite` regenerates both.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.explain import logical_text
from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.explain import stages_text
from planner.physical.plan import plan_physical
from tests.golden.tpch_catalog import tpch_sf1
from tests.plans import bound, verifying
from tpch.queries import query

PLANS = Path(__file__).with_name("tpch")


def compare(text: str, path: Path, rewrite: bool) -> None:
    if rewrite:
        path.write_text(text + "\n", encoding="utf-8")
    else:
        assert text + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", range(1, 23))
def test_plan(number: int, rewrite: bool) -> None:
    plan, allocator = bound(query(number).text, tpch_sf1())
    optimized = optimize(plan, verifying(allocator))
    compare(logical_text(optimized), PLANS / f"q{number:02}.txt", rewrite)
    physical = plan_physical(optimized, allocator, PhysicalOptions(workers=2))
    compare(stages_text(cut_stages(physical)), PLANS / f"q{number:02}.stages.txt", rewrite)


@pytest.mark.parametrize("number", range(1, 23))
def test_samples_have_the_predicates_of_the_plan(number: int) -> None:
    """Or golden plans are not what a session plans: `python -m tests.golden.tpch_samples` records what is missing."""
    catalog = tpch_sf1()
    samples = [table.statistics.sample for name in catalog.names() if (table := catalog.table(name)) and table.statistics]
    assert len(samples) == 8
    for sample in samples:
        sample.missing.clear()
    plan, allocator = bound(query(number).text, catalog)
    plan_physical(optimize(plan, verifying(allocator)), allocator, PhysicalOptions(workers=2))
    assert [sample.missing for sample in samples] == [set()] * 8


@pytest.mark.parametrize("number", range(1, 23))
def test_plan_for_one_process_has_no_exchange(number: int) -> None:
    plan, allocator = bound(query(number).text, tpch_sf1())
    optimized = optimize(plan, verifying(allocator))
    graph = cut_stages(plan_physical(optimized, allocator, PhysicalOptions(single=True)))
    assert len(graph.stages) == 1
    assert graph.stages[0].tasks == 1

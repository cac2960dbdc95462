"""Plans of `tests.query_shapes` over the committed snapshot of TPC-H: `shapes/NAME.txt` holds the query, the optimized logical
plan and the stage graph for two workers. `pytest --rewrite` regenerates the plans. Their answers are tested in `tests/oracle`.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from exec.lower.evaluate import ConstantEvaluator
from planner.explain import logical_text
from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.explain import stages_text
from planner.physical.plan import plan_physical
from tests.golden.tpch_catalog import tpch_sf1
from tests.plans import bound, verifying
from tests.query_shapes import SHAPES

FOLDER = Path(__file__).with_name("shapes")


@pytest.mark.parametrize("name", SHAPES)
def test_plan(name: str, rewrite: bool) -> None:
    plan, allocator = bound(SHAPES[name], tpch_sf1())
    optimized = optimize(plan, verifying(allocator, evaluator=ConstantEvaluator()))
    stages = stages_text(cut_stages(plan_physical(optimized, allocator, PhysicalOptions(workers=2))))
    text = "\n----\n".join((dedent(SHAPES[name]).strip(), logical_text(optimized), stages)) + "\n"
    path = FOLDER / f"{name}.txt"
    if rewrite:
        path.write_text(text, encoding="utf-8")
    else:
        assert text == path.read_text(encoding="utf-8")


def test_no_plan_is_left_of_a_shape_that_is_gone() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SHAPES)

"""Shapes of queries whose plans are golden: over TPC-H at scale factor 0.01 they have the answers of DuckDB, however planned."""

from __future__ import annotations

from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path

import pytest

import qengine
from tests.harness.switchboard import OPTIONAL
from tests.query_shapes import SHAPES
from tests.scattered import difference_from_duckdb, scattered
from tpch import answers
from tpch.engines.qengine import register_tables
from tpch.generate import generate

SCALE = Decimal("0.01")
FOLDER = Path(__file__).resolve().parents[2] / "data" / "tpch" / "sf0.01"


@pytest.fixture(scope="module")
def folder():
    generate(FOLDER, SCALE)
    return FOLDER


@pytest.fixture(scope="module")
def oracle(folder):
    connection = answers.connect(folder)
    yield connection
    connection.close()


@pytest.fixture(scope="module", params=["planned", "scattered", "without rules"])
def session(request, folder):
    """As a user has it; cut into as many tasks and parts as large tables; not optimized."""
    disabled = OPTIONAL if request.param == "without rules" else ()
    with (
        qengine.Session(workers=2, inline="off", plan_cache="off", disabled_rules=disabled) as opened,
        scattered(True, 20_000) if request.param == "scattered" else nullcontext(),
    ):
        register_tables(opened, folder)
        yield opened


@pytest.mark.parametrize("name", SHAPES)
def test_the_answer_is_that_of_duckdb(session, oracle, name):
    text = SHAPES[name]
    in_sequence = " ORDER BY " in text.rpartition(")")[2]
    difference = difference_from_duckdb(session.sql(text).collect(), oracle, text, in_sequence=in_sequence)
    assert difference is None, difference

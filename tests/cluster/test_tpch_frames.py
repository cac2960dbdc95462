"""The 22 queries with the DataFrame API through worker processes: the answers are those of DuckDB, and of our own SQL."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

import qengine
from tests.tpch_frames import QUERIES, q11
from tpch import answers
from tpch.engines.qengine import register_tables
from tpch.generate import generate
from tpch.parameters import q11_fraction
from tpch.queries import query

pytestmark = pytest.mark.cluster

SCALE = Decimal("0.1")
FOLDER = Path(__file__).resolve().parents[2] / "data" / "tpch" / "sf0.1"


@pytest.fixture(scope="module")
def oracle():
    generate(FOLDER, SCALE)
    connection = answers.connect(FOLDER)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def session(oracle):
    with qengine.Session(2, inline="off") as opened:
        register_tables(opened, FOLDER)
        yield opened


@pytest.mark.parametrize("number", range(1, 23))
def test_the_answer_of_the_frame_is_that_of_the_text(session, oracle, number):
    asked = query(number, SCALE)
    frame = q11(session, Decimal(q11_fraction(SCALE))) if number == 11 else QUERIES[number](session)
    text = session.sql(asked.text)
    assert [field.dtype for field in frame.schema] == [field.dtype for field in text.schema]
    expected = answers.make(oracle, asked)
    for result in (frame, text):
        difference = answers.check(result.collect(), expected, asked)
        assert difference is None, difference

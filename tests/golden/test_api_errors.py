"""Misuse of the Python API and what is said about it: api_errors.txt holds expressions, each followed by the error.

In them `session` has the tables `t` (i INTEGER, s VARCHAR, b BOOLEAN) and `u` (i INTEGER, x DOUBLE), and `t` and `u` are their
DataFrames; `other` is the DataFrame of another session, `gone` one whose session is closed. `pytest --rewrite` regenerates the
answers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import qengine
from qengine import col, functions, when
from qengine.errors import QEngineError
from tests.golden.error_text import cases, check, error_text

FILE = Path(__file__).with_name("api_errors.txt")
LEAST = 80


@pytest.fixture(scope="module")
def names():
    """What the expressions can name."""
    closed = qengine.Session(workers=1)
    gone = closed.sql("SELECT 1 AS i")
    closed.close()
    with qengine.Session(workers=1) as session, qengine.Session(workers=1) as second:
        session.register("t", pa.table({"i": pa.array([1, 2], pa.int32()), "s": ["a", "b"], "b": [True, False]}))
        session.register("u", pa.table({"i": pa.array([1, 3], pa.int32()), "x": [1.5, 2.5]}))
        yield {
            "session": session, "t": session.table("t"), "u": session.table("u"), "other": second.sql("SELECT 1 AS i"),
            "closed": closed, "gone": gone, "qengine": qengine, "pa": pa, "col": col, "when": when, "f": functions,
        }  # fmt: skip


def answer(names: dict[str, Any], expression: str) -> str:
    with pytest.raises(QEngineError) as caught:
        eval(expression, dict(names))
    return error_text(caught.value)


def test_there_are_enough() -> None:
    assert len(cases(FILE)) >= LEAST
    assert len({text for text, _ in cases(FILE)}) == len(cases(FILE))


def test_api_errors(names, tmp_path, monkeypatch, rewrite) -> None:
    monkeypatch.chdir(tmp_path)
    answers = [(text, answer(names, text)) for text, _ in cases(FILE)]
    assert names["t"].collect().num_rows == 2
    check(FILE, answers, rewrite)


@pytest.mark.parametrize("expression", [
    "bool(col('i') > 1)", "not col('i')", "list(t)", "f.nope('i')", "f.sum()", "qengine.Session(1, nope=5)", "t.nope",
])  # fmt: skip
def test_what_python_itself_says(names, expression):
    """Wrong use of Python's own constructs ends in Python's own errors, with a message that helps."""
    with pytest.raises((TypeError, AttributeError)) as caught:
        eval(expression, dict(names))
    assert str(caught.value)

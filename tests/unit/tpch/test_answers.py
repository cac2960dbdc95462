"""Answers keep their types and values on the way through their files, and are right about ties."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from tpch import answers
from tpch.errors import TpchError
from tpch.queries import NUMBERS, Query, query

# Clause 4.1.2 of the specification and its answer sets: rows of each answer at scale factor 1.
ROWS = [4, 100, 10, 5, 5, 1, 4, 2, 175, 20, 1048, 2, 42, 1, 1, 18314, 1, 57, 1, 186, 100, 7]


def test_types_and_values_survive(tmp_path: Path) -> None:
    table = pa.table(
        {
            "a:b": pa.array([Decimal("-0.0001"), None], pa.decimal128(38, 4)),
            "float": pa.array([0.1 + 0.2, float("-inf")]),
            "text": pa.array(['comma, "quote"\nline', ""]),
            "day": pa.array([dt.date(1995, 3, 15), None]),
            "int": pa.array([-1, None], pa.int32()),
            "truth": pa.array([True, False]),
        }
    )
    answers.write(table, tmp_path / "answer.csv")
    assert answers.read(tmp_path / "answer.csv").equals(table)


def test_an_empty_answer_survives(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([], pa.int64())})
    answers.write(table, tmp_path / "answer.csv")
    assert answers.read(tmp_path / "answer.csv").equals(table)


@pytest.mark.parametrize("text", ["", "x\n1\n", "x:int64\none\n", "x:int64,y:int64\n1\n", "x:int64\n1.5\n", "x:blob\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answer.csv"
    path.write_text(text)
    with pytest.raises(TpchError, match="is no answer"):
        answers.read(path)
    with pytest.raises(TpchError, match="there is no answer"):
        answers.read(tmp_path / "missing.csv")


@pytest.mark.parametrize("number", NUMBERS)
def test_the_committed_answers_have_the_official_shape_and_order(number: int) -> None:
    asked = query(number)
    uncut = answers.committed(asked)
    expected = uncut if asked.limit is None else uncut.slice(0, asked.limit)
    assert expected.num_rows == ROWS[number - 1]
    assert answers.check(expected, uncut, asked) is None
    if expected.num_rows > 1:
        assert answers.check(expected.slice(1), uncut, asked) is not None


def test_some_official_values_at_scale_factor_1() -> None:
    assert answers.committed(query(6)).column(0).to_pylist() == [Decimal("123141078.2283")]
    assert answers.committed(query(19)).column(0).to_pylist() == [Decimal("3083843.0578")]
    assert answers.committed(query(5)).to_pylist()[0] == {"n_name": "INDONESIA", "revenue": Decimal("55502041.1697")}
    assert answers.committed(query(22)).to_pylist()[0] == {
        "cntrycode": "13",
        "numcust": 888,
        "totacctbal": Decimal("6737713.99"),
    }


def test_an_answer_goes_on_to_the_end_of_the_cut_tie(small_data: Path) -> None:
    text = "select n_nationkey, n_regionkey from nation order by n_regionkey"
    asked = Query(1, f"{text} limit 7", text, ((1, False, True),), 7)
    with answers.connect(small_data) as connection:
        uncut = answers.make(connection, asked)
        assert uncut.column(1).to_pylist() == [0] * 5 + [1] * 5
        other = answers.run_in_duckdb(connection, f"{text}, n_nationkey desc limit 7")
        foreign = answers.run_in_duckdb(connection, f"{text.replace('n_nationkey', 'n_nationkey + 25')} limit 7")
    assert answers.check(other, uncut, asked) is None
    assert answers.check(foreign, uncut, asked) is not None

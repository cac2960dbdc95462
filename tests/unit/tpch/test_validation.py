"""The specification's tolerances: what they allow, and what they do not."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tpch import answers
from tpch.queries import NUMBERS, query
from tpch.validation import TOLERANCES, validate, within_ratio, within_sum


def changed(table: pa.Table, row: int, column: int, value: object) -> pa.Table:
    rows = [list(values) for values in zip(*(column.to_pylist() for column in table.columns), strict=True)]
    rows[row][column] = value
    return pa.table([pa.array(list(values)) for values in zip(*rows, strict=True)], names=table.column_names)


def cut(number: int) -> pa.Table:
    asked = query(number)
    table = answers.committed(asked)
    return table if asked.limit is None else table.slice(0, asked.limit)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_expected_answers_are_valid(number: int) -> None:
    assert validate(cut(number), answers.committed(query(number)), query(number)) is None


@pytest.mark.parametrize("number", NUMBERS)
def test_a_row_too_few_is_not(number: int) -> None:
    difference = validate(cut(number).slice(1), answers.committed(query(number)), query(number))
    assert difference is not None and "rows, got" in difference


@pytest.mark.parametrize("number", NUMBERS)
def test_other_columns_than_those_named_are_exact(number: int) -> None:
    table = cut(number)
    for column in set(range(table.num_columns)) - set(TOLERANCES.get(number, {})):
        value = table.column(column)[0].as_py()
        if isinstance(value, datetime.date):
            other: object = value + datetime.timedelta(days=1)
        else:
            other = f"{value}x" if isinstance(value, str) else value + 1
        assert validate(changed(table, 0, column, other), answers.committed(query(number)), query(number)) is not None


@pytest.mark.parametrize(
    ("value", "expected", "valid"),
    [
        (100.0, Decimal(200), True),
        (Decimal("99.99"), Decimal(200), False),
        (300.01, Decimal(200), False),
        (None, Decimal(200), False),
        ("200", Decimal(200), False),
        (float("nan"), Decimal(200), False),
    ],
)
def test_sums(value: object, expected: object, valid: bool) -> None:
    assert within_sum(value, expected) is valid


@pytest.mark.parametrize(
    ("value", "expected", "valid"),
    [
        (101.0, 100.0, True),
        (98.9, 100.0, False),
        (0.0344, 0.0347, True),
        (0.0301, 0.0344, True),  # 0.03 is how the specification prints it
        (0.0371, 0.0344, False),
        (Decimal("0.03"), 0.0344, True),
        (0.0, 0.0344, False),
        (None, 0.5, False),
    ],
)
def test_ratios(value: object, expected: object, valid: bool) -> None:
    assert within_ratio(value, expected) is valid


def test_tolerances_apply_to_the_columns_of_an_answer() -> None:
    table, expected = cut(1), answers.committed(query(1))
    assert validate(changed(table, 0, 3, table.column(3)[0].as_py() + 99), expected, query(1)) is None
    difference = validate(changed(table, 0, 3, table.column(3)[0].as_py() + 101), expected, query(1))
    assert difference is not None and difference.startswith("row 0, column 3 (sum_base_price): expected")


def test_null_is_only_null() -> None:
    null = pa.table({"avg_yearly": pa.array([None], pa.float64())})
    zero = pa.table({"avg_yearly": [0.0]})
    assert validate(null, null, query(17)) is None
    assert validate(zero, null, query(17)) is not None
    assert validate(null, zero, query(17)) is not None


def test_the_order_of_rows_counts() -> None:
    table = cut(3)
    swapped = table.take([1, 0, *range(2, table.num_rows)])
    difference = validate(swapped, answers.committed(query(3)), query(3))
    assert difference == "rows 0 and 1 are not in the order of column 1 (revenue)"


def test_any_of_the_rows_that_a_limit_cuts_will_do_and_no_other_may_be_missing() -> None:
    rows = 101
    names = [f"Supplier#{index:03}" for index in range(rows)]
    asked = query(21)
    # The last two tie in all keys, which the names of suppliers never do in the data.
    uncut = pa.table({"s_name": [*names[:-1], names[-2]], "numwait": [9] * (rows - 2) + [1, 1]})
    assert validate(uncut.slice(0, 100), uncut, asked) is None
    difference = validate(uncut.slice(1), uncut, asked)
    assert difference is not None and difference.startswith("a row of the expected answer is missing: (Supplier#000, 9)")


def test_other_types_of_the_same_values_are_valid() -> None:
    table = cut(3)
    floats = table.set_column(1, "revenue", table.column(1).cast(pa.float64()))
    moments = floats.set_column(2, "o_orderdate", table.column(2).cast(pa.timestamp("ns")))
    assert validate(moments, answers.committed(query(3)), query(3)) is None
    binary = cut(4).set_column(0, "o_orderpriority", cut(4).column(0).cast(pa.binary()))
    assert validate(binary, answers.committed(query(4)), query(4)) is None
    assert validate(cut(4).select([0]), answers.committed(query(4)), query(4)) == "expected 2 columns, got 1"

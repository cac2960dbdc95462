"""The comparison that every other test relies on, so its negative cases matter most."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pyarrow as pa
import pytest

from tpch.same_answer import same_answer

ASCENDING = [(0, False, True)]
DESCENDING = [(0, True, True)]


def table(*columns: list, types: list[pa.DataType] | None = None) -> pa.Table:
    arrays = [pa.array(values, types[place] if types else None) for place, values in enumerate(columns)]
    return pa.table(arrays, names=[f"c{place}" for place in range(len(columns))])


def decimals(*values: str | None, precision: int = 38, scale: int = 4) -> pa.Table:
    kind = pa.decimal128(precision, scale)
    return table([None if value is None else Decimal(value) for value in values], types=[kind])


def doubles(*values: float | None) -> pa.Table:
    return table(list(values), types=[pa.float64()])


def test_without_order_rows_are_a_multiset() -> None:
    assert same_answer(table([1, 2, 2], ["a", "b", "c"]), table([2, 2, 1], ["c", "b", "a"])) is None
    assert same_answer(table([]), table([])) is None
    assert same_answer(table([None, 1]), table([1, None])) is None


def test_multiplicity_counts() -> None:
    difference = same_answer(table([1, 1, 2]), table([1, 2, 2]))
    assert difference is not None
    assert "(1)" in difference


@pytest.mark.parametrize(
    ("actual", "expected", "complaint"),
    [
        (table([1]), table([1], [2]), "expected 2 columns, got 1"),
        (table([1, 2]), table([1]), "expected 1 rows, got 2; unexpected: (2)"),
        (table([1]), table([1, 3]), "expected 2 rows, got 1; missing: (3)"),
        (table([1]), table([2]), "row 0, column 0 (c0): expected 2, got 1"),
        (table([None], types=[pa.int64()]), table([2]), "row 0, column 0 (c0): expected 2, got NULL"),
        (table([""]), table([None], types=[pa.string()]), "expected NULL, got ''"),
        (table(["a "]), table(["a"]), "expected 'a', got 'a '"),
        (table([1]), table(["1"]), "column 0 (c0): expected type string, got int64"),
        (table([1]), table([1.0]), "expected type double, got int64"),
        (table([1.0]), table([1]), "expected type int64, got double"),
        (table([True]), table([1]), "expected type int64, got bool"),
        (doubles(1.0), decimals("1"), "expected type decimal128(38, 4), got double"),
        (table([b"a"]), table(["a"]), "expected type string, got binary"),
    ],
)
def test_differences_are_explained(actual: pa.Table, expected: pa.Table, complaint: str) -> None:
    difference = same_answer(actual, expected)
    assert difference is not None
    assert complaint in difference
    assert "\n" not in difference


def test_the_nearest_row_is_named() -> None:
    difference = same_answer(table([1, 2], ["a", "b"]), table([1, 3], ["a", "b"]))
    assert difference == ("row 1 is not in the expected answer, or too often: (2, 'b'); the nearest expected row is (3, 'b')")


def test_names_and_layouts_are_not_part_of_an_answer() -> None:
    actual = pa.table({"x": pa.array(["a", None], pa.large_string())})
    assert same_answer(actual, pa.table({"y": pa.array(["a", None], pa.string_view())})) is None
    assert same_answer(pa.table({"x": pa.array(["a", "a"]).dictionary_encode()}), pa.table({"x": ["a", "a"]})) is None
    chunked = pa.table({"x": pa.chunked_array([[1], [2]])})
    assert same_answer(chunked, table([1, 2])) is None
    assert same_answer(table([None], types=[pa.null()]), table([None], types=[pa.int32()])) is None
    assert same_answer(table([1]), table([None], types=[pa.null()])) is not None


def test_exact_numbers_are_one_family() -> None:
    integers = table([6202, None])
    assert same_answer(integers, decimals("6202", None, scale=0)) is None
    assert same_answer(decimals("2.5", scale=1), decimals("2.50", scale=2)) is None
    assert same_answer(table([1], types=[pa.int8()]), table([1], types=[pa.uint64()])) is None
    huge = str(10**37)
    assert same_answer(decimals(huge, scale=0), decimals(huge[:-1] + "1", scale=0)) is not None
    assert same_answer(decimals("1.0001"), decimals("1.0002")) is not None


def test_floats_have_a_relative_tolerance() -> None:
    assert same_answer(doubles(1e10 + 1e-3), doubles(1e10)) is None
    assert same_answer(doubles(1.0 + 1e-11), doubles(1.0)) is not None
    assert same_answer(doubles(1e-300), doubles(2e-300)) is not None
    assert same_answer(doubles(1e-300), doubles(0.0)) is not None
    assert same_answer(doubles(-0.0), doubles(0.0)) is None
    assert same_answer(doubles(float("nan")), doubles(float("nan"))) is None
    assert same_answer(doubles(float("nan")), doubles(1.0)) is not None
    assert same_answer(doubles(float("inf")), doubles(float("inf"))) is None
    assert same_answer(doubles(float("inf")), doubles(float("-inf"))) is not None
    assert same_answer(doubles(float("inf")), doubles(1e308)) is not None
    assert same_answer(doubles(None), doubles(None)) is None
    assert same_answer(doubles(None), doubles(float("nan"))) is not None


def test_a_decimal_stands_for_a_float_within_half_a_unit() -> None:
    third = doubles(1 / 3)
    assert same_answer(decimals("0.3333"), third) is None
    assert same_answer(decimals("0.3334"), third) is not None
    assert same_answer(decimals("0.3332"), third) is not None
    assert same_answer(decimals("0.333333333333", scale=12), third) is None
    # Half a unit exactly: rounding away from zero is right, and the float may stand on either side of it.
    assert same_answer(decimals("0.13", scale=2), doubles(0.125)) is None
    # 1e-12 relative rules where it is wider than half a unit.
    assert same_answer(decimals("1000000000000.0001"), doubles(1000000000000.5)) is None
    assert same_answer(decimals("1000000000003", scale=0), doubles(1000000000000.0)) is not None
    assert same_answer(decimals(None), doubles(None)) is None
    assert same_answer(decimals("0"), doubles(None)) is not None
    assert same_answer(decimals("0"), doubles(float("nan"))) is not None


def test_order_demands_the_sequence_of_keys() -> None:
    assert same_answer(table([1, 2]), table([1, 2]), ASCENDING) is None
    assert same_answer(table([2, 1]), table([1, 2]), ASCENDING) == "row 0, column 0 (c0): expected 1, got 2"
    assert same_answer(table([2, 1]), table([1, 2])) is None


def test_tied_rows_are_a_multiset() -> None:
    expected = table([1, 1, 2], ["a", "b", "c"])
    assert same_answer(table([1, 1, 2], ["b", "a", "c"]), expected, ASCENDING) is None
    assert same_answer(table([1, 1, 2], ["b", "c", "a"]), expected, ASCENDING) is not None
    assert same_answer(table([1, 1, 2], ["a", "a", "c"]), expected, ASCENDING) is not None
    last = same_answer(table([1, 1, 2], ["a", "b", "x"]), expected, ASCENDING)
    assert last == "row 2, column 1 (c1): expected 'c', got 'x'"


def test_several_keys_and_the_place_of_nulls() -> None:
    expected = table([2, 2, 1, None], ["a", "b", "a", "a"])
    keys = [(0, True, True), (1, False, True)]
    assert same_answer(expected, expected, keys) is None
    assert same_answer(table([2, 2, 1, None], ["b", "a", "a", "a"]), expected, keys) is not None
    first = table([None, 1, 2])
    assert same_answer(first, first, [(0, False, False)]) is None
    assert same_answer(table([1, 2, None]), first, [(0, False, False)]) is not None


def test_wrong_keys_are_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="sort key column 1"):
        same_answer(table([1]), table([1]), [(1, False, True)])
    with pytest.raises(ValueError, match="not sorted by the stated keys: 1 before 2"):
        same_answer(table([1, 2]), table([1, 2]), DESCENDING)
    with pytest.raises(ValueError, match="NULL before 1"):
        same_answer(table([None, 1]), table([None, 1]), ASCENDING)
    day = dt.date(1995, 3, 15)
    with pytest.raises(ValueError, match="1995-03-16 before 1995-03-15"):
        same_answer(table([day, day]), table([day + dt.timedelta(1), day]), ASCENDING)


def test_rounding_may_tie_what_the_oracle_keeps_apart() -> None:
    kinds = [pa.decimal128(38, 2), pa.string()]
    expected = table([1.001, 1.002, 3.0], ["a", "b", "c"])
    actual = table([Decimal("1.00"), Decimal("1.00"), Decimal("3.00")], ["b", "a", "c"], types=kinds)
    assert same_answer(actual, expected, ASCENDING) is None
    swapped = table([Decimal("1.00"), Decimal("1.00"), Decimal("3.00")], ["c", "a", "b"], types=kinds)
    assert same_answer(swapped, expected, ASCENDING) is not None


def test_limit_without_the_uncut_answer_compares_keys_in_the_cut_tie() -> None:
    expected = table([1, 2, 2], ["a", "b", "c"])
    assert same_answer(table([1, 2, 2], ["a", "x", "c"]), expected, ASCENDING, limit=3) is None
    assert same_answer(table([1, 2, 3], ["a", "b", "c"]), expected, ASCENDING, limit=3) is not None
    assert same_answer(table([1, 2, 2], ["x", "b", "c"]), expected, ASCENDING, limit=3) is not None
    # Fewer rows than the limit: nothing was cut.
    assert same_answer(table([1, 2, 2], ["a", "x", "c"]), expected, ASCENDING, limit=4) is not None


def test_limit_with_the_uncut_answer_demands_that_rows_are_drawn_from_the_tie() -> None:
    uncut = table([1, 2, 2, 2, 3], ["a", "b", "c", "d", "e"])
    expected = uncut.slice(0, 3)

    def compare(values: list[str]) -> str | None:
        return same_answer(table([1, 2, 2], values), expected, ASCENDING, limit=3, uncut=uncut)

    assert compare(["a", "d", "b"]) is None
    assert compare(["a", "d", "e"]) is not None
    assert compare(["a", "d", "d"]) is not None
    assert compare(["b", "c", "d"]) is not None
    # The limit falls on the end of a tie: nothing is free.
    whole = table([1, 2, 2, 2], ["a", "b", "c", "d"])
    assert same_answer(whole, uncut.slice(0, 4), ASCENDING, limit=4, uncut=uncut) is None
    other = table([1, 2, 2, 2], ["a", "b", "c", "e"])
    assert same_answer(other, uncut.slice(0, 4), ASCENDING, limit=4, uncut=uncut) is not None


def test_an_offset_cuts_the_tie_above() -> None:
    uncut = table([1, 1, 1, 2, 2, 3], ["a", "b", "c", "d", "e", "f"])
    expected = uncut.slice(1, 3)

    def compare(values: list[str]) -> str | None:
        return same_answer(table([1, 1, 2], values), expected, ASCENDING, limit=3, offset=1, uncut=uncut)

    assert compare(["a", "b", "e"]) is None
    assert compare(["c", "a", "d"]) is None
    assert compare(["a", "a", "d"]) is not None
    assert compare(["a", "d", "e"]) is not None
    tail = table([1, 1, 2, 2, 3], ["a", "b", "d", "e", "f"])
    assert same_answer(tail, uncut.slice(1), ASCENDING, offset=1, uncut=uncut) is None
    assert same_answer(tail, uncut.slice(1), ASCENDING, offset=1) is None
    wrong = table([1, 1, 2, 2, 3], ["a", "b", "d", "e", "x"])
    assert same_answer(wrong, uncut.slice(1), ASCENDING, offset=1) is not None


def test_limit_without_order_draws_from_everything() -> None:
    uncut = table([1, 2, 3])
    assert same_answer(table([3, 2]), table([1, 2]), limit=2, uncut=uncut) is None
    assert same_answer(table([3, 3]), table([1, 2]), limit=2, uncut=uncut) is not None
    assert same_answer(table([3, 4]), table([1, 2]), limit=2, uncut=uncut) is not None
    assert same_answer(table([1]), table([1, 2]), limit=2, uncut=uncut) is not None
    assert same_answer(table([9, 9]), table([1, 2]), limit=2) is None  # nothing is known of what was cut
    assert same_answer(uncut.slice(0, 0), uncut.slice(0, 0), limit=0, uncut=uncut) is None


def test_in_sequence_demands_the_order_of_the_input() -> None:
    assert same_answer(table([3, 1, 2]), table([3, 1, 2]), in_sequence=True) is None
    assert same_answer(table([3, 2, 1]), table([3, 1, 2]), in_sequence=True) is not None


def test_crossing_tolerances_are_matched() -> None:
    """Rows whose first floats agree only within the tolerance sort differently on both sides."""
    actual = table([1.0, 1.0 + 5e-13], [5.0, 3.0])
    expected = table([1.0 + 5e-13, 1.0], [5.0, 3.0])
    assert same_answer(actual, expected) is None
    assert same_answer(actual, table([1.0 + 5e-13, 1.0], [5.0, 4.0])) is not None


def test_floats_beside_exact_columns_are_paired() -> None:
    generator = random.Random(7)
    rows = [(place % 7, generator.random(), generator.random()) for place in range(2_000)]
    expected = table(*map(list, zip(*rows, strict=True)))
    generator.shuffle(rows)
    noisy = [(key, first * (1 + 1e-14), second * (1 - 1e-14)) for key, first, second in rows]
    assert same_answer(table(*map(list, zip(*noisy, strict=True))), expected) is None
    noisy[3] = (noisy[3][0], noisy[3][1] + 1e-6, noisy[3][2])
    assert same_answer(table(*map(list, zip(*noisy, strict=True))), expected) is not None


def test_surplus_among_inexact_rows() -> None:
    assert same_answer(table([1.0, 1.0, 2.0]), table([1.0, 2.0, 2.0])) is not None
    uncut = table([1, 1, 1], [1.0, 2.0, 3.0])
    assert same_answer(table([1, 1], [3.0, 1.0]), uncut.slice(0, 2), ASCENDING, limit=2, uncut=uncut) is None
    assert same_answer(table([1, 1], [3.0, 3.0]), uncut.slice(0, 2), ASCENDING, limit=2, uncut=uncut) is not None


def test_temporal_types() -> None:
    moment = dt.datetime(2024, 2, 29, 12, 30, 0, 123456)
    micro, nano = pa.timestamp("us"), pa.timestamp("ns")
    assert same_answer(table([moment], types=[micro]), table([moment], types=[nano])) is None
    assert same_answer(table([1], types=[nano]), table([2], types=[nano])) is not None
    naive, zoned = table([moment], types=[micro]), table([moment], types=[pa.timestamp("us", "UTC")])
    assert same_answer(naive, zoned) is not None
    berlin = table([moment], types=[pa.timestamp("us", "Europe/Berlin")])
    assert same_answer(berlin, zoned.cast(berlin.schema)) is None  # the instant, not the zone it is shown in
    day = dt.date(1995, 3, 15)
    assert same_answer(table([day]), table([day], types=[pa.date64()])) is None
    assert same_answer(table([day]), naive) is not None
    assert same_answer(table([day]), table([dt.date(1995, 3, 16)])) == (
        "row 0, column 0 (c0): expected 1995-03-16, got 1995-03-15"
    )
    far = pa.table({"c0": pa.array([10_000_000], pa.date32())})  # beyond what Python's date holds
    assert same_answer(far, far) is None
    clock = table([dt.time(1, 2, 3)], types=[pa.time32("s")])
    assert same_answer(clock, table([dt.time(1, 2, 3)], types=[pa.time64("us")])) is None
    assert same_answer(clock, table([dt.time(1, 2, 4)], types=[pa.time64("us")])) is not None


def test_nested_types() -> None:
    assert same_answer(table([[1.0, 2.0], None]), table([None, [1.0, 2.0 + 1e-15]])) is None
    assert same_answer(table([[1, 2]]), table([[2, 1]])) is not None
    assert same_answer(table([{"a": 1, "b": [0.5]}]), table([{"a": 1, "b": [0.5]}])) is None
    assert same_answer(table([{"a": 1}]), table([{"a": 2}])) is not None
    assert same_answer(table([[1]]), table([1])) is not None


def test_many_rows_in_another_order() -> None:
    values = list(range(100_000))
    assert same_answer(table(values[::-1]), table(values)) is None
    assert same_answer(table([*values[1:], -1]), table(values)) is not None

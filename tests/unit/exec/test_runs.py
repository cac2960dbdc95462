"""Cutting sorted runs: the order in which values are compared here is the one in which Polars sorts them."""

from __future__ import annotations

import datetime
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exec.exchange.runs import regular_sample, rows_before
from planner.dir import OrderKey

FLOATS = st.sampled_from([float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.5, -1.5, 5e-324])
DAYS = st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31))
VALUES: dict[pl.DataType, st.SearchStrategy[object]] = {
    pl.Int8(): st.integers(-3, 3),
    pl.Int64(): st.sampled_from([-(2**63), 2**63 - 1, 0, 1]),
    pl.UInt64(): st.sampled_from([0, 1, 2**63, 2**64 - 1]),
    pl.Float32(): FLOATS,
    pl.Float64(): FLOATS,
    pl.Boolean(): st.booleans(),
    pl.String(): st.text(st.sampled_from("aAb\0é\ud7ff\ue000\U0001f600"), max_size=3),
    pl.Binary(): st.binary(max_size=2),
    pl.Date(): DAYS,
    pl.Datetime("us"): st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)),
    pl.Datetime("us", "UTC"): st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30)),
    pl.Time(): st.times(),
    pl.Decimal(38, 0): st.sampled_from([Decimal(10**37), Decimal(-(10**37)), Decimal(0), Decimal(1)]),
}
TYPES = list(VALUES)


@st.composite
def runs(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame, list[OrderKey]]:
    """Rows of one to three keys, some boundaries, and the order."""
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))

    def frame(least: int, most: int) -> pl.DataFrame:
        height = draw(st.integers(least, most))
        columns = []
        for at, dtype in enumerate(types):
            values = draw(st.lists(st.none() | VALUES[dtype], min_size=height, max_size=height))
            columns.append(pl.Series(f"c{at}", values, dtype=dtype))
        return pl.DataFrame(columns)

    order = [OrderKey(at, draw(st.booleans()), draw(st.booleans())) for at in range(len(types))]
    return frame(0, 12), frame(1, 3), order


def ordered(frame: pl.DataFrame, order: list[OrderKey]) -> pl.DataFrame:
    return frame.sort(
        [f"c{key.column}" for key in order],
        descending=[key.descending for key in order],
        nulls_last=[not key.nulls_first for key in order],
        maintain_order=True,
    )


def arrow(frame: pl.DataFrame) -> pa.Table:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


@given(runs())
def test_a_boundary_lies_where_a_stable_sort_puts_it(case):
    frame, boundaries, order = case
    run = ordered(frame, order)
    for row in range(boundaries.height):
        boundary = boundaries.slice(row, 1).with_columns(boundary=True)
        together = ordered(pl.concat([boundary, run.with_columns(boundary=False)]), order)
        assert rows_before(arrow(run), arrow(boundaries), row, order) == together["boundary"].arg_max()


@pytest.mark.parametrize("step, expected", [(1, [0, 1, 2, 3, 4, 10, 11]), (2, [1, 3, 11]), (3, [1, 4, 11]), (100, [])])
def test_every_run_is_sampled_at_equal_steps(step, expected):
    tables = [pa.table({"c1": [0, 1, 2, 3, 4]}), pa.table({"c1": [10, 11]})]
    assert [row["c1"] for part in regular_sample(tables, step) for row in part.to_pylist()] == expected

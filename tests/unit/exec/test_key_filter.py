"""Bitmaps over sets of keys, and when a scan stops using one."""

from __future__ import annotations

import datetime
import random

import polars as pl
import pytest

from exec.kernels.key_filter import MOST_BYTES, KeyFilter
from exec.sources.filtered import TRIAL_ROWS, ScanFilter


def members(keys: pl.Series, values: pl.Series) -> list[bool]:
    found = KeyFilter.of(keys)
    assert found is not None
    return found.mask(values).to_list()


@pytest.mark.parametrize("seed", range(20))
def test_the_mask_is_membership(seed: int) -> None:
    generator = random.Random(seed)
    base = generator.choice([0, -(1 << 61), (1 << 61), -5])
    draw = lambda count: [generator.choice([None, base + generator.randrange(-40, 40)]) for _ in range(count)]  # noqa: E731
    keys, values = draw(generator.choice([1, 10, 60])), draw(200)
    expected = [value is not None and value in keys for value in values]
    assert members(pl.Series(keys, dtype=pl.Int64), pl.Series(values, dtype=pl.Int64)) == expected


def test_values_far_away_are_no_members() -> None:
    far = [-(1 << 63), (1 << 63) - 1, -1, 0, 1, 2, 3]
    assert members(pl.Series([1, 2]), pl.Series(far)) == [False] * 4 + [True, True, False]


def test_widths_and_dates() -> None:
    days = [datetime.date(1995, 1, day) for day in (1, 2, 3)]
    assert members(pl.Series(days[:2]), pl.Series([*days, None])) == [True, True, False, False]
    assert members(pl.Series([300, -1]), pl.Series([-1, 44, 127], dtype=pl.Int8)) == [True, False, False]


@pytest.mark.parametrize("keys", [[], [None, None]])
def test_an_empty_set_has_no_members(keys: list[int | None]) -> None:
    assert members(pl.Series(keys, dtype=pl.Int64), pl.Series([0, 1, -1, None])) == [False] * 4


def test_sparse_sets_have_no_bitmap() -> None:
    assert KeyFilter.of(pl.Series([0, MOST_BYTES])) is None
    assert KeyFilter.of(pl.Series([0, MOST_BYTES - 1])) is not None
    assert KeyFilter.of(pl.Series([(1 << 63) - 1])) is None


@pytest.mark.parametrize(("keys", "active"), [([0, 1, 2, 3], False), ([1], True)])
def test_a_filter_that_keeps_nearly_everything_is_given_up(keys: list[int], active: bool) -> None:
    found = KeyFilter.of(pl.Series(keys))
    assert found is not None
    one = ScanFilter(7, found)
    rows = pl.Series([0, 1, 2, 3] * (TRIAL_ROWS // 4))
    one.mask(rows.head(TRIAL_ROWS // 2))
    assert one.active
    one.mask(rows.head(TRIAL_ROWS // 2))
    assert one.active is active

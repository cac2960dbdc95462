"""Combining ranges of rows: against the same function over slices, for every range of arrays of every small length."""

from __future__ import annotations

import numpy as np
import pytest

from exec.kernels.range_queries import range_query


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 8, 13, 16, 31])
@pytest.mark.parametrize(("combine", "neutral"), [(np.add, 0), (np.minimum, 10**9), (np.maximum, -(10**9))])
def test_every_range(length, combine, neutral):
    values = np.random.default_rng(length).integers(-1000, 1000, length)
    start, end = (
        np.array(pair) for pair in zip(*[(a, b) for a in range(length + 1) for b in range(a, length + 1)], strict=True)
    )
    wanted = [combine.reduce(values[a:b], initial=neutral) for a, b in zip(start, end, strict=True)]
    assert range_query(values, combine, neutral, start, end).tolist() == wanted


def test_what_is_not_in_a_range_does_not_spoil_it():
    values = np.array([1.0, np.nan, 1e300, np.inf, 2.0, 3.0])
    found = range_query(values, np.add, 0.0, np.array([0, 4, 3, 1]), np.array([1, 6, 5, 3]))
    assert found[:3].tolist() == [1.0, 5.0, np.inf]
    assert np.isnan(found[3])

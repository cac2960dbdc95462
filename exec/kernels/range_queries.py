"""Queries over ranges of rows: an associative function of the values from one row to another, for many pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]


def range_query(values: npt.NDArray[Any], combine: np.ufunc, neutral: float, start: Rows, end: Rows) -> npt.NDArray[Any]:
    """`combine` of values[start[i]:end[i]] for every i; `neutral` where the range is empty.

    Every range is put together of blocks whose lengths are powers of two, lowest first, and each level of blocks is made from
    the one below: a segment tree without pointers, O((n + m) log n) for n values and m ranges, in the memory of two levels.
    """
    result = np.full(len(start), neutral, dtype=values.dtype)
    left, right, level = start.copy(), end.copy(), values
    backward = result.copy()
    while True:
        inside = left < right
        if not inside.any():
            return combine(result, backward)
        takes_left, takes_right = inside & (left % 2 == 1), inside & (right % 2 == 1)
        result[takes_left] = combine(result[takes_left], level[left[takes_left]])
        backward[takes_right] = combine(level[right[takes_right] - 1], backward[takes_right])
        left, right = (left + 1) // 2, right // 2
        if len(level) % 2:
            level = np.append(level, np.asarray(neutral, dtype=level.dtype))
        level = combine(level[0::2], level[1::2])

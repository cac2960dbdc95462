"""Which values may be among a set of integers: an exact bitmap over the range of the set, with one byte for each value.

A byte and not a bit, since numpy then needs one load for each row that is looked up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

MOST_BYTES = 1 << 26
"""The largest range of a set that has a bitmap."""


class KeyFilter:
    """The set of some keys (integers, or types that are stored as such); a NULL among them is no member."""

    def __init__(self, least: int, members: npt.NDArray[np.uint8]) -> None:
        self._least = least
        self._members = members

    @staticmethod
    def of(keys: pl.Series) -> KeyFilter | None:
        """The filter of a column of keys; None if their range is too large for a bitmap."""
        values = keys.to_physical().drop_nulls()
        if not len(values):
            return KeyFilter(0, np.zeros(2, dtype=np.uint8))
        least, greatest = values.min(), values.max()
        assert isinstance(least, int) and isinstance(greatest, int)
        if greatest - least >= MOST_BYTES or least <= -(1 << 62) or greatest >= 1 << 62:
            return None
        members = np.zeros(greatest - least + 3, dtype=np.uint8)  # one value more at either end, for all that lies beyond
        members[values.cast(pl.Int64).to_numpy() - (least - 1)] = 1
        return KeyFilter(least - 1, members)

    def mask(self, values: pl.Series) -> pl.Series:
        """For each value whether it is a member; false for NULL."""
        physical = values.to_physical()
        filled = physical.fill_null(0) if physical.null_count() else physical
        if filled.dtype == pl.Int64:
            filled = filled.clip(self._least, self._least + len(self._members) - 1)
        at = np.subtract(filled.to_numpy(), self._least, dtype=np.int64)
        found = pl.Series(self._members.take(at, mode="clip").view(np.bool_))
        return found & physical.is_not_null() if physical.null_count() else found

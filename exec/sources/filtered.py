"""Runtime filters as a scan applies them: rows whose key no row of a join's other side has are dropped.

Each measures itself: if it keeps nearly all of the first rows that it sees, it is left out for the rest of the task.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from exec.kernels.key_filter import KeyFilter

MOST_KEPT = 0.8
"""A filter that keeps more than this share costs as much as it saves."""

TRIAL_ROWS = 1 << 16
"""So many rows tell what share a filter keeps."""


class ScanFilter:
    """A filter over the column with the id `column`, in one task."""

    def __init__(self, column: int, keys: KeyFilter) -> None:
        self.column = column
        self._keys = keys
        self._seen = self._kept = 0

    @property
    def active(self) -> bool:
        return self._seen < TRIAL_ROWS or self._kept <= MOST_KEPT * self._seen

    def mask(self, values: pl.Series) -> pl.Series:
        """For each value whether its row may find a match."""
        passing = self._keys.mask(values)
        self._seen += len(passing)
        self._kept += int(passing.sum())
        return passing


def filtered(frame: pl.LazyFrame, filters: Sequence[ScanFilter]) -> pl.LazyFrame:
    """The rows of a scan, as c<id>, without those that a filter drops."""
    if not filters:
        return frame

    def drop(rows: pl.DataFrame) -> pl.DataFrame:
        for one in filters:
            if one.active:
                rows = rows.filter(one.mask(rows.get_column(f"c{one.column}")))
        return rows

    return frame.map_batches(drop, streamable=True, validate_output_schema=False)

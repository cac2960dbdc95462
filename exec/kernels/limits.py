"""Whether integers keep within limits: two passes over values that are in the cache."""

from __future__ import annotations

import polars as pl


def lies_outside(values: pl.Series, low: float, high: float) -> bool:
    """Whether one of the numbers is below `low` or above `high`. NULL is neither."""
    least, greatest = values.min(), values.max()
    if least is None:
        return False
    assert isinstance(least, (int, float)) and isinstance(greatest, (int, float))
    return least < low or greatest > high

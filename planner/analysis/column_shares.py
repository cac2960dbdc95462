"""Which share of a table's rows has a value, or a value within a range, in one column.

Frequent values have shares of their own; the others are taken to have equal shares, and to lie evenly between the bounds of the
parts of an equi-depth histogram (Piatetsky-Shapiro and Connell, SIGMOD 1984), or between minimum and maximum without one.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Protocol

from planner.catalog import ColumnDistribution

UNSEEN = 0.5
"""Rows of a sample that stand for a value that it does not have."""


class Described(Protocol):
    """What is known of a column; see `planner.analysis.estimates.ColumnEstimate`."""

    @property
    def ndv(self) -> float: ...
    @property
    def low(self) -> int | str | None: ...
    @property
    def high(self) -> int | str | None: ...
    @property
    def null_share(self) -> float: ...
    @property
    def distribution(self) -> ColumnDistribution | None: ...


def any_value_share(known: Described) -> float:
    """The share of rows that have one and the same value, about which nothing is known."""
    return (1.0 - known.null_share) / max(known.ndv, 1.0)


def value_share(known: Described, value: Any) -> float:
    """The share of rows that have a value, given as in ColumnStatistics."""
    if _above(known, value) or _below(known, value):
        return 0.0
    distribution = known.distribution
    if distribution is None:
        return any_value_share(known)
    for common, share in distribution.common:
        if common == value:
            return share
    rest = max(0.0, 1.0 - distribution.null_share - sum(share for _, share in distribution.common))
    share = rest / max(known.ndv - len(distribution.common), 1.0)
    if distribution.common:
        share = min(share, distribution.common[-1][1])
    return max(share, _unseen(distribution))


def range_share(known: Described, low: Any, low_open: bool, high: Any, high_open: bool) -> float | None:
    """The share of rows between two values (None: no limit), which do not count themselves if `open`; None if unknown."""
    example = low if low is not None else high
    if isinstance(example, int):
        low = low + 1 if low is not None and low_open else low
        high = high - 1 if high is not None and high_open else high
        low_open = high_open = False
    if (low is not None and _above(known, low)) or (high is not None and _below(known, high)):
        return 0.0
    distribution = known.distribution
    if distribution is None or not (distribution.common or distribution.bounds):
        return _even_share(known, low, high)
    if not _comparable(distribution, example):
        return None
    frequent = () if distribution.clustered else distribution.common  # whose bounds are those of all values
    share = sum(s for value, s in frequent if _within(value, low, low_open, high, high_open))
    others = max(0.0, 1.0 - distribution.null_share - sum(s for _, s in frequent))
    bounds = distribution.bounds
    if len(bounds) > 1:
        above = 0.0 if low is None else _before(bounds, low)
        below = 1.0 if high is None else _before(bounds, high + 1 if isinstance(high, int) else high)
        share += others * max(0.0, below - above)
    elif bounds and _within(bounds[0], low, low_open, high, high_open):
        share += others
    return min(1.0, max(share, _unseen(distribution)))


def _unseen(distribution: ColumnDistribution) -> float:
    """The least share of a value or range that is possible: of a column whose values are all frequent, what the sample missed."""
    return UNSEEN / distribution.sampled if distribution.sampled and not distribution.bounds else 0.0


def _above(known: Described, value: Any) -> bool:
    """Whether a value is larger than the column's largest."""
    return known.high is not None and isinstance(value, str) is isinstance(known.high, str) and bool(value > known.high)


def _below(known: Described, value: Any) -> bool:
    """Whether a value is smaller than the column's smallest."""
    return known.low is not None and isinstance(value, str) is isinstance(known.low, str) and bool(value < known.low)


def _comparable(distribution: ColumnDistribution, value: Any) -> bool:
    example = distribution.bounds[0] if distribution.bounds else distribution.common[0][0]
    return isinstance(example, str) is isinstance(value, str)


def _within(value: Any, low: Any, low_open: bool, high: Any, high_open: bool) -> bool:
    if low is not None and (value < low or (low_open and value == low)):
        return False
    return not (high is not None and (value > high or (high_open and value == high)))


def _before(bounds: tuple[Any, ...], value: Any) -> float:
    """The share of the rows of a histogram whose values are smaller; an integer stands for all up to the next one."""
    parts = len(bounds) - 1
    at = bisect_left(bounds, value)
    if at == 0:
        return 0.0
    if at > parts:
        return 1.0
    low, high = bounds[at - 1], bounds[at]
    if isinstance(value, str):
        return (at - (0.0 if value == high else 0.5)) / parts
    return (at - 1 + (value - low) / (high - low + (at == parts and isinstance(high, int)))) / parts


def _even_share(known: Described, low: Any, high: Any) -> float | None:
    if not isinstance(known.low, int) or not isinstance(known.high, int):
        return None
    first = known.low if low is None else max(known.low, low)
    last = known.high if high is None else min(known.high, high)
    if not isinstance(first, int) or not isinstance(last, int):
        return max(0.0, min(1.0, (last - first) / max(known.high - known.low, 1)))
    if first > last:
        return 0.0
    return (1.0 - known.null_share) * (last - first + 1) / (known.high - known.low + 1)

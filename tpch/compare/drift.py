"""What an engine became slower or faster by with its machine, and how sure that is.

The runner takes turns: all engines run a query, then all run the next one, and all of that is a round. So what happens to the
machine happens to all engines, and what the peers, whose program is the same in both results, became slower by is the drift.
Three things make it unsure. The peers' times have noise. Engines differ in what the same load does to them, the more so the
higher it is. And the load changes while it is measured, which shows in how an engine and its peers differ from round to round.

Measured with eight results of one build at scale factor 0.1, on two cores that other programs kept busy: DuckDB drifted by up to
150% from result to result, qengine by a quarter of that more or less. Of the 56 comparisons of these results 2 gave an alarm.
Of 30 comparisons on the same machine, when it had nothing else to do, 1 did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median, variance

from tpch.compare.noise import Shift, combined
from tpch.compare.pair import EnginePair

RESPONSE = 0.25
"""Standard deviation of what the same drift does to another engine, as a part of the drift."""
_RESPONSE_FREEDOM = 10  # it is known from about so many pairs of results
_ALIKE = 2.0  # neighbouring rounds are alike, so the mean of a few varies by more than they tell
_MEDIAN = math.pi / 2  # of the variance of the mean, that of the median, in normal samples


def drift_of(pair: EnginePair, peers: Sequence[EnginePair]) -> Shift:
    """What is to be taken off every shift of `pair`; without peers 0, with the error that unsteady rounds cause."""
    parts = []
    expected = 0.0
    if peers:
        peer_drift = combined((1 / len(peers), _centre(peer)) for peer in peers)
        expected = peer_drift.error**2
        parts.append(peer_drift)
        if peer_drift.value:
            parts.append(Shift(0.0, RESPONSE * abs(peer_drift.value), _RESPONSE_FREEDOM))
    unsteady = _unsteadiness(pair, peers, expected)
    if unsteady is not None:
        parts.append(unsteady)
    return combined((1.0, part) for part in parts) if parts else Shift(0.0, 0.0, 1.0)


def _centre(pair: EnginePair) -> Shift:
    """What the median query differs by."""
    mean = _mean(pair)
    return Shift(median(change.value for change in pair.shifts.values()), mean.error * math.sqrt(_MEDIAN), mean.freedom)


def _mean(pair: EnginePair) -> Shift:
    return combined((1 / len(pair.shifts), change) for change in pair.shifts.values())


def _unsteadiness(pair: EnginePair, peers: Sequence[EnginePair], expected: float) -> Shift | None:
    """The error from rounds that differ by more than the noise of single queries explains. `expected` is that of the peers."""
    if not pair.shifts:
        return None
    found, freedom = 0.0, 0
    for place in (0, 1):
        own = pair.rounds()[place]
        others = [peer.rounds()[place] for peer in peers]
        count = min(map(len, (own, *others)))
        relative = [own[turn] - (fmean(other[turn] for other in others) if others else 0.0) for turn in range(count)]
        found += variance(relative) / count
        freedom += count - 1
    excess = found - _MEDIAN * _mean(pair).error ** 2 - expected
    return Shift(0.0, math.sqrt(_ALIKE * excess), freedom) if excess > 0 else None

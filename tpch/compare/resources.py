"""Memory and throughput of one engine in one mode, in two results: what changed beyond what two processes differ by anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from tpch.compare.pair import EnginePair

MEMORY_RATIO = 1.10
MEMORY_BYTES = 64 << 20
"""The least change of a peak, relative and absolute."""
THROUGHPUT_RATIO = 1.25
"""The least change of a throughput run, which has no spread of its own."""


def memory_change(pair: EnginePair) -> tuple[float, float, float] | None:
    """Median peaks before and after in bytes, and the ratio that is sure: 1 where the ranges of the runs overlap.

    None without a run of all queries in both results that tells.
    """
    before, after = pair.peaks()
    if not before or not after:
        return None
    sure = 1.0
    if min(after) > max(before) + MEMORY_BYTES:
        sure = min(after) / max(before)
    elif min(before) > max(after) + MEMORY_BYTES:
        sure = max(after) / min(before)
    return median(before), median(after), sure


def throughput_change(pair: EnginePair, peers: Sequence[EnginePair]) -> tuple[float, float, float] | None:
    """Queries per hour before and after, and the ratio of the times without the drift of the peers' throughput runs.

    None unless both results have a throughput run with the same number of streams, all of it correct.
    """
    before, after = pair.throughput()
    if before is None or after is None or before.streams != after.streams:
        return None
    drifts = []
    for peer in peers:
        old, new = peer.throughput()
        if old is not None and new is not None and old.streams == new.streams == after.streams:
            drifts.append(math.log(old.queries_per_hour / new.queries_per_hour))
    drift = math.exp(fmean(drifts)) if drifts else 1.0
    return before.queries_per_hour, after.queries_per_hour, before.queries_per_hour / after.queries_per_hour / drift

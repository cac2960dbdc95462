"""Two results to what changed between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import geometric_mean
from typing import NamedTuple

from tpch.compare.comparable import changes_of, differences_of, modes_of, record_of, refuse_different
from tpch.compare.drift import drift_of
from tpch.compare.noise import Shift, combined, significant
from tpch.compare.pair import LEAST, EnginePair
from tpch.compare.resources import MEMORY_RATIO, THROUGHPUT_RATIO, memory_change, throughput_change
from tpch.engines import SUBJECT
from tpch.errors import TpchError
from tpch.results import Mode, Result

THRESHOLD = 5.0
"""Percent below which a change is none, unless told otherwise."""
FLOOR = 0.001
"""Seconds below which a change is none."""
QUERY_LEVEL = 0.035
"""Probability that any query of an engine is found slower when none is; the same for faster."""
OVERALL_LEVEL = 0.015
"""The same for totals and geometric means, which are few and tell much: with queries, 5% of all comparisons."""
TOTAL = "total"
MEAN = "geometric mean"
PEAK = "peak memory"
THROUGHPUT = "throughput"
_NOISY = 1.25


class Change(StrEnum):
    """What became of a query."""

    NONE = ""
    SLOWER = "slower"
    LARGER = "larger"
    """Memory."""
    SMALLER = "smaller"
    FASTER = "faster"
    BROKEN = "broken"
    """It was correct before and is not any more."""
    MENDED = "mended"
    UNJUDGED = "not judged"
    """Too few runs, or correct in neither result."""


@dataclass(frozen=True, slots=True)
class Row:
    """One query, or all of an engine and mode together.

    `before` and `after` are seconds: medians, their sum, or their geometric mean; else `detail` has both. `ratio` is after to
    before without the drift of the machine (of throughput that of the times), and `noise` the least ratio above 1 that would
    have been found. `detail` explains what is no matter of time.
    """

    name: str
    change: Change
    before: float | None = None
    after: float | None = None
    ratio: float | None = None
    noise: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One engine in one mode. `drift` is that of the machine as a ratio, by the engines `peers`; 1 without any.

    `own` is whether it is qengine, whichever settings it was measured with.
    """

    engine: str
    mode: Mode
    own: bool
    queries: tuple[Row, ...]
    overall: tuple[Row, ...]
    drift: float = 1.0
    peers: tuple[str, ...] = ()

    @property
    def regressed(self) -> tuple[Row, ...]:
        """What is slower, larger or broken."""
        worse = (Change.SLOWER, Change.LARGER, Change.BROKEN)
        return tuple(row for row in self.queries + self.overall if row.change in worse)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from one result to another. `notes` is what a reader has to know beside it."""

    threshold: float
    series: tuple[Series, ...]
    notes: tuple[str, ...]

    @property
    def regressions(self) -> tuple[tuple[Series, Row], ...]:
        """What is slower or broken of qengine itself."""
        return tuple((series, row) for series in self.series if series.own for row in series.regressed)


def compare(before: Result, after: Result, threshold: float = THRESHOLD) -> Comparison:
    """Judge every engine and mode that both results have; changes below `threshold` percent are none.

    Raises TpchError: the results are not of the same thing, or nothing in them can be judged.
    """
    refuse_different(before, after)
    notes = differences_of(before, after)
    pairs = []
    for record in after.engines:
        old = record_of(before, record)
        if old is None:
            continue
        if record.engine != SUBJECT and (old.reason or record.reason):
            notes.append(f"{record.name} {record.mode} was not available in both: {old.reason or record.reason}")
            continue
        notes += changes_of(old, record)
        pairs.append(EnginePair(before, after, old, record))
    if not pairs:
        raise TpchError(f"the results have no engine and mode in common: {modes_of(before)}; and {modes_of(after)}")
    if not any(pair.shifts or _has_broken(pair) for pair in pairs):
        raise TpchError("nothing can be judged: that takes two correct runs or more of a query in both results (--runs)")
    series: list[Series] = []
    for product in dict.fromkeys(pair.product for pair in pairs):
        family = [pair for pair in pairs if pair.product == product]
        series += _judge(family, [_references(pair, pairs) for pair in family], threshold)
    notes += [
        f"{one.engine} {one.mode}: without another engine in both results, a slower machine looks like a change"
        for one in series
        if one.own and not one.peers
    ]
    notes += [
        f"{one.engine} {one.mode}: too noisy to see less than {100 * (row.noise - 1):.0f}% in the {row.name}: "
        "measure more runs, or on a quieter machine"
        for one in series
        for row in one.overall
        if one.own and row.name == MEAN and row.noise is not None and row.noise > max(_NOISY, 1 + threshold / 100)
    ]
    return Comparison(threshold, tuple(series), tuple(notes))


def _judge(pairs: Sequence[EnginePair], references: Sequence[list[EnginePair]], threshold: float) -> list[Series]:
    """All modes and variants of one engine: their queries are one family of hypotheses, what is over all of them another."""
    drifts = [drift_of(pair, peers) for pair, peers in zip(pairs, references, strict=True)]
    queries: list[_Tested] = []
    overall: list[_Tested] = []
    for place, (pair, drift) in enumerate(zip(pairs, drifts, strict=True)):
        queries += [_Tested(place, row, change.less(drift)) for row, change in _query_changes(pair)]
        overall += [_Tested(place, row, change.less(drift)) for row, change in _overall_changes(pair)]
    judged_queries = _judge_family(queries, QUERY_LEVEL, threshold)
    judged_overall = _judge_family(overall, OVERALL_LEVEL, threshold)
    return [
        Series(
            pair.engine,
            pair.mode,
            pair.product == SUBJECT,
            tuple(judged_queries.get((place, f"Q{number}")) or _unjudged(pair, number) for number in pair.queries),
            tuple(judged_overall[place, name] for name in (TOTAL, MEAN) if (place, name) in judged_overall)
            + _resource_rows(pair, peers, threshold, judged_overall.get((place, MEAN))),
            math.exp(drift.value),
            tuple(peer.engine for peer in peers),
        )
        for place, (pair, drift, peers) in enumerate(zip(pairs, drifts, references, strict=True))
    ]


class _Tested(NamedTuple):
    """A hypothesis: nothing has changed in this row of the series at `place`."""

    place: int
    row: Row
    change: Shift


def _judge_family(tested: Sequence[_Tested], level: float, threshold: float) -> dict[tuple[int, str], Row]:
    """The rows with what was found, by place and name."""
    slower = significant([change.p_slower for _, _, change in tested], level)
    faster = significant([change.p_faster for _, _, change in tested], level)
    judged = {}
    for (place, row, change), is_slower, is_faster in zip(tested, slower, faster, strict=True):
        least = max(1 + threshold / 100, 1 + FLOOR / max(row.before or 0.0, LEAST))
        found = Change.NONE
        if (is_slower or is_faster) and math.exp(abs(change.value)) >= least:
            found = Change.SLOWER if is_slower else Change.FASTER
        noise = max(least, math.exp(change.detectable(level / len(tested))))
        judged[place, row.name] = replace(row, change=found, ratio=math.exp(change.value), noise=noise)
    return judged


def _query_changes(pair: EnginePair) -> list[tuple[Row, Shift]]:
    return [
        (Row(f"Q{number}", Change.NONE, *pair.medians(number), detail=pair.disturbed(number)), change)
        for number, change in pair.shifts.items()
    ]


def _overall_changes(pair: EnginePair) -> list[tuple[Row, Shift]]:
    """The total and the geometric mean, if there are several queries."""
    changes = list(pair.shifts.values())
    if len(changes) < 2:
        return []
    medians = [pair.medians(number) for number in pair.shifts]
    before, after = ([max(seconds or 0.0, LEAST) for seconds in column] for column in zip(*medians, strict=True))
    expected = [seconds * math.exp(change.value) for seconds, change in zip(before, changes, strict=True)]
    parts = combined((seconds / sum(expected), change) for seconds, change in zip(expected, changes, strict=True))
    total = replace(parts, value=math.log(sum(expected) / sum(before)))  # parts.value is right for small changes alone
    mean = combined((1 / len(changes), change) for change in changes)
    return [
        (Row(TOTAL, Change.NONE, sum(before), sum(after)), total),
        (Row(MEAN, Change.NONE, geometric_mean(before), geometric_mean(after)), mean),
    ]


def _resource_rows(pair: EnginePair, peers: Sequence[EnginePair], threshold: float, mean: Row | None) -> tuple[Row, ...]:
    """The peak of memory and the throughput run, which is not called surer than the geometric mean of the queries."""
    rows = []
    memory = memory_change(pair)
    if memory is not None:
        before, after, sure = memory
        least = max(MEMORY_RATIO, 1 + threshold / 100)
        change = Change.LARGER if sure >= least else Change.SMALLER if 1 / sure >= least else Change.NONE
        shown = f"{before / 2**20:,.0f} to {after / 2**20:,.0f} MiB"
        rows.append(Row(PEAK, change, ratio=after / before if before else 1.0, noise=least, detail=shown))
    throughput = throughput_change(pair, peers)
    if throughput is not None:
        before, after, ratio = throughput
        least = max(THROUGHPUT_RATIO, 1 + threshold / 100, (mean.noise if mean else None) or 0.0)
        change = Change.SLOWER if ratio >= least else Change.FASTER if 1 / ratio >= least else Change.NONE
        rows.append(Row(THROUGHPUT, change, ratio=ratio, noise=least, detail=f"{before:,.0f} to {after:,.0f} queries per hour"))
    return tuple(rows)


def _references(pair: EnginePair, pairs: Sequence[EnginePair]) -> list[EnginePair]:
    """The other engines that tell the drift of the machine in this mode: not ours, and of the same version."""
    return [
        peer
        for peer in pairs
        if peer.mode is pair.mode and peer.product not in (pair.product, SUBJECT) and peer.steady and peer.shifts
    ]


def _unjudged(pair: EnginePair, number: int) -> Row:
    """The row of a query that has no shift."""
    (before, after), (wrong_before, wrong_after) = pair.medians(number), pair.wrongs(number)
    name = f"Q{number}"
    if before is not None and wrong_after:
        return Row(name, Change.BROKEN, before, after, detail=wrong_after)
    if after is not None and wrong_before:
        return Row(name, Change.MENDED, before, after, detail=f"before: {wrong_before}")
    return Row(name, Change.UNJUDGED, before, after, detail=wrong_after or wrong_before or "too few runs")


def _has_broken(pair: EnginePair) -> bool:
    return any(_unjudged(pair, number).change is Change.BROKEN for number in pair.queries)

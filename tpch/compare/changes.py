"""Two results to what changed between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import geometric_mean, median

from tpch.compare.comparable import changes_of, differences_of, modes_of, record_of, refuse_different
from tpch.compare.noise import Shift, combined, noise_of, shift, significant, undisturbed
from tpch.errors import TpchError
from tpch.results import EngineRecord, Mode, Result, Run, Verdict

THRESHOLD = 5.0
"""Percent below which a change is none, unless told otherwise."""
FLOOR = 0.001
"""Seconds below which a change is none."""
LEVEL = 0.05
"""Probability that anything at all of an engine is found slower when nothing is; the same for faster."""
TOTAL = "total"
MEAN = "geometric mean"
_LEAST = 1e-6  # seconds: a time of 0 has no logarithm
_OWN = "qengine"


class Change(StrEnum):
    """What became of a query."""

    NONE = ""
    SLOWER = "slower"
    FASTER = "faster"
    BROKEN = "broken"
    """It was correct before and is not any more."""
    MENDED = "mended"
    UNJUDGED = "not judged"
    """Too few runs, or correct in neither result."""


@dataclass(frozen=True, slots=True)
class Row:
    """One query, or all of an engine and mode together.

    `before` and `after` are seconds: medians, their sum, or their geometric mean. `ratio` is after to before without the drift
    of the machine, and `noise` the least ratio above 1 that would have been found. `detail` explains what is no matter of time.
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
    """One engine in one mode. `drift` is that of the machine as a ratio, by the engines `peers`; 1 without any."""

    engine: str
    mode: Mode
    queries: tuple[Row, ...]
    overall: tuple[Row, ...]
    drift: float = 1.0
    peers: tuple[str, ...] = ()

    @property
    def regressed(self) -> tuple[Row, ...]:
        """What is slower or broken."""
        return tuple(row for row in self.queries + self.overall if row.change in (Change.SLOWER, Change.BROKEN))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from one result to another. `notes` is what a reader has to know beside it."""

    threshold: float
    series: tuple[Series, ...]
    notes: tuple[str, ...]

    @property
    def regressions(self) -> tuple[tuple[Series, Row], ...]:
        """What is slower or broken of qengine itself, whichever settings it was measured with."""
        return tuple((series, row) for series in self.series if _is_own(series.engine) for row in series.regressed)


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
        if not _is_own(record.name) and (old.reason or record.reason):
            notes.append(f"{record.name} {record.mode} was not available in both: {old.reason or record.reason}")
            continue
        notes += changes_of(old, record)
        pairs.append(_Pair(before, after, old, record))
    if not pairs:
        raise TpchError(f"the results have no engine and mode in common: {modes_of(before)}; and {modes_of(after)}")
    if not any(pair.shifts or pair.broken for pair in pairs):
        raise TpchError("nothing can be judged: that takes two correct runs or more of a query in both results (--runs)")
    series: list[Series] = []
    for engine in dict.fromkeys(pair.engine for pair in pairs):
        own = [pair for pair in pairs if pair.engine == engine]
        series += _judge(own, [_references(pair, pairs) for pair in own], threshold)
    notes += [
        f"{one.engine} {one.mode}: without another engine in both results, a slower machine looks like a change"
        for one in series
        if _is_own(one.engine) and not one.peers
    ]
    return Comparison(threshold, tuple(series), tuple(notes))


class _Pair:
    """One engine in one mode in both results: the shift of each query that can be judged, and why others cannot."""

    def __init__(self, before: Result, after: Result, old: EngineRecord, new: EngineRecord) -> None:
        self.engine, self.mode = new.name, new.mode
        self.steady = old.version == new.version
        self.queries = [number for number in before.queries if number in after.queries]
        self._results = (before, after)
        times = {number: (_logarithms(before, new, number), _logarithms(after, new, number)) for number in self.queries}
        self.samples = {number: pair for number, pair in times.items() if all(len(sample) > 1 for sample in pair)}
        self.noise = noise_of(list(self.samples.values()))
        self.shifts = {number: shift(pair, self.noise) for number, pair in self.samples.items()}

    @property
    def broken(self) -> list[int]:
        return [number for number in self.queries if self.unjudged(number).change is Change.BROKEN]

    def medians(self, number: int) -> tuple[float | None, float | None]:
        before, after = (result.median(self.engine, self.mode, number) for result in self._results)
        return before, after

    def unjudged(self, number: int) -> Row:
        """The row of a query that has no shift."""
        before, after = self.medians(number)
        wrongs = [_wrong(result.runs_of(self.engine, self.mode, number)) for result in self._results]
        name = f"Q{number}"
        if before is not None and after is None and wrongs[1]:
            return Row(name, Change.BROKEN, before, after, detail=wrongs[1])
        if before is None and after is not None and wrongs[0]:
            return Row(name, Change.MENDED, before, after, detail=f"before: {wrongs[0]}")
        return Row(name, Change.UNJUDGED, before, after, detail=wrongs[1] or wrongs[0] or "too few runs")

    def disturbed(self, number: int) -> str:
        """How many runs were left out, in words."""
        counts = [len(sample) - len(undisturbed(sample, self.noise.typical)) for sample in self.samples[number]]
        return f"disturbed runs: {counts[0]} before, {counts[1]} after" if any(counts) else ""


def _judge(pairs: Sequence[_Pair], references: Sequence[list[_Pair]], threshold: float) -> list[Series]:
    """All modes of one engine: their hypotheses are one family."""
    tested: list[tuple[int, Row, Shift]] = []
    drifts = [_drift(peers) for peers in references]
    for place, (pair, drift) in enumerate(zip(pairs, drifts, strict=True)):
        for row, change in _estimates(pair):
            tested.append((place, row, change.less(drift) if drift is not None else change))
    slower = significant([change.p_slower for _, _, change in tested], LEVEL)
    faster = significant([change.p_faster for _, _, change in tested], LEVEL)
    judged: list[dict[str, Row]] = [{} for _ in pairs]
    for (place, row, change), is_slower, is_faster in zip(tested, slower, faster, strict=True):
        least = _least_ratio(row, threshold)
        size = math.exp(abs(change.value))
        found = (Change.SLOWER if is_slower else Change.FASTER) if (is_slower or is_faster) and size >= least else Change.NONE
        noise = max(least, math.exp(change.detectable(LEVEL / len(tested))))
        judged[place][row.name] = replace(row, change=found, ratio=math.exp(change.value), noise=noise)
    return [
        Series(
            pair.engine,
            pair.mode,
            tuple(rows.get(f"Q{number}") or pair.unjudged(number) for number in pair.queries),
            tuple(rows[name] for name in (TOTAL, MEAN) if name in rows),
            math.exp(drift.value) if drift is not None else 1.0,
            tuple(peer.engine for peer in peers),
        )
        for pair, rows, drift, peers in zip(pairs, judged, drifts, references, strict=True)
    ]


def _estimates(pair: _Pair) -> list[tuple[Row, Shift]]:
    """What is tested: each query, then all together if there are several."""
    found: list[tuple[Row, Shift]] = []
    for number, change in pair.shifts.items():
        row = Row(f"Q{number}", Change.NONE, *pair.medians(number), detail=pair.disturbed(number))
        found.append((row, change))
    if len(found) < 2:
        return found
    before = [max(row.before or 0.0, _LEAST) for row, _ in found]
    after = [max(row.after or 0.0, _LEAST) for row, _ in found]
    expected = [seconds * math.exp(change.value) for seconds, (_, change) in zip(before, found, strict=True)]
    parts = combined((seconds / sum(expected), change) for seconds, (_, change) in zip(expected, found, strict=True))
    total = replace(parts, value=math.log(sum(expected) / sum(before)))  # parts.value is right for small changes alone
    mean = combined((1 / len(found), change) for _, change in found)
    return [
        *found,
        (Row(TOTAL, Change.NONE, sum(before), sum(after)), total),
        (Row(MEAN, Change.NONE, geometric_mean(before), geometric_mean(after)), mean),
    ]


def _references(pair: _Pair, pairs: Sequence[_Pair]) -> list[_Pair]:
    """The other engines that tell the drift of the machine in this mode: not ours, and of the same version."""
    return [
        peer
        for peer in pairs
        if peer.mode is pair.mode and peer.engine != pair.engine and not _is_own(peer.engine) and peer.steady and peer.shifts
    ]


def _drift(peers: Sequence[_Pair]) -> Shift | None:
    """The mean over the peers of what the median query of each differs by."""
    if not peers:
        return None
    centres = []
    for peer in peers:
        changes = list(peer.shifts.values())
        mean = combined((1 / len(changes), change) for change in changes)
        # The median of a normal sample has pi/2 times the variance of its mean.
        centre = Shift(median(change.value for change in changes), mean.error * math.sqrt(math.pi / 2), mean.freedom)
        centres.append((1 / len(peers), centre))
    return combined(centres)


def _least_ratio(row: Row, threshold: float) -> float:
    """What is at least the threshold and the floor, as a ratio of the longer to the shorter time."""
    return max(1 + threshold / 100, 1 + FLOOR / max(row.before or 0.0, _LEAST))


def _is_own(engine: str) -> bool:
    return engine.startswith(_OWN)


def _logarithms(result: Result, engine: EngineRecord, number: int) -> list[float]:
    return [math.log(max(seconds, _LEAST)) for seconds in result.seconds_of(engine.name, engine.mode, number)]


def _wrong(runs: Sequence[Run]) -> str:
    """What was wrong with the first run that was not correct; empty if none was."""
    if not runs:
        return "no run"
    run = next((run for run in runs if run.verdict is not Verdict.CORRECT), None)
    return "" if run is None else f"{run.verdict}: {run.detail}" if run.detail else str(run.verdict)

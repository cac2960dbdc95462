"""One engine in one mode in two results: the samples of each query, and by how much each differs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import NamedTuple

from tpch.compare.noise import Sample, noise_of, shift, undisturbed
from tpch.results import EngineRecord, Result, Run, Verdict

LEAST = 1e-6
"""Seconds that a time is taken for at least: 0 has no logarithm."""


class Streams(NamedTuple):
    """A throughput run whose every answer was correct."""

    streams: int
    queries_per_hour: float


class EnginePair:
    """Made of the records of the same engine and mode in both results.

    `product` is the engine that a variant is of, else `engine` itself. `queries` are in both; `samples` has the logarithms of
    the seconds of those with two correct runs or more in each, and `shifts` what these differ by.
    `steady` is whether both are of the same version.
    """

    def __init__(self, before: Result, after: Result, old: EngineRecord, new: EngineRecord) -> None:
        self.engine, self.product, self.mode = new.name, new.engine, new.mode
        self.steady = old.version == new.version
        self.queries = [number for number in before.queries if number in after.queries]
        before, after = self._results = (_only(before, new), _only(after, new))
        times = {number: (self._logarithms(before, number), self._logarithms(after, number)) for number in self.queries}
        self.samples = {number: pair for number, pair in times.items() if all(len(sample) > 1 for sample in pair)}
        self.noise = noise_of(list(self.samples.values()))
        self.shifts = {number: shift(pair, self.noise) for number, pair in self.samples.items()}

    def medians(self, number: int) -> tuple[float | None, float | None]:
        """Median seconds of a query before and after."""
        before, after = (result.median(self.engine, self.mode, number) for result in self._results)
        return before, after

    def wrongs(self, number: int) -> tuple[str, str]:
        """What was wrong with the query before and after; empty if nothing was."""
        before, after = (_wrong(result.runs_of(self.engine, self.mode, number)) for result in self._results)
        return before, after

    def peaks(self) -> tuple[list[int], list[int]]:
        """The peak of memory in each run of all queries, before and after."""
        before, after = (_peaks(result, self.queries) for result in self._results)
        return before, after

    def throughput(self) -> tuple[Streams | None, Streams | None]:
        """The throughput runs before and after, if all of their queries were correct."""
        before, after = (_streams(result) for result in self._results)
        return before, after

    def disturbed(self, number: int) -> str:
        """How many runs were left out, in words."""
        counts = [len(sample) - len(undisturbed(sample, self.noise.typical)) for sample in self.samples[number]]
        return f"disturbed runs: {counts[0]} before, {counts[1]} after" if any(counts) else ""

    def rounds(self) -> tuple[list[float], list[float]]:
        """By how much each run of all queries was slower than the mean run, before and after: the median over the queries."""
        before, after = (_rounds([pair[place] for pair in self.samples.values()]) for place in (0, 1))
        return before, after

    def _logarithms(self, result: Result, number: int) -> list[float]:
        return [math.log(max(seconds, LEAST)) for seconds in result.seconds_of(self.engine, self.mode, number)]


def _only(result: Result, engine: EngineRecord) -> Result:
    """The runs of one engine and mode: all that is looked at, and much less to search."""
    runs = tuple(run for run in result.runs if (run.engine, run.mode) == (engine.name, engine.mode))
    return replace(result, runs=runs, throughput=tuple(filter(None, [result.throughput_of(engine.name, engine.mode)])))


def _peaks(result: Result, queries: Sequence[int]) -> list[int]:
    peaks: dict[int, int] = {}
    for run in result.runs:
        if run.query in queries and not run.stream and run.memory is not None and run.verdict is Verdict.CORRECT:
            peaks[run.number] = max(peaks.get(run.number, 0), run.memory)
    return list(peaks.values())


def _streams(result: Result) -> Streams | None:
    runs = [run for run in result.runs if run.stream]
    if not result.throughput or not result.throughput[0].seconds or any(run.verdict is not Verdict.CORRECT for run in runs):
        return None
    took = result.throughput[0]
    return Streams(len(took.stream_seconds), 3600 * len(runs) / took.seconds)


def _rounds(samples: Sequence[Sample]) -> list[float]:
    count = min(map(len, samples), default=0)
    return [median(sample[place] - fmean(sample) for sample in samples) for place in range(count)]


def _wrong(runs: Sequence[Run]) -> str:
    if not runs:
        return "no run"
    run = next((run for run in runs if run.verdict is not Verdict.CORRECT), None)
    return "" if run is None else f"{run.verdict}: {run.detail}" if run.detail else str(run.verdict)

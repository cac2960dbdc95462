"""Every figure of a report, computed once from a Result; whatever shows a report only formats what is here.

    Figures             the benchmark
      ModeFigures       one per mode that was measured: cold, hot, memory
        EngineFigures   one per engine, in the order of the result
          QueryFigures  one per query
          StreamFigures the throughput run, if there was one

A figure that does not exist is None: the median of a query that failed, the ratio of an engine without peers. Times are in
seconds, memory in bytes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from tpch.engines import SUBJECT
from tpch.results import Conditions, EngineRecord, Mode, Result, Run, Throughput, Verdict, geometric_mean

_T = TypeVar("_T")

COMPARED = 0.75
"""An engine is compared with the others if it answered at least this share of the queries that the best of them answered.

Totals are compared over the queries that all of these answered; without a limit, an engine that answers two queries would
reduce the comparison of all others to two queries.
"""

PHASES = ("planning", "execution", "delivery")
"""The parts of a run, in their order."""


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """One query of one engine: the median of its runs, their extremes, and what was wrong with the first that was not correct.

    `verdict` is None without a run. Processor time, memory and the three phases of a run (planning, execution, delivery) are
    medians too, where an engine tells them; memory is the peak. `ratio` is the median over that of the fastest peer;
    `cumulative` the sum of the medians of the common queries up to this one, in the order of the result, if it is one of them.
    """

    query: int
    verdict: Verdict | None
    detail: str
    seconds: tuple[float, ...]
    median: float | None
    minimum: float | None
    maximum: float | None
    cpu_seconds: float | None
    planning_seconds: float | None
    execution_seconds: float | None
    delivery_seconds: float | None
    memory: int | None
    rows: int | None
    ratio: float | None = None
    cumulative: float | None = None
    fastest: bool = False


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """A throughput run: `seconds` of each stream, `elapsed` from the start of the first to the end of the last one.

    `queries_per_hour` is None unless all of the runs were correct; `incorrect` are those that were not.
    """

    streams: int
    runs: int
    correct: int
    seconds: tuple[float, ...]
    elapsed: float | None
    queries_per_hour: float | None
    memory: int | None
    incorrect: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """One engine in one mode. Sums and means are over the `correct` queries, `common_total` over the common ones.

    `ratio` is the geometric mean of the ratios of its queries, `fastest` the number of queries in which no engine was faster,
    `total_ratio` its common total over the least of a peer. An engine that is not compared has no common total, and a variant
    of an engine is the fastest in nothing.
    """

    name: str
    version: str
    settings: dict[str, str]
    reason: str
    variant_of: str
    startup_seconds: float | None
    load_seconds: float | None
    queries: tuple[QueryFigures, ...]
    correct: int
    total: float | None
    geometric_mean: float | None
    cpu_seconds: float | None
    planning_seconds: float | None
    execution_seconds: float | None
    delivery_seconds: float | None
    memory: int | None
    streams: StreamFigures | None
    common_total: float | None = None
    ratio: float | None = None
    total_ratio: float | None = None
    fastest: int | None = None

    @property
    def complete(self) -> bool:
        """Whether every query was answered, so that its total can be compared."""
        return bool(self.queries) and self.correct == len(self.queries)


@dataclass(frozen=True, slots=True)
class ModeFigures:
    """One mode. `common` are the queries that every engine answered of those that are compared."""

    mode: Mode
    engines: tuple[EngineFigures, ...]
    common: tuple[int, ...]

    @property
    def subject(self) -> int | None:
        """The place of the engine that a report is about: SUBJECT if it took part, else the first one; None without engines."""
        names = [engine.name for engine in self.engines]
        return names.index(SUBJECT) if SUBJECT in names else 0 if names else None

    @property
    def complete(self) -> bool:
        """Whether the common queries are all queries, so that common totals are totals."""
        return all(engine.complete for engine in self.engines if engine.common_total is not None)


@dataclass(frozen=True, slots=True)
class Figures(Conditions):
    """The benchmark: the conditions of a Result, and its figures in place of its runs."""

    modes: tuple[ModeFigures, ...]

    @property
    def engine_names(self) -> tuple[str, ...]:
        """Every engine once, in the order of the result."""
        return tuple(dict.fromkeys(engine.name for mode in self.modes for engine in mode.engines))

    @property
    def subject(self) -> str:
        """The engine that a report is about; empty without engines."""
        names = self.engine_names
        return SUBJECT if SUBJECT in names else names[0] if names else ""

    def correct(self, engine: str) -> int:
        """The queries that the engine ran and whose every run, in all modes and streams, was correct."""
        own = [found for mode in self.modes for found in mode.engines if found.name == engine]
        in_streams = {run.query for found in own if found.streams for run in found.streams.incorrect}
        verdicts = ({found.queries[place].verdict for found in own} - {None} for place in range(len(self.queries)))
        return sum(
            found == {Verdict.CORRECT} and query not in in_streams for query, found in zip(self.queries, verdicts, strict=True)
        )


def figures_of(result: Result) -> Figures:
    """All figures of a result."""
    measured = {record.mode for record in result.engines} | {run.mode for run in result.runs}
    conditions = {field.name: getattr(result, field.name) for field in fields(Conditions)}
    return Figures(**conditions, modes=tuple(_mode_figures(result, mode) for mode in Mode if mode in measured))


def phases_of(query: QueryFigures) -> tuple[float | None, ...]:
    """The median seconds of each of PHASES."""
    return query.planning_seconds, query.execution_seconds, query.delivery_seconds


def _mode_figures(result: Result, mode: Mode) -> ModeFigures:
    records = [record for record in result.engines if record.mode is mode]
    known = {record.name for record in records}
    unknown = dict.fromkeys(run.engine for run in result.runs if run.mode is mode and run.engine not in known)
    records += [EngineRecord(name, mode) for name in unknown]
    engines = [_engine_figures(_only(result, record), record) for record in records]
    most = max((engine.correct for engine in engines), default=0)
    compared = [engine for engine in engines if engine.correct and engine.correct >= COMPARED * most]
    common = tuple(
        number
        for place, number in enumerate(result.queries)
        if compared and all(engine.queries[place].median is not None for engine in compared)
    )
    engines = [_with_common(engine, common) if engine in compared else engine for engine in engines]
    return ModeFigures(mode, tuple(_beside_peers(engine, engines) for engine in engines), common)


def _only(result: Result, record: EngineRecord) -> Result:
    """The runs of one engine and mode alone, since looking up a query goes through all runs."""
    return replace(
        result, runs=tuple(run for run in result.runs if run.engine == record.name and run.mode is record.mode), engines=()
    )


def _engine_figures(result: Result, record: EngineRecord) -> EngineFigures:
    queries = [_query_figures(result, record, number) for number in result.queries]
    medians = [query.median for query in queries if query.median is not None]
    return EngineFigures(
        name=record.name,
        version=record.version,
        settings=dict(record.settings),
        reason=record.reason,
        variant_of=record.variant_of,
        startup_seconds=record.startup_seconds,
        load_seconds=record.load_seconds,
        queries=tuple(queries),
        correct=len(medians),
        total=_sum(medians),
        geometric_mean=_geometric_mean(medians),
        cpu_seconds=_sum(query.cpu_seconds for query in queries if query.median is not None),
        planning_seconds=_sum(query.planning_seconds for query in queries if query.median is not None),
        execution_seconds=_sum(query.execution_seconds for query in queries if query.median is not None),
        delivery_seconds=_sum(query.delivery_seconds for query in queries if query.median is not None),
        memory=_peak(query.memory for query in queries),
        streams=_stream_figures([run for run in result.runs if run.stream > 0], result.throughput_of(record.name, record.mode)),
    )


def _query_figures(result: Result, record: EngineRecord, number: int) -> QueryFigures:
    runs = result.runs_of(record.name, record.mode, number)
    seconds = result.seconds_of(record.name, record.mode, number)
    bad = next((run for run in runs if run.verdict is not Verdict.CORRECT), None)
    return QueryFigures(
        query=number,
        verdict=bad.verdict if bad else Verdict.CORRECT if runs else None,
        detail=bad.detail if bad else "",
        seconds=seconds,
        median=result.median(record.name, record.mode, number),
        minimum=min(seconds, default=None),
        maximum=max(seconds, default=None),
        cpu_seconds=_median(run.cpu_seconds for run in runs),
        planning_seconds=_median(run.planning_seconds for run in runs),
        execution_seconds=_median(run.execution_seconds for run in runs),
        delivery_seconds=_median(run.delivery_seconds for run in runs),
        memory=_peak(run.memory for run in runs),
        rows=next((run.rows for run in runs if run.rows is not None), None),
    )


def _stream_figures(runs: Sequence[Run], throughput: Throughput | None) -> StreamFigures | None:
    if not runs:
        return None
    incorrect = tuple(run for run in runs if run.verdict is not Verdict.CORRECT or run.seconds is None)
    elapsed = throughput.seconds if throughput else None
    return StreamFigures(
        streams=len({run.stream for run in runs}),
        runs=len(runs),
        correct=len(runs) - len(incorrect),
        seconds=throughput.stream_seconds if throughput else (),
        elapsed=elapsed,
        queries_per_hour=3600 * len(runs) / elapsed if elapsed and not incorrect else None,
        memory=_peak(run.memory for run in runs),
        incorrect=incorrect,
    )


def _with_common(engine: EngineFigures, common: Sequence[int]) -> EngineFigures:
    """The same engine with its sums over the common queries."""
    queries, total = [], 0.0
    for query in engine.queries:
        shared = query.query in common
        total += (query.median or 0.0) if shared else 0.0
        queries.append(replace(query, cumulative=total if shared else None))
    return replace(engine, queries=tuple(queries), common_total=total if common else None)


def _beside_peers(engine: EngineFigures, engines: Sequence[EngineFigures]) -> EngineFigures:
    """The same engine with the figures that need the others."""
    rivals = [other for other in engines if not other.variant_of]
    peers = [rival for rival in rivals if rival.name not in (engine.name, engine.variant_of)]
    queries = []
    for place, query in enumerate(engine.queries):
        best = _least(peer.queries[place].median for peer in peers)
        least = _least(rival.queries[place].median for rival in rivals)
        fastest = bool(peers) and not engine.variant_of and query.median is not None and query.median == least
        queries.append(replace(query, ratio=_ratio(query.median, best), fastest=fastest))
    return replace(
        engine,
        queries=tuple(queries),
        ratio=_geometric_mean(query.ratio for query in queries if query.ratio is not None),
        total_ratio=_ratio(engine.common_total, _least(peer.common_total for peer in peers)),
        fastest=None if engine.variant_of else sum(query.fastest for query in queries),
    )


def _ratio(mine: float | None, theirs: float | None) -> float | None:
    return mine / theirs if mine is not None and theirs else None


def _known(values: Iterable[_T | None]) -> list[_T]:
    return [value for value in values if value is not None]


def _sum(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return sum(known) if known else None


def _median(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return statistics.median(known) if known else None


def _peak(values: Iterable[int | None]) -> int | None:
    return max(_known(values), default=None)


def _least(values: Iterable[float | None]) -> float | None:
    return min(_known(values), default=None)


def _geometric_mean(values: Iterable[float]) -> float | None:
    """None of nothing, and where a clock saw no time at all."""
    known = list(values)
    return geometric_mean(known) if all(value > 0 for value in known) else None

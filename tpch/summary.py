"""What a terminal shows at the end: seconds per engine, ratio to the best peer, verdicts; and how many answers are correct.

The figures are those of the report. Here they have three decimals and what is wrong beside them, for a log of many runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpch.engines import SUBJECT
from tpch.report import formats
from tpch.report.columns import total_of
from tpch.report.figures import EngineFigures, Figures, ModeFigures, QueryFigures, StreamFigures
from tpch.report.notes import NOT_AUDITED
from tpch.report.terminal import aligned
from tpch.results import Verdict


def format_summary(figures: Figures) -> str:
    """One table for each mode, the throughput runs, and last the line `22/22 correct`."""
    return "\n".join(_summary_lines(figures)) + "\n"


def format_verdicts(figures: Figures) -> str:
    """A table of queries and engines with verdicts in place of times, and below it what was wrong."""
    return "\n".join(_verdict_lines(figures)) + "\n"


def _summary_lines(figures: Figures) -> Iterator[str]:
    for mode in figures.modes:
        if len(figures.modes) > 1:
            yield from (mode.mode.value, "")
        if mode.subject is not None and figures.queries:
            yield from _mode_lines(mode, mode.engines[mode.subject], len(figures.queries))
        yield ""
        streams = [_stream_line(engine.name, engine.streams) for engine in mode.engines if engine.streams is not None]
        yield from (*streams, "") if streams else ()
    yield NOT_AUDITED
    count = len(figures.queries)
    yield from (
        f"{engine.name} ({mode.mode}): {engine.correct}/{count} correct"
        for mode in figures.modes
        for engine in mode.engines
        if engine.name != figures.subject and not engine.complete
    )
    label = "" if figures.subject in (SUBJECT, "") else f" ({figures.subject})"
    yield f"{figures.correct(figures.subject)}/{count} correct{label}"


def _mode_lines(mode: ModeFigures, subject: EngineFigures, queries: int) -> Iterator[str]:
    has_peers = any(query.ratio is not None for query in subject.queries)
    head = ["query", *(f"{engine.name} s" for engine in mode.engines), *(["ratio"] if has_peers else []), "rows", "verdict"]
    rows = []
    for place, query in enumerate(subject.queries):
        medians = [_seconds(engine.queries[place].median) for engine in mode.engines]
        ratio = [_ratio(query.ratio)] if has_peers else []
        verdicts = "; ".join((_verdict(query), *_wrong_peers(mode, subject, place)))
        rows.append([f"Q{query.query}", *medians, *ratio, "-" if query.rows is None else str(query.rows), verdicts])
    totals = [_seconds(engine.common_total) for engine in mode.engines]
    note = "" if len(mode.common) == queries else f"of {total_of(mode, queries)}"
    foot = [["total", *totals, *([_ratio(subject.total_ratio)] if has_peers else []), "", note]]
    means = [_seconds(engine.geometric_mean if engine.complete else None) for engine in mode.engines]
    foot += [["geometric mean", *means, *([_ratio(subject.ratio)] if has_peers else []), "", ""]]
    yield from aligned(head, rows, foot, text=(0, len(head) - 1))
    yield from (f"{engine.name}: {engine.reason}" for engine in mode.engines if engine.reason)


def _stream_line(name: str, streams: StreamFigures) -> str:
    line = f"{name}: throughput run with {streams.streams} streams, {streams.correct}/{streams.runs} correct"
    if streams.queries_per_hour is None:
        return line
    return f"{line}, {_seconds(streams.elapsed)} s, {streams.queries_per_hour:.0f} queries per hour"


def _verdict_lines(figures: Figures) -> Iterator[str]:
    names = figures.engine_names
    engines = [engine for mode in figures.modes for engine in mode.engines]
    rows = [
        [f"Q{number}", *(formats.verdict(engine.queries[place]) for engine in engines)]
        for place, number in enumerate(figures.queries)
    ]
    yield from aligned(["query", *(engine.name for engine in engines)], rows, text=range(len(engines) + 1))
    yield ""
    wrong = [line for engine in engines for line in _wrong(engine)]
    yield from (*wrong, "") if wrong else ()
    yield from (f"{name}: {figures.correct(name)}/{len(figures.queries)} correct" for name in names)


def _wrong(engine: EngineFigures) -> Sequence[str]:
    if engine.reason:
        return [f"{engine.name}: {Verdict.UNAVAILABLE}: {engine.reason}"]
    return [f"{engine.name} Q{query.query}: {_verdict(query)}" for query in engine.queries if query.detail]


def _wrong_peers(mode: ModeFigures, subject: EngineFigures, place: int) -> Iterator[str]:
    """What was wrong with one query in the other engines that took part."""
    for engine in mode.engines:
        verdict = engine.queries[place].verdict
        if engine is not subject and not engine.reason and verdict not in (None, Verdict.CORRECT):
            yield f"{engine.name}: {formats.verdict(engine.queries[place])}"


def _verdict(query: QueryFigures) -> str:
    return formats.verdict(query) + (f": {query.detail}" if query.detail else "")


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"

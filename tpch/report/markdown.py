"""The report as Markdown, for issues and pull requests: GitHub's tables, no HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tpch.report import formats
from tpch.report.columns import engine_columns, leaders, setting_lines, title, troubles
from tpch.report.figures import Figures, ModeFigures, QueryFigures
from tpch.report.notes import MEANINGS, NOT_AUDITED, TITLES


def as_markdown(figures: Figures) -> str:
    """The whole report; bold is the fastest."""
    return "\n".join(_lines(figures)) + "\n"


def _lines(figures: Figures) -> Iterator[str]:
    yield from (f"# {_plain(title(figures))}", "")
    yield from (f"- {name}: {_plain(value)}" for name, value in setting_lines(figures))
    yield from ("", "```sh", figures.command.replace("\n", " "), "```", "")
    if not figures.modes:
        yield from ("Nothing was measured.", "")
    for mode in figures.modes:
        yield from (f"## {TITLES[mode.mode]}", "", MEANINGS[mode.mode], "")
        yield from _engine_table(mode)
        if figures.queries:
            yield from _query_table(figures, mode)
        yield from _troubles(mode)
        yield from _streams(mode)
    yield NOT_AUDITED


def _engine_table(mode: ModeFigures) -> Iterator[str]:
    columns = engine_columns(mode)
    best = [leaders(column, mode) for column in columns]
    rows = []
    for engine in mode.engines:
        cells = [_plain(f"{engine.name} {engine.version}".strip())]
        for column, first in zip(columns, best, strict=True):
            text = column.show(column.value(engine))
            of = formats.coverage(engine) if column.over_queries and column.value(engine) is not None else ""
            cells.append((f"**{text}**" if engine.name in first else text) + (f" ({of})" if of else ""))
        rows.append(cells)
    yield from _table(["engine", *(column.title for column in columns)], rows)


def _query_table(figures: Figures, mode: ModeFigures) -> Iterator[str]:
    rows = [
        [f"Q{number}", *(_cell(engine.queries[place]) for engine in mode.engines)]
        for place, number in enumerate(figures.queries)
    ]
    yield from ("Median seconds:", "")
    yield from _table(["query", *(_plain(engine.name) for engine in mode.engines)], rows)


def _cell(query: QueryFigures) -> str:
    if query.median is None:
        return formats.verdict(query)
    text = formats.seconds(query.median)
    return f"**{text}**" if query.fastest else text


def _troubles(mode: ModeFigures) -> Iterator[str]:
    found = troubles(mode)
    yield from (f"- {_plain(engine)}, {where}: {_plain(what)}" for engine, where, what in found)
    if found:
        yield ""


def _streams(mode: ModeFigures) -> Iterator[str]:
    rows = [
        [
            _plain(engine.name),
            str(streams.streams),
            f"{streams.correct} of {streams.runs}",
            formats.seconds(streams.elapsed),
            formats.count(streams.queries_per_hour),
            formats.memory(streams.memory),
        ]
        for engine in mode.engines
        if (streams := engine.streams) is not None
    ]
    if rows:
        yield from ("Throughput:", "")
        yield from _table(["engine", "streams", "correct", "elapsed s", "queries per hour", "peak memory"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---", *("---:" for _ in head[1:])])
    yield from (_row(row) for row in rows)
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Text that stays as it is: in one line, and no character of it means anything to Markdown."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))

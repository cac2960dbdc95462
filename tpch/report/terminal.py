"""The report as plain text: aligned columns and bars, the same on a terminal and in a log."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence

from tpch.report import formats
from tpch.report.columns import engine_columns, setting_lines, title, troubles
from tpch.report.figures import Figures, ModeFigures, QueryFigures
from tpch.report.notes import MEANINGS, NOT_AUDITED, TITLES

BAR = 30
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def as_text(figures: Figures) -> str:
    """The whole report; a star marks the fastest."""
    return "\n".join(line.rstrip() for line in _lines(figures)) + "\n"


def bar(value: float, largest: float, width: int = BAR) -> str:
    """A bar of `width` characters for `largest`, in eighths of a character; a value above 0 is always visible.

    >>> bar(0.5, 1.0, width=3), bar(0.001, 1.0, width=3), bar(0.0, 0.0, width=3)
    ('█▌', '▏', '')
    """
    if value <= 0 or largest <= 0:
        return ""
    eighths = max(1, round(8 * width * value / largest))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _lines(figures: Figures) -> Iterator[str]:
    yield title(figures)
    yield from (f"  {name}: {value}" for name, value in setting_lines(figures))
    yield f"  {figures.command}"
    if not figures.modes:
        yield from ("", "Nothing was measured.")
    for mode in figures.modes:
        yield from ("", f"{TITLES[mode.mode].upper()}  {MEANINGS[mode.mode]}", "")
        if figures.queries:
            yield from _query_table(figures, mode)
        yield from _engine_table(mode)
        yield from _totals(mode)
        yield from _streams(mode)
        yield from (f"! {engine}, {where}: {what}" for engine, where, what in troubles(mode))
    yield ""
    yield from textwrap.wrap(NOT_AUDITED, 110)


def _query_table(figures: Figures, mode: ModeFigures) -> Iterator[str]:
    rows = [
        [f"Q{number}", *(_cell(engine.queries[place]) for engine in mode.engines)]
        for place, number in enumerate(figures.queries)
    ]
    yield from _table(["median s", *(engine.name for engine in mode.engines)], rows)


def _cell(query: QueryFigures) -> str:
    if query.median is None:
        return f"{formats.verdict(query)}  "
    return formats.seconds(query.median) + (" *" if query.fastest else "  ")


def _engine_table(mode: ModeFigures) -> Iterator[str]:
    columns = engine_columns(mode)
    rows = [
        [
            engine.name,
            *(column.show(column.value(engine)) for column in columns),
            formats.coverage(engine),
        ]
        for engine in mode.engines
    ]
    yield from _table(["engine", *(column.title for column in columns), "answered"], rows)


def _totals(mode: ModeFigures) -> Iterator[str]:
    ranked = [engine for engine in mode.engines if engine.complete]
    largest = max((engine.total or 0.0 for engine in ranked), default=0.0)
    width = max((len(engine.name) for engine in ranked), default=0)
    yield from (
        f"{engine.name.ljust(width)}  {formats.seconds(engine.total):>9} s  {bar(engine.total or 0.0, largest)}"
        for engine in ranked
    )
    if ranked:
        yield ""


def _streams(mode: ModeFigures) -> Iterator[str]:
    rows = [
        [
            engine.name,
            str(streams.streams),
            f"{streams.correct} of {streams.runs}",
            formats.seconds(streams.elapsed),
            formats.count(streams.queries_per_hour),
        ]
        for engine in mode.engines
        if (streams := engine.streams) is not None
    ]
    if rows:
        yield from _table(["throughput", "streams", "correct", "elapsed s", "queries per hour"], rows)


def aligned(
    head: Sequence[str], rows: Sequence[Sequence[str]], foot: Sequence[Sequence[str]] = (), text: Collection[int] = (0,)
) -> Iterator[str]:
    """The lines of a table with a rule below its head and one above its foot. Columns are numbers, but for those in `text`."""
    table = [head, *rows, *foot]
    widths = [max(len(row[place]) for row in table) for place in range(len(head))]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    for number, row in enumerate(table):
        if number == 1 or (foot and number == 1 + len(rows)):
            yield rule
        cells = (
            cell.ljust(width) if place in text else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from aligned(head, rows)
    yield ""

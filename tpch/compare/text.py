"""A comparison as text: aligned columns, the same in colours on a terminal, or Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tpch.compare.changes import Change, Comparison, Row, Series

if TYPE_CHECKING:
    from rich.table import Table

_HEAD = ("query", "before s", "after s", "change", "noise", "")
_COLOURS = {
    Change.SLOWER: "red",
    Change.LARGER: "red",
    Change.SMALLER: "green",
    Change.BROKEN: "bold red",
    Change.FASTER: "green",
    Change.MENDED: "bold green",
}


def as_text(comparison: Comparison) -> str:
    """Plain text, a table per engine and mode, and the verdict in the last line."""
    return "\n".join(line.rstrip() for line in _text_lines(comparison)) + "\n"


def as_markdown(comparison: Comparison) -> str:
    """The same in Markdown; what changed is bold."""
    return "\n".join(_markdown_lines(comparison)) + "\n"


def print_in_colours(comparison: Comparison) -> None:
    """The same on a terminal. Raises ModuleNotFoundError without rich."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for series in comparison.series:
        console.print(_rich_table(series))
        console.print()
    for note in comparison.notes:
        console.print(Text(f"note: {note}", "yellow"))
    console.print(Text(verdict(comparison), "bold red" if comparison.regressions else "bold green"))


def verdict(comparison: Comparison) -> str:
    """In one line, what of qengine became slower or broke."""
    found = [f"{row.name} {series.engine} {series.mode} {_outcome(row)}" for series, row in comparison.regressions]
    return f"regressions: {'; '.join(found)}" if found else "no regression of qengine"


def _text_lines(comparison: Comparison) -> Iterator[str]:
    for series in comparison.series:
        yield _title(series)
        rows = [_HEAD, *(_cells(row) for row in series.queries + series.overall)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(_HEAD) - 1)]
        for place, row in enumerate(rows):
            if place in (1, len(rows) - len(series.overall)):
                yield "-" * (sum(widths) + 2 * (len(widths) - 1))
            cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:], strict=True))]
            yield "  ".join([*cells, row[-1]])
        yield ""
    yield from (f"note: {note}" for note in comparison.notes)
    yield verdict(comparison)


def _markdown_lines(comparison: Comparison) -> Iterator[str]:
    for series in comparison.series:
        yield from (f"### {_title(series)}", "", f"| {' | '.join(_HEAD)} |", "|---|---:|---:|---:|---:|---|")
        for row in series.queries + series.overall:
            cells = [cell.replace("|", "\\|") for cell in _cells(row)]
            if row.change in _COLOURS:
                cells[3:] = [cells[3] and f"**{cells[3]}**", cells[4], f"**{row.change}**{cells[5].removeprefix(row.change)}"]
            yield f"| {' | '.join(cells)} |"
        yield ""
    yield from (f"- {note}" for note in comparison.notes)
    yield from ("", f"**{verdict(comparison)}**")


def _rich_table(series: Series) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(_title(series)), title_justify="left", box=None, pad_edge=False)
    for place, name in enumerate(_HEAD):
        table.add_column(name, justify="left" if place in (0, len(_HEAD) - 1) else "right", no_wrap=place < len(_HEAD) - 1)
    for row in series.queries + series.overall:
        style = _COLOURS.get(row.change, "")
        table.add_row(*(Text(cell, style) for cell in _cells(row)), end_section=row == series.queries[-1])
    return table


def _title(series: Series) -> str:
    if not series.peers:
        return f"{series.engine} {series.mode}"
    return f"{series.engine} {series.mode}, without the machine's drift of {_percent(series.drift)} ({', '.join(series.peers)})"


def _cells(row: Row) -> Sequence[str]:
    noise = "" if row.noise is None else f"±{100 * (row.noise - 1):.0f}%"
    outcome = ", ".join(part for part in (str(row.change), row.detail) if part)
    return [
        row.name,
        _seconds(row.before),
        _seconds(row.after),
        "" if row.ratio is None else _percent(row.ratio),
        noise,
        outcome,
    ]


def _outcome(row: Row) -> str:
    return f"{row.change} ({row.detail})" if row.ratio is None else f"{row.change} by {_percent(row.ratio)}"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f}%"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}" if value < 1 else f"{value:.3f}"

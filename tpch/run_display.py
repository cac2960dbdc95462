"""How far a benchmark has come: a table with bars that fills on a terminal, a line per run elsewhere."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from tpch.report.terminal import bar
from tpch.results import Mode, Run, Verdict
from tpch.runner import Display

_BAR = 12
"""Characters of the longest bar, where the terminal is wide enough."""
_NUMBER = 11
"""Characters of a column without its bar."""


@contextmanager
def display(engines: Sequence[str], queries: Sequence[int], total: int, stream: TextIO) -> Iterator[Display]:
    """The display that fits a stream, usually standard error; `total` is how many runs there will be."""
    if stream.isatty():
        try:
            with _LiveDisplay(engines, queries, total, stream) as live:
                yield live
                return
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "rich":
                raise
    yield _PlainDisplay(total, stream)


class _PlainDisplay:
    """A line for each run, for logs and pipes."""

    def __init__(self, total: int, stream: TextIO):
        self._total = total
        self._done = 0
        self._stream = stream

    def prepare(self, text: str) -> None:
        self._write(text)

    def start(self, engine: str, mode: Mode, query: int) -> None:
        pass

    def finish(self, run: Run) -> None:
        self._done += 1
        seconds = "-" if run.seconds is None else f"{run.seconds:.3f}"
        rows = "" if run.rows is None else f", {run.rows} rows"
        detail = f": {run.detail}" if run.detail else ""
        stream = f" stream {run.stream}" if run.stream else ""
        what = f"{run.engine} {run.mode}{stream} Q{run.query}"
        self._write(f"[{self._done}/{self._total}] {what}: {seconds} s{rows}, {run.verdict}{detail}")

    def _write(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


class _LiveDisplay:
    """The runs done, and below them queries × engines, each with its median so far and a bar of it.

    It is drawn between runs only: a thread that redraws would take processor time from the engine that is measured.
    """

    def __init__(self, engines: Sequence[str], queries: Sequence[int], total: int, stream: TextIO):
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._engines = engines
        self._queries = queries
        self._runs: dict[tuple[str, int], list[Run]] = {}
        self._mode: Mode | None = None
        console = Console(file=stream)
        self._bar = max(0, min(_BAR, (console.width - len("query")) // max(len(engines), 1) - _NUMBER))
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
        )
        self._task = self._progress.add_task("", total=total)
        self._live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop")

    def __enter__(self) -> _LiveDisplay:
        self._live.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._live.__exit__(*exception)

    def prepare(self, text: str) -> None:
        self._progress.update(self._task, description=text)
        self._draw()

    def start(self, engine: str, mode: Mode, query: int) -> None:
        if mode is not self._mode:
            self._mode = mode
            self._runs.clear()
        self.prepare(f"{mode}: {engine} Q{query}")

    def finish(self, run: Run) -> None:
        self._runs.setdefault((run.engine, run.query), []).append(run)
        self._progress.advance(self._task)
        self._draw()

    def _draw(self) -> None:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        medians = {key: _median(runs) for key, runs in self._runs.items()}
        table = Table("query", box=None, pad_edge=False, title=None if self._mode is None else str(self._mode))
        for engine in self._engines:
            table.add_column(engine, no_wrap=True)
        for query in self._queries:
            known = [value for engine in self._engines if (value := medians.get((engine, query))) is not None]
            cells = [self._cell(engine, query, max(known, default=0.0), min(known, default=0.0)) for engine in self._engines]
            table.add_row(f"Q{query}", *(Text(text, style=style) for text, style in cells))
        self._live.update(Group(self._progress, table), refresh=True)

    def _cell(self, engine: str, query: int, slowest: float, fastest: float) -> tuple[str, str]:
        runs = self._runs.get((engine, query))
        if not runs:
            return "", ""
        median = _median(runs)
        if median is None:
            return str(next(run.verdict for run in runs if run.verdict is not Verdict.CORRECT)), "red"
        return f"{median:7.3f} {bar(median, slowest, self._bar)}", "green" if median == fastest else ""


def _median(runs: Sequence[Run]) -> float | None:
    if any(run.verdict is not Verdict.CORRECT for run in runs):
        return None
    return statistics.median(run.seconds for run in runs if run.seconds is not None)

"""Run the queries through the public API, time them, check every answer, and print a table of it.

Each query is run `runs` times and its time is the median. With DuckDB beside it, the two alternate run by run over the
same files with the same number of threads, so that a machine that slows down slows both. The result of every run is
checked, outside of the measured time. A query that fails is a row of the table, not the end of it.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import pyarrow as pa

from tpch import answers
from tpch.errors import TpchError
from tpch.generate import TABLES, table_files, verify
from tpch.queries import Query, query

if TYPE_CHECKING:
    import duckdb

TaskProgress = Callable[[Any], None]
"""Called with the `Progress` of the running query: among others its `tasks_done` and `tasks`."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to run. `workers` None is the engine's default; `runs` is per query and engine, after `warm` that are not timed."""

    scale_factor: Decimal
    folder: Path
    numbers: tuple[int, ...]
    workers: int | None = None
    inline: str = "auto"
    cache: str = "auto"
    warm: int = 0
    runs: int = 1
    duckdb: bool = False


@dataclass(slots=True)
class Outcome:
    """What became of one query: its seconds, and what was wrong if anything was."""

    name: str
    seconds: list[float] = field(default_factory=list)
    duckdb_seconds: list[float] = field(default_factory=list)
    rows: int | None = None
    complaint: str | None = None

    @property
    def median(self) -> float | None:
        """Median seconds in qengine; None when the query failed."""
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def duckdb_median(self) -> float | None:
        """Median seconds in DuckDB; None when it was not asked for."""
        return statistics.median(self.duckdb_seconds) if self.duckdb_seconds else None


class Display(Protocol):
    """Shows how far the run has come."""

    def start(self, name: str) -> TaskProgress:
        """A query starts; returns what to call as its tasks finish."""

    def finish(self, outcome: Outcome) -> None:
        """A query is done."""


def run(options: Options, out: TextIO) -> bool:
    """Run what `options` say, print the table to `out`, and return whether every answer is correct.

    Raises TpchError: the data is not there or not complete, DuckDB is needed and not installed, or no session opens.
    """
    import qengine

    if not options.folder.is_dir():
        raise TpchError(f"{options.folder} does not exist: generate the data first")
    verify(options.folder, options.scale_factor)
    oracle = None
    if options.duckdb or not answers.has_committed(options.scale_factor):
        oracle = answers.connect(options.folder, options.workers)
    try:
        with qengine.Session(workers=options.workers, inline=options.inline, cache=options.cache) as session:
            register_tables(session, options.folder)
            with _display(len(options.numbers), sys.stderr) as display:
                outcomes = run_queries(session, oracle, options, display)
    except qengine.errors.QEngineError as error:
        raise TpchError(_describe(error)) from None
    finally:
        if oracle is not None:
            oracle.close()
    out.write(format_table(outcomes))
    return all(outcome.complaint is None for outcome in outcomes)


def register_tables(session: Any, folder: Path) -> None:
    """Make the eight tables in `folder` known to a session by their names."""
    for table in TABLES:
        session.register(table, session.read_parquet([str(path) for path in table_files(folder, table)]))


def run_queries(session: Any, oracle: duckdb.DuckDBPyConnection | None, options: Options, display: Display) -> list[Outcome]:
    """One outcome per query of `options`, in their order."""
    outcomes = []
    for number in options.numbers:
        outcome = _run_query(session, oracle, query(number, options.scale_factor), options, display)
        display.finish(outcome)
        outcomes.append(outcome)
    return outcomes


def _run_query(
    session: Any, oracle: duckdb.DuckDBPyConnection | None, asked: Query, options: Options, display: Display
) -> Outcome:
    outcome = Outcome(asked.name)
    results: list[pa.Table] = []
    for number in range(options.warm + options.runs):
        timed = number >= options.warm
        if outcome.complaint is None:
            progress = display.start(asked.name)
            started = time.perf_counter()
            try:
                result = session.sql(asked.text).collect(progress=progress)
            except Exception as error:  # a bug in the engine must not hide the answers of the other queries
                outcome.complaint = f"failed: {_describe(error)}"
                outcome.seconds.clear()
            else:
                if timed:
                    outcome.seconds.append(time.perf_counter() - started)
                results.append(result)
        if options.duckdb and oracle is not None:
            started = time.perf_counter()
            answers.run_in_duckdb(oracle, asked.text)
            if timed:
                outcome.duckdb_seconds.append(time.perf_counter() - started)
    if outcome.complaint is not None:
        return outcome
    outcome.rows = results[0].num_rows
    if answers.has_committed(options.scale_factor):
        expected = answers.committed(asked)
    else:
        assert oracle is not None, "without committed answers there is an oracle"
        expected = answers.make(oracle, asked)
    for result in results:
        difference = answers.check(result, expected, asked)
        if difference is not None:
            outcome.complaint = f"wrong: {difference}"
            break
    return outcome


def format_table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as an aligned text table with totals, ending in `22/22 correct`."""
    compares = any(outcome.duckdb_seconds for outcome in outcomes)
    header = ["query", "qengine s", "duckdb s", "ratio", "rows", "verdict"]
    lines = [
        [
            outcome.name,
            _seconds(outcome.median),
            _seconds(outcome.duckdb_median),
            _ratio(outcome.median, outcome.duckdb_median),
            "-" if outcome.rows is None else str(outcome.rows),
            outcome.complaint or "correct",
        ]
        for outcome in outcomes
    ]
    # A query that failed has no time of ours, so DuckDB's does not count either: the totals stay comparable.
    timed = [outcome for outcome in outcomes if outcome.median is not None]
    total = sum(outcome.median or 0.0 for outcome in timed)
    duckdb_total = sum(outcome.duckdb_median or 0.0 for outcome in timed)
    footer = ["total", _seconds(total), _seconds(duckdb_total), _ratio(total, duckdb_total), "", ""]
    if len(timed) < len(outcomes):
        footer[-1] = f"of the {len(timed)} that ran"
    table = [header, *lines, footer]
    if not compares:
        header[1] = "time s"
        table = [[*row[:2], *row[4:]] for row in table]
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]) - 1)]
    text = []
    for index, row in enumerate(table):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:], strict=True)]
        text.append("  ".join([*cells, row[-1]]).rstrip())
        if index in (0, len(table) - 2):
            text.append("-" * (sum(widths) + 2 * len(widths) + len("verdict")))
    correct = sum(outcome.complaint is None for outcome in outcomes)
    return "\n".join([*text, "", f"{correct}/{len(outcomes)} correct", ""])


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _ratio(mine: float | None, theirs: float | None) -> str:
    return f"{mine / theirs:.2f}" if mine is not None and theirs else "-"


def _describe(error: Exception) -> str:
    """Code and message of an error of the engine, or the kind of any other, in one line."""
    label = getattr(error, "code", None) or type(error).__name__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = lines[0] if lines else "no message"
    return message if message.startswith(str(label)) else f"{label}: {message}"


@contextmanager
def _display(total: int, stream: TextIO) -> Iterator[Display]:
    if stream.isatty():
        try:
            with _RichDisplay(total) as display:
                yield display
                return
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "rich":
                raise
    yield _PlainDisplay(total, stream)


class _PlainDisplay:
    """A line per query, for logs and pipes."""

    def __init__(self, total: int, stream: TextIO):
        self._total = total
        self._done = 0
        self._stream = stream

    def start(self, name: str) -> TaskProgress:
        return _ignore_tasks

    def finish(self, outcome: Outcome) -> None:
        self._done += 1
        rows = "" if outcome.rows is None else f", {outcome.rows} rows"
        verdict = outcome.complaint or "correct"
        self._stream.write(f"[{self._done}/{self._total}] {outcome.name}: {_seconds(outcome.median)} s{rows}, {verdict}\n")
        self._stream.flush()


class _RichDisplay:
    """Two bars on a terminal: the queries, and the tasks of the one that runs."""

    def __init__(self, total: int):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description:<8}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._queries = self._progress.add_task("queries", total=total)
        self._tasks = self._progress.add_task("", total=None)

    def __enter__(self) -> _RichDisplay:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def start(self, name: str) -> TaskProgress:
        self._progress.reset(self._tasks, description=name, total=None)

        def show(progress: Any) -> None:
            self._progress.update(self._tasks, completed=progress.tasks_done, total=progress.tasks)

        return show

    def finish(self, outcome: Outcome) -> None:
        self._progress.advance(self._queries)
        if outcome.complaint is not None:
            self._progress.console.print(f"{outcome.name}: {outcome.complaint}", markup=False, highlight=False)


def _ignore_tasks(progress: Any) -> None:
    """A plain display has nothing to say about single tasks."""

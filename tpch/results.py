"""What a benchmark found: the one value that the runner writes and that check, report and compare read.

A result is a JSON file. It holds every single run, so that whoever doubts a median can make another; nothing in a report is
computed from anything else. `FORMAT` changes with the meaning of a field, and a file of another format is refused.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tpch.errors import TpchError

FORMAT = 2


class Mode(StrEnum):
    """What a run measures."""

    COLD = "cold"
    """A new process, its session open and ready; the query's first execution."""
    HOT = "hot"
    """A session that has run the query before."""
    MEMORY = "memory"
    """As hot, with the tables loaded into the engine's own best form in memory before."""


class Verdict(StrEnum):
    """What became of a run."""

    CORRECT = "correct"
    WRONG = "wrong"
    FAILED = "failed"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out of memory"
    UNAVAILABLE = "unavailable"
    """The engine is not installed, or cannot be opened in this mode."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it ran. Bytes of memory as the machine or its control group has them."""

    processor: str
    cores: int
    memory: int
    system: str
    python: str


@dataclass(frozen=True, slots=True)
class EngineRecord:
    """An engine as it took part in one mode: its version and settings, and the seconds it took to open and to load the tables.

    `reason` says why it did not take part; then there is a run with UNAVAILABLE for each query. `variant_of` is the engine that
    this is with other settings: a variant is nobody's peer.
    """

    name: str
    mode: Mode
    version: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    startup_seconds: float | None = None
    load_seconds: float | None = None
    reason: str = ""
    variant_of: str = ""

    @property
    def engine(self) -> str:
        """The engine, whichever settings it has."""
        return self.variant_of or self.name


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of one query by one engine, or what was wrong with it.

    `number` counts the runs of a query from 1; `stream` is that of a throughput run, from 1, and 0 otherwise. `seconds` is the
    time from handing over the text to having all rows as an Arrow table; `cpu_seconds` is that of the engine's process tree
    meanwhile. Where the engine tells, `planning_seconds` are those before anything ran, `execution_seconds` those while it ran,
    and `delivery_seconds` those until the rows were Arrow. `memory` is the peak bytes of the process tree, shared files counted
    once. `detail` is the first difference, or the error.
    """

    engine: str
    mode: Mode
    query: int
    number: int
    verdict: Verdict
    seconds: float | None = None
    cpu_seconds: float | None = None
    planning_seconds: float | None = None
    execution_seconds: float | None = None
    delivery_seconds: float | None = None
    memory: int | None = None
    rows: int | None = None
    stream: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Throughput:
    """A throughput run of one engine to its end: from the start of the first stream to the end of the last one, and of each.

    Its queries are runs with the number of their stream. Without such a record it ended before its queries did.
    """

    engine: str
    mode: Mode
    seconds: float
    stream_seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What was asked for and where it ran; the head of a result and of the figures that are computed from it.

    `command` repeats it; `started` is ISO 8601 in UTC; `seed` drew the query parameters (None: the validation values).
    """

    started: str
    command: str
    scale_factor: str
    queries: tuple[int, ...]
    threads: int
    memory_limit: int
    seed: int | None
    machine: Machine


@dataclass(frozen=True, slots=True)
class Result(Conditions):
    """One benchmark: its conditions, who took part, every run, and the throughput runs."""

    engines: tuple[EngineRecord, ...]
    runs: tuple[Run, ...]
    throughput: tuple[Throughput, ...] = ()

    def throughput_of(self, engine: str, mode: Mode) -> Throughput | None:
        """The throughput run of an engine in a mode, if it came to its end."""
        return next((found for found in self.throughput if (found.engine, found.mode) == (engine, mode)), None)

    def runs_of(self, engine: str, mode: Mode, query: int) -> tuple[Run, ...]:
        """The runs of one query outside of streams, in the order of their numbers."""
        found = [run for run in self.runs if (run.engine, run.mode, run.query, run.stream) == (engine, mode, query, 0)]
        return tuple(sorted(found, key=lambda run: run.number))

    def seconds_of(self, engine: str, mode: Mode, query: int) -> tuple[float, ...]:
        """The times of those runs; none unless every one of them was correct."""
        runs = self.runs_of(engine, mode, query)
        if any(run.verdict is not Verdict.CORRECT or run.seconds is None for run in runs):
            return ()
        return tuple(run.seconds for run in runs if run.seconds is not None)

    def median(self, engine: str, mode: Mode, query: int) -> float | None:
        """Median seconds of a query; None unless every run of it was correct."""
        seconds = self.seconds_of(engine, mode, query)
        return statistics.median(seconds) if seconds else None


def geometric_mean(values: Iterable[float]) -> float | None:
    """None of nothing. Raises statistics.StatisticsError for values of 0 or below."""
    known = list(values)
    return statistics.geometric_mean(known) if known else None


def write(result: Result, path: Path) -> None:
    """Write a result as JSON, complete or not at all. Raises TpchError if the file cannot be written."""
    text = json.dumps({"format": FORMAT, **dataclasses.asdict(result)}, indent=1)
    temporary = path.with_name(f"{path.name}.new")
    try:
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise TpchError(f"cannot write {path}: {problem.strerror or problem}") from None


def read(path: Path) -> Result:
    """The result in a file. Raises TpchError: there is none, or it is not a result of this format."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise TpchError(f"cannot read {path}: {problem.strerror or problem}") from None
    except ValueError:
        raise TpchError(f"{path} is no result of a benchmark: it is not JSON") from None
    if not isinstance(content, dict) or "format" not in content:
        raise TpchError(f"{path} is no result of a benchmark")
    if content.pop("format") != FORMAT:
        raise TpchError(f"{path} is a result of another version of this program, which this one cannot read: measure again")
    try:
        return _result(content)
    except (TypeError, ValueError, KeyError, AttributeError) as problem:
        raise TpchError(f"{path} is damaged: {problem}") from None


def _result(content: dict[str, Any]) -> Result:
    content["queries"] = tuple(content["queries"])
    content["machine"] = Machine(**content["machine"])
    content["engines"] = tuple(EngineRecord(**(record | {"mode": Mode(record["mode"])})) for record in content["engines"])
    content["runs"] = tuple(
        Run(**(run | {"mode": Mode(run["mode"]), "verdict": Verdict(run["verdict"])})) for run in content["runs"]
    )
    content["throughput"] = tuple(
        Throughput(found["engine"], Mode(found["mode"]), found["seconds"], tuple(found["stream_seconds"]))
        for found in content["throughput"]
    )
    return Result(**content)

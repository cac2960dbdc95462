"""What the runner asks the process of an engine, and what that answers: values that are pickled on the way."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tpch.engines.protocol import Phases, Settings, Statement


@dataclass(frozen=True, slots=True)
class Open:
    """Import the engine and open its session; answered with Opened."""

    settings: Settings


@dataclass(frozen=True, slots=True)
class Load:
    """Load the tables into memory; answered with Done."""


@dataclass(frozen=True, slots=True)
class Execute:
    """Run one query; answered with Executed."""

    statement: Statement


@dataclass(frozen=True, slots=True)
class ExecuteStreams:
    """Run streams of queries side by side, each in order; answered with Executed or Failed for each query, then StreamsDone."""

    streams: tuple[tuple[Statement, ...], ...]


Request = Open | Load | Execute | ExecuteStreams


@dataclass(frozen=True, slots=True)
class Opened:
    version: str
    settings: dict[str, str]


@dataclass(frozen=True, slots=True)
class Done:
    seconds: float


@dataclass(frozen=True, slots=True)
class Executed:
    """`seconds` from handing over the query until all rows were there as Arrow; `stream` counts from 1, 0 for Execute."""

    table: pa.Table
    seconds: float
    phases: Phases
    number: int = 0
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """What was raised, in one line."""

    detail: str
    number: int = 0
    stream: int = 0


@dataclass(frozen=True, slots=True)
class StreamsDone:
    """`seconds` from the start of the first stream to the end of the last one, and those of each stream."""

    seconds: float
    stream_seconds: tuple[float, ...]


Reply = Opened | Done | Executed | Failed | StreamsDone

"""What every engine looks like to the benchmark: opened over a folder of tables, loaded if asked, given one query at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from tpch.results import Mode

OWN_LIMIT = 0.8
"""The share of the memory limit that an engine is told to keep, where it takes a limit: no engine counts all that it uses."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What all engines are given alike.

    `threads` compute at once; the process tree may use `memory_limit` bytes and is ended above; `folder` has the tables as
    Parquet files. `options` are what the user asked of this engine.
    """

    folder: Path
    threads: int
    memory_limit: int
    mode: Mode = Mode.HOT
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_limit(self) -> int:
        """Bytes, for engines that take a limit themselves."""
        return int(self.memory_limit * OWN_LIMIT)


@dataclass(frozen=True, slots=True)
class Statement:
    """A query to run: as SQL, and as its number and parameters for engines that have their own texts."""

    number: int
    text: str
    parameters: Mapping[str, str] = field(default_factory=dict)


class Phases(NamedTuple):
    """Where the time of one query went, in seconds: before anything ran, while it ran, and until its rows were Arrow.

    None is what the engine does not tell.
    """

    planning: float | None = None
    execution: float | None = None
    delivery: float | None = None


class Engine(Protocol):
    """An engine in its own process. Whatever its methods raise is a verdict of the benchmark, with the first line as detail."""

    version: str
    settings: dict[str, str]
    """As a report shows them: what differs from the engine's defaults."""

    def __init__(self, settings: Settings) -> None:
        """Open a session that knows the eight tables by their names, ready to run a query.

        Raises ModuleNotFoundError if the engine is not installed.
        """

    def load(self) -> None:
        """Bring the tables into the form in memory that this engine is fastest with; the queries after it use that."""

    def run(self, statement: Statement) -> pa.Table:
        """The whole answer. Several threads may call this at once, each a stream of its own."""

    def phases(self) -> Phases:
        """Of this thread's last `run`, where the engine tells."""

    def close(self) -> None:
        """End the session and what belongs to it."""

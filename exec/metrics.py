"""Counters of an engine, and what is known of a query while it runs and when it is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from exec.attempts import OperatorCount, TaskKey, TaskOutput
from planner.dir import StageGraph


@dataclass(slots=True)
class EngineStatistics:
    """Counts since the engine was opened. `attempts_lost` ended with their worker; `kills` were asked for by a fault plan."""

    queries: int = 0
    workers_started: int = 0
    workers_lost: int = 0
    attempts_started: int = 0
    attempts_finished: int = 0
    attempts_failed: int = 0
    attempts_lost: int = 0
    kills: int = 0


@dataclass(slots=True)
class StageMetrics:
    """Sums over the finished attempts of one stage; seconds are of the workers."""

    tasks: int
    attempts: int = 0
    rows: int = 0
    bytes: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def add(self, output: TaskOutput) -> None:
        self.attempts += 1
        self.rows += output.rows
        self.bytes += output.bytes
        self.seconds += output.seconds
        self.cpu_seconds += output.cpu_seconds


class TaskMetrics(NamedTuple):
    """A finished attempt at a task: seconds from the query's submission until it began, and those that it took its worker."""

    stage: int
    partition: int
    begin: float
    seconds: float

    @property
    def end(self) -> float:
        return self.begin + self.seconds


class Surprise(NamedTuple):
    """A stage that delivered other amounts than it was planned for; bytes as they travel."""

    stage: int
    estimated_rows: float
    rows: int
    bytes: int


class Replanned(NamedTuple):
    """A new plan for what had not started, made while the query ran: why, what it changed, and the seconds that it took.

    `version` is that of the new graph. Without `changes` the old plan was found to be right, and the version stayed.
    """

    version: int
    surprises: tuple[Surprise, ...]
    changes: tuple[str, ...]
    seconds: float


@dataclass(slots=True)
class QueryMetrics:
    """What a query did: by stage id, task by task as they finished, and the seconds from submission to result.

    `graph` is the last version of its stages, `replans` how it came from the first one. If operators are `observed`, `operators`
    has what they delivered in the last attempt at each task.
    """

    stages: dict[int, StageMetrics] = field(default_factory=dict)
    tasks: list[TaskMetrics] = field(default_factory=list)
    seconds: float = 0.0
    graph: StageGraph | None = None
    replans: list[Replanned] = field(default_factory=list)
    observed: bool = False
    operators: dict[TaskKey, tuple[OperatorCount, ...]] = field(default_factory=dict)


class Progress(NamedTuple):
    """How far a query is. Tasks may go down when a loss is repaired."""

    tasks_done: int
    tasks: int
    rows: int
    bytes: int
    seconds: float

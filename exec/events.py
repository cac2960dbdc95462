"""What the scheduler is told (events) and what it wants done (commands).

Both are plain values. The driver turns messages, deaths of processes and calls of users into events, and commands into
messages, signals and deleted files. Nothing else passes between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from exec.attempts import Attempt, TaskOutput
from planner.dir import Exchange, StageGraph
from planner.errors import QEngineError


class Committed(NamedTuple):
    """The admitted attempt of a partition, its output, the worker that made it, and the attempts that it read."""

    attempt: Attempt
    output: TaskOutput
    worker: int
    reads: tuple[tuple[Attempt, ...], ...]


class Input(NamedTuple):
    """What an attempt reads through one exchange.

    LAZY edges name committed partitions, in partition order. EAGER edges name the attempts of the region that run beside
    this one.
    """

    exchange: Exchange
    partitions: tuple[Committed, ...]
    peers: tuple[Attempt, ...] = ()


# -------------------------------------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Submitted:
    """A new query. `max_deaths` workers may die on one task before the query fails.

    `spare`: its tasks may also use the worker that is otherwise kept free. `adaptive`: Replan is wanted at stage borders, and
    each one is answered by GraphReplaced or PlanKept.
    """

    query: int
    graph: StageGraph
    max_deaths: int = 3
    spare: bool = False
    adaptive: bool = False


@dataclass(frozen=True, slots=True)
class GraphReplaced:
    """The answer to Replan: what has not started looks different now. `graph.version` is greater than before.

    Stages that stay are the same objects as before, with the same exchanges into them. All others have ids that no earlier
    version has used.
    """

    query: int
    graph: StageGraph


@dataclass(frozen=True, slots=True)
class PlanKept:
    """The other answer to Replan: the graph of that version is right as it is."""

    query: int
    version: int


@dataclass(frozen=True, slots=True)
class WorkerReady:
    worker: int


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker process is gone. What it had finished is still there; a backend that loses that too sends PartitionLost."""

    worker: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class AttemptFinished:
    attempt: Attempt
    output: TaskOutput


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """An attempt raised. `lost` names the attempts whose output it could not read; then `error` only explains that."""

    attempt: Attempt
    error: QEngineError
    lost: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionLost:
    """The outputs of some admitted attempts of one query are gone or damaged."""

    query: int
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Restored:
    """The checkpoint of an attempt's output is in place again."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Cancelled:
    query: int
    error: QEngineError


@dataclass(frozen=True, slots=True)
class Delivered:
    """The result of a query was taken over; its files may go."""

    query: int


Event = (
    Submitted
    | GraphReplaced
    | PlanKept
    | WorkerReady
    | WorkerLost
    | AttemptStarted
    | AttemptFinished
    | AttemptFailed
    | PartitionLost
    | Restored
    | Cancelled
    | Delivered
)

# ------------------------------------------------------------------------------------------------------------ commands


@dataclass(frozen=True, slots=True)
class Run:
    worker: int
    attempt: Attempt
    inputs: tuple[Input, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """The attempt is not wanted any more. Its worker reports an end of it or dies; both are fine."""

    worker: int
    attempt: Attempt
    urgent: bool
    """A cancelled query does not wait for its tasks; after an error those that are nearly done may end by themselves."""


@dataclass(frozen=True, slots=True)
class Discard:
    """Delete an output that was not admitted, or that is not valid any more."""

    output: TaskOutput


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Keep a copy of an admitted output that survives its loss."""

    attempt: Attempt
    output: TaskOutput


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring a lost output back from its checkpoint, then send Restored."""

    attempt: Attempt
    output: TaskOutput


@dataclass(frozen=True, slots=True)
class Replan:
    """Some complete stages are far from what was expected: answer with GraphReplaced or PlanKept.

    `surprises` are those stages, `actuals` holds (stage, rows, bytes) of all that are complete, `started` all that are complete
    or under way. Until the answer no other stage starts.
    """

    query: int
    version: int
    surprises: tuple[int, ...]
    actuals: tuple[tuple[int, int, int], ...]
    started: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Deliver:
    """All partitions of the result are there, in order. Answer with Delivered or PartitionLost."""

    query: int
    partitions: tuple[Committed, ...]


@dataclass(frozen=True, slots=True)
class End:
    """The query is over and no attempt of it runs. `error` is None after a delivered result."""

    query: int
    error: QEngineError | None


Command = Run | Stop | Discard | Checkpoint | Restore | Replan | Deliver | End

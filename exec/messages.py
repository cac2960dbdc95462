"""What driver and workers say to each other, over one pipe for each worker.

A stage is sent to a worker once; after that a task is a few numbers and paths. Every message is one pickle.
"""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

from exec.attempts import Attempt, TaskOutput
from exec.exchange.reader import InputFile
from planner.dir import Dir, Layout
from planner.errors import QEngineError
from planner.physical.nodes import PhysicalPlan

StageKey = tuple[int, int, int]
"""Query, version, stage."""


class StageMessage(NamedTuple):
    """The body of a stage, what it delivers, in which layouts, and whether its operators are observed."""

    key: StageKey
    body: PhysicalPlan
    output: Dir
    layouts: tuple[Layout, ...]
    observed: bool = False


class StagePayload(NamedTuple):
    """To a worker, before the first task of a stage: an encoded StageMessage.

    It is decoded when that task runs, so that whatever is wrong with it is an error of the task, not the end of the worker.
    """

    key: StageKey
    data: bytes


class RunMessage(NamedTuple):
    """To a worker: run one attempt. `inputs` pairs exchange ids with the files to read, in partition order."""

    attempt: Attempt
    inputs: tuple[tuple[int, tuple[InputFile, ...]], ...]


class CallMessage(NamedTuple):
    """To a worker: call `exec.module:function` with arguments."""

    attempt: Attempt
    function: str
    arguments: tuple[Any, ...]


class ForgetMessage(NamedTuple):
    """To a worker: a query is over."""

    query: int


class DropMessage(NamedTuple):
    """To a worker: segments of the column store are gone."""

    names: tuple[str, ...]


class Ready(NamedTuple):
    """From a worker: it has imported everything and waits."""


class Started(NamedTuple):
    attempt: Attempt


class Finished(NamedTuple):
    """From a worker: the attempt is complete. `value` is what a call returned."""

    attempt: Attempt
    output: TaskOutput
    value: Any = None


class Failed(NamedTuple):
    """From a worker: the attempt raised. `lost` are producers whose output it could not read."""

    attempt: Attempt
    error: QEngineError
    lost: tuple[Attempt, ...] = ()


def encode(message: object) -> bytes:
    return pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)


def decode(data: bytes) -> Any:
    return pickle.loads(data)

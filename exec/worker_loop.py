"""What a worker does with its messages. Apart from `exec.worker`, which has to run before Polars is imported."""

from __future__ import annotations

import gc
import importlib
import operator
import queue
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

from exec.attempts import EMPTY_OUTPUT, Attempt
from exec.exchange.reader import InputLost
from exec.lower.failures import translate
from exec.messages import (
    CallMessage,
    DropMessage,
    Failed,
    Finished,
    ForgetMessage,
    Ready,
    RunMessage,
    StageKey,
    StageMessage,
    StagePayload,
    Started,
    decode,
    encode,
)
from exec.sources.memory import unmap_deleted
from exec.store.segments import StoredColumns
from exec.task import SharedInputs, run_task
from planner.errors import error


class WorkerLoop:
    def __init__(self, connection: Connection, folders: list[Path]) -> None:
        self._connection = connection
        self._folders = folders
        self._stages: dict[StageKey, bytes | StageMessage] = {}
        self._shared = SharedInputs()
        self._stored = StoredColumns(folders[0])

    def run(self, inbox: queue.SimpleQueue[bytes]) -> None:
        pa.set_cpu_count(1)
        gc.freeze()
        self._send(Ready())
        while True:
            message = decode(inbox.get())
            match message:
                case StagePayload(key, data):
                    self._stages[key] = data
                case RunMessage() | CallMessage():
                    self._attempt(message)
                case ForgetMessage(query):
                    self._stages = {key: stage for key, stage in self._stages.items() if key[0] != query}
                    self._shared.forget(query)
                    unmap_deleted()
                case DropMessage(names):
                    self._stored.drop(names)

    def _send(self, message: object) -> None:
        self._connection.send_bytes(encode(message))

    def _attempt(self, message: RunMessage | CallMessage) -> None:
        attempt = message.attempt
        self._send(Started(attempt))
        try:
            done = self._run(message)
        except InputLost as loss:
            self._send(Failed(attempt, error("INTERNAL", detail=f"lost inputs {loss}"), loss.attempts))
        except BaseException as problem:  # a Polars panic is not an Exception
            self._send(Failed(attempt, translate(problem)))
        else:
            self._send_result(attempt, done)

    def _run(self, message: RunMessage | CallMessage) -> Finished:
        if isinstance(message, CallMessage):
            return Finished(message.attempt, EMPTY_OUTPUT, resolve(message.function)(*message.arguments))
        key = (message.attempt.query, message.attempt.version, message.attempt.stage)
        stage = self._stages[key]
        if isinstance(stage, bytes):
            stage = self._stages[key] = decode(stage)
        return Finished(message.attempt, run_task(stage, message, self._folders, self._shared, self._stored))

    def _send_result(self, attempt: Attempt, done: Finished) -> None:
        try:
            data = encode(done)
        except Exception as problem:
            data = encode(Failed(attempt, error("INTERNAL", detail=f"a result cannot be sent: {problem}")))
        self._connection.send_bytes(data)


def resolve(function: str) -> Callable[..., Any]:
    """The function named by `exec.module:name`. Raises ValueError for anything outside of exec."""
    module, _, name = function.partition(":")
    if module.split(".")[0] != "exec":
        raise ValueError(f"{function} is not a function of exec")
    found: Callable[..., Any] = operator.attrgetter(name)(importlib.import_module(module))
    return found

"""What a task is, what an attempt at it is, and what a finished attempt leaves behind.

An attempt is named by the tags of the commit rule: of all attempts at one partition the driver admits the first that is
complete and throws the others away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

TaskKey = tuple[int, int]
"""Stage and partition: one task of a query."""


class Attempt(NamedTuple):
    """One try at one task. `version` is the graph version that brought its stage; `number` counts the tries from 1."""

    query: int
    version: int
    stage: int
    partition: int
    number: int
    epoch: int = 0

    @property
    def task(self) -> TaskKey:
        return self.stage, self.partition

    def __str__(self) -> str:
        return f"q{self.query}v{self.version}s{self.stage}p{self.partition}a{self.number}e{self.epoch}"


class Chunk(NamedTuple):
    """One record batch of an output file: the layout and the bucket it belongs to, its rows and its bytes in memory."""

    layout: int
    bucket: int
    rows: int
    bytes: int


class OperatorCount(NamedTuple):
    """What an operator delivered in one attempt: rows, bytes in memory, and seconds from its beginning to the last of them."""

    number: int
    rows: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """What an attempt wrote: one Arrow IPC file, or none (`path` is empty) if there were no rows.

    `chunks[i]` describes record batch i. `size` is the file's size in bytes; a reader refuses a file of another size.
    `seconds` is wall time and `cpu_seconds` processor time in the worker. `operators` are counted only when that was asked for.
    """

    path: str
    size: int
    rows: int
    bytes: int
    chunks: tuple[Chunk, ...]
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    operators: tuple[OperatorCount, ...] = ()


EMPTY_OUTPUT = TaskOutput("", 0, 0, 0, ())

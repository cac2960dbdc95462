"""The column store: which columns of files are kept decoded in shared memory, and which have to make room.

The driver's side: it counts what queries scan, has segments filled by workers in the background, and evicts. A column is filled
when it is scanned for the second time within the store's memory of uses, so a query that comes once costs nothing. What is kept
is what saves most time per byte: the seconds that reading took × the recent uses / the bytes; a candidate only displaces what is
worth less. Workers find segments by their names (`exec.store.columns`), so a query never waits for this.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from exec.store.columns import FOLDER, StoredColumn, segments_of
from exec.store.folder import free_bytes, total_bytes
from planner.dir import Split, StageGraph
from planner.errors import QEngineError
from planner.physical.nodes import table_scans


class Workers(Protocol):
    """Who fills segments, and has them mapped."""

    def fill(self, column: StoredColumn, number: int, reader: str, folder: Path) -> tuple[int, float]:
        """Fill a segment; returns its bytes and the seconds that took. Raises QEngineError."""

    def dropped(self, names: tuple[str, ...]) -> None:
        """These segments are gone."""


MODES = ("auto", "eager", "off")
DECAY = 0.98
"""Of the weight of a use with every later query: after 34 queries it counts half."""
SECOND_USE = 1.2
"""The recent uses from which on a column is filled: two within about 80 queries, but not one."""
FREE_SHARE = 0.25
"""Of the file system below the store, that is left to exchanges and results."""

_FORGET_EVERY = 256


@dataclass(slots=True)
class _Entry:
    """What is known of a column: its recent uses, up to which query they are counted, and its segments."""

    reader: str
    uses: float = 0.0
    counted_at: int = 0
    sizes: dict[int, int] = field(default_factory=dict)
    seconds: float = 0.0
    wanted: set[int] = field(default_factory=set)
    broken: bool = False

    def recent_uses(self, now: int) -> float:
        return self.uses * DECAY ** (now - self.counted_at)

    def value(self, now: int) -> float:
        """Seconds saved per byte."""
        return self.recent_uses(now) * self.seconds / max(sum(self.sizes.values()), 1)

    def counts(self, now: int) -> bool:
        """Whether there is anything to remember."""
        return bool(self.sizes or self.wanted) or self.recent_uses(now) > 0.1


class ColumnStore:
    """Counts, fills and evicts. Thread-safe."""

    def __init__(self, folder: Path, limit: int, mode: str, workers: Workers) -> None:
        """At most `limit` bytes are kept in a folder of their own below `folder`."""
        self._folder = folder / FOLDER
        self._limit = limit
        self._mode = mode
        self._workers = workers
        self._entries: dict[StoredColumn, _Entry] = {}
        self._queries = 0
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[tuple[StoredColumn, int] | None] = queue.SimpleQueue()
        self._pending = 0
        self._idle = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def bytes(self) -> int:
        """Bytes kept."""
        with self._lock:
            return sum(sum(entry.sizes.values()) for entry in self._entries.values())

    def expect(self, graph: StageGraph) -> None:
        """A query is about to scan these columns. In mode "eager" this returns when they are filled."""
        if self._mode == "eager":
            self._count(graph)
            self.wait()

    def count(self, graph: StageGraph) -> None:
        """A query has scanned these columns. Counted afterwards, so that filling them does not compete with it."""
        if self._mode == "auto":
            self._count(graph)

    def _count(self, graph: StageGraph) -> None:
        scanned = _scanned(graph)
        with self._lock:
            self._queries += 1
            for column, (reader, segments) in scanned.items():
                self._use(column, reader, segments)
            if self._queries % _FORGET_EVERY == 0:
                self._entries = {column: entry for column, entry in self._entries.items() if entry.counts(self._queries)}
        self._make_room()

    def _use(self, column: StoredColumn, reader: str, segments: set[int]) -> None:
        entry = self._entries.setdefault(column, _Entry(reader))
        entry.uses = entry.recent_uses(self._queries) + 1
        entry.counted_at = self._queries
        if entry.broken or (entry.uses < SECOND_USE and self._mode != "eager"):
            return
        for number in sorted(segments - entry.sizes.keys() - entry.wanted):
            entry.wanted.add(number)
            self._pending += 1
            self._jobs.put((column, number))
        if self._pending and self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._work, name="qengine-column-store", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Block until nothing waits to be filled."""
        with self._lock:
            while self._pending and not self._closed:
                self._idle.wait(0.05)

    # ------------------------------------------------------------------------------------------------------ the thread

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                if not self._closed:
                    self._fill(*job)
            except FileNotFoundError:
                if not self._closed:  # else the engine took its folder away
                    raise
            finally:
                with self._lock:
                    self._pending -= 1
                    self._idle.notify_all()

    def _fill(self, column: StoredColumn, number: int) -> None:
        entry = self._entries[column]
        if not entry.broken and self._has_space():
            try:
                size, seconds = self._workers.fill(column, number, entry.reader, self._folder)
            except QEngineError as problem:
                entry.broken = problem.code != "DISK_FULL"
            else:
                with self._lock:
                    entry.sizes[number] = size
                    entry.seconds += seconds
                self._make_room()
        entry.wanted.discard(number)

    def _has_space(self) -> bool:
        """Whether exchanges and results still have their share of the folder's file system."""
        return free_bytes(self._folder.parent) >= FREE_SHARE * total_bytes(self._folder.parent)

    def _make_room(self) -> None:
        """Evict what is worth least until the limit holds and others have space; that may be what was just filled."""
        while (kept := self.bytes) > self._limit or (kept and not self._has_space()):
            with self._lock:
                values = [(entry.value(self._queries), column) for column, entry in self._entries.items() if entry.sizes]
                victim = min(values, key=lambda pair: pair[0])[1]
            self._evict(victim)

    def _evict(self, column: StoredColumn) -> None:
        with self._lock:
            entry = self._entries[column]
            names = tuple(column.segment(number) for number in entry.sizes)
            entry.sizes.clear()
            entry.seconds = entry.uses = 0.0
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._folder / name)
        self._workers.dropped(names)

    def close(self) -> None:
        """Stop filling. The files go with the engine's folder."""
        self._closed = True
        self._jobs.put(None)


def _scanned(graph: StageGraph) -> dict[StoredColumn, tuple[str, set[int]]]:
    """The columns of files that a graph scans: how they are read, and the segments with rows that it needs."""
    found: dict[StoredColumn, tuple[str, set[int]]] = {}
    for stage in graph.stages:
        for scan in table_scans(stage.body):
            if scan.format == "memory":
                continue
            numbers: dict[Split, set[int]] = {}
            for partition in scan.partitions:
                for part in partition:
                    numbers.setdefault(part.split, set()).update(segments_of(part.first_row, part.rows))
            for split, wanted in numbers.items():
                for column, name in zip(scan.output, scan.names, strict=True):
                    found.setdefault(StoredColumn(split, name, column.dtype), (scan.reader, set()))[1].update(wanted)
    return found


def default_limit() -> int:
    """A quarter of the memory that this process may use, in bytes."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return total // 4

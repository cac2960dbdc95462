"""The column store: which columns of files are kept decoded in shared memory, and which have to make room.

The driver's side: it counts what queries scan, has segments filled by workers in the background, and evicts. A column is filled
when it is scanned for the second time within the store's memory of uses, so a query that comes once costs nothing. What is kept
is what saves most time per byte: the seconds that reading took × the recent uses / the bytes; once that is known of a column, it
only displaces what is worth less. Workers find segments by their names (`exec.store.columns`), so a query never waits for this.
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
RETRY_AFTER = 100
"""Queries after which a column that could not be filled is tried again."""
FREE_SHARE = 0.25
"""Of the file system below the store, that is left to exchanges and results."""
MOST_SEGMENTS = 1 << 14
"""Every worker maps every segment that it uses, and Linux allows a process 65,530 maps."""

_FORGET_EVERY = 256

Job = tuple[StoredColumn, int]
"""A segment to fill."""


@dataclass(slots=True)
class _Entry:
    """What is known of a column.

    `uses` are its recent ones, counted up to query `counted_at`; `sizes` the bytes of the segments that are kept. `saved` is the
    time that a byte of it saves, in seconds, and `largest` the bytes of its largest segment; both outlive its eviction.
    """

    reader: str
    uses: float = 0.0
    counted_at: int = 0
    sizes: dict[int, int] = field(default_factory=dict)
    saved: float = 0.0
    largest: int = 0
    failed_at: int | None = None

    def recent_uses(self, now: int) -> float:
        return self.uses * DECAY ** (now - self.counted_at)

    def value(self, now: int) -> float:
        """Seconds that a byte of it saves, at the rate of its recent uses."""
        return self.recent_uses(now) * self.saved

    def may_be_tried(self, now: int) -> bool:
        return self.failed_at is None or now - self.failed_at >= RETRY_AFTER


class ColumnStore:
    """Counts, fills and evicts. Thread-safe: everything but the filling itself happens under one lock."""

    def __init__(self, folder: Path, limit: int, mode: str, workers: Workers) -> None:
        """At most `limit` bytes are kept in a folder of their own below `folder`."""
        self._folder = folder / FOLDER
        self._limit = limit
        self._mode = mode if limit else "off"
        self._workers = workers
        self._entries: dict[StoredColumn, _Entry] = {}
        self._latest: dict[tuple[str, str], StoredColumn] = {}
        self._bytes = self._segments = self._queries = 0
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._pending: set[Job] = set()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def bytes(self) -> int:
        """Bytes kept."""
        with self._lock:
            return self._bytes

    def expect(self, graph: StageGraph, cancel: threading.Event | None = None) -> None:
        """A query is about to scan these columns. In mode "eager" this returns when they are filled, or `cancel` is set."""
        if self._mode == "eager":
            self._wait(self._count(graph), cancel)

    def count(self, graph: StageGraph) -> None:
        """A query has scanned these columns. Counted afterwards, so that filling them does not compete with it."""
        if self._mode == "auto":
            self._count(graph)

    def wait(self) -> None:
        """Block until nothing waits to be filled."""
        with self._lock:
            self._wait(set(self._pending), None)

    def _wait(self, jobs: set[Job], cancel: threading.Event | None) -> None:
        with self._lock:
            while not (self._closed or self._pending.isdisjoint(jobs) or (cancel is not None and cancel.is_set())):
                self._changed.wait(0.05)

    def _count(self, graph: StageGraph) -> set[Job]:
        """Count the uses and order what is worth filling. Returns what the query scans and is on order."""
        scanned = _scanned(graph)
        wanted: set[Job] = set()
        with self._lock:
            self._queries += 1
            for column, (reader, segments) in scanned.items():
                if self._use(column, reader):
                    wanted.update((column, number) for number in segments - self._entries[column].sizes.keys())
            for job in sorted(wanted - self._pending, key=lambda job: job[1]):
                self._pending.add(job)
                self._jobs.put(job)
            if self._pending and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="qengine-column-store", daemon=True)
                self._thread.start()
            if self._queries % _FORGET_EVERY == 0:
                self._forget()
            self._make_room()
        return wanted

    def _use(self, column: StoredColumn, reader: str) -> bool:
        """Whether a column that is used now is worth filling. What is kept of an older version of its file goes."""
        older = self._latest.get((column.split.path, column.field))
        if older is not None and older.split != column.split:
            self._evict(older)
            self._entries.pop(older, None)
        self._latest[column.split.path, column.field] = column
        entry = self._entries.setdefault(column, _Entry(reader))
        entry.uses = entry.recent_uses(self._queries) + 1
        entry.counted_at = self._queries
        return entry.may_be_tried(self._queries) and (entry.uses >= SECOND_USE or self._mode == "eager")

    def _forget(self) -> None:
        """Columns that are neither kept nor used any more."""
        pending = {column for column, _ in self._pending}
        for column, entry in list(self._entries.items()):
            if not entry.sizes and column not in pending and entry.recent_uses(self._queries) < 0.1:
                del self._entries[column]
                if self._latest.get((column.split.path, column.field)) == column:
                    del self._latest[column.split.path, column.field]

    # ------------------------------------------------------------------------------------------------------ the thread

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            column, number = job
            try:
                if self._is_worth_it(column):
                    size, seconds = self._workers.fill(column, number, self._entries[column].reader, self._folder)
                    self._filled(column, number, size, seconds)
            except Exception:  # whatever happens to one column, the others are filled
                with self._lock:
                    if column in self._entries:
                        self._entries[column].failed_at = self._queries
            finally:
                with self._lock:
                    self._pending.discard(job)
                    self._changed.notify_all()

    def _is_worth_it(self, column: StoredColumn) -> bool:
        """Whether there is room for a segment, or what would make room for it is worth less, as far as that is known."""
        with self._lock:
            entry = self._entries.get(column)
            if self._closed or entry is None or not entry.may_be_tried(self._queries) or not self._has_space():
                return False
            if not entry.largest or self._bytes + entry.largest <= self._limit:
                return True
            others = [other.value(self._queries) for other in self._entries.values() if other.sizes and other is not entry]
            return bool(others) and min(others) < entry.value(self._queries)

    def _filled(self, column: StoredColumn, number: int, size: int, seconds: float) -> None:
        with self._lock:
            entry = self._entries.get(column)
            if entry is None:  # its file has another version by now
                self._remove([column.segment(number)])
                return
            entry.sizes[number] = size
            entry.largest = max(entry.largest, size)
            entry.saved = seconds / max(size, 1)
            self._bytes += size
            self._segments += 1
            self._make_room()

    def _has_space(self) -> bool:
        """Whether exchanges and results still have their share of the folder's file system."""
        try:
            return free_bytes(self._folder.parent) >= FREE_SHARE * total_bytes(self._folder.parent)
        except OSError:  # the engine is closing, and has removed its folder
            return True

    def _make_room(self) -> None:
        """Evict what is worth least until the limits hold and others have space; that may be what was just filled."""
        while self._bytes > self._limit or self._segments > MOST_SEGMENTS or (self._segments and not self._has_space()):
            kept = [(entry.value(self._queries), column) for column, entry in self._entries.items() if entry.sizes]
            self._evict(min(kept, key=lambda pair: pair[0])[1])

    def _evict(self, column: StoredColumn) -> None:
        entry = self._entries.get(column)
        if entry is not None and entry.sizes:
            self._bytes -= sum(entry.sizes.values())
            self._segments -= len(entry.sizes)
            names = [column.segment(number) for number in entry.sizes]
            entry.sizes.clear()
            self._remove(names)

    def _remove(self, names: list[str]) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._folder / name)
        self._workers.dropped(tuple(names))

    def close(self) -> None:
        """Stop filling. The files go with the engine's folder."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()
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

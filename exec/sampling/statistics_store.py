"""Which tables have statistics of their rows, and when these are taken.

A table that a query uses is sampled in the background: not at once, but when no query has been running for a moment, so that a
query that comes once pays nothing. It is planned without; queries after it are planned with the sample. `take` is for those who
do not want to wait for that moment.

Statistics are those of exact bytes: they are found by the identity of all files of a table, and old ones leave when new ones need
their room.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from exec.sampling.places import row_parts, sample_places
from exec.sampling.table_sample import TableSample
from planner.catalog import ColumnDistribution, TableSnapshot, TableStatistics
from planner.dir import ScanRange, Split
from planner.errors import QEngineError

if TYPE_CHECKING:
    from exec.sampling.distinct_sketch import Sketch
    from exec.sampling.draw import Drawing, Drawn

LEAST_ROWS = 1_000
"""A smaller table is not sampled by itself: whatever is estimated of it, it is small."""
MOST_BYTES = 256 << 20
"""Of all samples together."""
DELAY = 0.25
"""Seconds without a query before samples are drawn."""
PATIENCE = 5.0
"""Seconds after which they are drawn although queries are running."""

Key = tuple[str, tuple[Split, ...]]


class Workers(Protocol):
    """Who draws samples."""

    def draw(self, drawing: Drawing, subject: str) -> Drawn:
        """Draw one; `subject` is what an error is about. Raises QEngineError."""

    def sketch(self, table: TableSnapshot, parts: Sequence[ScanRange]) -> list[tuple[Sketch, ...]]:
        """The sketches of all columns over each of some parts. Raises QEngineError."""

    def idle_seconds(self) -> float:
        """For how long no query has been running."""


class StatisticsStore:
    """Statistics of tables, kept in the driver. Thread-safe."""

    def __init__(self, workers: Workers, *, limit: int = MOST_BYTES, delay: float = DELAY) -> None:
        self._workers = workers
        self._limit = limit
        self._delay = delay
        self._kept: OrderedDict[Key, TableStatistics] = OrderedDict()
        self._bytes: dict[Key, int] = {}
        self._failed: set[Key] = set()
        self._wanted: OrderedDict[Key, TableSnapshot] = OrderedDict()
        self._used_at = 0.0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def of(self, table: TableSnapshot) -> TableStatistics | None:
        """What is known of the rows of a table."""
        key = _key(table)
        with self._changed:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def use(self, table: TableSnapshot) -> None:
        """A query uses a table: a sample is drawn of it in the background, if there is none."""
        if table.rows < LEAST_ROWS:
            return
        key = _key(table)
        with self._changed:
            if self._closed or key in self._kept or key in self._wanted or key in self._failed:
                return
            self._used_at = time.monotonic()
            self._wanted[key] = replace(table, keeper=None)  # a table in memory may go before its turn comes
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="qengine-statistics", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def take(self, table: TableSnapshot) -> TableStatistics:
        """Statistics of a sample that is drawn now, if there is none. Raises QEngineError."""
        found = self.of(table)
        return found if found is not None else self.keep(table, self._draw(table), replacing=False)

    def analyze(self, table: TableSnapshot) -> TableStatistics:
        """Statistics with distinct counts and null shares of all rows, and a sample that is drawn now. Raises QEngineError."""
        from exec.sampling.distinct_sketch import merge

        sampled = self._draw(table)
        parts = row_parts(table)
        if not parts:
            return self.keep(table, sampled)
        sketches = [merge(column) for column in zip(*self._workers.sketch(table, parts), strict=True)]
        columns = []
        for found, counted in zip(sampled.columns, sketches, strict=True):
            known = found if found is not None else ColumnDistribution(0.0)
            nulls = counted.nulls / table.rows
            columns.append(replace(known, distinct=counted.distinct, null_share=nulls, counted=counted.exact))
        return self.keep(table, TableStatistics(tuple(columns), sampled.sample))

    def keep(self, table: TableSnapshot, statistics: TableStatistics, replacing: bool = True) -> TableStatistics:
        """Keep statistics of a table, in place of others or only if there are none. Returns those that are kept now."""
        key = _key(table)
        sample = statistics.sample
        with self._changed:
            self._wanted.pop(key, None)
            self._changed.notify_all()
            if self._closed or (not replacing and key in self._kept):
                return self._kept.get(key, statistics)
            self._kept[key] = statistics
            self._kept.move_to_end(key)
            self._bytes[key] = sample.bytes if isinstance(sample, TableSample) else 0
            while len(self._kept) > 1 and sum(self._bytes.values()) > self._limit:
                oldest, _ = self._kept.popitem(last=False)
                del self._bytes[oldest]
        return statistics

    def wait(self, seconds: float = 10.0) -> bool:
        """Block until nothing waits to be sampled; False if that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or not self._wanted, seconds)

    def close(self) -> None:
        """Draw nothing any more, and forget everything. Idempotent."""
        with self._changed:
            self._closed = True
            self._wanted.clear()
            self._kept.clear()
            self._bytes.clear()
            self._changed.notify_all()

    def _draw(self, table: TableSnapshot) -> TableStatistics:
        from exec.sampling.distributions import with_row_group_bounds
        from exec.sampling.draw import (
            Drawing,
            sample_frame,
        )  # with the readers of files, which queries without files do without

        places = sample_places(table)
        if not places:
            statistics = TableStatistics((None,) * len(table.fields))
        else:
            drawing = Drawing(places, table.fields, table.rows, table.format, table.reader)
            drawn = self._workers.draw(drawing, places[0].split.path)
            columns = tuple(
                replace(found, bounds=with_row_group_bounds(found, table, position)) if found and found.clustered else found
                for position, found in enumerate(drawn.columns)
            )
            sample = TableSample(sample_frame(drawn.data))
            sample.prepare()
            statistics = TableStatistics(columns, sample)
        return statistics

    # ------------------------------------------------------------------------------------------------------ the thread

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._wanted)
            self._wait_for_idleness()
            with self._changed:
                if self._closed:
                    return
                if not self._wanted:
                    continue
                key, table = next(iter(self._wanted.items()))
            try:
                self.take(table)
            except Exception as problem:
                # The table's own reading will say what is wrong with it; here it has no statistics.
                with self._changed:
                    self._wanted.pop(key, None)
                    self._failed.add(key)
                    self._changed.notify_all()
                if isinstance(problem, QEngineError) and problem.code == "SESSION_CLOSED":
                    return

    def _wait_for_idleness(self) -> None:
        """Until no query has been bound or running for `delay` seconds, at most PATIENCE; the end of the store ends it too."""
        until = time.monotonic() + PATIENCE
        with self._changed:
            while not self._closed and time.monotonic() < until:
                idle = min(self._workers.idle_seconds(), time.monotonic() - self._used_at)
                if idle >= self._delay:
                    return
                self._changed.wait(max(self._delay - idle, 0.01))


def _key(table: TableSnapshot) -> Key:
    return table.format, tuple(file.split for file in table.files)

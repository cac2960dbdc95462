"""The engine: workers, folder and event loop of one process, shared by any number of sessions and threads."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from exec.backends.inline import execute_inline
from exec.backends.processes import available_cores
from exec.driver import Driver, Faults
from exec.events import Cancelled, Committed, Delivered, GraphReplaced, PartitionLost, PlanKept, Replan
from exec.exchange.layout import result_batches
from exec.exchange.reader import InputFile, InputLost, read_files
from exec.exchange.schema import arrow_schema
from exec.messages import DropMessage
from exec.metrics import EngineStatistics, QueryMetrics
from exec.progress import Execution, ProgressCallback, Replanner
from exec.sampling.statistics_store import StatisticsStore
from exec.store.column_store import ColumnStore, default_limit
from exec.store.columns import StoredColumn
from exec.store.folder import EngineFolder
from planner.catalog import TableSnapshot
from planner.dir import (
    Determinism,
    Dir,
    Evaluation,
    Recovery,
    ScanRange,
    Single,
    Stage,
    StageGraph,
    check_laws,
)
from planner.errors import error
from planner.physical.nodes import PhysicalPlan, ValuesScan

if TYPE_CHECKING:
    from exec.lower.observe import Observer
    from exec.sampling.distinct_sketch import Sketch
    from exec.sampling.draw import Drawing, Drawn

_DRIVERS: weakref.WeakSet[Driver] = weakref.WeakSet()
_CLEAN_UP_PATIENCE = 5.0

CALL_TIMEOUT = 10.0
"""Seconds that a call may take; opening a file takes milliseconds, but some files make their readers hang."""

SKETCH_TIMEOUT = 120.0
"""Seconds that looking at all values of a part of a table may take."""


class Engine:
    """Runs stage graphs on worker processes. Thread-safe; a context manager; closed at the latest when the process exits.

    `workers` tasks run at once (default: one for each core that this process may use), on one process more than that, so that a
    lost worker is replaced at once. They start in the background. `faults` is for tests.

    `cache` says whether columns of files are kept in shared memory: "auto" those that are scanned again, "eager" all before
    they are used, "off" none; at most `cache_memory` bytes of them (default: a quarter of the machine's memory).
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        cache: str = "auto",
        cache_memory: int | None = None,
        faults: Faults | None = None,
    ) -> None:
        """Raises INVALID_SETTING for less than one worker, WORKER_START if no folder can be made."""
        if workers is not None and workers < 1:
            raise error("INVALID_SETTING", name="workers", expected="at least 1", given=workers)
        self.workers = workers or available_cores()
        self.last_metrics: QueryMetrics | None = None
        self._process = os.getpid()
        self._closed = False
        self._lock = threading.Lock()
        self._query_ids = itertools.count(1)
        try:
            self._folder = EngineFolder()
        except OSError as problem:
            raise error("WORKER_START", detail=str(problem)) from problem
        self._driver = Driver(self._folder, self.workers, faults)
        _DRIVERS.add(self._driver)
        limit = default_limit() if cache_memory is None else cache_memory
        self.columns = ColumnStore(self._folder.primary, limit, cache, _Workers(self))
        self.table_statistics = StatisticsStore(_Workers(self))
        self._running = 0
        self._last_end = time.monotonic()
        self._close_parts = weakref.finalize(self, _close, self._driver, self.columns, self.table_statistics, self._process)

    @property
    def folder(self) -> Path:
        """Where this engine's files are; what others put into it (outside of the queries' folders) lives until close."""
        return self._folder.primary

    @property
    def statistics(self) -> EngineStatistics:
        return self._driver.statistics

    # ------------------------------------------------------------------------------------------------------------- queries

    def execute(
        self,
        graph: StageGraph,
        *,
        progress: ProgressCallback | None = None,
        cancel: threading.Event | None = None,
        metrics: QueryMetrics | None = None,
        replan: Replanner | None = None,
    ) -> list[pa.Table]:
        """Run a graph and block until it is done: one encoded table (columns `c<id>`) for each partition of the root, in order.

        The tables are mapped; their files are deleted already. `progress` is called in this thread. Setting `cancel` raises
        QueryCancelled here; Ctrl-C raises KeyboardInterrupt. In every case nothing of the query is left when this returns.
        `metrics` is filled with what the query did. `replan` is asked, in this thread, for another graph when a complete stage is
        a surprise (`exec.surprises`); the partitions are then those of the root of `metrics.graph`.
        """
        check_laws(graph)
        _check_contracts(graph)
        self.columns.expect(graph, cancel)
        with self._busy():
            tables = self._execute(graph, progress, cancel, metrics, replan)
        self.columns.count(graph)
        return tables

    def _execute(
        self,
        graph: StageGraph,
        progress: ProgressCallback | None,
        cancel: threading.Event | None,
        metrics: QueryMetrics | None,
        replan: Replanner | None,
    ) -> list[pa.Table]:
        execution = self._submit(Execution(next(self._query_ids), graph, metrics=metrics, adaptive=replan is not None))

        def answer(asked: Replan) -> None:
            assert replan is not None
            replacement = replan(asked, execution.metrics)
            if replacement is not None:
                _check_contracts(replacement)
            kept = PlanKept(execution.id, asked.version)
            self._driver.send(kept if replacement is None else GraphReplaced(execution.id, replacement))

        try:
            while True:
                delivery = execution.wait(progress, cancel, answer)
                if delivery is None:
                    raise error("CANCELLED")
                try:
                    tables = [_map_partition(execution.graph, partition) for partition in delivery]
                except InputLost as loss:
                    self._driver.send(PartitionLost(execution.id, loss.attempts))
                else:
                    break
        except BaseException:
            self._driver.send(Cancelled(execution.id, error("CANCELLED")))
            execution.wait_end(_CLEAN_UP_PATIENCE)
            raise
        self._driver.send(Delivered(execution.id))
        execution.wait_end(_CLEAN_UP_PATIENCE)
        self.last_metrics = execution.metrics
        return tables

    def execute_inline(self, body: PhysicalPlan, output: Dir, observer: Observer | None = None) -> pa.Table:
        """Run a plan without exchanges in this process; see `exec.backends.inline`."""
        self._check_usable()
        return execute_inline(body, output, observer)

    def call(self, function: str, *arguments: Any, timeout: float = CALL_TIMEOUT, subject: str | None = None) -> Any:
        """Call `exec.module:function` in a worker and return what it returns, or raise the QEngineError it raises.

        If it takes longer than `timeout` seconds, or kills its worker twice, FILE_UNREADABLE is raised for `subject` (by
        default the first argument).
        """
        path = subject if subject is not None else str(arguments[0]) if arguments else function
        execution = Execution(next(self._query_ids), _CALL_GRAPH, (function, arguments))
        execution.timeout = timeout
        execution.timeout_error = error("FILE_UNREADABLE", path=path, detail=f"it took longer than {timeout:g} s")
        self._submit(execution)
        try:
            execution.wait()
        except BaseException as problem:
            self._driver.send(Cancelled(execution.id, error("CANCELLED")))
            execution.wait_end(_CLEAN_UP_PATIENCE)
            if getattr(problem, "code", "") == "WORKER_LOST":
                raise error("FILE_UNREADABLE", path=path, detail="the process that read it crashed") from problem
            raise
        self._driver.send(Delivered(execution.id))
        execution.wait_end(_CLEAN_UP_PATIENCE)
        return execution.value

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        """A query is running."""
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                self._last_end = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        """For how long no query has been running."""
        with self._lock:
            return 0.0 if self._running else time.monotonic() - self._last_end

    def _submit(self, execution: Execution) -> Execution:
        self._check_usable()
        with self._lock:
            self._check_usable()
            self._driver.submit(execution)
        return execution

    # ------------------------------------------------------------------------------------------------------------- the end

    def _check_usable(self) -> None:
        if os.getpid() != self._process:
            raise error("FORKED")
        if self._closed:
            raise error("SESSION_CLOSED")

    def close(self) -> None:
        """End all queries, kill the workers, delete the folder. Tables that were handed out stay valid. Idempotent."""
        if os.getpid() == self._process:
            with self._lock:
                self._closed = True
            self._close_parts()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _map_partition(graph: StageGraph, partition: Committed) -> pa.Table:
    schema = arrow_schema(graph.stage(graph.root).output)
    output = partition.output
    if not output.path:
        return schema.empty_table()
    file = InputFile(partition.attempt, output.path, output.size, result_batches(graph, output.chunks))
    return pa.Table.from_batches(read_files([file]), schema)


def _check_contracts(graph: StageGraph) -> None:
    """The scheduler knows all contracts; worker processes so far carry what is kept at every border."""
    for exchange in graph.exchanges:
        contract = exchange.dir.contract
        if contract.evaluation is Evaluation.EAGER or contract.recovery is Recovery.CHECKPOINT or exchange.feedback:
            raise error("UNSUPPORTED", what=f"an exchange that is {contract}{' feedback' if exchange.feedback else ''}")


_CALL_GRAPH = StageGraph(
    (Stage(0, 1, ValuesScan((), ()), Dir((), (), Single(), ()), Determinism.INDETERMINATE, kind="call"),), (), root=0
)


class _Workers:
    """The workers as the stores of columns and of statistics see them. It does not keep the engine alive."""

    def __init__(self, engine: Engine) -> None:
        self._engine = weakref.ref(engine)

    def fill(self, column: StoredColumn, number: int, reader: str, folder: Path) -> tuple[int, float]:
        engine = self._engine()
        if engine is None:
            raise error("SESSION_CLOSED")
        arguments = (column, number, reader, str(folder))
        filled: tuple[int, float] = engine.call("exec.sources.fill:fill", *arguments, subject=column.split.path)
        return filled

    def draw(self, drawing: Drawing, subject: str) -> Drawn:
        engine = self._engine()
        if engine is None:
            raise error("SESSION_CLOSED")
        drawn: Drawn = engine.call("exec.sampling.draw:draw", drawing, subject=subject)
        return drawn

    def sketch(self, table: TableSnapshot, parts: Sequence[ScanRange]) -> list[tuple[Sketch, ...]]:
        engine = self._engine()
        if engine is None:
            raise error("SESSION_CLOSED")

        def sketch_part(part: ScanRange) -> tuple[Sketch, ...]:
            arguments = (part, table.fields, table.format, table.reader)
            function = "exec.sampling.distinct_sketch:sketch_rows"
            sketches: tuple[Sketch, ...] = engine.call(function, *arguments, timeout=SKETCH_TIMEOUT, subject=part.split.path)
            return sketches

        with ThreadPoolExecutor(engine.workers) as threads:
            return list(threads.map(sketch_part, parts))

    def idle_seconds(self) -> float:
        engine = self._engine()
        return engine.idle_seconds if engine is not None else 0.0

    def dropped(self, names: tuple[str, ...]) -> None:
        engine = self._engine()
        if engine is not None:
            engine._driver.tell_workers(DropMessage(names))


def _close(driver: Driver, columns: ColumnStore, statistics: StatisticsStore, process: int) -> None:
    """End of an engine: closed, dropped, or at exit. A forked child inherits the engine, but not what it owns."""
    if os.getpid() == process:
        statistics.close()
        columns.close()
        driver.close()


def _forget_drivers() -> None:
    for driver in list(_DRIVERS):
        with contextlib.suppress(Exception):
            driver.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_drivers)

"""One query from the point of view of the thread that waits for it.

The driver's thread writes, the waiting thread reads; callbacks run in the waiting thread, so they may do what they like,
also fail, without harm to the driver.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from exec.attempts import Attempt, TaskOutput
from exec.events import Committed, Replan
from exec.messages import StageKey
from exec.metrics import Progress, QueryMetrics, StageMetrics, TaskMetrics
from planner.dir import StageGraph
from planner.errors import QEngineError

ProgressCallback = Callable[[Progress], None]

Replanner = Callable[[Replan, QueryMetrics], StageGraph | None]
"""What a session does when a complete stage is a surprise: the next version of the graph, or None if it is right as it is.

It may add to the metrics, which are not complete yet.
"""

_POLL = 0.02
"""Seconds between looks at `cancel` and at signals: Polars installs a SIGINT handler with SA_RESTART, after which an endless
wait on a lock is not interrupted by Ctrl-C any more."""


class Execution:
    """A submitted query. `call` is (function, arguments) if it is a call and no stage graph. `metrics` is filled."""

    def __init__(
        self,
        id: int,
        graph: StageGraph,
        call: tuple[str, tuple[Any, ...]] | None = None,
        metrics: QueryMetrics | None = None,
        adaptive: bool = False,
    ) -> None:
        self.id = id
        self.graph = graph
        self.call = call
        self.adaptive = adaptive
        self.timeout: float | None = None
        self.timeout_error: QEngineError | None = None
        self.value: Any = None
        self.payloads: dict[StageKey, bytes] = {}
        self.metrics = metrics if metrics is not None else QueryMetrics()
        self.metrics.stages = {stage.id: StageMetrics(stage.tasks) for stage in graph.stages}
        self.metrics.graph = graph
        self._condition = threading.Condition()
        self._started = time.monotonic()
        self._delivery: tuple[Committed, ...] | None = None
        self._asked: Replan | None = None
        self._ended = False
        self._error: QEngineError | None = None
        self._progress: Progress | None = None

    # --------------------------------------------------------------------------------------------- by the driver's thread

    def finished(self, attempt: Attempt, output: TaskOutput) -> None:
        self.metrics.stages.setdefault(attempt.stage, StageMetrics(1)).add(output)
        if self.metrics.observed:
            self.metrics.operators[attempt.task] = output.operators
        begin = time.monotonic() - self._started - output.seconds
        self.metrics.tasks.append(TaskMetrics(attempt.stage, attempt.partition, begin, output.seconds))

    def replaced(self, graph: StageGraph) -> None:
        """The graph of the query is another one from now on."""
        self.graph = self.metrics.graph = graph
        for stage in graph.stages:
            self.metrics.stages.setdefault(stage.id, StageMetrics(stage.tasks))

    def ask(self, replan: Replan) -> None:
        with self._condition:
            self._asked = replan
            self._condition.notify_all()

    def advance(self, done: int, total: int) -> None:
        stages = self.metrics.stages.values()
        rows, size = sum(stage.rows for stage in stages), sum(stage.bytes for stage in stages)
        with self._condition:
            self._progress = Progress(done, total, rows, size, time.monotonic() - self._started)
            self._condition.notify_all()

    def deliver(self, partitions: tuple[Committed, ...]) -> None:
        with self._condition:
            self._delivery = partitions
            self.metrics.seconds = time.monotonic() - self._started
            self._condition.notify_all()

    def end(self, error: QEngineError | None) -> None:
        with self._condition:
            self._ended, self._error = True, error
            self._condition.notify_all()

    # -------------------------------------------------------------------------------------------- by the waiting thread

    def wait(
        self,
        progress: ProgressCallback | None = None,
        cancel: threading.Event | None = None,
        replan: Callable[[Replan], None] | None = None,
    ) -> tuple[Committed, ...] | None:
        """Block until there is a result, and take it; None if `cancel` was set before. Raises the query's error.

        `progress` is called with every change, `replan` when the scheduler asks for a new plan; it has to be answered. They may
        raise, as KeyboardInterrupt may: the query then goes on.
        """
        shown: Progress | None = None
        while True:
            with self._condition:
                while True:
                    if cancel is not None and cancel.is_set():
                        return None
                    if self._delivery is not None or self._ended or (progress is not None and self._progress is not shown):
                        break
                    if self._asked is not None:
                        break
                    self._condition.wait(_POLL)
                delivery, self._delivery = self._delivery, None
                asked, self._asked = self._asked, None
                latest, ended, problem = self._progress, self._ended, self._error
            if asked is not None and replan is not None:
                replan(asked)
            if progress is not None and latest is not None and latest is not shown:
                shown = latest
                progress(latest)
            if delivery is not None:
                return delivery
            if ended:
                assert problem is not None
                raise problem

    def wait_end(self, timeout: float) -> bool:
        """Block until no attempt runs and the files are gone, for `timeout` seconds at most. False if that was too short."""
        deadline = time.monotonic() + timeout
        with self._condition:
            while not self._ended and time.monotonic() < deadline:
                self._condition.wait(_POLL)
            return self._ended

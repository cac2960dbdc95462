"""The driver's event loop: one thread that turns messages and deaths into events, and commands into messages and signals.

All decisions are the scheduler's. Other threads reach the loop through `post` alone. A death is noticed through the process's
sentinel; what the dead worker had reported before is read first, so finished work is never lost.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import selectors
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from exec.attempts import Attempt
from exec.backends.processes import WorkerProcess
from exec.events import (
    AttemptFailed,
    AttemptFinished,
    AttemptStarted,
    Cancelled,
    Checkpoint,
    Command,
    Deliver,
    Discard,
    End,
    Event,
    GraphReplaced,
    PartitionLost,
    Replan,
    Restore,
    Run,
    Stop,
    Submitted,
    WorkerLost,
    WorkerReady,
)
from exec.exchange.layout import input_files
from exec.exchange.reader import intact
from exec.messages import (
    CallMessage,
    Failed,
    Finished,
    ForgetMessage,
    Ready,
    RunMessage,
    StageMessage,
    StagePayload,
    Started,
    decode,
    encode,
)
from exec.metrics import EngineStatistics
from exec.progress import Execution
from exec.scheduler import State, step
from exec.store.folder import EngineFolder
from exec.task import query_folder
from planner.errors import QEngineError, error

STOP_GRACE = 0.05
"""Seconds that a task of a failed query may go on before its worker is killed: most are done by then, and a kill costs more."""

MAX_FAILED_STARTS = 3


class Faults(Protocol):
    """A plan of faults for tests."""

    def on_started(self, attempt: Attempt) -> bool:
        """Called in the driver's thread when a worker has begun an attempt; True kills that worker with SIGKILL."""

    def on_lost(self, attempt: Attempt) -> None:
        """Called when a worker has died in the middle of an attempt. What it had finished before does not count."""


class Driver:
    """Owns the workers and the state of the scheduler."""

    def __init__(self, folder: EngineFolder, workers: int, faults: Faults | None = None) -> None:
        self.statistics = EngineStatistics()
        self._folder = folder
        self._target = workers + 1  # one is kept warm
        self._faults = faults
        self._state = State(slots=workers)
        self._executions: dict[int, Execution] = {}
        self._workers: dict[int, WorkerProcess] = {}
        self._attempts: dict[int, Attempt] = {}
        self._started: dict[int, Attempt] = {}
        self._ids = itertools.count(1)
        self._inbox: deque[Callable[[], None]] = deque()
        self._events: deque[Event] = deque()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_ids = itertools.count()
        self._failed_starts = 0
        self._broken: QEngineError | None = None
        self._closing = False
        self._finished = False
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, self._drain_wake)
        self._thread = threading.Thread(target=self._loop, name="qengine-driver", daemon=True)
        self._thread.start()

    # ----------------------------------------------------------------------------------------------------- other threads

    def post(self, action: Callable[[], None]) -> None:
        """Have something done in the loop's thread."""
        with self._lock:
            if not self._finished:
                self._enqueue(action)

    def _enqueue(self, action: Callable[[], None]) -> None:
        self._inbox.append(action)
        with contextlib.suppress(BlockingIOError):  # a full pipe wakes the loop as well
            os.write(self._wake_write, b"\0")

    def submit(self, execution: Execution) -> None:
        with self._lock:
            if not self._finished:
                self._enqueue(lambda: self._submit(execution))
                return
        execution.end(self._broken or error("SESSION_CLOSED"))

    def send(self, event: Event) -> None:
        self.post(lambda: self._events.append(event))

    def tell_workers(self, message: object) -> None:
        """Send a message to all workers that live now."""
        data = encode(message)

        def send() -> None:
            for worker in self._workers.values():
                worker.send(data)

        self.post(send)

    def close(self) -> None:
        """End all queries with SESSION_CLOSED, kill the workers, and remove the folder. Blocks until that is done."""
        self.post(self._begin_closing)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=10)

    def forget(self) -> None:
        """In a forked child: close the copies of everything that the parent's workers and locks hang on."""
        for worker in self._workers.values():
            worker.forget()
        for descriptor in (self._wake_read, self._wake_write):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._selector.close()
        self._folder.forget()

    # ------------------------------------------------------------------------------------------------------------- the loop

    def _loop(self) -> None:
        try:
            for _ in range(self._target - 1):
                self._start_worker()
            while not self._closing:
                self._turn()
        except Exception as problem:  # a bug; without this every waiting thread would hang
            self._broken = error("INTERNAL", detail=f"the driver stopped: {problem!r}")
            raise
        finally:
            self._finish()

    def _turn(self) -> None:
        self._watch_writes()
        for key, _ in self._selector.select(self._next_timeout()):
            if key.fileobj in self._selector.get_map():  # an earlier callback may have closed it
                key.data()
        while self._inbox:
            self._inbox.popleft()()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()
        self._process_events()

    def _next_timeout(self) -> float | None:
        if self._inbox or self._events:
            return 0
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._timer_ids), action))

    def _drain_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_read, 4096)

    def _process_events(self) -> None:
        while self._events:
            event = self._events.popleft()
            _, commands = step(self._state, event)
            if isinstance(event, GraphReplaced):
                self._note_graph(event.query)
            for command in commands:
                self._perform(command)
            if isinstance(event, AttemptFinished):
                self._report_progress(event.attempt.query)

    def _note_graph(self, id: int) -> None:
        query, execution = self._state.queries.get(id), self._executions.get(id)
        if query is not None and execution is not None:
            execution.replaced(query.graph)

    def _report_progress(self, id: int) -> None:
        query, execution = self._state.queries.get(id), self._executions.get(id)
        if query is not None and execution is not None:
            execution.advance(len(query.committed), sum(stage.tasks for stage in query.graph.stages))

    # ------------------------------------------------------------------------------------------------------------- workers

    def _start_worker(self) -> None:
        id = next(self._ids)
        try:
            worker = WorkerProcess(id, self._folder.paths)
        except OSError as problem:
            self._worker_failed(str(problem))
            return
        self.statistics.workers_started += 1
        self._workers[id] = worker
        self._selector.register(worker.channel.fileno(), selectors.EVENT_READ, lambda: self._attend(worker))
        if worker.sentinel is not None:
            self._selector.register(worker.sentinel, selectors.EVENT_READ, lambda: self._worker_died(worker))

    def _attend(self, worker: WorkerProcess) -> None:
        """Write what waits and take what has arrived. At the end of the pipe the worker is killed, if it is not dead already."""
        with contextlib.suppress(OSError):
            worker.channel.flush()
        if not self._receive(worker):
            worker.kill()
            if worker.sentinel is None:
                self._worker_died(worker)
            else:
                self._unregister(worker.channel.fileno())

    def _receive(self, worker: WorkerProcess) -> bool:
        """Handle the messages that have arrived; False at the end of the pipe."""
        messages, is_open = worker.channel.receive()
        for message in messages:
            self._handle(worker, decode(message))
        return is_open

    def _watch_writes(self) -> None:
        """Wake up when a worker can take what waits for it."""
        for worker in self._workers.values():
            events = selectors.EVENT_READ | selectors.EVENT_WRITE if worker.channel.pending else selectors.EVENT_READ
            key = self._selector.get_map().get(worker.channel.fileno())
            if key is not None and key.events != events:
                self._selector.modify(key.fileobj, events, key.data)

    def _handle(self, worker: WorkerProcess, message: object) -> None:
        match message:
            case Ready():
                worker.ready = True
                self._failed_starts = 0
                self._events.append(WorkerReady(worker.id))
                if len(self._workers) < self._target:
                    self._start_worker()
            case Started(attempt):
                self._on_started(worker, attempt)
            case Finished(attempt, output, value):
                self._attempts.pop(worker.id, None)
                self._started.pop(worker.id, None)
                self.statistics.attempts_finished += 1
                execution = self._executions.get(attempt.query)
                if execution is not None:
                    execution.value = value
                    execution.finished(attempt, output)
                self._events.append(AttemptFinished(attempt, output))
            case Failed(attempt, problem, lost):
                self._attempts.pop(worker.id, None)
                self._started.pop(worker.id, None)
                self.statistics.attempts_failed += 1
                self._events.append(AttemptFailed(attempt, problem, lost))

    def _on_started(self, worker: WorkerProcess, attempt: Attempt) -> None:
        self._events.append(AttemptStarted(attempt))
        self._started[worker.id] = attempt
        self.statistics.attempts_started += 1
        if self._faults is not None and self._faults.on_started(attempt):
            self.statistics.kills += 1
            worker.kill()

    def _time_out(self, worker: WorkerProcess, attempt: Attempt) -> None:
        execution = self._executions.get(attempt.query)
        if execution is not None and self._attempts.get(worker.id) == attempt:
            self._events.append(Cancelled(attempt.query, execution.timeout_error or error("CANCELLED")))

    def _worker_died(self, worker: WorkerProcess) -> None:
        if self._workers.pop(worker.id, None) is not worker:
            return
        self._receive(worker)
        for descriptor in (worker.channel.fileno(), worker.sentinel):
            if descriptor is not None:
                self._unregister(descriptor)
        detail = worker.reap()
        self._attempts.pop(worker.id, None)
        attempt = self._started.pop(worker.id, None)
        if attempt is not None:
            self.statistics.attempts_lost += 1
            if self._faults is not None:
                self._faults.on_lost(attempt)
        if worker.ready:
            self.statistics.workers_lost += 1
            self._events.append(WorkerLost(worker.id, detail))
        else:
            self._worker_failed(detail)
        if self._broken is None and len(self._workers) < self._target:
            self._start_worker()

    def _unregister(self, descriptor: int) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(descriptor)

    def _worker_failed(self, detail: str) -> None:
        """A worker did not even get ready. After several in a row all queries end, since they would wait for ever."""
        self._failed_starts += 1
        if self._failed_starts >= MAX_FAILED_STARTS and self._broken is None:
            self._broken = error("WORKER_START", detail=detail)
            self._events.extend(Cancelled(id, self._broken) for id in self._executions)

    # ------------------------------------------------------------------------------------------------------------ commands

    def _submit(self, execution: Execution) -> None:
        self.statistics.queries += 1
        self._executions[execution.id] = execution
        call = execution.call is not None
        deaths = 2 if call else 3
        self._events.append(Submitted(execution.id, execution.graph, deaths, spare=call, adaptive=execution.adaptive))
        if self._broken is not None:  # what kept workers from starting may be over
            self._broken, self._failed_starts = None, 0
            for _ in range(self._target - 1 - len(self._workers)):
                self._start_worker()

    def _perform(self, command: Command) -> None:
        match command:
            case Run():
                self._run(command)
            case Stop(worker, attempt, urgent):
                self._after(0 if urgent else STOP_GRACE, lambda: self._kill_if_running(worker, attempt))
            case Discard(output):
                if output.path:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(output.path)
            case Deliver(query, partitions):
                damaged = tuple(p.attempt for p in partitions if p.output.path and not intact(p.output.path, p.output.size))
                if damaged:
                    self._events.append(PartitionLost(query, damaged))
                else:
                    self._executions[query].deliver(partitions)
            case End(query, problem):
                self._end(query, problem)
            case Replan(query):
                self._executions[query].ask(command)
            case Checkpoint() | Restore():
                raise AssertionError(f"{command} needs a contract that submit refuses")

    def _run(self, command: Run) -> None:
        worker, attempt = self._workers.get(command.worker), command.attempt
        if worker is None:
            return  # its death is on the way to the scheduler
        self._attempts[worker.id] = attempt
        execution = self._executions[attempt.query]
        if execution.call is not None:
            if execution.timeout is not None:
                self._after(execution.timeout, lambda: self._time_out(worker, attempt))
            worker.send(encode(CallMessage(attempt, *execution.call)))
            return
        key = (attempt.query, attempt.version, attempt.stage)
        if key not in worker.stages:
            payload = execution.payloads.get(key)
            if payload is None:
                stage = execution.graph.stage(attempt.stage)
                layouts, observed = execution.graph.layouts(stage.id), execution.metrics.observed
                message = StageMessage(key, stage.body, stage.output, layouts, observed)
                payload = execution.payloads[key] = encode(StagePayload(key, encode(message)))
            worker.stages.add(key)
            worker.send(payload)
        inputs = tuple((read.exchange.id, input_files(execution.graph, read, attempt.partition)) for read in command.inputs)
        worker.send(encode(RunMessage(attempt, inputs)))

    def _kill_if_running(self, worker_id: int, attempt: Attempt) -> None:
        worker = self._workers.get(worker_id)
        if worker is not None and self._attempts.get(worker_id) == attempt:
            worker.kill()

    def _end(self, query: int, problem: QEngineError | None) -> None:
        execution = self._executions.pop(query)
        for worker in self._workers.values():
            if any(key[0] == query for key in worker.stages):
                worker.stages = {key for key in worker.stages if key[0] != query}
                worker.send(encode(ForgetMessage(query)))
        for path in self._folder.paths:
            shutil.rmtree(path / query_folder(query), ignore_errors=True)
        execution.end(problem)

    # ------------------------------------------------------------------------------------------------------------- the end

    def _begin_closing(self) -> None:
        self._closing = True

    def _finish(self) -> None:
        try:
            for worker in self._workers.values():
                worker.kill()
            for worker in self._workers.values():
                worker.reap()
            self._selector.close()
            self._folder.remove()
        finally:
            with self._lock:
                self._finished = True
            while self._inbox:
                self._inbox.popleft()()
            for execution in self._executions.values():
                execution.end(self._broken or error("SESSION_CLOSED"))
            for descriptor in (self._wake_read, self._wake_write):
                os.close(descriptor)

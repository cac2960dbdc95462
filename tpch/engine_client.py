"""The runner's end of an engine process: asks, waits, measures the process tree meanwhile, and ends it when it must.

While it waits it samples memory and processor time of the whole tree (`process_tree`). A tree that takes longer than its
timeout, or more memory than its limit, or the last memory that the machine has, is killed: that is the verdict of a run, not
the end of the benchmark. Each process has a folder of its own to work in and for temporary files, which is removed with it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from tpch import process_tree
from tpch.engine_messages import (
    Done,
    Execute,
    Executed,
    ExecuteStreams,
    Failed,
    Load,
    Open,
    Opened,
    Reply,
    Request,
    StreamsDone,
)
from tpch.engines.protocol import Settings, Statement
from tpch.results import Verdict

RESERVE_SHARE = 0.03
"""Of the machine's memory, that no engine may take."""

_SAMPLE_EVERY = 0.02
_SAMPLE_SHARE = 0.02
"""Seconds between samples, and the most of the time that sampling itself may take."""

_OUT_OF_MEMORY = re.compile(
    r"out ?of ?memory|memoryerror|memory limit|memory_limit|cannot allocate memory|resources exhausted|heap space",
    re.IGNORECASE,
)
_CLOSE_PATIENCE = 5.0

StreamReply = Executed | Failed | StreamsDone


class EngineFailure(Exception):
    """Why there is no answer; `usage` is what the processes took until then."""

    def __init__(self, verdict: Verdict, detail: str, usage: Measured | None = None):
        super().__init__(detail)
        self.verdict = verdict
        self.detail = detail
        self.usage = usage


@dataclass(frozen=True, slots=True)
class Measured:
    """Of a process tree during one request: peak bytes of memory and seconds of processor time."""

    memory: int
    cpu_seconds: float


@dataclass(slots=True)
class _Watch:
    """Samples of a process tree since a request."""

    root: int
    limit: int
    first: float = 0.0
    last: float = 0.0
    peak: int = 0
    pause: float = _SAMPLE_EVERY
    reserve: int = field(default_factory=lambda: int(process_tree.total_memory() * RESERVE_SHARE))

    def __post_init__(self) -> None:
        self.sample()
        self.first = self.last

    def sample(self) -> None:
        started = time.perf_counter()
        usage = process_tree.usage(self.root)
        self.peak = max(self.peak, usage.memory)
        self.last = max(self.last, usage.cpu_seconds)
        self.pause = max(_SAMPLE_EVERY, (time.perf_counter() - started) / _SAMPLE_SHARE)

    def excess(self) -> str | None:
        if self.peak > self.limit:
            return f"the processes took {self.peak >> 20} MiB, more than the limit of {self.limit >> 20} MiB"
        # To end an engine that holds less would not help a machine that others have filled.
        if self.peak >= self.reserve and process_tree.available_memory() < self.reserve:
            return f"with {self.peak >> 20} MiB in this engine, the machine had less than {self.reserve >> 20} MiB left"
        return None

    @property
    def measured(self) -> Measured:
        return Measured(self.peak, max(self.last - self.first, 0.0))


class EngineProcess:
    """One engine in a process of its own; `alive` until it is closed, or killed by a timeout, its memory or a crash."""

    def __init__(self, adapter: str, settings: Settings, timeout: float):
        """Start the process. `timeout` is in seconds, for each request. Raises OSError if it cannot be started."""
        self.settings = settings
        self.alive = True
        self.startup_seconds = 0.0
        self._timeout = timeout
        self._started = time.perf_counter()
        self._scratch = tempfile.TemporaryDirectory(prefix="tpch-", ignore_cleanup_errors=True)
        self._log = Path(self._scratch.name, "log")
        mine, theirs = multiprocessing.Pipe()
        self._connection: Connection = mine
        command = [sys.executable, "-P", "-m", "tpch.engine_process", str(theirs.fileno()), adapter]
        # A session of its own: Ctrl-C is for the runner, which ends the engines in an orderly way.
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._scratch.name,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(_import_path()), "TMPDIR": self._scratch.name},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        theirs.close()

    def open(self) -> Opened:
        """Open the session. Raises EngineFailure."""
        reply, _ = self._ask(Open(self.settings))
        assert isinstance(reply, Opened)
        self.startup_seconds = time.perf_counter() - self._started
        return reply

    def load(self) -> float:
        """Load the tables; returns seconds. Raises EngineFailure."""
        reply, _ = self._ask(Load())
        assert isinstance(reply, Done)
        return reply.seconds

    def execute(self, statement: Statement) -> tuple[Executed, Measured]:
        """Run one query. Raises EngineFailure."""
        reply, measured = self._ask(Execute(statement))
        assert isinstance(reply, Executed)
        return reply, measured

    def execute_streams(self, streams: Sequence[Sequence[Statement]]) -> Iterator[tuple[StreamReply, Measured]]:
        """Run streams side by side; each query as it is done, with the peak of memory so far; at last StreamsDone.

        Raises EngineFailure.
        """
        watch = self._watch()
        self._send(ExecuteStreams(tuple(tuple(stream) for stream in streams)))
        while True:
            reply = self._receive(watch, self._timeout * len(streams))
            assert isinstance(reply, StreamReply)
            yield reply, watch.measured
            if isinstance(reply, StreamsDone):
                return

    def settle(self, quiet: float = 0.2, longest: float = 30.0) -> None:
        """Wait until the tree does nothing in the background any more: hardly a tick of a core for `quiet` seconds."""
        deadline = time.perf_counter() + longest
        before = process_tree.usage(self._process.pid).cpu_seconds
        while self.alive and time.perf_counter() < deadline:
            time.sleep(quiet)
            after = process_tree.usage(self._process.pid).cpu_seconds
            if after - before < 0.015:
                return
            before = after

    def close(self) -> None:
        """End the process and all below it."""
        if not self.alive:
            return
        self.alive = False
        self._connection.close()
        try:
            self._process.wait(_CLOSE_PATIENCE)
        except subprocess.TimeoutExpired:
            process_tree.kill(self._process.pid)
            self._process.wait()
        self._clean_up()

    def kill(self) -> None:
        """End the process and all below it at once."""
        if not self.alive:
            return
        self.alive = False
        process_tree.kill(self._process.pid)
        self._process.wait()
        self._connection.close()
        self._clean_up()

    def _clean_up(self) -> None:
        process_tree.kill_group(self._process.pid)
        self._scratch.cleanup()

    def _watch(self) -> _Watch:
        return _Watch(self._process.pid, self.settings.memory_limit)

    def _ask(self, request: Request) -> tuple[Reply, Measured]:
        watch = self._watch()
        self._send(request)
        reply = self._receive(watch, self._timeout)
        if isinstance(reply, Failed):
            raise EngineFailure(verdict_of(reply), reply.detail, watch.measured)
        return reply, watch.measured

    def _send(self, request: Request) -> None:
        with contextlib.suppress(OSError):  # a process that has ended is noticed by who waits for its answer
            self._connection.send(request)

    def _receive(self, watch: _Watch, timeout: float) -> Reply:
        deadline = time.perf_counter() + timeout
        try:
            while not self._connection.poll(watch.pause):
                watch.sample()
                excess = watch.excess()
                if excess is not None:
                    self.kill()
                    raise EngineFailure(Verdict.OUT_OF_MEMORY, excess, watch.measured)
                if time.perf_counter() > deadline:
                    self.kill()
                    raise EngineFailure(Verdict.TIMEOUT, f"not done within {timeout:g} s", watch.measured)
            reply: Reply = self._connection.recv()
        except (EOFError, OSError):
            detail = self._last_words()
            verdict = Verdict.OUT_OF_MEMORY if _OUT_OF_MEMORY.search(detail) else Verdict.FAILED
            self.kill()
            raise EngineFailure(verdict, detail, watch.measured) from None
        watch.sample()
        return reply

    def _last_words(self) -> str:
        """How the process ended, and the last line that it wrote."""
        try:
            status = self._process.wait(_CLOSE_PATIENCE)
        except subprocess.TimeoutExpired:
            return "the process closed its connection"
        how = f"by signal {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"
        written = self._log.read_text(encoding="utf-8", errors="replace")
        lines = [line.strip() for line in written.splitlines() if line.strip()]
        return f"the process ended {how}" + (f": {lines[-1]}" if lines else "")


def _import_path() -> list[str]:
    """Where the process of an engine finds this package, then what it would find anyway."""
    package = str(Path(__file__).resolve().parents[1])
    return [package, *filter(None, [os.environ.get("PYTHONPATH")])]


def verdict_of(failed: Failed) -> Verdict:
    """FAILED, or OUT_OF_MEMORY where the engine itself says so."""
    return Verdict.OUT_OF_MEMORY if _OUT_OF_MEMORY.search(failed.detail) else Verdict.FAILED

"""The process of one engine: `python -P -m tpch.engine_process DESCRIPTOR ADAPTER`.

It reads requests from a connection on that file descriptor and answers each with one reply (streams with many), and ends when
the connection does. Times are measured here, next to the engine, so that neither pickling nor a busy runner is in them. What the
engine prints goes to standard error, where the runner keeps it for the case of a crash.
"""

from __future__ import annotations

import importlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from tpch.engine_messages import Done, Execute, Executed, Failed, Load, Open, Opened, Reply, Request, StreamsDone
from tpch.engines import INSTALL
from tpch.engines.protocol import Engine, Statement

_CLOSE_PATIENCE = 3.0
"""Seconds that an engine has to end a query and to close when the runner has gone."""


def describe(error: BaseException) -> str:
    """Code and message of an error of an engine, or the kind of any other, in one line."""
    label = str(getattr(error, "code", None) or type(error).__name__)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = lines[0] if lines else "no message"
    return message if message.startswith(label) else f"{label}: {message}"


def serve(connection: Connection, adapter: str) -> None:
    """Answer requests until the connection ends."""
    requests: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(connection, requests), daemon=True).start()
    engine: Engine | None = None
    while True:
        request = requests.get()
        if request is None:
            if engine is not None:
                engine.close()
            return
        try:
            if isinstance(request, Open):
                module, _, name = adapter.partition(":")
                engine = getattr(importlib.import_module(module), name)(request.settings)
                connection.send(Opened(engine.version, engine.settings))
                continue
            assert engine is not None, "the first request opens the engine"
            if isinstance(request, Load):
                started = time.perf_counter()
                engine.load()
                connection.send(Done(time.perf_counter() - started))
            elif isinstance(request, Execute):
                connection.send(_execute(engine, request.statement))
            else:
                _execute_streams(engine, request.streams, connection.send)
        except ModuleNotFoundError as error:
            how = INSTALL.get(error.name or "", "pip install 'qengine[bench]'")
            connection.send(Failed(f"{error.name} is not installed: {how}"))
        except BaseException as error:  # a panic of an engine is no Exception, and is a verdict like any other error
            connection.send(Failed(describe(error)))


def _read(connection: Connection, requests: queue.SimpleQueue[Request | None]) -> None:
    try:
        while True:
            requests.put(connection.recv())
    except (EOFError, OSError):
        requests.put(None)
        # Whatever the engine is doing: nobody waits for it any more.
        time.sleep(_CLOSE_PATIENCE)
        if os.getsid(0) == os.getpid():
            os.killpg(0, signal.SIGKILL)  # with what the engine has started, such as a virtual machine
        os._exit(0)


def _execute(engine: Engine, statement: Statement, stream: int = 0) -> Executed:
    started = time.perf_counter()
    table = engine.run(statement)
    seconds = time.perf_counter() - started
    return Executed(table, seconds, engine.phases(), statement.number, stream)


def _execute_streams(engine: Engine, streams: tuple[tuple[Statement, ...], ...], send: Callable[[Reply], None]) -> None:
    """Streams only queue their answers, so that none waits until another's is sent."""
    replies: queue.SimpleQueue[Executed | Failed | None] = queue.SimpleQueue()
    times: dict[int, tuple[float, float]] = {}

    def run(stream: int, statements: tuple[Statement, ...]) -> None:
        began = time.perf_counter()
        for statement in statements:
            try:
                replies.put(_execute(engine, statement, stream))
            except BaseException as error:
                replies.put(Failed(describe(error), statement.number, stream))
        times[stream] = began, time.perf_counter()
        replies.put(None)

    threads = [threading.Thread(target=run, args=item) for item in enumerate(streams, start=1)]
    for thread in threads:
        thread.start()
    running = len(threads)
    while running:
        reply = replies.get()
        if reply is None:
            running -= 1
        else:
            send(reply)
    for thread in threads:
        thread.join()
    elapsed = max(end for _, end in times.values()) - min(began for began, _ in times.values())
    send(StreamsDone(elapsed, tuple(end - began for _, (began, end) in sorted(times.items()))))


def main() -> None:
    descriptor, adapter = int(sys.argv[1]), sys.argv[2]
    os.set_inheritable(descriptor, False)  # a child of the engine must not keep the connection open
    serve(Connection(descriptor), adapter)


if __name__ == "__main__":
    main()

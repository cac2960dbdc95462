"""Engines for tests of the benchmark, run in real processes: what they do with a query is said by its number or by options.

options   `answers`: a folder of files `<query>.arrow` that are returned; `log`: a file that every run is appended to;
          `<query>`: what to do instead: slow, fail, out-of-memory, crash, exit, hang, eat, shout, wrong; with `@n` at the
          end only in the n-th run of the query in this process
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa

from tpch.engines.protocol import Phases, Settings, Statement

SLOW_SECONDS = 0.3


class FakeEngine:
    """Answers from files; see the module."""

    def __init__(self, settings: Settings) -> None:
        self.version = "1.2.3"
        self.settings = {"threads": str(settings.threads)}
        self._options = settings.options
        self._runs: dict[int, int] = {}
        self._lock = threading.Lock()
        self._act(settings.options.get("open", ""))

    def load(self) -> None:
        self._note("load")
        self._act(self._options.get("load", ""))

    def run(self, statement: Statement) -> pa.Table:
        number = statement.number
        with self._lock:
            count = self._runs[number] = self._runs.get(number, 0) + 1
        self._note(f"Q{number}")
        action, _, only = self._options.get(str(number), "").partition("@")
        table = pa.ipc.open_file(Path(self._options["answers"], f"{number}.arrow").read_bytes()).read_all()
        if not only or int(only) == count:
            self._act(action)
            if action == "wrong":
                return table.slice(1)
        return table

    def phases(self) -> Phases:
        return Phases(0.001, 0.002, 0.003)

    def close(self) -> None:
        self._note("close")

    def _note(self, what: str) -> None:
        if "log" in self._options:
            with Path(self._options["log"]).open("a", encoding="utf-8") as file:
                file.write(f"{self._options['name']} {what} {os.getpid()}\n")

    def _act(self, action: str) -> None:
        match action:
            case "slow":
                time.sleep(SLOW_SECONDS)
            case "fail":
                raise ValueError("cannot do this\nand more that does not matter")
            case "out-of-memory":
                raise RuntimeError("Out of Memory Error: could not allocate block")
            case "crash":
                print("the last words", file=sys.stderr, flush=True)
                os.kill(os.getpid(), signal.SIGSEGV)
            case "exit":
                os._exit(3)
            case "hang":
                # With a child that outlives its parent unless the whole tree is ended.
                child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
                self._note(f"child-{child.pid}")
                threading.Event().wait()
            case "eat":
                eaten = []
                while True:
                    eaten.append(bytearray(os.urandom(1 << 20) * 16))
                    time.sleep(0.01)
            case "shout":
                print("noise on standard output" * 1000, flush=True)


class MissingEngine:
    """One whose package is not installed."""

    def __init__(self, settings: Settings) -> None:
        raise ModuleNotFoundError("No module named 'missing_engine'", name="missing_engine")

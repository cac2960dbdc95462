"""Worker processes on this machine: how one is started, spoken to, watched and killed.

Started with `-P` and our own packages first on the path, so that a user's `random.py` cannot take a module's place; standard
input is not inherited; its own session, so Ctrl-C in the terminal reaches the driver alone; what it prints goes to a log in the
engine's folder, whose end explains a death. No parent-death signal is used (it fires when the spawning thread ends); the worker
itself watches its pipe.
"""

from __future__ import annotations

import contextlib
import os
import signal
import site
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from exec.backends.channel import Channel
from exec.messages import StageKey
from exec.worker import PATH_VARIABLE

_ROOT = Path(__file__).resolve().parents[2]
_LOG_TAIL = 400


class WorkerProcess:
    """One worker process and the driver's end of its pipe. `stages` are those it has been sent."""

    def __init__(self, id: int, folders: Sequence[Path]) -> None:
        """Start the process; it reports when it is ready. Raises OSError if it cannot be started."""
        self.id = id
        self.ready = False
        self.stages: set[StageKey] = set()
        self._log = folders[0] / f"worker-{id}.log"
        ours, theirs = socket.socketpair()
        try:
            with open(self._log, "wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "exec.worker", str(theirs.fileno()), *map(str, folders)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=worker_environment(),
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.channel = Channel(ours)
        # Readable when the process has ended. Without it (not Linux) the end of the pipe tells.
        self.sentinel: int | None = None
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self.sentinel = os.pidfd_open(self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, data: bytes) -> None:
        """Send an encoded message, now or when the worker reads. A dead worker is no error here: its death is noticed."""
        with contextlib.suppress(OSError):
            self.channel.send(data)

    def kill(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    def reap(self) -> str:
        """Wait for the dead process, close everything, and say how it ended."""
        status = self._process.wait()
        self.forget()
        text = ""
        with contextlib.suppress(OSError):
            lines = self._log.read_bytes()[-_LOG_TAIL:].decode(errors="replace").splitlines()
            text = next((line for line in reversed(lines) if line.strip() and not line.startswith("note: ")), "")
            self._log.unlink()
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        return f"{how}; {' '.join(text.split())}" if text else how

    def forget(self) -> None:
        """Close this process's ends; in a forked child that is all there is to do."""
        with contextlib.suppress(OSError):
            self.channel.close()
        if self.sentinel is not None:
            with contextlib.suppress(OSError):
                os.close(self.sentinel)
            self.sentinel = None


KEEP_FREED_MEMORY = "dirty_decay_ms:5000,muzzy_decay_ms:5000"
"""For Polars' allocator: keep freed pages for the next task. Giving them back at once and faulting them in again takes a
tenth to a fifth of a task's time (TPC-H Q18 at SF 1: 14,000 page faults a worker, and 1,000 with this)."""


def worker_environment() -> dict[str, str]:
    """The driver's environment with one thread for each library, and with a module path that nothing can shadow."""
    environment = dict(os.environ)
    for name in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_IO_THREADS"):
        environment[name] = "1"
    environment.setdefault("_RJEM_MALLOC_CONF", KEEP_FREED_MEMORY)
    environment["RUST_BACKTRACE"] = "0"  # it would be all that the end of a log holds
    environment.pop("PYTHONPATH", None)
    # Where the interpreter finds us anyway, naming the folder first would put every other package there before the
    # standard library.
    if str(_ROOT) not in _own_paths():
        environment["PYTHONPATH"] = str(_ROOT)
    environment[PATH_VARIABLE] = os.pathsep.join(entry for entry in sys.path if entry)
    return environment


def _own_paths() -> set[str]:
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    return {str(Path(path).resolve()) for path in paths}


def available_cores() -> int:
    """Cores that this process may use: its affinity, and the quota of its control group where there is one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            cores = min(cores, max(1, -(-int(quota) // int(period))))
    return cores

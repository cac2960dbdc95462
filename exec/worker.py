"""A worker process: `python -P -m exec.worker DESCRIPTOR FOLDER...`.

It reads messages from the pipe with that descriptor, runs one attempt at a time, and reports. It never imports the user's
`__main__`. A watch thread reads the pipe; when the pipe closes, however the driver ended, the thread ends the process at once,
also in the middle of a Polars query. If the driver was killed, whoever gets the lock of the engine's folders removes them.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

from exec.store.folder import remove_if_unlocked

PATH_VARIABLE = "QENGINE_USER_PATH"
"""Environment variable with the driver's module path, which comes after everything else on the worker's."""

_LOCK_TRIES = 15


def main() -> None:
    descriptor, folders = int(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(descriptor)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_watch, args=(connection, inbox, folders), daemon=True).start()
    known = set(sys.path)
    sys.path.extend(entry for entry in os.environ.get(PATH_VARIABLE, "").split(os.pathsep) if entry and entry not in known)

    from exec.worker_loop import WorkerLoop

    WorkerLoop(connection, folders).run(inbox)


def _watch(connection: Connection, inbox: queue.SimpleQueue[bytes], folders: list[Path]) -> None:
    try:
        while True:
            inbox.put(connection.recv_bytes())
    except (EOFError, OSError):
        pass
    # A killed driver's lock may be released a moment after its end of the pipe.
    for _ in range(_LOCK_TRIES):
        for folder in folders:
            remove_if_unlocked(folder)
        if not any(folder.exists() for folder in folders):
            break
        time.sleep(0.02)
    os._exit(0)


if __name__ == "__main__":
    main()

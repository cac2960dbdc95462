"""Which sessions share an engine: all of one process that ask for the same number of workers and the same column store.

An engine lives as long as the sessions attached to it; the last one to close ends its processes.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from exec.engine import Engine


@dataclass(slots=True)
class _Entry:
    engine: Engine
    sessions: int = 0


_lock = threading.Lock()
_entries: dict[tuple[int, int | None, str, int | None], _Entry] = {}


def attach(workers: int | None, cache: str, cache_memory: int | None) -> Engine:
    """The engine of this process with these settings (see `exec.engine.Engine`), opened if there is none yet."""
    key = (os.getpid(), workers, cache, cache_memory)
    with _lock:
        entry = _entries.get(key)
        if entry is None:
            entry = _entries[key] = _Entry(Engine(workers, cache=cache, cache_memory=cache_memory))
        entry.sessions += 1
        return entry.engine


def detach(engine: Engine) -> None:
    """Take back one `attach`."""
    with _lock:
        key = next(key for key, entry in _entries.items() if entry.engine is engine)
        entry = _entries[key]
        entry.sessions -= 1
        if entry.sessions:
            return
        del _entries[key]
    engine.close()

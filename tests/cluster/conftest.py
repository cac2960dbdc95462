"""Engines with real worker processes, and what must never be left of them."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from exec.engine import Engine
from exec.store.columns import FOLDER


def folders_of(process: int) -> list[Path]:
    """The folders of the engines of a process that still exist."""
    parents = [Path("/dev/shm"), Path(tempfile.gettempdir())]
    return [folder for parent in parents for folder in parent.glob(f"qengine-{os.getuid()}-{process}-*")]


def workers_of(process: int) -> list[int]:
    """The pids of the workers of a process's engines, alive or orphaned."""
    found = []
    for candidate in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(f"qengine-{os.getuid()}-{process}-" in argument for argument in candidate.cmdline()):
                found.append(candidate.pid)
    return found


def eventually(condition: Callable[[], object], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(2) as opened:
        yield opened
        kept = sorted(entry.name.split("-")[0] for entry in opened.folder.iterdir() if entry.name != FOLDER)
        assert kept == ["lock", "worker", "worker", "worker"]
    assert not opened.folder.exists()

"""The folder of an engine: where it is, how it is locked, and how leftovers disappear.

An engine has a *primary* folder, in shared memory where there is room, and a *spill* folder on disk, used when shared memory
runs out (both are one folder where there is no shared memory). Each has mode 0700 and a file `lock` held by flock for as long
as the driver lives. Only an unlocked folder of the same user is ever removed by somebody else: by the next engine
that opens, or by the last worker of a driver that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "qengine"
LOCK = "lock"
SHARED_MEMORY = Path("/dev/shm")
MINIMUM_SHARED_MEMORY = 256 << 20
"""Less free shared memory than this (containers often have 64 MB) is not worth using."""

_YOUNG = 60.0
"""Seconds during which a folder without a lock file is taken for one that is just being made."""


def free_bytes(path: str | Path) -> int:
    """Bytes that an unprivileged process may still write below `path`."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


def total_bytes(path: str | Path) -> int:
    """Bytes of the file system that `path` is on."""
    status = os.statvfs(path)
    return status.f_blocks * status.f_frsize


class EngineFolder:
    """A primary and a spill folder, locked by this process. Also removes what dead engines left behind."""

    def __init__(self, shared_memory: Path = SHARED_MEMORY, minimum: int = MINIMUM_SHARED_MEMORY) -> None:
        """Raises OSError if no folder can be made."""
        disk = Path(tempfile.gettempdir())
        usable = shared_memory.is_dir() and os.access(shared_memory, os.W_OK | os.X_OK) and free_bytes(shared_memory) >= minimum
        name = f"{PREFIX}-{os.getuid()}-{os.getpid()}-{secrets.token_hex(4)}"
        parents = [shared_memory, disk] if usable else [disk]
        for parent in parents:
            sweep(parent)
        self._locks: list[int] = []
        self.paths = [parent / name for parent in parents]
        try:
            for path in self.paths:
                path.mkdir(mode=0o700)
                self._locks.append(_lock(path))
        except OSError:
            self.remove()
            raise
        self.primary, self.spill = self.paths[0], self.paths[-1]

    def remove(self) -> None:
        """Delete everything and give up the locks. Mapped files stay readable until they are unmapped."""
        for path in self.paths:
            remove_tree(path)
        self.forget()

    def forget(self) -> None:
        """Close the lock files without unlocking for others who share them: what a forked child does."""
        while self._locks:
            os.close(self._locks.pop())


def _lock(folder: Path) -> int:
    """Make the lock file; it gets its name only when it is locked, so that nobody ever sees it free."""
    temporary = folder / f"{LOCK}.new"
    descriptor = os.open(temporary, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    temporary.rename(folder / LOCK)
    return descriptor


def sweep(parent: Path) -> None:
    """Remove the folders in `parent` whose engine is dead. What cannot be removed is left alone."""
    for folder in parent.glob(f"{PREFIX}-{os.getuid()}-*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if folder.is_dir() and not folder.is_symlink() and status.st_uid == os.getuid():
                remove_if_unlocked(folder, status.st_mtime)


def remove_if_unlocked(folder: Path, modified: float | None = None) -> None:
    """Remove a folder if no driver holds its lock. Several processes may try at once: one of them does it."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        if modified is not None and time.time() - modified > _YOUNG:
            remove_tree(folder)
        return
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    else:
        remove_tree(folder)
    finally:
        os.close(descriptor)


def remove_tree(path: Path, patience: float = 2.0) -> None:
    """Delete a folder although somebody may still be putting a last file into it. The lock file goes last.

    Gives up after `patience` seconds; whoever opens an engine later tries again.
    """
    deadline = time.monotonic() + patience
    while True:
        with contextlib.suppress(OSError):
            for entry in os.scandir(path):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                elif entry.name != LOCK:
                    os.unlink(entry.path)
            (path / LOCK).unlink(missing_ok=True)
            path.rmdir()
        if not path.exists() or time.monotonic() > deadline:
            return
        time.sleep(0.01)

"""Output files: written once, under a temporary name, then renamed; never changed, never truncated afterwards.

They are written with write(2), not through a map: a map raises SIGBUS where write gives ENOSPC. When shared memory runs out
in the middle of a file, the part that exists moves to the spill folder and the rest is written there; the writer above does
not notice.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from pathlib import Path

from exec.store.folder import free_bytes
from planner.errors import error

RESERVE = 64 << 20
"""Shared memory that is left to others: with less free, a new file starts in the spill folder."""

_BUFFER = 1 << 18
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM)


class _SpillingFile(io.RawIOBase):
    """A raw file that moves to the next folder when the present one is full."""

    def __init__(self, folders: list[Path], name: str) -> None:
        super().__init__()
        self._folders = list(folders)
        self._name = name
        self._descriptor = -1
        self._open()

    def _open(self) -> None:
        """Start a file in the next folder that has room. Raises DISK_FULL if none is left."""
        while self._folders:
            folder = self._folders.pop(0)
            self.path = folder / f"{self._name}.new"
            try:
                folder.mkdir(mode=0o700, exist_ok=True)
                self._descriptor = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
            except OSError as problem:
                if problem.errno not in NO_SPACE:
                    raise
            else:
                return
        raise error("DISK_FULL", path=str(self.path.parent))

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return os.lseek(self._descriptor, 0, os.SEEK_CUR)

    def write(self, data) -> int:  # type: ignore[no-untyped-def]
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view):
            try:
                done += self._write_some(view[done:])
            except OSError as problem:
                if problem.errno not in NO_SPACE:
                    raise
                self._move()
        return done

    def _write_some(self, data: memoryview) -> int:
        return os.write(self._descriptor, data)

    def _move(self) -> None:
        """Go on in the next folder with what has been written so far. Raises DISK_FULL if there is none with room."""
        full, source, remaining = self.path, self._descriptor, self.tell()
        try:
            self._open()
            os.lseek(source, 0, os.SEEK_SET)
            while remaining:
                piece = os.read(source, min(remaining, 1 << 22))
                remaining -= len(piece)
                self.write(piece)
        finally:
            if self._descriptor != source:
                os.close(source)
                with contextlib.suppress(FileNotFoundError):
                    full.unlink()

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


class OutputFile:
    """A file in the making. `sink` takes the bytes; `commit` gives it its name; without that it is deleted on exit."""

    def __init__(self, folders: list[Path], name: str) -> None:
        """`folders` in order of preference; they are created as needed. Raises DISK_FULL if none has room."""
        usable = [folder for folder in folders[:-1] if free_bytes(folder.parent) >= RESERVE] + folders[-1:]
        self._name = name
        self._raw = _SpillingFile(usable, name)
        self.sink = io.BufferedWriter(self._raw, _BUFFER)

    def __enter__(self) -> OutputFile:
        return self

    def commit(self) -> tuple[str, int]:
        """Write out what is buffered and rename. Returns the path and the size in bytes."""
        self.sink.flush()
        size = self._raw.tell()
        final = self._raw.path.with_name(self._name)
        self._raw.path.rename(final)
        return str(final), size

    def __exit__(self, *exception: object) -> None:
        self._raw.close()
        with contextlib.suppress(FileNotFoundError):
            self._raw.path.unlink()

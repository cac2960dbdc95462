"""The identity of a file: what a plan was made on, and what a task has to find when it opens the file."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import BinaryIO

from planner.dir import Split
from planner.errors import error

MAGIC = b"PAR1"
_TAIL = 8

_verified: dict[Split, str] = {}
"""Splits whose footer was hashed by this process; an entry is of use only while size, time and inode are the same."""


def split_of(path: str) -> Split:
    """The identity of a Parquet file. Raises FILE_NOT_FOUND, FILE_UNREADABLE, or FILE_INVALID if it is no Parquet file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe waits for a writer, and a device may never end
            raise error("FILE_UNREADABLE", path=path, detail="it is not a regular file")
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            footer = _footer(file, status.st_size, path)
    except FileNotFoundError:
        raise error("FILE_NOT_FOUND", path=path) from None
    except OSError as problem:
        raise error("FILE_UNREADABLE", path=path, detail=problem.strerror or str(problem)) from None
    return Split(path, status.st_size, status.st_mtime_ns, status.st_ino, hashlib.blake2b(footer, digest_size=16).hexdigest())


def _footer(file: BinaryIO, size: int, path: str) -> bytes:
    """The metadata at the end of a Parquet file with its length and magic number."""
    if size == 0:
        raise error("FILE_INVALID", path=path, format="Parquet", detail="it is empty")
    if size < 2 * len(MAGIC) + 4:
        raise error("FILE_INVALID", path=path, format="Parquet", detail=f"it has only {size} bytes")
    head = file.read(4)
    file.seek(size - _TAIL)
    tail = file.read(_TAIL)
    if head != MAGIC:
        raise error("FILE_INVALID", path=path, format="Parquet", detail="it does not begin with PAR1")
    if tail[4:] != MAGIC:
        raise error("FILE_INVALID", path=path, format="Parquet", detail="it is truncated: it does not end with PAR1")
    length = int.from_bytes(tail[:4], "little")
    if length > size - _TAIL - len(MAGIC):
        raise error("FILE_INVALID", path=path, format="Parquet", detail="its footer claims to be longer than the file")
    file.seek(size - _TAIL - length)
    return file.read(length + _TAIL)


def verify(split: Split) -> None:
    """Compare a file with the identity that the plan names. Raises FILE_CHANGED, also if it is gone."""
    try:
        status = os.stat(split.path)
    except FileNotFoundError:
        raise error("FILE_CHANGED", path=split.path) from None
    if (status.st_size, status.st_mtime_ns, status.st_ino) != (split.size, split.mtime_ns, split.inode):
        raise error("FILE_CHANGED", path=split.path)
    if split.footer and split not in _verified:
        if split_of(split.path) != split:
            raise error("FILE_CHANGED", path=split.path)
        if len(_verified) > 4096:
            _verified.clear()
        _verified[split] = split.footer

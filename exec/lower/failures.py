"""Whatever is thrown while a plan runs, as one of our errors."""

from __future__ import annotations

import errno
import re
from collections.abc import Collection

import polars as pl

from exec.kernels.failure import KernelFailure
from planner.errors import QEngineError, error

_CONVERSION = re.compile(
    r"conversion from `(?P<source>[^`]+)` to `(?P<target>[^`]+)` failed in column .*? values: \[(?P<values>.*)\]", re.S
)
_SQL_NAMES = {
    "i8": "TINYINT", "i16": "SMALLINT", "i32": "INTEGER", "i64": "BIGINT", "u8": "UTINYINT", "u16": "USMALLINT",
    "u32": "UINTEGER", "u64": "UBIGINT", "f32": "REAL", "f64": "DOUBLE", "str": "VARCHAR", "date": "DATE",
    "i128": "DECIMAL(38)", "bool": "BOOLEAN",
}  # fmt: skip
_FILE_PROBLEM = re.compile(r"parquet|thrift|out-?of-?spec|magic|footer|corrupt|decompress|snappy|zstd|gzip|page", re.I)


FOREIGN = (OSError, MemoryError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What Polars and pyarrow raise of their own, often without saying which file they were reading."""


def translate(exception: BaseException, files: Collection[str] = ()) -> QEngineError:
    """The typed error of an exception; KeyboardInterrupt and the like are the caller's to let through.

    `files` are those that were being read: they are named where the exception names none. Errors of ours come back as new
    objects, without the traceback of the place where they were raised.
    """
    if isinstance(exception, KernelFailure):
        return exception.error
    if isinstance(exception, QEngineError):
        again = type(exception).__new__(type(exception))
        QEngineError.__init__(again, exception.message, code=exception.code, position=exception.position)
        return again
    # What Polars adds below, such as its plan, says nothing about the reason.
    text = re.split(r"\n\n(?:This error occurred|Resolved plan until failure)", str(exception))[0].strip()
    if isinstance(exception, MemoryError) or "memory allocation" in text or "capacity overflow" in text:
        reading = f"; it was reading {_path(text, files)!r}" if files else ""
        return error("OUT_OF_MEMORY", detail=(_line(text) or "an allocation failed") + reading)
    if isinstance(exception, OSError) and not isinstance(exception, pl.exceptions.PolarsError):
        return _of_file(exception, text, files)
    if isinstance(exception, (pl.exceptions.InvalidOperationError, pl.exceptions.ComputeError)):
        found = _of_value(text)
        if found is not None:
            return found
    if isinstance(exception, pl.exceptions.PolarsError) and _FILE_PROBLEM.search(text):
        return error("FILE_INVALID", path=_path(text, files), format="Parquet", detail=_line(text))
    if isinstance(exception, pl.exceptions.PanicException) and _FILE_PROBLEM.search(text):
        return error("FILE_INVALID", path=_path(text, files), format="Parquet", detail="the reader failed on it")
    return error("INTERNAL", detail=f"{type(exception).__name__}: {_line(text)}")


def _of_value(text: str) -> QEngineError | None:
    if "overflow in decimal" in text or "doesn't fit Decimal" in text:
        return error("OVERFLOW", dtype="DECIMAL(38)")
    if text.startswith("cannot advance"):
        return error("OVERFLOW", dtype="TIMESTAMP")
    conversion = _CONVERSION.search(text)
    if conversion is None:
        return None
    target = _SQL_NAMES.get(conversion["target"], conversion["target"].upper())
    if conversion["source"].startswith(("i", "u", "decimal")):
        return error("OVERFLOW", dtype=target)
    return error("CAST_FAILED", value=conversion["values"].split(",")[0].strip(), dtype=target)


def _of_file(exception: OSError, text: str, files: Collection[str]) -> QEngineError:
    path = exception.filename or _path(text, files)
    if isinstance(exception, FileNotFoundError):
        return error("FILE_NOT_FOUND", path=path)
    if exception.errno == errno.ENOSPC:
        return error("DISK_FULL", path=path)
    if exception.errno == errno.ENOMEM:
        return error("OUT_OF_MEMORY", detail=_line(text))
    if _FILE_PROBLEM.search(text):
        return error("FILE_INVALID", path=path, format="Parquet", detail=_line(text))
    return error("FILE_UNREADABLE", path=path, detail=_line(exception.strerror or text))


def _path(text: str, files: Collection[str]) -> str:
    named = [path for path in files if path in text]
    if named:
        return max(named, key=len)
    if not files:
        found = re.search(r"(/[^\s:'\"]+)", text)
        return found[1] if found else "a file"
    first = min(files)
    return first if len(files) == 1 else f"{first} or another of {len(files)} files"


def _line(text: str) -> str:
    """The first line, not too long."""
    line = text.split("\n", maxsplit=1)[0].strip()
    return line if len(line) <= 200 else line[:197] + "..."

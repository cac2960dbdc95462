"""The generator, tpchgen-cli, as one function: write tables of some scale factor into a folder.

How a table is stored is one value, `Storage`. The sizes of its files can be estimated before: that is what progress is
measured by, and whether the disk has room.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from tpch.errors import TpchError

FORMATS = ("parquet", "csv")

# What the generator calls them, with the usual level of each codec.
COMPRESSIONS = {
    "snappy": "SNAPPY",
    "zstd": "ZSTD(3)",
    "gzip": "GZIP(6)",
    "brotli": "BROTLI(1)",
    "lz4": "LZ4_RAW",
    "none": "UNCOMPRESSED",
}

# Bytes at scale factor 1 in Parquet with Snappy, and how other ways of storing compare (measured at SF 0.1 to 10, rounded up).
_BYTES_AT_SF1 = {
    "customer": 14_000_000,
    "lineitem": 256_000_000,
    "orders": 68_000_000,
    "part": 7_000_000,
    "partsupp": 48_000_000,
    "supplier": 1_000_000,
}
_FIXED_BYTES = {"nation": 4_000, "region": 2_000}
_SIZE_OF_COMPRESSION = {"snappy": 1.0, "zstd": 0.8, "gzip": 0.75, "brotli": 0.85, "lz4": 1.05, "none": 1.95}
_SIZE_OF_CSV = 2.9

_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Storage:
    """How the tables are stored: each in one file, or in `parts` files (the two smallest tables always in one).

    `compression` is a name of COMPRESSIONS, `row_group_bytes` the approximate size of a row group before it is compressed;
    both are None for CSV, which has neither.
    """

    format: str = "parquet"
    compression: str | None = "snappy"
    row_group_bytes: int | None = 7 * 1024**2
    parts: int = 1


def estimated_bytes(table: str, scale_factor: Decimal, storage: Storage) -> int:
    """About how large the files of a table will be; rather too large than too small."""
    fixed = _FIXED_BYTES.get(table)
    size = float(fixed if fixed is not None else _BYTES_AT_SF1[table] * scale_factor)
    factor = _SIZE_OF_CSV if storage.compression is None else _SIZE_OF_COMPRESSION[storage.compression]
    return int(size * factor)


def part_count(table: str, storage: Storage) -> int:
    """How many files a table has."""
    return 1 if table in _FIXED_BYTES else storage.parts


def write_tables(
    tables: Sequence[str],
    scale_factor: str,
    storage: Storage,
    folder: Path,
    watch: Callable[[], None],
    inherit: Sequence[int] = (),
) -> None:
    """Write the file of each table, or the folder of its parts, into `folder`, largest tables first.

    A file is called `*.inprogress` until it is complete. `watch` is called from time to time meanwhile; the file descriptors
    `inherit` stay open for as long as the generator runs, whatever happens to this process.

    Raises TpchError: tpchgen-cli is not installed, or it fails, for example because the disk is full.
    """
    process = subprocess.Popen(
        _command(tables, scale_factor, storage, folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=inherit,
    )
    try:
        errors = None
        while errors is None:
            try:
                _, errors = process.communicate(timeout=_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                watch()
    except BaseException:
        process.kill()
        process.communicate()
        raise
    if process.returncode != 0:
        if process.returncode == -signal.SIGXFSZ:
            raise TpchError("a table is larger than files may be here: raise the limit (ulimit -f) and repeat the command")
        lines = errors.strip().splitlines()
        reason = lines[-1] if lines else _ending(process.returncode)
        if "No space left" in reason or "quota exceeded" in reason:
            raise TpchError("the disk became full while the tables were written: make room and repeat the command")
        raise TpchError(f"tpchgen-cli failed: {reason}")


def _ending(status: int) -> str:
    return f"it was ended by signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def _command(tables: Sequence[str], scale_factor: str, storage: Storage, folder: Path) -> list[str]:
    command = [_program(), storage.format, "--quiet", "--scale-factor", scale_factor]
    command += ["--tables", ",".join(tables), "--output-dir", str(folder)]
    if storage.compression is not None:
        command += ["--compression", COMPRESSIONS[storage.compression]]
    if storage.row_group_bytes is not None:
        command += ["--row-group-bytes", str(storage.row_group_bytes)]
    if storage.parts > 1:
        command += ["--parts", str(storage.parts)]
    return command


def _program() -> str:
    # Installed beside this interpreter first: the virtual environment need not be activated.
    beside = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts"))
    found = beside or shutil.which("tpchgen-cli")
    if found is None:
        raise TpchError("tpchgen-cli is not installed: pip install 'qengine[tpch]'")
    return found

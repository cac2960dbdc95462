"""The eight TPC-H tables as Parquet files, made by tpchgen-cli with its default Parquet settings.

A folder of data is either complete or not there. The generator writes into a partial folder beside the wanted one, the
row counts are compared with those of the specification, and only then is the folder renamed. So an interrupted
generation is never taken for a finished one, and what is there is never generated again.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path

from tpch.errors import TpchError

# Clause 4.2.5: rows at scale factor 1. Those of nation and region are the same at every scale factor.
_ROWS_AT_SF1 = {
    "customer": 150_000,
    "orders": 1_500_000,
    "part": 200_000,
    "partsupp": 800_000,
    "supplier": 10_000,
}
_FIXED_ROWS = {"nation": 25, "region": 5}
# An order has one to seven lines at random, so this count has no formula: the specification lists it.
_LINEITEM_ROWS = {
    Decimal("0.01"): 60_175,
    Decimal("0.1"): 600_572,
    Decimal(1): 6_001_215,
    Decimal(10): 59_986_052,
    Decimal(30): 179_998_372,
    Decimal(100): 600_037_902,
    Decimal(300): 1_799_989_091,
    Decimal(1000): 5_999_989_709,
}

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


def parse_scale_factor(text: str) -> Decimal:
    """`text` as a scale factor between 0.001 and 100,000.

    Raises ValueError: not a number, or out of range.
    """
    try:
        scale_factor = Decimal(text)
    except ArithmeticError:
        scale_factor = Decimal("nan")
    if not scale_factor.is_finite():
        raise ValueError(f"a scale factor is a number such as 1 or 0.1, not {text!r}")
    if not Decimal("0.001") <= scale_factor <= 100_000:
        raise ValueError(f"a scale factor lies between 0.001 and 100000, not at {text}")
    return scale_factor


def format_scale_factor(scale_factor: Decimal) -> str:
    """The shortest plain text of a scale factor: `1`, `0.1`, `100`."""
    return f"{scale_factor.normalize():f}"


def table_path(folder: Path, table: str) -> Path:
    """Where the file of a table is in a folder of data."""
    return folder / f"{table}.parquet"


def expected_rows(scale_factor: Decimal) -> dict[str, int | None]:
    """Rows of each table by the specification; None for lineitem where the specification does not list it."""
    rows: dict[str, int | None] = {
        table: int((count * scale_factor).to_integral_value(ROUND_FLOOR)) for table, count in _ROWS_AT_SF1.items()
    }
    rows |= _FIXED_ROWS
    rows["lineitem"] = _LINEITEM_ROWS.get(scale_factor)
    return rows


def verify(folder: Path, scale_factor: Decimal) -> None:
    """Raise TpchError unless `folder` holds all eight tables with the row counts of the specification."""
    import pyarrow
    import pyarrow.parquet

    remedy = "remove the folder and generate it again, or choose another one"
    actual: dict[str, int] = {}
    for table in TABLES:
        path = table_path(folder, table)
        try:
            actual[table] = pyarrow.parquet.read_metadata(path).num_rows
        except FileNotFoundError:
            raise TpchError(f"{path} is missing: {remedy}") from None
        except (OSError, pyarrow.ArrowException) as error:
            raise TpchError(f"{path} cannot be read ({_first_line(error)}): {remedy}") from None
    label = format_scale_factor(scale_factor)
    for table, rows in expected_rows(scale_factor).items():
        if rows is not None and actual[table] != rows:
            path = table_path(folder, table)
            raise TpchError(f"{path} has {actual[table]} rows, not the {rows} of scale factor {label}: {remedy}")
    if not actual["orders"] <= actual["lineitem"] <= 7 * actual["orders"]:
        raise TpchError(f"{table_path(folder, 'lineitem')} has no 1 to 7 lines for each order: {remedy}")


def generate(folder: Path, scale_factor: Decimal) -> bool:
    """Make the data of `scale_factor` in `folder` unless it is there; True if it had to be made.

    Raises TpchError: `folder` holds something else, tpchgen-cli is not installed or fails, or the row counts are wrong.
    """
    if _is_filled(folder):
        verify(folder, scale_factor)
        return False
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.parent):
            if _is_filled(folder):  # another process made it while this one waited
                verify(folder, scale_factor)
                return False
            partial = folder.parent / f".{folder.name}.partial"
            _remove(partial)  # left by a generation that was killed
            try:
                _run_generator(partial, scale_factor)
                verify(partial, scale_factor)
                partial.rename(folder)
            finally:
                _remove(partial)
    except OSError as error:
        raise TpchError(f"cannot generate into {folder}: {error.strerror or error}") from None
    return True


def _is_filled(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        raise TpchError(f"{folder} is a file: choose a folder for the data") from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One generation at a time below `folder`; the lock is on the folder itself, so it leaves no file behind."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _run_generator(folder: Path, scale_factor: Decimal) -> None:
    command = [
        _generator(),
        "parquet",
        "--scale-factor",
        format_scale_factor(scale_factor),
        "--output-dir",
        str(folder),
    ]
    # On a terminal the generator shows its own progress bars on standard error.
    shows_progress = sys.stderr.isatty()
    if not shows_progress:
        command.append("--quiet")
    completed = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=None if shows_progress else subprocess.PIPE,
        text=True,
        check=False,
    )
    if completed.returncode != 0:
        lines = (completed.stderr or "").strip().splitlines()
        reason = lines[-1] if lines else f"exit status {completed.returncode}"
        raise TpchError(f"tpchgen-cli failed: {reason}")


def _generator() -> str:
    # Installed beside this interpreter first: the virtual environment need not be activated.
    beside = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts"))
    found = beside or shutil.which("tpchgen-cli")
    if found is None:
        raise TpchError("tpchgen-cli is not installed: pip install 'qengine[tpch]'")
    return found


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]

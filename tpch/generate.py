"""The eight TPC-H tables as files, Parquet or CSV, each table in one file or in several parts.

A folder of data is either complete or not there. The tables are written into a partial folder beside the wanted one, and when
all have the rows that the specification demands, that folder is renamed. So an interrupted generation is never taken for a
finished one. The next one keeps its complete tables and writes the others; what is there is never generated again.

`generation.json` in the folder says what was asked for. A folder without it has the default storage.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

from tpch.errors import TpchError
from tpch.generation_display import SILENT, Display, format_bytes
from tpch.generator import FORMATS, Storage, estimated_bytes, part_count, write_tables

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

DEFAULT_STORAGE = Storage()

_RECORD = "generation.json"
_REMEDY = "remove the folder and generate it again, or choose another one"


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


def table_files(folder: Path, table: str) -> list[Path]:
    """The files of a table in a folder of data, in the order of its rows; all of them end in `.parquet`, or in `.csv`.

    Raises TpchError: the table is not there.
    """
    for ending in FORMATS:
        whole = folder / f"{table}.{ending}"
        if whole.is_file():
            return [whole]
        parts = list((folder / table).glob(f"{table}.*.{ending}"))
        if parts:
            return sorted(parts, key=lambda path: int(path.name.split(".")[1]))
    raise TpchError(f"{folder / table}.parquet is missing: {_REMEDY}")


def data_format(folder: Path) -> str:
    """`parquet` or `csv`: how the tables in a folder of data are stored.

    Raises TpchError: there are no tables.
    """
    return table_files(folder, "lineitem")[0].suffix.removeprefix(".")


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
    for table in TABLES:
        _verify_table(folder, table, scale_factor)


def generate(folder: Path, scale_factor: Decimal, storage: Storage = DEFAULT_STORAGE, show: Display = SILENT) -> bool:
    """Make the data of `scale_factor` in `folder` unless it is there; True if it had to be made.

    Raises TpchError: `folder` holds something else, or what was generated with other options; there is not enough room on
    the disk; tpchgen-cli is not installed or fails; or the row counts are wrong.
    """
    asked = _record(scale_factor, storage)
    if _is_there(folder, scale_factor, asked):
        return False
    try:
        target = folder.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target.parent, show) as lock:
            if _is_there(folder, scale_factor, asked):  # another process made it while this one waited
                return False
            partial = target.parent / f".{target.name}.partial"
            _prepare(partial, asked)
            try:
                _write_missing(partial, scale_factor, storage, show, lock)
            except BaseException:
                if any(_is_complete(partial, table, scale_factor, storage) for table in TABLES):
                    show.note("the tables that are complete are kept: the same command makes the others")
                else:
                    _remove(partial)
                raise
            partial.rename(target)
    except OSError as error:
        raise TpchError(f"cannot generate into {folder}: {error.strerror or error}") from None
    return True


def _record(scale_factor: Decimal, storage: Storage) -> dict[str, Any]:
    return {"sf": format_scale_factor(scale_factor), **asdict(storage)}


def _is_there(folder: Path, scale_factor: Decimal, asked: dict[str, Any]) -> bool:
    """Whether the data is in `folder`, complete and as it is asked for; nothing else may be there."""
    try:
        if not any(folder.iterdir()):
            return False
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        raise TpchError(f"{folder} is a file: choose a folder for the data") from None
    made = _read_record(folder)
    if made is None:
        made = _record(scale_factor, DEFAULT_STORAGE)
    _refuse_differences(made, asked, f"{folder} was generated", "choose another folder")
    verify(folder, scale_factor)
    return True


def _prepare(partial: Path, asked: dict[str, Any]) -> None:
    """Make `partial` a folder that holds the record of what is asked for, and complete tables of it if anything."""
    made = _read_record(partial)
    if made is None:
        _remove(partial)
        partial.mkdir()
        (partial / _RECORD).write_text(json.dumps(asked, indent=1) + "\n", encoding="utf-8")
        return
    what = f"an interrupted generation in {partial} was started"
    _refuse_differences(made, asked, what, "complete it with the same options, or remove that folder")


def _read_record(folder: Path) -> dict[str, Any] | None:
    """What was asked for when `folder` was generated; None if it does not say."""
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def _refuse_differences(made: dict[str, Any], asked: dict[str, Any], what: str, remedy: str) -> None:
    # What only one of the two has, as CSV has no compression, follows from another difference.
    names = [name for name, value in asked.items() if None not in (value, made.get(name)) and value != made[name]]
    if names:
        before, now = (" ".join(f"{flag(name)} {record[name]}" for name in names) for record in (made, asked))
        raise TpchError(f"{what} with {before}, not {now}: {remedy}")


def flag(name: str) -> str:
    """The option of the command line that an option of a generation is called: `--row-group-bytes`."""
    return f"--{name.replace('_', '-')}"


def _write_missing(partial: Path, scale_factor: Decimal, storage: Storage, show: Display, lock: int) -> None:
    """Write the tables that are not complete in `partial`, and verify each as soon as all of its files are there."""
    missing = [table for table in TABLES if not _is_complete(partial, table, scale_factor, storage)]
    for table in missing:
        for path in (partial / table, *partial.glob(f"{table}.*")):
            _remove(path)
    needed = sum(estimated_bytes(table, scale_factor, storage) for table in missing)
    free = shutil.disk_usage(partial).free
    if needed > free:
        raise TpchError(f"no room for the data: it takes about {format_bytes(needed)}, and {format_bytes(free)} are free")
    show.start(len(missing), needed)
    unverified = list(missing)

    def watch(finished: bool = False) -> None:
        show.advance(sum(_size(partial, table) for table in missing))
        for table in list(unverified):
            if finished or _has_all_files(partial, table, storage):
                rows = _verify_table(partial, table, scale_factor)
                unverified.remove(table)
                show.finish(table, rows, _size(partial, table))

    if missing:
        write_tables(missing, format_scale_factor(scale_factor), storage, partial, watch, inherit=(lock,))
        watch(finished=True)


def _is_complete(partial: Path, table: str, scale_factor: Decimal, storage: Storage) -> bool:
    if not _has_all_files(partial, table, storage):
        return False
    try:
        _verify_table(partial, table, scale_factor)
    except TpchError:  # as after a power cut
        return False
    return True


def _has_all_files(partial: Path, table: str, storage: Storage) -> bool:
    if storage.parts == 1:
        return (partial / f"{table}.{storage.format}").is_file()
    return len(list((partial / table).glob(f"{table}.*.{storage.format}"))) == part_count(table, storage)


def _size(partial: Path, table: str) -> int:
    """Bytes of the files of a table, also of those that are being written."""
    size = 0
    for path in (*partial.glob(f"{table}.*"), *(partial / table).glob("*")):
        with suppress(FileNotFoundError):  # it may be renamed at any time
            size += path.stat().st_size
    return size


def _verify_table(folder: Path, table: str, scale_factor: Decimal) -> int:
    """The rows of a table in `folder`. Raises TpchError unless they are as many as the specification says."""
    files = table_files(folder, table)
    rows = sum(_count_rows(path) for path in files)
    expected = expected_rows(scale_factor)[table]
    where = files[0] if len(files) == 1 else files[0].parent
    if expected is not None and rows != expected:
        label = format_scale_factor(scale_factor)
        raise TpchError(f"{where} has {rows} rows, not the {expected} of scale factor {label}: {_REMEDY}")
    if expected is None:
        orders = expected_rows(scale_factor)["orders"] or 0
        if not orders <= rows <= 7 * orders:
            raise TpchError(f"{where} has {rows} rows, not 1 to 7 lines for each order: {_REMEDY}")
    return rows


def _count_rows(path: Path) -> int:
    if path.suffix == ".csv":
        return _count_lines(path) - 1
    import pyarrow
    import pyarrow.parquet

    try:
        rows: int = pyarrow.parquet.read_metadata(path).num_rows
    except (OSError, pyarrow.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TpchError(f"{path} cannot be read ({reason}): {_REMEDY}") from None
    return rows


def _count_lines(path: Path) -> int:
    """Lines of a text file. No value of TPC-H has a line break in it."""
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


@contextmanager
def _locked(folder: Path, show: Display) -> Iterator[int]:
    """One generation at a time below `folder`, until the descriptor given and all that are inherited from it are closed.

    The lock is on the folder itself, so it leaves no file behind.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            show.note(f"waiting for another generation below {folder}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

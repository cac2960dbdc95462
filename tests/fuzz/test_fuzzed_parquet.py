"""Parquet files that are nearly right, and files that are none: an answer or a QEngineError that names the file, soon.

The session goes on and nothing is left behind. 150 mutations in every run, four thousand in the long suite.
"""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import qengine
from qengine.errors import QEngineError
from tests.cluster.conftest import eventually, folders_of, workers_of
from tests.fuzz.parquet_mutations import FOREIGN, ROWS, footer_start, mutated, originals

pytestmark = pytest.mark.cluster

SAMPLE, ALL, BLOCK = 150, 4000, 50
SECONDS = 20.0
"""A file may cost a few workers, or the time that a reader has for it."""

OF_FILES = {"FILE_INVALID", "FILE_UNREADABLE", "FILE_TYPE_UNSUPPORTED", "FILE_NOT_FOUND", "WORKER_LOST", "OUT_OF_MEMORY"}
OF_CONTENTS = {"UNKNOWN_COLUMN", "TYPE_MISMATCH", "OVERFLOW"}
"""What a file with other columns, types or values than expected leads to."""

EVERYTHING = "SELECT * FROM '{path}'"
AGGREGATES = (
    "SELECT count(*) AS n, count(k) AS k, sum(k) AS total, max(s) AS s, min(u) AS u, sum(d) AS d, max(t) AS t FROM '{path}'"
)


@pytest.fixture(scope="module")
def session() -> Iterator[qengine.Session]:
    with qengine.Session(workers=2) as opened:
        opened.register("t", pa.table({"x": [1]}))
        yield opened
        folder = opened._engine.folder
        assert eventually(lambda: not list(folder.glob("q*")))
    assert eventually(lambda: not workers_of(os.getpid()) and not folders_of(os.getpid()))


def ask(session: qengine.Session, text: str, path: Path) -> pa.Table | str:
    """The rows, or the code of an error that says what it has to."""
    started = time.monotonic()
    try:
        return session.sql(text.format(path=path)).collect()
    except QEngineError as raised:
        assert raised.code in OF_FILES | OF_CONTENTS, str(raised)
        assert raised.code in OF_CONTENTS or path.name in str(raised), str(raised)
        assert "panicked" not in str(raised) and "Traceback" not in str(raised) and len(str(raised)) < 1000
        return raised.code
    finally:
        assert time.monotonic() - started < SECONDS


def check_usable(session: qengine.Session) -> None:
    assert session.sql("SELECT x FROM t").collect().to_pylist() == [{"x": 1}]


def check_alike(rows: pa.Table, aggregates: pa.Table) -> None:
    """Whatever the bytes say, all queries read the same out of them."""
    expected = [rows.num_rows, rows.num_rows - rows["k"].null_count, pc.sum(rows["k"]), pc.max(rows["s"]), pc.min(rows["u"])]
    found = aggregates.select(["n", "k", "total", "s", "u"])
    assert found.num_rows == 1
    assert [column[0].as_py() for column in found] == [getattr(value, "as_py", lambda v=value: v)() for value in expected]


@pytest.mark.parametrize("content", originals())
def test_the_files_are_right_before_they_are_mutated(session, tmp_path, content):
    path = tmp_path / "original.parquet"
    path.write_bytes(content)
    found = ask(session, EVERYTHING, path)
    assert isinstance(found, pa.Table) and found.num_rows == ROWS
    assert found.select(["k", "s"]).equals(pq.read_table(path, columns=["k", "s"]).cast(found.select(["k", "s"]).schema))


@pytest.mark.parametrize(
    "first",
    [*range(0, SAMPLE, BLOCK), *(pytest.param(first, marks=pytest.mark.slow) for first in range(SAMPLE, ALL, BLOCK))],
)
def test_fuzzed_parquet(session, tmp_path, first):
    found: Counter[str] = Counter()
    for seed in range(first, first + BLOCK):
        path = tmp_path / f"{seed}.parquet"
        path.write_bytes(mutated(seed))
        rows, aggregates = ask(session, EVERYTHING, path), ask(session, AGGREGATES, path)
        found.update(outcome if isinstance(outcome, str) else "OK" for outcome in (rows, aggregates))
        if isinstance(rows, pa.Table) and isinstance(aggregates, pa.Table):
            check_alike(rows, aggregates)
        check_usable(session)
    # Files that all fail alike test nothing.
    assert found["OK"] > 0.1 * BLOCK and found["FILE_INVALID"] > 0.1 * BLOCK, found


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_kinds(session, tmp_path, name):
    path = tmp_path / "foreign.parquet"
    path.write_bytes(FOREIGN[name])
    assert ask(session, EVERYTHING, path) == "FILE_INVALID"
    check_usable(session)


@pytest.mark.parametrize("seed", [4386, 4502, 4745])
def test_a_panic_of_the_reader_is_not_the_end_of_the_rows(session, tmp_path, seed):
    """When these files were first seen, they looked empty."""
    path = tmp_path / f"{seed}.parquet"
    path.write_bytes(mutated(seed))
    for text in (EVERYTHING, AGGREGATES, "SELECT u, w FROM '{path}'", "SELECT f FROM '{path}'"):
        outcome = ask(session, text, path)
        assert isinstance(outcome, str) or outcome.num_rows in (1, ROWS)


def test_truncation_at_every_interesting_place(session, tmp_path):
    content = originals()[0]
    footer = footer_start(content)
    for size in (
        1,
        3,
        4,
        5,
        8,
        11,
        12,
        13,
        100,
        footer - 1,
        footer,
        footer + 1,
        len(content) - 8,
        len(content) - 5,
        len(content) - 1,
    ):
        path = tmp_path / f"{size}.parquet"
        path.write_bytes(content[:size])
        assert ask(session, EVERYTHING, path) == "FILE_INVALID", size
    check_usable(session)


def _folder(path: Path) -> None:
    path.mkdir()


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _two_loops(path: Path) -> None:
    other = path.with_suffix(".other")
    path.symlink_to(other)
    other.symlink_to(path)


def _to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(path.parent / target)


@pytest.mark.parametrize(("make", "codes"), [
    (_folder, {"FILE_NOT_FOUND"}), (os.mkfifo, {"FILE_UNREADABLE"}), (_socket, {"FILE_UNREADABLE"}),
    (_loop, {"FILE_UNREADABLE", "FILE_NOT_FOUND"}), (_two_loops, {"FILE_UNREADABLE", "FILE_NOT_FOUND"}),
    (_to("/dev/zero"), {"FILE_UNREADABLE"}), (_to("/dev/null"), {"FILE_UNREADABLE"}), (_to("gone"), {"FILE_NOT_FOUND"}),
], ids=["folder", "pipe", "socket", "loop", "two loops", "zeros", "nothing", "dangling"])  # fmt: skip
def test_what_is_no_regular_file(session, tmp_path, make, codes):
    """A pipe has nobody who writes and a device has no end: neither is opened."""
    path = tmp_path / "odd.parquet"
    make(path)
    started = time.monotonic()
    assert ask(session, EVERYTHING, path) in codes
    assert time.monotonic() - started < 2
    check_usable(session)


def test_a_folder_that_holds_odd_things(session, tmp_path):
    """Loops of links are not followed for ever, and only the files of the pattern are read."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "1.parquet").write_bytes(originals()[0])
    (tmp_path / "data" / "again").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "note.txt").write_text("not Parquet")
    started = time.monotonic()
    outcome = ask(session, "SELECT count(*) AS n FROM '{path}'", tmp_path / "data")
    assert not isinstance(outcome, str) and outcome["n"][0].as_py() >= ROWS
    assert time.monotonic() - started < 5


@pytest.mark.skipif(os.getuid() == 0, reason="everything is permitted to the superuser")
def test_a_file_that_may_not_be_read(session, tmp_path):
    path = tmp_path / "secret.parquet"
    path.write_bytes(originals()[0])
    path.chmod(0)
    assert ask(session, EVERYTHING, path) == "FILE_UNREADABLE"
    check_usable(session)

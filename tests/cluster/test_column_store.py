"""The column store with real workers: answers come from it, stay right when files change or lie, and nothing of it is left."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from exec.attempts import Attempt
from exec.engine import Engine
from qengine.errors import QEngineError
from tests.cluster.conftest import eventually, workers_of

pytestmark = pytest.mark.cluster
ROWS = 10_000
TEXT = "SELECT count(*) AS n, sum(a) AS s, min(name) AS m FROM '{path}' WHERE name <> 'name 3'"


def table(first: int = 0) -> pa.Table:
    numbers = range(first, first + ROWS)
    return pa.table({"a": pa.array(numbers, pa.int64()), "name": [f"name {n % 7}" for n in numbers]})


def answer(first: int = 0) -> list[dict[str, object]]:
    kept = [n for n in range(first, first + ROWS) if n % 7 != 3]
    return [{"n": len(kept), "s": sum(kept), "m": "name 0"}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pq.write_table(table(), tmp_path / "t.parquet", row_group_size=3000)
    return tmp_path / "t.parquet"


def overwrite_pages(path: Path) -> None:
    """Make the rows of a file unreadable without changing what identifies it: size, time, inode and footer."""
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(4)
        file.write(b"\xff" * (pq.read_metadata(path).row_group(2).column(0).data_page_offset - 4))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_what_is_scanned_again_is_not_read_again(path):
    with qengine.Session(workers=2, inline="off") as session:
        query = session.sql(TEXT.format(path=path))
        for _ in range(2):
            assert query.collect().to_pylist() == answer()
        session._engine.columns.wait()
        assert session._engine.columns.bytes > 0
        overwrite_pages(path)
        assert query.collect().to_pylist() == answer()
    with qengine.Session(workers=2, inline="off", cache="off") as session, pytest.raises(QEngineError):
        session.sql(TEXT.format(path=path)).collect()


@pytest.mark.parametrize("cache", ["auto", "eager"])
def test_a_file_that_is_replaced(path, cache):
    with qengine.Session(workers=2, inline="off", cache=cache) as session:
        query = session.sql(TEXT.format(path=path))
        for first in (0, 10, 20):
            pq.write_table(table(first), path.with_suffix(".new"))
            os.replace(path.with_suffix(".new"), path)
            for _ in range(3):
                assert query.collect().to_pylist() == answer(first)
                session._engine.columns.wait()


def test_a_footer_that_lies(path):
    """The claim is found out when it is compared with the stored bounds, and the query planned again without it."""
    data = path.read_bytes()
    least, greatest = (ROWS - 1000).to_bytes(8, "little"), (ROWS - 1).to_bytes(8, "little")
    assert greatest in data[-3000:]
    lie = (5).to_bytes(8, "little")
    path.write_bytes(data[:-3000] + data[-3000:].replace(greatest, lie).replace(least, (0).to_bytes(8, "little")))
    for cache in ("off", "eager"):
        with qengine.Session(workers=2, inline="off", cache=cache) as session:
            assert session.sql(TEXT.format(path=path)).collect().to_pylist() == answer()


def test_a_limit_of_nothing_keeps_nothing(path):
    with qengine.Session(workers=2, inline="off", cache="eager", cache_memory=0) as session:
        assert session.sql(TEXT.format(path=path)).collect().to_pylist() == answer()
        assert session._engine.columns.bytes == 0
        assert not (session._engine.folder / "columns").exists()


@dataclass
class KillNumber:
    """Kills the worker of the attempts with these numbers, counted from 1."""

    numbers: frozenset[int]
    seen: int = 0

    def on_started(self, attempt: Attempt) -> bool:
        self.seen += 1
        return self.seen in self.numbers

    def on_lost(self, attempt: Attempt) -> None:
        pass


def test_a_worker_that_is_killed_while_it_fills(path):
    """Attempt 1 opens the file, 2 to 4 fill the first column: once more after a kill, given up after two."""
    for numbers, columns in ((frozenset({2}), 2), (frozenset({2, 3}), 1)):
        engine = Engine(2, cache="eager", faults=KillNumber(numbers))
        with engine, qengine.Session(engine=engine, inline="off", sampling="off") as session:
            assert session.sql(TEXT.format(path=path)).collect().to_pylist() == answer()
            assert len(list((engine.folder / "columns").iterdir())) == columns
            assert engine.statistics.workers_lost == len(numbers)


def test_a_file_is_not_waited_for_when_its_worker_has_stopped(path, monkeypatch):
    """The time of a call counts from when it is sent; then the worker that does not answer is replaced. Two are stopped."""
    monkeypatch.setattr(Engine.call, "__kwdefaults__", {"timeout": 0.5, "subject": None})
    with Engine(1) as engine, qengine.Session(engine=engine, inline="off") as session:
        assert eventually(lambda: len(workers_of(os.getpid())) == 2)
        assert session.sql("SELECT 1 AS one").collect().num_rows == 1
        for worker in workers_of(os.getpid()):
            os.kill(worker, signal.SIGSTOP)
        failed = 0
        while failed < 3:
            try:
                session.read_parquet(path)
            except QEngineError as problem:
                assert problem.code == "FILE_UNREADABLE"
                failed += 1
            else:
                break
        assert 1 <= failed <= 2
        assert session.sql(TEXT.format(path=path)).collect().to_pylist() == answer()


def test_an_engine_that_is_closed_while_it_fills(path):
    for _ in range(5):
        with qengine.Session(workers=1, inline="off") as session:
            query = session.sql(TEXT.format(path=path))
            query.collect()
            query.collect()
            folder = session._engine.folder
        assert not folder.exists()

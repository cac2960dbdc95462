"""A file that is replaced while a query runs costs a second plan, and never gives rows of both contents."""

from __future__ import annotations

import os
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import exec.sources.parquet as scans
import qengine
from exec.backends.inline import execute_inline
from planner.physical.cut_stages import cut_stages
from qengine.errors import FileChanged, QEngineError

pytestmark = pytest.mark.cluster


def replace_with(path, rows: int, value: int) -> None:
    """`rows` rows of `value`, put in the place of the file in one step, as careful writers do."""
    new = path.with_suffix(".new")
    pq.write_table(pa.table({"a": pa.array([value] * rows, pa.int64())}), new)
    os.replace(new, path)


def test_a_file_replaced_after_it_was_looked_at(tmp_path, monkeypatch):
    path = tmp_path / "q.parquet"
    replace_with(path, 1000, 1)
    looked = []

    def verify(split):
        original(split)
        looked.append(split)
        if len(looked) == 1:
            replace_with(path, 2000, 2)

    original = scans.verify
    monkeypatch.setattr(scans, "verify", verify)
    with qengine.Session(workers=1) as session:
        frame = session.sql(f"SELECT count(*) AS n, sum(a) AS s, min(a) AS m FROM '{path}'")
        graph = cut_stages(frame._current_query().physical(single=True))
        root = graph.stage(graph.root)
        with pytest.raises(FileChanged):
            execute_inline(root.body, root.output)
        assert looked
        assert frame.collect().to_pylist() == [{"n": 2000, "s": 4000, "m": 2}]


def test_a_writer_that_never_rests(tmp_path):
    """Every answer is that of one content; a file that changes twice in one query is an error that says so."""
    path = tmp_path / "q.parquet"
    replace_with(path, 1000, 1)
    done = threading.Event()

    def write() -> None:
        turn = 0
        while not done.is_set():
            turn += 1
            replace_with(path, 1000 + turn % 7, 1 + turn % 7)
            done.wait(0.005)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with qengine.Session(workers=2, inline="off") as session:
            for _ in range(30):
                try:
                    (row,) = session.sql(f"SELECT count(*) AS n, sum(a) AS s, min(a) AS m FROM '{path}'").collect().to_pylist()
                except QEngineError as problem:
                    assert problem.code in ("FILE_CHANGED", "FILE_NOT_FOUND"), problem
                else:
                    assert row["n"] == 999 + row["m"]
                    assert row["s"] == row["n"] * row["m"]
    finally:
        done.set()
        writer.join()

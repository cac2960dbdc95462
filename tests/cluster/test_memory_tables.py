"""Tables in memory: their bytes go with the last thing that refers to them, in the driver and in the workers."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pyarrow as pa
import pytest

import qengine
from tests.cluster.conftest import eventually, workers_of

pytestmark = pytest.mark.cluster
ROWS = 50_000


def table(first: int) -> pa.Table:
    return pa.table({"a": pa.array(range(first, first + ROWS), pa.int64())})


def kept(session: qengine.Session) -> int:
    return len(list(session._engine.folder.glob("memory-*")))


def maps() -> int:
    """Mapped tables of all workers, deleted ones included."""
    return sum(
        len({line.split()[5] for line in Path(f"/proc/{worker}/maps").read_text().splitlines() if "/memory-" in line})
        for worker in workers_of(os.getpid())
    )


@pytest.mark.parametrize("inline", ["off", "auto"])
def test_a_name_that_is_given_again_and_frames_that_are_dropped(inline):
    with qengine.Session(workers=1, inline=inline) as session:
        for first in range(30):
            session.register("t", table(first))
            frame = session.from_arrow(table(first + 1))
            assert session.sql("SELECT min(a) AS m FROM t").collect().to_pylist() == [{"m": first}]
            assert frame.filter("a > 5").limit(1).collect().num_rows == 1
            del frame
        gc.collect()
        assert kept(session) <= 2
        assert session.sql("SELECT count(*) AS n FROM t").collect().to_pylist() == [{"n": ROWS}]
        if Path("/proc/self/maps").exists():
            assert eventually(lambda: maps() <= 2 * len(workers_of(os.getpid())))


def test_a_frame_and_a_view_keep_their_rows(tmp_path):
    with qengine.Session(workers=1, inline="off") as session:
        session.register("t", table(0))
        frame = session.sql("SELECT sum(a) AS s FROM t")
        session.register("v", session.table("t").filter("a < 10"))
        session.register("t", table(7))
        gc.collect()
        assert kept(session) == 2
        assert frame.collect().to_pylist() == [{"s": sum(range(ROWS))}]
        assert session.sql("SELECT count(*) AS n FROM v").collect().to_pylist() == [{"n": 10}]

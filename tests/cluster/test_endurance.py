"""A thousand queries, a third of them failing, cancelled or hit by SIGKILL: nothing is left, and memory stays flat."""

from __future__ import annotations

import os
import random
import signal
import threading

import psutil
import pytest

import qengine
from qengine.errors import QEngineError
from tests.cluster.conftest import eventually, folders_of, workers_of

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

QUERIES = 1000
WORKERS = 2
RIGHT = "SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g ORDER BY g"
LONG = "SELECT count(*) FROM t a JOIN t b ON a.g = b.g JOIN t c ON b.g = c.g WHERE a.v + b.v + c.v = 7"
FAILING = [
    "SELECT nope FROM t",
    "SELECT 1 // (v - v) FROM t",
    "SELECT * FROM 'none.parquet'",
    "SELECT (SELECT v FROM t)",
    "SELEC",
]


def memory_of(process: psutil.Process) -> int:
    """Anonymous memory of a process and its children, in bytes: mapped files are shared and counted nowhere."""
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            usage = member.memory_info()
        except psutil.NoSuchProcess:
            continue
        total += usage.rss - usage.shared
    return total


def test_a_thousand_queries():
    import pyarrow as pa

    dice = random.Random(1)
    rows = 20_000
    table = pa.table({"g": pa.array([i % 5 for i in range(rows)], pa.int64()), "v": pa.array(range(rows), pa.int64())})
    this = psutil.Process()
    ended = {"right": 0, "failed": 0, "cancelled": 0, "killed": 0}
    samples = []
    with qengine.Session(WORKERS, inline="off") as session:
        session.register("t", table)
        expected = session.sql(RIGHT).collect()
        folder = session._engine.folder
        for number in range(QUERIES):
            kind = ("failed", "cancelled", "killed")[number // 3 % 3] if number % 3 == 0 else "right"
            ended[kind] += 1
            if kind == "right":
                assert session.sql(RIGHT).collect().equals(expected)
            elif kind == "failed":
                with pytest.raises(QEngineError):
                    session.sql(dice.choice(FAILING)).collect()
            elif kind == "cancelled":
                cancel = threading.Event()
                threading.Timer(dice.random() * 0.02, cancel.set).start()
                with pytest.raises(QEngineError, match="cancelled"):
                    session.sql(LONG).collect(cancel=cancel)
            else:
                victim = dice.choice(workers_of(os.getpid()))
                timer = threading.Timer(dice.random() * 0.01, os.kill, (victim, signal.SIGKILL))
                timer.start()
                assert session.sql(RIGHT).collect().equals(expected)
                timer.join()
            if number % 100 == 99:
                samples.append((memory_of(this), this.num_fds(), threading.active_count()))
        assert all(ended.values())
        assert eventually(lambda: not list(folder.glob("q*")))
        assert eventually(lambda: len(workers_of(os.getpid())) == WORKERS + 1)
    first, last = samples[2], samples[-1]
    assert last[0] < first[0] * 1.25 + (32 << 20), samples
    assert last[1] <= first[1] + 2, samples
    assert last[2] <= first[2] + 2, samples
    assert eventually(lambda: not workers_of(os.getpid()) and not folders_of(os.getpid()))

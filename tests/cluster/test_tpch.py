"""The 22 queries through worker processes: any number of them, and with one killed while it computes.

The data is that of `make tpch SF=0.1`, generated once and kept.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

import qengine
from exec.engine import Engine
from tests.cluster.kills import KillOne
from tpch import answers
from tpch.engines.qengine import register_tables
from tpch.generate import generate
from tpch.queries import query

pytestmark = pytest.mark.cluster

SCALE = Decimal("0.1")
FOLDER = Path(__file__).resolve().parents[2] / "data" / "tpch" / "sf0.1"
NUMBERS = range(1, 23)
TRIES = 20


@pytest.fixture(scope="module")
def folder() -> Path:
    generate(FOLDER, SCALE)
    return FOLDER


@pytest.fixture(scope="module")
def expected(folder):
    """The answers of DuckDB over the same files, to the end of the cut tie, each made once."""
    connection = answers.connect(folder)
    known = {}

    def answer(number: int):
        if number not in known:
            known[number] = answers.make(connection, query(number, SCALE))
        return known[number]

    yield answer
    connection.close()


def check(session: qengine.Session, number: int, expected) -> None:
    asked = query(number, SCALE)
    difference = answers.check(session.sql(asked.text).collect(), expected(number), asked)
    assert difference is None, f"Q{number}: {difference}"


@pytest.fixture(scope="module", params=[(1, "off"), (2, "off"), (4, "off"), (2, "auto")], ids=lambda p: f"{p[0]}-{p[1]}")
def session(request, folder):
    workers, inline = request.param
    with qengine.Session(workers, inline=inline) as opened:
        register_tables(opened, folder)
        yield opened


@pytest.mark.parametrize("number", NUMBERS)
def test_every_answer_is_right(session, expected, number):
    check(session, number, expected)


@pytest.fixture(scope="module")
def faulty(folder):
    """A session whose workers die on command."""
    faults = KillOne()
    with Engine(2, faults=faults) as engine, qengine.Session(inline="off", engine=engine) as opened:
        register_tables(opened, folder)
        yield opened, faults, engine


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
@pytest.mark.parametrize("number", NUMBERS)
def test_one_worker_killed_while_it_computes(faulty, expected, number, seed):
    """Every kill is proven to have hit a running task: the query is run again, with an earlier kill, until one has."""
    session, faults, engine = faulty
    check(session, number, expected)  # files described, so that what is hit below is a task of the query
    metrics = engine.last_metrics
    tasks = sum(stage.tasks for stage in metrics.stages.values())
    for attempt in range(TRIES):
        faults.arm(100 * seed + number + attempt, among=max(1, tasks - attempt))
        lost = engine.statistics.workers_lost
        check(session, number, expected)
        if faults.hit is not None:
            assert engine.statistics.workers_lost > lost
            assert not list(engine.folder.glob("q*"))
            return
    pytest.fail(f"no kill has hit a running task of Q{number} in {TRIES} runs")

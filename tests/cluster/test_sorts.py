"""Large sorts on real workers: with any number of them, with one killed in every stage, and when sorted runs disappear."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pytest

import qengine
from exec.attempts import Attempt
from exec.engine import Engine
from planner.physical import plan as planning
from tests.cluster.kills import KillSome
from tpch.generate import generate

pytestmark = pytest.mark.cluster

FOLDER = Path(__file__).resolve().parents[2] / "data" / "tpch" / "sf0.1"
LINEITEM = FOLDER / "lineitem.parquet"
QUERIES = {
    "ties": "SELECT l_quantity, l_orderkey, l_comment FROM l ORDER BY l_quantity DESC",
    "no ties": "SELECT l_shipmode, l_shipdate, l_orderkey, l_linenumber FROM l ORDER BY 1 DESC, 2, 3 DESC, 4",
    "top-n": "SELECT l_comment, l_orderkey, l_linenumber FROM l ORDER BY 1, 2, 3 LIMIT 300000 OFFSET 1000",
}
STAGES = {"runs": 0, "boundaries": 1, "merge": 2}
TRIES = 20


@pytest.fixture(autouse=True)
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of this size would be gathered."""
    original = planning.plan_physical
    monkeypatch.setattr(
        "qengine.query.plan_physical",
        lambda root, allocator, options, **rest: original(root, allocator, replace(options, least_sort_bytes=1 << 18), **rest),
    )


@pytest.fixture(scope="module")
def expected() -> Iterator[Callable[[str], pl.DataFrame]]:
    """DuckDB's answers, each made once."""
    generate(FOLDER, Decimal("0.1"))
    known: dict[str, pl.DataFrame] = {}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW l AS SELECT * FROM '{LINEITEM}'")

        def answer(name: str) -> pl.DataFrame:
            if name not in known:
                known[name] = connection.sql(QUERIES[name]).pl()
            return known[name]

        yield answer


def check(session: qengine.Session, name: str, expected: Callable[[str], pl.DataFrame]) -> None:
    answer = expected(name)
    session.register("l", session.read_parquet(str(LINEITEM)))
    actual = session.sql(QUERIES[name]).to_polars().cast(answer.schema)  # type: ignore[arg-type]
    if name == "ties":
        assert actual["l_quantity"].equals(answer["l_quantity"])
        actual, answer = actual.sort(pl.all()), answer.sort(pl.all())
    assert actual.equals(answer)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("name", QUERIES)
def test_every_number_of_workers_gives_the_answer(workers, name, expected):
    with qengine.Session(workers, inline="off") as session:
        check(session, name, expected)
        assert workers == 1 or "Merge" in session.sql(QUERIES[name]).explain("physical")


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", QUERIES)
def test_a_worker_is_killed_in_every_stage(stage, name, expected):
    """The first attempt of a task of the stage is killed, query by query, until one is proven to have been hit."""
    partition = 0 if stage == "boundaries" else 1
    faults = KillSome(lambda a: not faults.lost and (a.stage, a.partition, a.number) == (STAGES[stage], partition, 1))
    with Engine(2, faults=faults) as engine, qengine.Session(inline="off", engine=engine) as session:
        for _ in range(TRIES):
            check(session, name, expected)
            if faults.lost:
                break
        assert faults.lost and faults.lost[0].stage == STAGES[stage]
        assert not list(engine.folder.glob("q*"))


@pytest.mark.parametrize("name", QUERIES)
def test_a_run_that_disappears_is_sorted_again(name, expected):
    """Some ranges are merged already when one run is gone for the others."""
    removed: list[str] = []

    class Remove:
        def on_started(self, attempt: Attempt) -> bool:
            if (attempt.stage, attempt.partition) == (STAGES["merge"], 1) and not removed:
                for path in engine.folder.glob(f"q{attempt.query}/*s0p1a1*.arrow"):
                    removed.append(path.name)
                    path.unlink()
            return False

        def on_lost(self, attempt: Attempt) -> None:
            raise AssertionError("no worker dies here")

    with Engine(2, faults=Remove()) as engine, qengine.Session(inline="off", engine=engine) as session:
        check(session, name, expected)
        assert removed and engine.last_metrics is not None
        runs = engine.last_metrics.stages[STAGES["runs"]]
        assert runs.attempts == runs.tasks + 1

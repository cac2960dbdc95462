"""A stage with several consumers whose output is lost while a worker dies: computed once more, and right for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pytest

import qengine
from exec.attempts import Attempt
from exec.engine import Engine
from planner.dir import StageGraph
from tests.scattered import scattered
from tpch import answers
from tpch.engines.qengine import register_tables
from tpch.generate import generate
from tpch.queries import query
from tpch.same_answer import same_answer

pytestmark = pytest.mark.cluster

SCALE = Decimal("0.1")
FOLDER = Path(__file__).resolve().parents[2] / "data" / "tpch" / "sf0.1"
TRIES = 20
MIXED = """
    WITH r AS (SELECT o_orderkey AS k, o_custkey AS c FROM orders WHERE o_clerk = 'Clerk#000000100')
    SELECT c, rank() OVER (PARTITION BY c ORDER BY k) AS n FROM r UNION ALL
    SELECT r.c, l_suppkey FROM lineitem JOIN r ON l_partkey = r.k"""
"""One consumer reads the shared stage by hash, the other one as a broadcast."""


@dataclass
class LoseOutput:
    """When a consumer begins, removes the output of its producer and kills the consumer's worker, once for each `arm`."""

    engine: Engine | None = None
    producer: int = -1
    consumer: int = -1
    removed: list[str] = field(default_factory=list)
    hit: Attempt | None = None

    def arm(self, producer: int, consumer: int) -> None:
        self.producer, self.consumer = producer, consumer
        self.removed.clear()
        self.hit = None

    def on_started(self, attempt: Attempt) -> bool:
        if self.engine is None or attempt.stage != self.consumer or self.removed:
            return False
        for path in self.engine.folder.glob(f"q{attempt.query}/*s{self.producer}p*.arrow"):
            self.removed.append(path.name)
            path.unlink()
        return True

    def on_lost(self, attempt: Attempt) -> None:
        self.hit = attempt


@pytest.fixture(scope="module")
def faulty() -> Iterator[tuple[qengine.Session, LoseOutput, Engine]]:
    generate(FOLDER, SCALE)
    faults = LoseOutput()
    with Engine(2, faults=faults) as engine, qengine.Session(inline="off", engine=engine) as session:
        faults.engine = engine
        register_tables(session, FOLDER)
        yield session, faults, engine


def shared_stage(graph: StageGraph) -> int:
    (found,) = (stage.id for stage in graph.stages if len(graph.outputs(stage.id)) > 1)
    return found


@pytest.mark.parametrize("last", [False, True], ids=["first consumer", "last consumer"])
@pytest.mark.parametrize("text", [query(15, SCALE).text, MIXED], ids=["Q15", "mixed"])
def test_a_lost_shared_output_is_computed_once_more(faulty, text: str, last: bool) -> None:
    """Run again until the kill has hit the consumer. What has read the output before is not run again."""
    session, faults, engine = faulty
    frame = session.sql(text)
    with scattered(free_stages=True, task_bytes=1 << 20):
        graph, _ = frame._current_query().executed()
    shared = shared_stage(graph)
    consumers = sorted(exchange.consumer for exchange in graph.outputs(shared))
    with answers.connect(FOLDER) as connection:
        expected = connection.sql(text).to_arrow_table()
    for _ in range(TRIES):
        faults.arm(shared, consumers[-1] if last else consumers[0])
        difference = same_answer(frame.collect(), expected)
        assert difference is None, difference
        assert faults.removed and engine.last_metrics is not None
        stages = engine.last_metrics.stages
        assert stages[shared].attempts <= stages[shared].tasks + len(faults.removed)
        if faults.hit is None:
            continue
        assert faults.hit.stage == faults.consumer
        assert stages[shared].attempts == stages[shared].tasks + len(faults.removed)
        others = [stage for stage in stages if stage not in (shared, *consumers)]
        assert all(stages[stage].attempts == stages[stage].tasks for stage in others)
        if last and consumers[0] != consumers[-1]:
            assert stages[consumers[0]].attempts == stages[consumers[0]].tasks
        return
    pytest.fail(f"no kill has hit a consumer in {TRIES} runs")

"""Workers killed with SIGKILL while they compute, and outputs that disappear: the answer stays right."""

from __future__ import annotations

import os
import random
import signal

import pytest

from exec.attempts import Attempt
from exec.engine import Engine
from planner.errors import ResourceError
from tests.cluster.conftest import eventually, workers_of
from tests.cluster.graphs import constants, count_pairs, shuffle
from tests.cluster.kills import KillOne, KillSome

pytestmark = pytest.mark.cluster

ROWS = 4000
PAIRS = [[{"c4": ROWS * ROWS}]] * 4
EXPECTED = [{"c1": i, "c2": f"value {i}"} for i in range(1000)]


@pytest.mark.parametrize("stage", [0, 1, 2])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_attempt_of_every_task_of_a_stage_dies(stage: int, workers: int) -> None:
    """A task that is done before the signal arrives is none that dies; the query is then run again until all have."""
    tasks = 4 if stage == 2 else 1
    faults = KillSome(lambda attempt: attempt.stage == stage and attempt.number == 1)
    with Engine(workers, faults=faults) as engine:
        for _ in range(10):
            faults.asked.clear()
            faults.lost.clear()
            before = engine.statistics.attempts_lost
            tables = engine.execute(count_pairs(ROWS))
            assert [table.to_pylist() for table in tables] == PAIRS
            assert len(faults.asked) == tasks and set(faults.lost) <= set(faults.asked)
            assert engine.statistics.attempts_lost - before == len(faults.lost)
            if len(faults.lost) == tasks:
                break
        assert sorted(faults.lost) == sorted(faults.asked)
        assert engine.last_metrics is not None
        assert {id: metrics.attempts for id, metrics in engine.last_metrics.stages.items()} == {0: 1, 1: 1, 2: 4}
        assert not list(engine.folder.glob("q*"))


@pytest.mark.parametrize("seed", range(4))
def test_random_kills(seed: int) -> None:
    dice = random.Random(seed)
    faults = KillSome(lambda attempt: attempt.number < 3 and dice.random() < 0.4)
    with Engine(2, faults=faults) as engine:
        for _ in range(4):
            (table,) = engine.execute(shuffle())
            assert sorted(table.to_pylist(), key=lambda row: row["c1"]) == EXPECTED
        assert faults.asked and set(faults.lost) <= set(faults.asked)


@pytest.mark.parametrize("seed", range(3))
def test_one_kill_that_is_proven_to_hit(seed: int) -> None:
    faults = KillOne()
    with Engine(2, faults=faults) as engine:
        faults.arm(seed, among=5)
        assert [table.to_pylist() for table in engine.execute(count_pairs(ROWS))] == PAIRS
        assert faults.hit is not None and engine.statistics.attempts_lost in (1, 2)


def test_a_task_that_always_kills_its_worker_fails_with_a_reason() -> None:
    faults = KillSome(lambda attempt: attempt.task == (2, 1) and attempt.query == 1)
    with Engine(2, faults=faults) as engine:
        with pytest.raises(ResourceError) as caught:
            engine.execute(count_pairs(ROWS))
        assert caught.value.code == "WORKER_LOST" and "SIGKILL" in str(caught.value)
        assert [attempt.number for attempt in faults.lost if attempt.task == (2, 1)] == [1, 2, 3]
        assert [table.to_pylist() for table in engine.execute(count_pairs(ROWS))] == PAIRS
        assert not list(engine.folder.glob("q*"))


def test_idle_workers_may_die_too() -> None:
    with Engine(2) as engine:
        engine.execute(constants())
        assert eventually(lambda: len(set(workers_of(os.getpid()))) >= 3)
        for worker in workers_of(os.getpid()):
            os.kill(worker, signal.SIGKILL)
        assert [table.to_pylist() for table in engine.execute(count_pairs(ROWS))] == PAIRS


def test_a_lost_output_is_computed_again() -> None:
    """The output of stage 0 disappears when stage 2 starts; its readers find out."""
    removed: list[str] = []

    class Remove:
        def on_started(self, attempt: Attempt) -> bool:
            if attempt.stage == 2 and not removed:
                for path in engine.folder.glob(f"q{attempt.query}/*s0p0a1*.arrow"):
                    removed.append(path.name)
                    path.unlink()
            return False

        def on_lost(self, attempt: Attempt) -> None:
            raise AssertionError("no worker dies here")

    graph = count_pairs(ROWS)
    with Engine(1, faults=Remove()) as engine:
        assert [table.to_pylist() for table in engine.execute(graph)] == PAIRS
        assert engine.last_metrics is not None
        stages = engine.last_metrics.stages
        assert removed and stages[0].attempts >= 1 and stages[1].attempts == 1
        if engine.statistics.attempts_failed:  # the first reader may have mapped the file in time
            assert stages[0].attempts == 2


def test_a_worker_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exec.backends.processes.sys.executable", "/bin/false")
    with Engine(1) as engine:
        with pytest.raises(ResourceError) as caught:
            engine.execute(constants())
        assert caught.value.code == "WORKER_START" and "exit status 1" in str(caught.value)
        with pytest.raises(ResourceError):
            engine.execute(constants())
        monkeypatch.undo()
        assert engine.execute(constants(3))[0].num_rows == 3

"""The scheduler alone: every order of events and every single and double fault on small graphs, then each rule by itself."""

from __future__ import annotations

import pytest

from exec.events import PartitionLost, Run, Submitted, WorkerLost, WorkerReady
from exec.scheduler import State, step
from planner.dir import (
    BATCH,
    Contract,
    Determinism,
    Evaluation,
    Exchange,
    Pattern,
    Recovery,
    StageGraph,
    Update,
)
from tests.unit.exec.scheduler_world import World, dir_of, explore, make_graph

ORDERED, SET, ANY = Determinism.ORDERED, Determinism.SET, Determinism.INDETERMINATE
GATHER, HASH, BROADCAST, FORWARD = Pattern.GATHER, Pattern.HASH, Pattern.BROADCAST, Pattern.FORWARD
EAGER = Contract(Evaluation.EAGER, Recovery.LINEAGE, Update.SYNC)
CHECKPOINTED = Contract(Evaluation.LAZY, Recovery.CHECKPOINT, Update.SYNC)

GRAPHS = {
    "one stage": make_graph([(2, ORDERED)], []),
    "chain": make_graph([(2, SET), (1, SET)], [(0, 1, GATHER)]),
    "shuffle": make_graph([(2, SET), (2, SET), (1, SET)], [(0, 1, HASH), (1, 2, GATHER)]),
    "forward": make_graph([(2, SET), (2, SET), (1, SET)], [(0, 1, FORWARD), (1, 2, GATHER)]),
    "diamond": make_graph([(1, SET), (2, SET), (1, SET)], [(0, 1, BROADCAST), (0, 2, GATHER), (1, 2, GATHER)]),
    "indeterminate source": make_graph([(2, ANY), (2, SET), (1, SET)], [(0, 1, HASH), (1, 2, GATHER)]),
    "indeterminate middle": make_graph([(1, SET), (2, ANY), (1, SET)], [(0, 1, HASH), (1, 2, GATHER)]),
    "indeterminate diamond": make_graph([(1, ANY), (2, SET), (1, SET)], [(0, 1, BROADCAST), (0, 2, GATHER), (1, 2, GATHER)]),
    "two edges": make_graph([(2, SET), (2, SET), (1, SET)], [(0, 1, HASH), (0, 1, BROADCAST), (0, 2, GATHER), (1, 2, GATHER)]),
    "indeterminate two edges": make_graph([(1, ANY), (2, SET), (1, SET)], [(0, 1, HASH), (0, 1, BROADCAST), (1, 2, GATHER)]),
    "indeterminate root": make_graph([(1, ANY), (2, ANY)], [(0, 1, BROADCAST)]),
    "eager": make_graph([(1, SET), (1, SET), (1, SET)], [(0, 1, GATHER, EAGER), (1, 2, GATHER)]),
    "eager indeterminate": make_graph([(1, ANY), (1, SET), (2, SET)], [(0, 1, GATHER, EAGER), (1, 2, BROADCAST)]),
    "checkpoint": make_graph([(2, ANY), (1, SET), (1, SET)], [(0, 1, GATHER, CHECKPOINTED), (1, 2, GATHER)]),
}


def kills(world):
    return [(lambda w, a=attempt: w.kill(a)) for attempt in world.running]


def losses(world):
    committed = [entry.attempt for query in world.state.queries.values() for entry in query.committed.values()]
    present = [attempt for attempt in committed if attempt in world.existing]
    return [(lambda w, a=a: w.lose(a)) for a in present] + [(lambda w, a=a: w.lose(a, noticed=False)) for a in present]


def errors(world):
    return [(lambda w, a=attempt: w.fail(a)) for attempt in world.running]


def cancels(world):
    return [lambda w: w.cancel()] if world.state.queries else []


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("workers", [1, 2])
def test_every_order_of_two_faults_ends_right(name: str, workers: int) -> None:
    graph = GRAPHS[name]
    if "eager" in name and workers == 1:
        assert World.of(graph, workers).ended[1].code == "UNSUPPORTED"
        return

    def moves(world):
        return kills(world) + losses(world)

    assert explore(World.of(graph, workers), 2, moves) > 1


@pytest.mark.parametrize("name", GRAPHS)
def test_every_order_of_errors_and_cancels_ends_right(name: str) -> None:
    explore(World.of(GRAPHS[name]), 2, lambda world: errors(world) + cancels(world) + kills(world))


def attempts_at(world, stage: int) -> list[tuple[int, int]]:
    return sorted((a.partition, a.number) for a in world.contents if a.stage == stage)


def test_a_lost_worker_costs_only_its_unfinished_attempt() -> None:
    world = World.of(GRAPHS["shuffle"])
    world.finish(min(world.running))
    world.kill(next(a for a in world.running if a.partition == 1))
    world.run_to_end()
    assert attempts_at(world, 0) == [(0, 1), (1, 2)]
    assert attempts_at(world, 1) == [(0, 1), (1, 1)]


def test_the_spare_takes_over_at_once() -> None:
    world = World.of(make_graph([(1, SET)], []), workers=1)
    attempt, run = next(iter(world.running.items()))
    del world.running[attempt]
    world.tell(WorkerLost(run.worker))
    assert [(a.number, r.worker) for a, r in world.running.items()] == [(2, 1)]


def test_a_task_that_kills_three_workers_fails_the_query() -> None:
    world = World.of(GRAPHS["shuffle"])
    for number in (1, 2, 3):
        world.kill(next(a for a in world.running if a.task == (0, 0) and a.number == number))
    world.run_to_end()
    assert world.ended[1].code == "WORKER_LOST"


def test_a_lost_set_output_is_computed_again_with_exactly_its_lost_ancestors() -> None:
    graph = make_graph([(2, SET), (2, SET), (1, SET)], [(0, 1, FORWARD), (1, 2, GATHER)])
    world = World.of(graph)
    while not any(a.stage == 2 for a in world.running):
        world.finish(min(world.running))
    reader = next(a for a in world.running if a.stage == 2)
    lost = [a for a in world.contents if a.partition == 1]
    for attempt in lost:  # both ancestors in partition 1
        world.lose(attempt, noticed=False)
    world.tell(PartitionLost(1, tuple(lost)))
    world.finish(reader)
    world.run_to_end()
    assert attempts_at(world, 0) == [(0, 1), (1, 1), (1, 2)]
    assert attempts_at(world, 1) == [(0, 1), (1, 1), (1, 2)]
    assert world.ended[1] is None


def test_a_lost_output_is_computed_once_for_all_its_consumers() -> None:
    """Both consumers run when it is lost, and both find out."""
    graph = make_graph(
        [(2, SET), (1, SET), (1, SET), (1, SET)], [(0, 1, GATHER), (0, 2, GATHER), (1, 3, GATHER), (2, 3, GATHER)]
    )
    world = World.of(graph)
    while {a.stage for a in world.running} != {1, 2}:
        world.finish(min(world.running))
    world.lose(next(a for a in world.contents if a.task == (0, 1)), noticed=False)
    for reader in sorted(world.running):
        world.finish(reader)
    world.run_to_end()
    assert attempts_at(world, 0) == [(0, 1), (1, 1), (1, 2)]
    assert attempts_at(world, 1) == attempts_at(world, 2) == [(0, 2)]
    assert world.ended[1] is None


def test_a_lost_output_that_nobody_needs_any_more_stays_lost() -> None:
    world = World.of(make_graph([(1, SET), (1, SET), (1, SET)], [(0, 1, GATHER), (1, 2, GATHER)]))
    world.finish(min(world.running))
    world.finish(min(world.running))
    world.lose(next(a for a in world.contents if a.stage == 0))
    world.run_to_end()
    assert attempts_at(world, 0) == [(0, 1)]


def test_a_lost_indeterminate_output_rolls_back_its_readers() -> None:
    world = World.of(GRAPHS["indeterminate source"])
    while not any(a.stage == 2 for a in world.running):
        world.finish(min(world.running))
    world.lose(next(a for a in world.contents if a.task == (0, 1)))
    world.run_to_end()
    assert attempts_at(world, 0) == [(0, 1), (1, 1), (1, 2)]
    assert attempts_at(world, 1) == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_a_checkpoint_stops_the_rollback() -> None:
    world = World.of(GRAPHS["checkpoint"])
    while not any(a.stage == 2 for a in world.running):
        world.finish(min(world.running))
    world.lose(next(a for a in world.contents if a.task == (0, 0)))
    assert world.restoring
    world.run_to_end()
    assert attempts_at(world, 0) == [(0, 1), (1, 1)]
    assert attempts_at(world, 1) == [(0, 1)]


def test_an_output_lost_again_and_again_fails_the_query() -> None:
    world = World.of(GRAPHS["chain"], workers=1)
    for _ in range(4):
        world.finish(min(world.running))
        entry = next(iter(world.state.queries[1].committed.values()))
        while entry.attempt.task != (0, 0):
            world.finish(min(world.running))
            entry = world.state.queries[1].committed.get((0, 0), entry)
        world.lose(entry.attempt)
    world.run_to_end()
    assert world.ended[1].code == "OUTPUT_LOST"


@pytest.mark.parametrize("later_first", [True, False])
def test_the_error_of_the_lowest_partition_is_reported(later_first: bool) -> None:
    world = World.of(make_graph([(4, SET)], []), workers=3)
    for attempt in sorted(world.running, key=lambda a: a.partition, reverse=later_first)[:-1]:
        world.fail(attempt, "CAST_FAILED", value=str(attempt.partition))
    if later_first:
        assert 1 not in world.ended and not any(a.partition == 3 for a in world.running)
        world.fail(min(world.running), "CAST_FAILED", value="0")
    world.run_to_end()
    assert str(world.ended[1]).startswith("0 cannot be converted")


def test_queries_take_turns() -> None:
    world = World(State(slots=1))
    world.submit(1, make_graph([(4, SET)], []))
    world.submit(2, make_graph([(4, SET)], []))
    world.tell(WorkerReady(0))
    order = []
    while world.running:
        attempt = min(world.running)
        order.append(attempt.query)
        world.finish(attempt)
    assert order == [1, 2, 1, 2, 1, 2, 1, 2]


def test_a_region_starts_together_and_nobody_takes_its_workers() -> None:
    world = World(State(slots=2))
    world.submit(1, make_graph([(4, SET)], []))
    world.tell(WorkerReady(0))
    world.tell(WorkerReady(1))
    world.submit(2, make_graph([(1, SET), (1, SET)], [(0, 1, GATHER, EAGER)]))
    together = []
    while world.running:
        region = [a for a in world.running if a.query == 2]
        together.append(len(region))
        world.finish(min(world.running))
    assert set(together) <= {0, 1, 2} and 2 in together
    assert together.count(2) == 1
    assert world.ended == {1: None, 2: None}


def test_an_asynchronous_edge_does_not_block_the_first_epoch() -> None:
    lagging = Contract(Evaluation.LAZY, Recovery.LINEAGE, Update.ASYNC, staleness=1)
    graph = make_graph([(1, SET), (1, SET)], [])
    graph = StageGraph(graph.stages, (Exchange(0, 0, 1, GATHER, dir_of(lagging)),), root=1)
    state = State(slots=2)
    step(state, WorkerReady(0))
    step(state, WorkerReady(1))
    _, commands = step(state, Submitted(1, graph))
    assert [command.attempt.stage for command in commands if isinstance(command, Run)] == [0, 1]


def test_a_feedback_edge_is_not_waited_for_in_the_first_epoch() -> None:
    base = make_graph([(1, SET), (1, SET)], [(0, 1, GATHER)])
    graph = StageGraph(base.stages, (*base.exchanges, Exchange(1, 1, 0, GATHER, dir_of(), feedback=True)), root=1)
    world = World.of(graph).run_to_end()
    assert world.ended == {1: None}


def test_forwarded_inputs_prefer_the_worker_that_made_them() -> None:
    world = World.of(make_graph([(2, SET), (2, SET)], [(0, 1, FORWARD)]), spare=False)
    made = {}
    for attempt in sorted(world.running):
        made[attempt.partition] = world.running[attempt].worker
    first, second = sorted(world.running)
    world.finish(second)
    reader = next(run for a, run in world.running.items() if a.stage == 1)
    assert reader.worker == made[1]
    world.finish(first)
    assert {run.worker for a, run in world.running.items() if a.task == (1, 0)} == {made[0]}


def test_batch_edges_wait() -> None:
    world = World.of(make_graph([(1, SET), (1, SET)], [(0, 1, GATHER, BATCH)]))
    assert [a.stage for a in world.running] == [0]

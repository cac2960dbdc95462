"""Re-planning in the scheduler alone: when it asks, what waits for the answer, and every order of answers and faults."""

from __future__ import annotations

import pytest

from exec.events import GraphReplaced, PlanKept, Replan
from exec.scheduler import State
from planner.dir import Determinism, Pattern, StageGraph
from tests.unit.exec.scheduler_world import World, explore, extend_graph, make_graph
from tests.unit.exec.test_scheduler import attempts_at, cancels, errors, kills, losses

SET, ANY = Determinism.SET, Determinism.INDETERMINATE
GATHER, HASH, BROADCAST, FORWARD = Pattern.GATHER, Pattern.HASH, Pattern.BROADCAST, Pattern.FORWARD

EXPECTED = 10_000.0
FEW, AS_EXPECTED, MANY = 10, 10_000, 1_000_000_000


def two_sides(level: Determinism = SET, tasks: int = 1) -> StageGraph:
    """Two stages that a third one joins, and the result."""
    stages = [(tasks, level), (tasks, level), (2, SET), (1, SET)]
    edges = [(0, 2, HASH), (1, 2, HASH), (2, 3, GATHER)]
    return make_graph(stages, edges, estimated_rows=EXPECTED)


def join_otherwise(asked: Replan, graph: StageGraph) -> StageGraph | None:
    """Another join of both sides in place of the old one; only once."""
    if asked.version > 1 or 2 in asked.started:
        return None
    return extend_graph(graph, {0, 1}, [(1, SET), (1, SET)], [(0, 4, BROADCAST), (1, 4, GATHER), (4, 5, GATHER)])


def nothing_else(asked: Replan, graph: StageGraph) -> StageGraph | None:
    """The result does not need the second side, whether it has started or not."""
    if asked.version > 1 or 2 in asked.started:
        return None
    return extend_graph(graph, {0}, [(1, SET)], [(0, 4, GATHER)])


def world_of(graph: StageGraph, plan=None, rows: int = MANY, workers: int = 2) -> World:
    world = World(State(slots=workers), rows={0: rows, 1: AS_EXPECTED}, **({"plan": plan} if plan else {}))
    world.submit(1, graph, adaptive=True)
    for worker in range(workers + 1):
        world.start(worker)
    return world


@pytest.mark.parametrize(
    ("rows", "asks"), [(FEW, True), (AS_EXPECTED, False), (7 * AS_EXPECTED, False), (MANY, True), (0, True)]
)
def test_it_asks_when_a_complete_stage_is_far_off(rows: int, asks: bool, monkeypatch) -> None:
    monkeypatch.setattr("exec.surprises.LEAST_BYTES", 1)
    world = world_of(two_sides(), rows=rows)
    world.finish(min(world.running))
    found = [(asked.surprises, asked.actuals, asked.started) for asked in world.replans]
    assert found == ([((0,), ((0, rows, rows),), (0, 1))] if asks else [])


def test_what_is_small_is_no_surprise() -> None:
    """Whatever the factor: the stage has a kilobyte, and nothing that is left scans a table."""
    world = world_of(two_sides(), rows=1_000)
    world.finish(min(world.running))
    assert not world.replans


def test_only_adaptive_queries_ask() -> None:
    world = World(State(slots=2), rows={0: MANY})
    world.submit(1, two_sides())
    for worker in range(3):
        world.start(worker)
    world.run_to_end()
    assert not world.replans


def test_the_root_and_stages_whose_readers_have_started_are_no_surprise() -> None:
    graph = make_graph([(2, SET), (2, SET), (1, SET)], [(0, 1, FORWARD), (1, 2, GATHER)], estimated_rows=EXPECTED)
    world = World(State(slots=2), rows={0: MANY, 2: MANY})
    world.submit(1, graph, adaptive=True)
    for worker in range(3):
        world.start(worker)
    world.run_to_end()
    assert not world.replans, "both tasks of stage 1 could start before stage 0 was complete, and nothing reads the root"


def test_until_the_answer_only_started_stages_go_on() -> None:
    world = world_of(two_sides(tasks=3), join_otherwise)
    for _ in range(3):
        world.finish(min(a for a in world.running if a.stage == 0))
    assert world.asked
    while any(a.stage == 1 for a in world.running):
        world.finish(min(world.running))
    assert not world.running, "the join waits"
    world.answer()
    world.run_to_end()
    assert attempts_at(world, 2) == [] and len(attempts_at(world, 4)) == 1
    assert {a.version for a in world.contents if a.stage in (0, 1)} == {1}
    assert {a.version for a in world.contents if a.stage in (4, 5)} == {2}
    assert world.ended == {1: None}


def test_a_kept_plan_goes_on_and_is_not_asked_for_again() -> None:
    world = world_of(two_sides())
    world.run_to_end()
    assert len(world.replans) == 1
    assert len(attempts_at(world, 2)) == 2
    assert world.ended == {1: None}


def test_a_second_surprise_waits_for_the_first_answer() -> None:
    world = world_of(two_sides())
    world.rows[1] = MANY
    world.finish(min(world.running))
    world.finish(min(world.running))
    assert [asked.surprises for asked in world.replans] == [(0,)]
    world.answer()
    assert [asked.surprises for asked in world.replans] == [(0,), (1,)]
    world.run_to_end()


def test_what_the_new_graph_does_not_hold_is_stopped_and_discarded() -> None:
    world = world_of(two_sides(tasks=2), nothing_else)
    world.finish(min(a for a in world.running if a.stage == 0))
    world.finish(min(a for a in world.running if a.stage == 0))
    first, second = sorted(a for a in world.running if a.stage == 1)
    world.finish(first)
    world.answer()
    assert first not in world.existing and second in world.stopped
    world.finish(second)
    assert second not in world.existing
    world.run_to_end()
    assert not attempts_at(world, 2) and world.ended == {1: None}


def test_a_loss_of_an_output_that_the_graph_does_not_hold_any_more_is_nothing() -> None:
    world = world_of(two_sides(), nothing_else)
    world.finish(max(world.running))
    (gone,) = world.contents
    world.finish(min(world.running))
    world.answer()
    world.lose(gone)
    world.run_to_end()
    assert world.ended == {1: None}


def test_an_output_of_an_older_version_is_computed_again_by_its_lineage() -> None:
    """The stage below the kept one is needed for that alone."""
    graph = make_graph([(1, SET), (1, SET), (1, SET)], [(0, 1, GATHER), (1, 2, GATHER)], estimated_rows=EXPECTED)
    world = World(
        State(slots=2), rows={1: MANY}, plan=lambda asked, graph: extend_graph(graph, {0, 1}, [(1, SET)], [(1, 3, GATHER)])
    )
    world.submit(1, graph, adaptive=True)
    world.start(0)
    world.finish(min(world.running))
    if world.asked:
        world.asked.clear()
        world.tell(PlanKept(1, 1))
    world.finish(min(world.running))
    world.answer()
    first = dict(world.contents)
    for attempt in first:
        world.lose(attempt)
    world.run_to_end()
    assert attempts_at(world, 0) == attempts_at(world, 1) == [(0, 1), (0, 2)]
    assert {a.version for a in world.contents} == {1, 2}
    assert world.ended == {1: None}


def test_an_answer_of_an_old_version_or_to_an_ended_query_changes_nothing() -> None:
    world = world_of(two_sides())
    world.tell(GraphReplaced(1, two_sides()))
    world.tell(PlanKept(1, 7))
    world.tell(PlanKept(99, 1))
    world.finish(min(world.running))
    world.cancel()
    world.answer()
    world.run_to_end()
    assert world.ended[1].code == "CANCELLED"


PLANS = {"join otherwise": join_otherwise, "nothing else": nothing_else, "kept": None}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("level", [SET, ANY], ids=["set", "indeterminate"])
def test_every_order_of_answers_and_two_faults_ends_right(plan: str, workers: int, level: Determinism) -> None:
    def moves(world):
        return kills(world) + losses(world)

    assert explore(world_of(two_sides(level), PLANS[plan], workers=workers), 2, moves) > 1


@pytest.mark.parametrize("plan", PLANS)
def test_every_order_of_answers_errors_and_cancels_ends_right(plan: str) -> None:
    explore(world_of(two_sides(), PLANS[plan]), 2, lambda world: errors(world) + cancels(world) + kills(world))

"""A world for the scheduler without processes: what would run, what could happen next, and what must always hold.

The content of an output is modelled as the set of (INDETERMINATE task, attempt) that its rows depend on, so a result that mixes
rows of two runs of such a task can be told from a right one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

from exec.attempts import Attempt, TaskOutput
from exec.events import (
    AttemptFailed,
    AttemptFinished,
    AttemptStarted,
    Cancelled,
    Checkpoint,
    Deliver,
    Delivered,
    Discard,
    End,
    Event,
    GraphReplaced,
    PartitionLost,
    PlanKept,
    Replan,
    Restore,
    Restored,
    Run,
    Stop,
    Submitted,
    WorkerLost,
    WorkerReady,
)
from exec.scheduler import State, step
from planner.dir import BATCH, Contract, Determinism, Dir, Evaluation, Exchange, Pattern, Single, Stage, StageGraph
from planner.errors import error
from planner.physical.nodes import ValuesScan

EMPTY = Dir((), (), Single(), ())
BODY = ValuesScan((), ())


def dir_of(contract: Contract = BATCH) -> Dir:
    return Dir((), (), Single(), (), contract)


def make_graph(
    stages: list[tuple[int, Determinism]],
    edges: list[tuple[int, int, Pattern] | tuple[int, int, Pattern, Contract]],
    version: int = 1,
    estimated_rows: float | None = None,
) -> StageGraph:
    """Stages as (tasks, determinism), the last is the root; edges as (producer, consumer, pattern[, contract]) of positions."""
    made = tuple(
        Stage(id, tasks, BODY, EMPTY, determinism, estimated_rows=estimated_rows)
        for id, (tasks, determinism) in enumerate(stages)
    )
    exchanges = tuple(
        Exchange(id, edge[0], edge[1], edge[2], dir_of(edge[3] if len(edge) > 3 else BATCH)) for id, edge in enumerate(edges)
    )
    return StageGraph(made, exchanges, root=len(stages) - 1, version=version)


def extend_graph(
    graph: StageGraph, kept: set[int], stages: list[tuple[int, Determinism]], edges: list[tuple[int, int, Pattern]]
) -> StageGraph:
    """The next version: some stages of a graph with the edges among them, and new ones after them, the last is the root.

    Edges are (producer, consumer, pattern), where ids from `len(graph.stages)` on are those of the new stages.
    """
    first, first_edge = len(graph.stages), len(graph.exchanges)
    old = tuple(stage for stage in graph.stages if stage.id in kept)
    new = tuple(Stage(first + at, tasks, BODY, EMPTY, level) for at, (tasks, level) in enumerate(stages))
    inner = tuple(edge for edge in graph.exchanges if edge.consumer in kept)
    assert all(edge.producer in kept for edge in inner)
    added = tuple(Exchange(first_edge + at, *edge, dir_of()) for at, edge in enumerate(edges))
    return StageGraph(old + new, inner + added, root=new[-1].id, version=graph.version + 1)


Origin = frozenset[tuple[int, int, int]]


@dataclass
class World:
    state: State
    graphs: dict[int, StageGraph] = field(default_factory=dict)
    running: dict[Attempt, Run] = field(default_factory=dict)
    stopped: set[Attempt] = field(default_factory=set)
    contents: dict[Attempt, Origin] = field(default_factory=dict)
    existing: set[Attempt] = field(default_factory=set)
    lost: set[Attempt] = field(default_factory=set)
    delivered: dict[int, tuple] = field(default_factory=dict)
    ended: dict[int, object] = field(default_factory=dict)
    restoring: list[Attempt] = field(default_factory=list)
    replans: list[Replan] = field(default_factory=list)
    asked: list[Replan] = field(default_factory=list)
    plan: Callable[[Replan, StageGraph], StageGraph | None] = field(default=lambda asked, graph: None)
    levels: dict[tuple[int, int], Determinism] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    next_worker: int = 100
    log: list[str] = field(default_factory=list)

    @staticmethod
    def of(graph: StageGraph, workers: int = 2, spare: bool = True, **options) -> World:
        world = World(State(slots=workers))
        world.submit(1, graph, **options)
        for worker in range(workers + spare):
            world.tell(WorkerReady(worker))
        return world

    def submit(self, query: int, graph: StageGraph, **options) -> None:
        self._know(query, graph)
        self.tell(Submitted(query, graph, **options))

    def start(self, worker: int) -> None:
        self.tell(WorkerReady(worker))

    def _know(self, query: int, graph: StageGraph) -> None:
        self.graphs[query] = graph
        self.levels.update(((query, stage.id), stage.determinism) for stage in graph.stages)

    def fork(self) -> World:
        """A copy to go another way from here."""
        twin = copy.copy(self)
        twin.state = self.state.copy()
        for name in ("graphs", "levels", "running", "stopped", "contents", "existing", "lost", "delivered", "ended"):
            setattr(twin, name, getattr(self, name).copy())
        for name in ("restoring", "log", "replans", "asked"):
            setattr(twin, name, list(getattr(self, name)))
        return twin

    # ---------------------------------------------------------------------------------------------------- what happens

    def finish(self, attempt: Attempt) -> None:
        run = self.running.pop(attempt)
        lost = tuple(part.attempt for read in run.inputs for part in read.partitions if part.attempt in self.lost)
        if lost:
            self.log.append(f"{attempt} misses {lost}")
            self.tell(AttemptFailed(attempt, error("INTERNAL", detail="lost"), lost))
            return
        origin: set[tuple[int, int, int]] = set()
        for read in run.inputs:
            for part in read.partitions:
                origin |= self.contents[part.attempt]
        if self.levels[attempt.query, attempt.stage] is Determinism.INDETERMINATE:
            origin.add((attempt.stage, attempt.partition, attempt.number))
        self.contents[attempt] = frozenset(origin)
        self.existing.add(attempt)
        self.log.append(f"{attempt} finishes")
        rows = self.rows.get(attempt.stage, 1)
        self.tell(AttemptFinished(attempt, TaskOutput(str(attempt), 1, rows, rows, ())))

    def fail(self, attempt: Attempt, code: str = "DIVISION_BY_ZERO", **values) -> None:
        self.running.pop(attempt)
        self.log.append(f"{attempt} fails")
        self.tell(AttemptFailed(attempt, error(code, dtype="INTEGER", **values)))

    def kill(self, attempt: Attempt) -> None:
        """The worker dies; a new one is ready at once."""
        run = self.running.pop(attempt)
        self.log.append(f"{attempt} dies with its worker")
        self.tell(WorkerLost(run.worker, "killed"))
        self.next_worker += 1
        self.tell(WorkerReady(self.next_worker))

    def lose(self, attempt: Attempt, noticed: bool = True) -> None:
        """An output is gone. If not noticed, a reader finds out."""
        self.existing.discard(attempt)
        self.lost.add(attempt)
        self.log.append(f"output of {attempt} is lost")
        if noticed:
            self.tell(PartitionLost(attempt.query, (attempt,)))

    def cancel(self, query: int = 1) -> None:
        self.log.append("cancel")
        self.tell(Cancelled(query, error("CANCELLED")))

    def answer(self) -> None:
        """The session has made up its mind about the Replan that it was asked for."""
        asked = self.asked.pop(0)
        graph = self.plan(asked, self.graphs[asked.query])
        self.log.append(f"{asked} is answered with {graph and graph.version}")
        if graph is not None and asked.query not in self.ended:
            self._know(asked.query, graph)
        self.tell(PlanKept(asked.query, asked.version) if graph is None else GraphReplaced(asked.query, graph))

    # ---------------------------------------------------------------------------------------------------- the scheduler

    def tell(self, event: Event) -> None:
        pending = [event]
        while pending:
            _, commands = step(self.state, pending.pop(0))
            for command in commands:
                pending.extend(self._obey(command))

    def _obey(self, command) -> list[Event]:
        match command:
            case Run(worker, attempt, inputs):
                assert attempt.query not in self.ended, "an attempt of a finished query starts"
                assert all(run.worker != worker for run in self.running.values()), "two attempts on one worker"
                assert attempt not in self.running
                waiting = {stage for asked in self.asked if asked.query == attempt.query for stage in asked.started}
                assert not waiting or attempt.stage in waiting, "a stage starts while a plan is made without it"
                assert any(attempt.stage == stage.id for stage in self.graphs[attempt.query].stages)
                self._check_inputs(attempt, inputs)
                self.running[attempt] = command
                live = [a for a in self.running if a not in self.stopped]
                assert len(live) <= self.state.slots, "more tasks than slots"
                assert len({a.task for a in live if a.query == attempt.query}) == len(
                    [a for a in live if a.query == attempt.query]
                ), "two live attempts at one task"
                return [AttemptStarted(attempt)]
            case Stop(_, attempt, _):
                assert attempt in self.running
                self.stopped.add(attempt)
            case Discard(output):
                self.existing = {a for a in self.existing if str(a) != output.path}
            case Deliver(query, partitions):
                lost = tuple(part.attempt for part in partitions if part.attempt in self.lost)
                if lost:
                    return [PartitionLost(query, lost)]
                self._check_result(query, partitions)
                self.delivered[query] = partitions
                return [Delivered(query)]
            case End(query, problem):
                assert query not in self.ended
                assert not [a for a in self.running if a.query == query], "the query ended before its attempts"
                assert (problem is None) == (query in self.delivered)
                self.ended[query] = problem
            case Replan():
                self.replans.append(command)
                self.asked.append(command)
            case Restore(attempt, _):
                self.restoring.append(attempt)
            case Checkpoint():
                pass
        return []

    def restore(self) -> None:
        attempt = self.restoring.pop(0)
        self.lost.discard(attempt)
        self.existing.add(attempt)
        self.log.append(f"{attempt} is restored")
        self.tell(Restored(attempt))

    def _check_inputs(self, attempt: Attempt, inputs) -> None:
        graph = self.graphs[attempt.query]
        assert [read.exchange for read in inputs] == list(graph.inputs(attempt.stage))
        for read in inputs:
            if read.exchange.dir.contract.evaluation is Evaluation.EAGER or read.exchange.feedback:
                continue
            tasks = [(read.exchange.producer, p) for p in range(graph.stage(read.exchange.producer).tasks)]
            if read.exchange.pattern is Pattern.FORWARD:
                tasks = [(read.exchange.producer, attempt.partition)]
            assert [part.attempt.task for part in read.partitions] == tasks, "not all of a producer is read, or not in order"

    def _check_result(self, query: int, partitions) -> None:
        graph = self.graphs[query]
        assert [p.attempt.task for p in partitions] == [(graph.root, i) for i in range(graph.stage(graph.root).tasks)]
        origins = set().union(*(self.contents[p.attempt] for p in partitions)) if partitions else set()
        runs: dict[tuple[int, int], set[int]] = {}
        for stage, partition, number in origins:
            runs.setdefault((stage, partition), set()).add(number)
        assert all(len(numbers) == 1 for numbers in runs.values()), f"rows of two runs are mixed: {runs}\n" + "\n".join(
            self.log
        )

    # ------------------------------------------------------------------------------------------------------- exploration

    def signature(self) -> object:
        """Two worlds with equal signatures go on equally."""
        return (
            frozenset(
                (a, run.worker, a in self.stopped, tuple(p.attempt for r in run.inputs for p in r.partitions))
                for a, run in self.running.items()
            ),
            frozenset(self.existing),
            frozenset(self.lost),
            frozenset(self.ended),
            tuple(self.restoring),
            tuple(self.asked),
            frozenset(
                (
                    q.id,
                    q.graph.version,
                    q.replanning,
                    frozenset(q.judged),
                    frozenset(q.started),
                    q.phase,
                    frozenset(e.attempt for e in q.committed.values()),
                )
                for q in self.state.queries.values()
            ),
        )

    def run_to_end(self, limit: int = 500) -> World:
        """Let everything finish, in order."""
        for _ in range(limit):
            if self.restoring:
                self.restore()
            elif self.asked:
                self.answer()
            elif self.running:
                self.finish(min(self.running))
            else:
                break
        assert not self.state.queries, "a query does not end: " + "\n".join(self.log)
        return self


def explore(world: World, faults: int, moves, limit: int = 60_000) -> int:
    """Go every way from here: any attempt finishes next, or one of `faults` faults happens. Returns how many states there were.

    `moves(world)` lists the faults possible in a state as functions on a World.
    """
    seen = set()
    stack = [(world, faults)]
    while stack:
        current, left = stack.pop()
        key = (current.signature(), left)
        if key in seen:
            continue
        seen.add(key)
        assert len(seen) < limit, "too many states for an exhaustive test"
        ways = [lambda w, a=attempt: w.finish(a) for attempt in current.running]
        if current.restoring:
            ways.append(lambda w: w.restore())
        if current.asked:
            ways.append(lambda w: w.answer())
        if not ways:
            assert not current.state.queries, "a query hangs:\n" + "\n".join(current.log)
            assert not current.running
            continue
        if left:
            ways += [(lambda w, m=move: m(w)) for move in moves(current)]
        plain = len(current.running) + bool(current.restoring) + bool(current.asked)
        for index, way in enumerate(ways):
            twin = current.fork()
            way(twin)
            stack.append((twin, left - (index >= plain)))
    return len(seen)

"""A world for the scheduler without processes: what would run, what could happen next, and what must always hold.

The content of an output is modelled as the set of (INDETERMINATE task, attempt) that its rows depend on, so a result that mixes
rows of two runs of such a task can be told from a right one.
"""

from __future__ import annotations

import copy
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
    PartitionLost,
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
) -> StageGraph:
    """Stages as (tasks, determinism), the last is the root; edges as (producer, consumer, pattern[, contract]) of positions."""
    made = tuple(Stage(id, tasks, BODY, EMPTY, determinism) for id, (tasks, determinism) in enumerate(stages))
    exchanges = tuple(
        Exchange(id, edge[0], edge[1], edge[2], dir_of(edge[3] if len(edge) > 3 else BATCH)) for id, edge in enumerate(edges)
    )
    return StageGraph(made, exchanges, root=len(stages) - 1, version=version)


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
        self.graphs[query] = graph
        self.tell(Submitted(query, graph, **options))

    def fork(self) -> World:
        """A copy to go another way from here."""
        twin = copy.copy(self)
        twin.state = self.state.copy()
        for name in ("graphs", "running", "stopped", "contents", "existing", "lost", "delivered", "ended"):
            setattr(twin, name, getattr(self, name).copy())
        twin.restoring, twin.log, twin.replans = list(self.restoring), list(self.log), list(self.replans)
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
        if self.graphs[attempt.query].stage(attempt.stage).determinism is Determinism.INDETERMINATE:
            origin.add((attempt.stage, attempt.partition, attempt.number))
        self.contents[attempt] = frozenset(origin)
        self.existing.add(attempt)
        self.log.append(f"{attempt} finishes")
        self.tell(AttemptFinished(attempt, TaskOutput(str(attempt), 1, 1, 1, ())))

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
            frozenset((q.id, q.phase, frozenset(e.attempt for e in q.committed.values())) for q in self.state.queries.values()),
        )

    def run_to_end(self, limit: int = 500) -> World:
        """Let everything finish, in order."""
        for _ in range(limit):
            if self.restoring:
                self.restore()
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
        if not ways:
            assert not current.state.queries, "a query hangs:\n" + "\n".join(current.log)
            assert not current.running
            continue
        if left:
            ways += [(lambda w, m=move: m(w)) for move in moves(current)]
        plain = len(current.running) + bool(current.restoring)
        for index, way in enumerate(ways):
            twin = current.fork()
            way(twin)
            stack.append((twin, left - (index >= plain)))
    return len(seen)

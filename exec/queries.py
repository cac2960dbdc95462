"""What the scheduler knows of one running query: its graph, what is committed, what runs, what can start.

Everything here is bookkeeping without decisions; the decisions are in `exec.scheduler` (when) and `exec.recovery.lineage`
(what again).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from exec.attempts import Attempt, TaskKey
from exec.events import Committed, Input
from planner.dir import Evaluation, Exchange, Pattern, Recovery, Stage, StageGraph, Update, regions
from planner.errors import QEngineError

GANG = -1
"""In place of a partition in `QueryState.ready`: all tasks of the region of that stage, at once."""


class Phase(Enum):
    RUNNING = "running"
    DELIVERING = "delivering"
    STOPPING = "stopping"


@dataclass(slots=True)
class Running:
    """An attempt on a worker. A stopped one still occupies its worker, but its outcome does not matter."""

    worker: int
    inputs: tuple[Input, ...]
    started: bool = False
    stopped: bool = False

    def reads(self) -> tuple[tuple[Attempt, ...], ...]:
        return tuple(tuple(part.attempt for part in read.partitions) for read in self.inputs)


class QueryState:
    """The state of one query.

    `committed`  the admitted attempt of every finished task
    `live`       the attempt at every task that runs and is wanted
    `running`    all attempts that occupy a worker, stopped ones included
    `wanted`     tasks that have to run and neither are committed nor run
    `ready`      those of them whose inputs are complete, as (position of the stage, partition or GANG), sorted
    `held`       finished tasks of an eager region that is not finished as a whole
    `restoring`  lost partitions that come back from a checkpoint
    `missing`    per stage: how many of its tasks are not committed
    `started`    the stages at which there was an attempt
    `judged`     the stages whose actual size was compared with the estimate
    `replanning` whether a Replan waits for its answer
    """

    def __init__(self, id: int, graph: StageGraph, max_deaths: int, spare: bool, adaptive: bool) -> None:
        self.id = id
        self.max_deaths = max_deaths
        self.spare = spare
        self.adaptive = adaptive
        self.phase = Phase.RUNNING
        self.error: QEngineError | None = None
        self.error_at: TaskKey | None = None
        self.committed: dict[TaskKey, Committed] = {}
        self.live: dict[TaskKey, Attempt] = {}
        self.running: dict[Attempt, Running] = {}
        self.wanted: set[TaskKey] = set()
        self.ready: list[tuple[int, int]] = []
        self.held: dict[TaskKey, Committed] = {}
        self.restoring: dict[TaskKey, Committed] = {}
        self.numbers: dict[TaskKey, int] = {}
        self.deaths: dict[TaskKey, int] = {}
        self.false_starts: dict[TaskKey, int] = {}
        self.losses: dict[TaskKey, int] = {}
        self.versions: dict[int, int] = {}
        self.started: set[int] = set()
        self.judged: set[int] = set()
        self.replanning = False
        self._set_graph(graph)

    # ------------------------------------------------------------------------------------------------------- the graph

    def _set_graph(self, graph: StageGraph) -> None:
        known = self.versions
        self.graph = graph
        self.stages: dict[int, Stage] = {stage.id: stage for stage in graph.stages}
        self.position = {stage.id: index for index, stage in enumerate(graph.stages)}
        self.inputs = {stage.id: graph.inputs(stage.id) for stage in graph.stages}
        self.outputs = {stage.id: graph.outputs(stage.id) for stage in graph.stages}
        self.region = {stage: region for region in regions(graph) for stage in region}
        self.versions = {stage.id: known.get(stage.id, graph.version) for stage in graph.stages}
        self.missing = {
            stage.id: stage.tasks - sum((stage.id, partition) in self.committed for partition in range(stage.tasks))
            for stage in graph.stages
        }

    def replace_graph(self, graph: StageGraph) -> list[int]:
        """Take over a new graph. Stages that are the same objects keep what they have; returns the ids of all others."""
        changed = [stage.id for stage in self.graph.stages if not any(stage is new for new in graph.stages)]
        for id in changed:
            self.versions.pop(id, None)
            self.started.discard(id)
        self._set_graph(graph)
        return changed

    def tasks(self, stage: int) -> Iterator[TaskKey]:
        return ((stage, partition) for partition in range(self.stages[stage].tasks))

    def region_tasks(self, stage: int) -> list[TaskKey]:
        """All tasks of the region that a stage belongs to."""
        return [key for member in sorted(self.region[stage], key=self.position.__getitem__) for key in self.tasks(member)]

    def is_gang(self, stage: int) -> bool:
        return len(self.region[stage]) > 1

    def is_checkpointed(self, stage: int) -> bool:
        return any(edge.dir.contract.recovery is Recovery.CHECKPOINT for edge in self.outputs[stage])

    # --------------------------------------------------------------------------------------------------------- inputs

    def available(self, exchange: Exchange, partition: int) -> bool:
        """Whether what task `partition` of the consumer needs from this exchange is complete."""
        if not waits(exchange):
            return True
        if exchange.pattern is Pattern.FORWARD:
            return (exchange.producer, partition) in self.committed
        return self.missing[exchange.producer] == 0

    def is_ready(self, key: TaskKey) -> bool:
        return all(self.available(exchange, key[1]) for exchange in self.inputs[key[0]])

    def read(self, key: TaskKey, attempts: dict[TaskKey, Attempt]) -> tuple[Input, ...]:
        """What task `key` reads now. `attempts` are those that start together with it."""
        return tuple(self._input(exchange, key[1], attempts) for exchange in self.inputs[key[0]])

    def _input(self, exchange: Exchange, partition: int, attempts: dict[TaskKey, Attempt]) -> Input:
        producers = self.tasks(exchange.producer)
        if exchange.pattern is Pattern.FORWARD:
            producers = iter([(exchange.producer, partition)])
        if exchange.dir.contract.evaluation is Evaluation.EAGER:
            peers = tuple(attempts[key] for key in producers if key in attempts)
            return Input(exchange, (), () if exchange.feedback else peers)
        if exchange.feedback:
            return Input(exchange, ())
        return Input(exchange, tuple(self.committed[key] for key in producers if key in self.committed))

    # ---------------------------------------------------------------------------------------------------------- tasks

    def offer(self, key: TaskKey) -> None:
        """Put a task into `ready` if it is wanted and can start (for a region: if all of it can start)."""
        if key not in self.wanted:
            return
        stage = key[0]
        entry = (self.position[stage], key[1])
        if self.is_gang(stage):
            members = self.region_tasks(stage)
            if any(member in self.live for member in members) or not all(self.is_ready(member) for member in members):
                return
            entry = (min(self.position[member] for member in self.region[stage]), GANG)
        elif not self.is_ready(key):
            return
        if entry not in self.ready:
            insort(self.ready, entry)

    def offer_consumers(self, key: TaskKey) -> None:
        """Offer the tasks that may have waited for a partition which is committed now."""
        stage, partition = key
        for exchange in self.outputs[stage]:
            if exchange.pattern is Pattern.FORWARD:
                self.offer((exchange.consumer, partition))
            elif self.missing[stage] == 0:
                for consumer in self.tasks(exchange.consumer):
                    self.offer(consumer)

    def new_attempt(self, key: TaskKey) -> Attempt:
        self.numbers[key] = number = self.numbers.get(key, 0) + 1
        self.started.add(key[0])
        return Attempt(self.id, self.versions[key[0]], key[0], key[1], number)

    def commit(self, key: TaskKey, committed: Committed) -> None:
        self.committed[key] = committed
        self.missing[key[0]] -= 1

    def uncommit(self, key: TaskKey) -> Committed:
        self.missing[key[0]] += 1
        return self.committed.pop(key)

    def result(self) -> tuple[Committed, ...] | None:
        """The partitions of the root in order, or None if one is missing."""
        root = self.graph.root
        return None if self.missing[root] else tuple(self.committed[key] for key in self.tasks(root))


def waits(exchange: Exchange, epoch: int = 0) -> bool:
    """Whether a consumer at `epoch` has to wait for its producer to complete an epoch before it may start.

    An EAGER edge is read while it is written. A feedback edge gives the epoch before, an ASYNC one may lag by its staleness;
    what lies before epoch 0 does not exist and is not waited for.
    """
    contract = exchange.dir.contract
    if contract.evaluation is Evaluation.EAGER:
        return False
    lag = (1 if exchange.feedback else 0) + (contract.staleness if contract.update is Update.ASYNC else 0)
    return epoch - lag >= 0

"""The scheduler: a pure transition from (state, event) to (state, commands).

It knows no clock, no process, no file and no randomness; whatever happens in the world is an event, whatever should happen a
command, so every order of failures can be tested without a process. What it decides:

* A LAZY edge is a border: its consumer starts when the producer is complete. Stages joined by EAGER edges are a region:
  they start together, are admitted together, and start again together. ASYNC and feedback edges never block the first epoch.
* The queries take turns; within a query earlier stages and lower partitions go first. At most `slots` tasks run at once.
  The backend keeps one worker more than that, so a lost one is replaced in no time.
* The first complete attempt of a partition is admitted if the graph still holds its stage; every other one is discarded.
* A worker's death costs its unfinished attempts. The task whose attempts keep killing workers fails its query.
* A lost partition and its lost ancestors run again; law 1 says who has to follow (`exec.recovery.lineage`).
* An error of a value or a file is final. Of several, the one of the lowest partition of a stage is reported, whatever the
  number of workers: lower partitions that are ready or running may still end, nothing else starts.
* A query ends when none of its attempts runs any more, so its files can go and nobody writes them again.
* A complete stage that is far from its estimate makes an adaptive query ask for a new plan (`exec.surprises`), if anything that
  reads it has not started. Until the answer no other stage starts, so a plan is never out of date when it arrives; stages
  that have started go on. What a new graph does not hold any more is stopped and discarded.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from exec.attempts import Attempt, TaskKey
from exec.events import (
    AttemptFailed,
    AttemptFinished,
    AttemptStarted,
    Cancelled,
    Checkpoint,
    Command,
    Committed,
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
from exec.queries import GANG, Phase, QueryState, Running
from exec.recovery.lineage import demand, rolled_back
from exec.surprises import surprises
from planner.dir import Pattern
from planner.errors import DataError, ExpressionError, QEngineError, error
from planner.physical.nodes import task_splits

MAX_LOSSES = 3
"""So often may one partition's output be lost before the query fails."""

MAX_FALSE_STARTS = 20
"""So often may a task be given to a worker that dies before it begins; only a machine in trouble gets there."""

LOCALITY_WINDOW = 16
"""So many ready tasks are searched for one whose input a free worker has made."""

_FINAL_ERRORS = (ExpressionError, DataError)
_STATELESS = (AttemptStarted,)


@dataclass(slots=True)
class State:
    """All queries, and what every worker does: an attempt, or None while it waits."""

    slots: int
    queries: dict[int, QueryState] = field(default_factory=dict)
    workers: dict[int, Attempt | None] = field(default_factory=dict)
    turn: list[int] = field(default_factory=list)

    def copy(self) -> State:
        """An independent copy; graphs and outputs, which never change, are shared."""
        memo: dict[int, Any] = {}
        for query in self.queries.values():
            for shared in (query.graph, *query.committed.values(), *query.held.values(), *query.restoring.values()):
                memo[id(shared)] = shared
            for running in query.running.values():
                memo[id(running.inputs)] = running.inputs
            for table in (query.stages, query.inputs, query.outputs, query.region):
                memo[id(table)] = table
        return copy.deepcopy(self, memo)


def step(state: State, event: Event) -> tuple[State, list[Command]]:
    """Take in one event. The state is updated in place and returned; `State.copy` keeps an old one."""
    commands: list[Command] = []
    _HANDLERS[type(event)](state, event, commands)
    if not isinstance(event, _STATELESS):
        for query in list(state.queries.values()):
            _advance(state, query, commands)
        _dispatch(state, commands)
    return state, commands


# ------------------------------------------------------------------------------------------------------------ handlers


def _submitted(state: State, event: Submitted, out: list[Command]) -> None:
    query = QueryState(event.query, event.graph, event.max_deaths, event.spare, event.adaptive)
    state.queries[event.query] = query
    state.turn.append(event.query)
    _find_work(query)
    _check_regions(state, query, out)


def _graph_replaced(state: State, event: GraphReplaced, out: list[Command]) -> None:
    query = state.queries.get(event.query)
    if query is None:
        return
    query.replanning = False
    if query.phase is not Phase.RUNNING or event.graph.version <= query.graph.version:
        return
    changed = {stage.id for stage in query.graph.stages if not any(stage is new for new in event.graph.stages)}
    for key in [key for key in query.live if key[0] in changed]:
        _stop(query, query.live[key], out, urgent=False)
    for key in [key for key in query.committed if key[0] in changed]:
        out.append(Discard(query.uncommit(key).output))
    for table in (query.held, query.restoring):
        for key in [key for key in table if key[0] in changed]:
            out.append(Discard(table.pop(key).output))
    query.replace_graph(event.graph)
    _find_work(query)
    _check_regions(state, query, out)
    _consider_replan(query, out)


def _plan_kept(state: State, event: PlanKept, out: list[Command]) -> None:
    query = state.queries.get(event.query)
    if query is not None and event.version == query.graph.version:
        query.replanning = False
        _consider_replan(query, out)


def _worker_ready(state: State, event: WorkerReady, out: list[Command]) -> None:
    state.workers.setdefault(event.worker, None)


def _worker_lost(state: State, event: WorkerLost, out: list[Command]) -> None:
    attempt = state.workers.pop(event.worker, None)
    query = state.queries.get(attempt.query) if attempt is not None else None
    if attempt is None or query is None:
        return
    running = query.running.pop(attempt)
    if running.stopped:
        return
    del query.live[attempt.task]
    # A worker that dies before it has begun the task was not killed by the task.
    table, limit = (query.deaths, query.max_deaths) if running.started else (query.false_starts, MAX_FALSE_STARTS)
    table[attempt.task] = count = table.get(attempt.task, 0) + 1
    if count >= limit:
        detail = (event.detail or "no reason is known") + _what_it_read(query, attempt)
        _fail(query, attempt.task, error("WORKER_LOST", count=count, detail=detail), out)
    else:
        _run_again(query, attempt, out)


def _what_it_read(query: QueryState, attempt: Attempt) -> str:
    """The end of a message: a file that the attempt's task reads, which may well be what kills its workers."""
    paths = sorted(split.path for split in task_splits(query.stages[attempt.stage].body, attempt.partition))
    return f"; it was reading {paths[0]!r}" if paths else ""


def _attempt_started(state: State, event: AttemptStarted, out: list[Command]) -> None:
    query = state.queries.get(event.attempt.query)
    running = query.running.get(event.attempt) if query is not None else None
    if running is not None:
        running.started = True


def _attempt_finished(state: State, event: AttemptFinished, out: list[Command]) -> None:
    attempt = event.attempt
    query, running = _take(state, attempt)
    if query is None or running is None or running.stopped or query.phase is not Phase.RUNNING:
        out.append(Discard(event.output))
        return
    del query.live[attempt.task]
    entry = Committed(attempt, event.output, running.worker, running.reads())
    if query.is_gang(attempt.stage):
        query.held[attempt.task] = entry
        _admit_region(query, attempt.stage, out)
    else:
        _admit(query, entry, out)


def _attempt_failed(state: State, event: AttemptFailed, out: list[Command]) -> None:
    attempt = event.attempt
    query, running = _take(state, attempt)
    if query is None or running is None or running.stopped:
        return
    del query.live[attempt.task]
    if not event.lost:
        _fail(query, attempt.task, event.error, out)
        return
    _run_again(query, attempt, out)
    _lose(query, event.lost, out)


def _partition_lost(state: State, event: PartitionLost, out: list[Command]) -> None:
    query = state.queries.get(event.query)
    if query is not None and query.phase is not Phase.STOPPING:
        _lose(query, event.attempts, out)


def _restored(state: State, event: Restored, out: list[Command]) -> None:
    query = state.queries.get(event.attempt.query)
    entry = query.restoring.get(event.attempt.task) if query is not None else None
    if query is not None and entry is not None and entry.attempt == event.attempt:
        del query.restoring[event.attempt.task]
        query.commit(event.attempt.task, entry)
        query.offer_consumers(event.attempt.task)


def _cancelled(state: State, event: Cancelled, out: list[Command]) -> None:
    query = state.queries.get(event.query)
    if query is not None and query.phase is not Phase.STOPPING:
        _end(query, event.error, out, urgent=True)


def _delivered(state: State, event: Delivered, out: list[Command]) -> None:
    query = state.queries.get(event.query)
    if query is not None and query.phase is Phase.DELIVERING:
        _end(query, None, out, urgent=False)


_HANDLERS: dict[type, Callable[[State, Any, list[Command]], None]] = {
    Submitted: _submitted,
    GraphReplaced: _graph_replaced,
    PlanKept: _plan_kept,
    WorkerReady: _worker_ready,
    WorkerLost: _worker_lost,
    AttemptStarted: _attempt_started,
    AttemptFinished: _attempt_finished,
    AttemptFailed: _attempt_failed,
    PartitionLost: _partition_lost,
    Restored: _restored,
    Cancelled: _cancelled,
    Delivered: _delivered,
}

# ---------------------------------------------------------------------------------------------------------- transitions


def _take(state: State, attempt: Attempt) -> tuple[QueryState | None, Running | None]:
    """The query and record of an attempt that reported its end; its worker is free again."""
    query = state.queries.get(attempt.query)
    running = query.running.pop(attempt, None) if query is not None else None
    if running is not None and state.workers.get(running.worker) == attempt:
        state.workers[running.worker] = None
    return query, running


def _admit(query: QueryState, entry: Committed, out: list[Command]) -> None:
    """The commit rule: the first complete attempt of the stage as the graph has it now."""
    stage, task = entry.attempt.stage, entry.attempt.task
    if query.versions.get(stage) != entry.attempt.version or task in query.committed:
        out.append(Discard(entry.output))
        return
    query.commit(task, entry)
    if query.is_checkpointed(stage):
        out.append(Checkpoint(entry.attempt, entry.output))
    query.offer_consumers(task)
    if query.missing[stage] == 0:
        _consider_replan(query, out)


def _admit_region(query: QueryState, stage: int, out: list[Command]) -> None:
    """A region is admitted when all of it is finished; what an earlier run of it has left is kept."""
    members = query.region_tasks(stage)
    if all(member in query.held for member in members):
        for member in members:
            _admit(query, query.held.pop(member), out)


def _consider_replan(query: QueryState, out: list[Command]) -> None:
    """Ask for a new plan if a stage that has become complete is a surprise. Every stage is judged once."""
    if not query.adaptive or query.replanning or query.phase is not Phase.RUNNING or query.error is not None:
        return
    actuals = {stage.id: _actual(query, stage.id) for stage in query.graph.stages if query.missing[stage.id] == 0}
    found = surprises(query, {stage: actual for stage, actual in actuals.items() if stage not in query.judged})
    query.judged.update(actuals)
    if found:
        query.replanning = True
        sizes = tuple((stage, *actual) for stage, actual in actuals.items())
        out.append(Replan(query.id, query.graph.version, found, sizes, tuple(sorted(query.started))))


def _actual(query: QueryState, stage: int) -> tuple[int, int]:
    """Rows and bytes of a complete stage."""
    outputs = [query.committed[key].output for key in query.tasks(stage)]
    return sum(output.rows for output in outputs), sum(output.bytes for output in outputs)


def _run_again(query: QueryState, attempt: Attempt, out: list[Command]) -> None:
    """An attempt is gone; so are those that ran in its region."""
    if query.is_gang(attempt.stage):
        for key in query.region_tasks(attempt.stage):
            if key in query.live:
                _stop(query, query.live[key], out, urgent=False)
            if key in query.held:
                out.append(Discard(query.held.pop(key).output))
    _find_work(query)


def _lose(query: QueryState, attempts: tuple[Attempt, ...], out: list[Command]) -> None:
    """Outputs are gone: what has a checkpoint is restored, the rest is un-committed, and law 1 is applied."""
    gone = []
    for attempt in attempts:
        if query.versions.get(attempt.stage) != attempt.version:
            continue  # the graph does not hold its stage any more
        if attempt.task in query.restoring and query.restoring[attempt.task].attempt == attempt:
            query.commit(attempt.task, query.restoring.pop(attempt.task))  # the checkpoint is lost as well
            checkpointed = False
        else:
            checkpointed = query.is_checkpointed(attempt.stage)
        entry = query.committed.get(attempt.task)
        if entry is None or entry.attempt != attempt:
            continue  # it was replaced already
        query.losses[attempt.task] = count = query.losses.get(attempt.task, 0) + 1
        if count > MAX_LOSSES or not query.stages[attempt.stage].replayable:
            _fail(query, attempt.task, error("OUTPUT_LOST", count=count), out)
            return
        query.uncommit(attempt.task)
        if checkpointed:
            query.restoring[attempt.task] = entry
            out.append(Restore(attempt, entry.output))
        else:
            gone.append(attempt)
            out.append(Discard(entry.output))
    for attempt in sorted(rolled_back(query, gone)):
        if query.live.get(attempt.task) == attempt:
            _stop(query, attempt, out, urgent=False)
        elif attempt.task in query.committed:
            out.append(Discard(query.uncommit(attempt.task).output))
        else:
            for table in (query.held, query.restoring):
                if attempt.task in table:
                    out.append(Discard(table.pop(attempt.task).output))
    query.phase = Phase.RUNNING
    _find_work(query)


def _find_work(query: QueryState) -> None:
    """Work out anew what has to run and what can start. The normal course of a query never needs this after its start."""
    query.wanted = demand(query)
    query.ready = []
    for key in query.wanted:
        query.offer(key)


def _check_regions(state: State, query: QueryState, out: list[Command]) -> None:
    """A region that can never have all its tasks on workers at once is refused."""
    largest = max((len(query.region_tasks(stage)) for stage in query.stages if query.is_gang(stage)), default=0)
    if largest > state.slots:
        _end(query, error("UNSUPPORTED", what=f"a region of {largest} tasks on {state.slots} workers"), out, urgent=False)


def _fail(query: QueryState, task: TaskKey, reason: QEngineError, out: list[Command]) -> None:
    """Note an error. A final one waits for lower partitions of its stage (`_advance`), others end the query at once."""
    if query.phase is Phase.STOPPING:
        return
    if not isinstance(reason, _FINAL_ERRORS):
        _end(query, query.error or reason, out, urgent=False)
    elif query.error_at is None or (query.position[task[0]], task[1]) < (query.position[query.error_at[0]], query.error_at[1]):
        query.error, query.error_at = reason, task


def _end(query: QueryState, reason: QEngineError | None, out: list[Command], urgent: bool) -> None:
    query.phase = Phase.STOPPING
    query.error = reason
    query.ready = []
    for attempt in list(query.live.values()):
        _stop(query, attempt, out, urgent)


def _stop(query: QueryState, attempt: Attempt, out: list[Command], urgent: bool) -> None:
    running = query.running[attempt]
    running.stopped = True
    del query.live[attempt.task]
    out.append(Stop(running.worker, attempt, urgent))


def _advance(state: State, query: QueryState, out: list[Command]) -> None:
    """Let a query change its phase if it can."""
    if query.phase is Phase.RUNNING and query.error is not None and not _lower_outstanding(query):
        _end(query, query.error, out, urgent=False)
    if query.phase is Phase.RUNNING and query.error is None:
        result = query.result()
        if result is not None:
            query.phase = Phase.DELIVERING
            out.append(Deliver(query.id, result))
    if query.phase is Phase.STOPPING and not query.running:
        del state.queries[query.id]
        state.turn.remove(query.id)
        out.append(End(query.id, query.error))


def _lower_outstanding(query: QueryState) -> bool:
    """Whether a lower partition of the stage that failed runs or is ready: it may fail too, and would be the one to report."""
    assert query.error_at is not None
    stage, partition = query.error_at
    ready = any(entry < (query.position[stage], partition) and entry[0] == query.position[stage] for entry in query.ready)
    return ready or any(key[0] == stage and key[1] < partition for key in query.live)


# ------------------------------------------------------------------------------------------------------------ dispatch


def _dispatch(state: State, out: list[Command]) -> None:
    """Give ready tasks to free workers, the queries taking turns."""
    while True:
        for index, id in enumerate(state.turn):
            query = state.queries[id]
            started = _start_one(state, query, out)
            if started:
                state.turn.append(state.turn.pop(index))
                break
            if started is None and index == 0:
                return  # a region waits for enough workers: nobody may take them away
        else:
            return


def _start_one(state: State, query: QueryState, out: list[Command]) -> bool | None:
    """Start a task or a region of a query: True if done, False if there is none, None if a region needs more workers."""
    if query.phase is not Phase.RUNNING or not query.ready:
        return False
    idle = sorted(worker for worker, attempt in state.workers.items() if attempt is None)
    slots = state.slots if query.spare else state.slots - sum(len(q.live) for q in state.queries.values() if not q.spare)
    first = _first_startable(query)
    if first is None:
        return False
    position, partition = query.ready[first]
    if partition == GANG:
        members = query.region_tasks(query.graph.stages[position].id)
        if len(members) > min(len(idle), slots):
            return None
        query.ready.pop(first)
        attempts = {member: query.new_attempt(member) for member in members}
        for member, worker in zip(members, idle):
            _run(state, query, attempts[member], worker, attempts, out)
        return True
    if not idle or slots <= 0:
        return False
    index, worker = _nearest(query, first, idle)
    position, partition = query.ready.pop(index)
    attempt = query.new_attempt((query.graph.stages[position].id, partition))
    _run(state, query, attempt, worker, {}, out)
    return True


def _first_startable(query: QueryState) -> int | None:
    """The index in `ready` of what may start.

    After an error only lower partitions of the stage that failed, and while a new plan is made only stages that have started.
    """
    if query.error_at is None:
        if not query.replanning:
            return 0
        stages = query.graph.stages
        return next((index for index, entry in enumerate(query.ready) if stages[entry[0]].id in query.started), None)
    position, partition = query.position[query.error_at[0]], query.error_at[1]
    return next((index for index, entry in enumerate(query.ready) if (position, GANG) <= entry < (position, partition)), None)


def _nearest(query: QueryState, first: int, idle: list[int]) -> tuple[int, int]:
    """The ready task to start next, and where: preferably one whose forwarded input was made by a free worker."""
    position = query.ready[first][0]
    stage = query.graph.stages[position].id
    forwards = [edge.producer for edge in query.inputs[stage] if edge.pattern is Pattern.FORWARD]
    if forwards and query.error_at is None:
        for index, entry in enumerate(query.ready[:LOCALITY_WINDOW]):
            producer = query.committed.get((forwards[0], entry[1])) if entry[0] == position else None
            if producer is not None and producer.worker in idle:
                return index, producer.worker
    return first, idle[0]


def _run(
    state: State, query: QueryState, attempt: Attempt, worker: int, attempts: dict[TaskKey, Attempt], out: list[Command]
) -> None:
    inputs = query.read(attempt.task, attempts)
    query.wanted.discard(attempt.task)
    query.live[attempt.task] = attempt
    query.running[attempt] = Running(worker, inputs)
    state.workers[worker] = attempt
    out.append(Run(worker, attempt, inputs))

"""What has to run again after a loss. Pure functions over the state of a query; law 1 of `planner.dir`.

The engine keeps no log of what to redo. What is needed follows from the graph and from what is committed: everything the
root needs and does not have. A lost partition is un-committed, and `demand` then names exactly it and those of its
ancestors that are lost too, in one wave.
"""

from __future__ import annotations

from collections.abc import Iterable

from exec.attempts import Attempt, TaskKey
from exec.events import Committed
from exec.queries import QueryState
from planner.dir import Determinism, Pattern


def demand(query: QueryState) -> set[TaskKey]:
    """The tasks that have to run: not committed, not running, and needed by the root, directly or not.

    A running attempt has opened its inputs or will report that it could not; so nothing is recomputed on its behalf.
    """
    needed: set[TaskKey] = set()
    whole_stages: set[int] = set()
    stack = list(query.tasks(query.graph.root))
    while stack:
        key = stack.pop()
        if key in query.committed or key in query.restoring or key in query.live or key in needed:
            continue
        members = query.region_tasks(key[0]) if query.is_gang(key[0]) else [key]
        needed.update(members)
        for stage, partition in members:
            for exchange in query.inputs[stage]:
                if exchange.feedback:
                    continue  # the first epoch starts without it
                if exchange.pattern is Pattern.FORWARD:
                    stack.append((exchange.producer, partition))
                elif exchange.producer not in whole_stages:
                    whole_stages.add(exchange.producer)
                    stack.extend(query.tasks(exchange.producer))
    return needed


def rolled_back(query: QueryState, lost: Iterable[Attempt]) -> set[Attempt]:
    """The attempts that the loss of `lost` makes invalid, although they are not lost themselves.

    A second run of an INDETERMINATE task gives other rows, so whoever read the first ones, directly or through others, must
    read again. ORDERED and SET outputs come back equal and roll nothing back. An admitted output that has a checkpoint
    stays, and stops the way: whoever reads it still gets the rows of the first run. Members of an eager region fall
    together.
    """
    readers: dict[Attempt, list[Attempt]] = {}
    for attempt, reads in _all_reads(query):
        for read in reads:
            for producer in read:
                readers.setdefault(producer, []).append(attempt)

    pending = [attempt for attempt in lost if query.stages[attempt.stage].determinism is Determinism.INDETERMINATE]
    first, invalid = set(pending), set[Attempt]()
    while pending:
        attempt = pending.pop()
        for reached in (*readers.get(attempt, ()), *_region_attempts(query, attempt)):
            durable = query.is_checkpointed(reached.stage) and query.live.get(reached.task) != reached
            if reached not in invalid and reached not in first and not durable:
                invalid.add(reached)
                pending.append(reached)
    return invalid


def _finished(query: QueryState) -> list[Committed]:
    return [*query.committed.values(), *query.held.values(), *query.restoring.values()]


def _all_reads(query: QueryState) -> list[tuple[Attempt, tuple[tuple[Attempt, ...], ...]]]:
    done = [(entry.attempt, entry.reads) for entry in _finished(query)]
    return done + [(attempt, query.running[attempt].reads()) for attempt in query.live.values()]


def _region_attempts(query: QueryState, attempt: Attempt) -> list[Attempt]:
    if not query.is_gang(attempt.stage):
        return []
    found = []
    for key in query.region_tasks(attempt.stage):
        if key in query.live:
            found.append(query.live[key])
        entry = query.committed.get(key) or query.held.get(key) or query.restoring.get(key)
        if entry is not None:
            found.append(entry.attempt)
    return found

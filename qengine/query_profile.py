"""Where the time of one run of a query went.

A `Record` is filled while a query is planned and runs; `profile_of` makes a `Profile` of it: the seconds of every step, the
stages with what their tasks did and when, and the critical path, which is the chain of stages that the result waited for. Times
within the execution are those of the driver: a task ends when it hears of that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from exec.attempts import OperatorCount, TaskKey
from exec.metrics import QueryMetrics, Replanned, StageMetrics, TaskMetrics
from planner.dir import Stage, StageGraph
from planner.physical.explain import OperatorText, StageText, stage_texts
from planner.physical.nodes import ExchangeSource, PhysicalPlan, ProjectExec, TableScan
from planner.tree import kind_mask, walk

if TYPE_CHECKING:
    import pyarrow as pa

PLANNING = ("look up", "parse", "bind", "refresh", "optimize", "plan")
"""The steps before anything runs, in their order: is there a plan of this text, text to syntax tree, names and types, are the
files as they were, rules, stages."""


class Record:
    """What is noted while a query is planned and runs: seconds by step; with workers, the metrics of its tasks.

    If it is to be `observed`, `operators` gets what operators delivered, by stage and partition.
    """

    def __init__(self, seconds: dict[str, float] | None = None, observed: bool = False) -> None:
        self.seconds = seconds if seconds is not None else {}
        self.observed = observed
        self.operators: Mapping[TaskKey, tuple[OperatorCount, ...]] = {}
        self.graph: StageGraph | None = None
        self.metrics: QueryMetrics | None = None
        self._since = time.perf_counter()

    def passed(self, step: str) -> None:
        """The time since the last call belongs to `step`."""
        now = time.perf_counter()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self._since
        self._since = now


@dataclass(frozen=True, slots=True)
class OperatorProfile:
    """One operator of a stage: its number in the plan, what EXPLAIN calls it, and what it delivered, all tasks together.

    `estimated_rows` are those that it was planned for. `seconds` are from the beginning of a task until the operator's last row,
    which includes what it reads, as a sum over tasks. None is unknown: projections and what exchanges deliver are not observed.
    """

    stage: int
    number: int
    name: str
    text: str
    estimated_rows: float | None
    rows: int | None
    bytes: int | None
    seconds: float | None

    @property
    def q_error(self) -> float | None:
        """By which factor the estimate was wrong, in either direction: 1 is right. Less than a row counts as one."""
        if self.rows is None or self.estimated_rows is None:
            return None
        estimated, actual = max(self.estimated_rows, 1.0), max(self.rows, 1)
        return max(estimated / actual, actual / estimated)


@dataclass(frozen=True, slots=True)
class StageProfile:
    """One stage. `number` is that of `explain("stages")`, and `inputs` are the numbers of the stages it reads.

    `rows` and `bytes` (in memory) are what it delivered, `table_rows` the rows of tables that its scans looked at.
    `seconds` and `cpu_seconds` are sums over its tasks, those repeated included: `attempts` is then above `tasks`. `begin` and
    `end` are seconds since the execution began.
    """

    number: int
    operators: str
    inputs: tuple[int, ...]
    tasks: int
    attempts: int
    rows: int
    bytes: int
    table_rows: int
    seconds: float
    cpu_seconds: float
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time of a run went, in seconds of wall time; `str()` is a table for people.

    `steps` are in order: those of PLANNING (the first three for SQL text alone), "execute", "deliver" (the result in the
    types of Arrow), and "repeat" if files were not as expected, so that it was planned and run once more. A query that is proven
    to be small runs `inline`, in this process, without stages. `idle_seconds` is the part of "execute" in which no task was
    running. `critical_path` are the numbers of the stages that the result waited for, first to last. `operators` are in the
    order of EXPLAIN, stage by stage, each before those it reads; for an `inline` query in one stage. `replans` are the new plans
    that were made while the query ran, because a stage delivered other amounts than expected. `graph` is the plan that ran.
    """

    result: pa.Table
    steps: Mapping[str, float]
    inline: bool
    stages: tuple[StageProfile, ...]
    critical_path: tuple[int, ...]
    idle_seconds: float
    operators: tuple[OperatorProfile, ...]
    replans: tuple[Replanned, ...]
    graph: StageGraph

    @property
    def seconds(self) -> float:
        """All steps together."""
        return sum(self.steps.values())

    @property
    def planning_seconds(self) -> float:
        """The steps before anything runs."""
        return sum(self.steps.get(step, 0.0) for step in PLANNING)

    def stage(self, number: int) -> StageProfile:
        """The stage of that number. Raises KeyError."""
        return {stage.number: stage for stage in self.stages}[number]

    def __str__(self) -> str:
        return "\n".join([*summary_lines(self), *_stage_lines(self)])


def profile_of(result: pa.Table, record: Record) -> Profile:
    """The profile of a run that is done."""
    metrics = record.metrics
    graph = metrics.graph if metrics is not None and metrics.graph is not None else record.graph
    assert graph is not None
    operators = _operator_profiles(graph, record.operators)
    if metrics is None:
        return Profile(result, record.seconds, True, (), (), 0.0, operators, (), graph)
    stages = _stages(graph, metrics)
    idle = max(0.0, record.seconds["execute"] - _covered(metrics.tasks))
    path, replans = _critical_path(stages), tuple(metrics.replans)
    return Profile(result, record.seconds, False, stages, path, idle, operators, replans, graph)


def _operator_profiles(graph: StageGraph, counts: Mapping[TaskKey, tuple[OperatorCount, ...]]) -> tuple[OperatorProfile, ...]:
    sums: dict[tuple[int, int], OperatorCount] = {}
    for (stage, _), task in counts.items():
        for count in task:
            known = sums.get((stage, count.number), OperatorCount(count.number, 0, 0, 0.0))
            added = (known.rows + count.rows, known.bytes + count.bytes, known.seconds + count.seconds)
            sums[stage, count.number] = OperatorCount(count.number, *added)
    return tuple(_operator_profile(stage, line, sums) for stage in stage_texts(graph) for line in stage.operators)


def _operator_profile(stage: StageText, line: OperatorText, sums: Mapping[tuple[int, int], OperatorCount]) -> OperatorProfile:
    did = None if isinstance(line.plan, (ExchangeSource, ProjectExec)) else sums.get((stage.stage.id, line.number))
    actual = (None, None, None) if did is None else (did.rows, did.bytes, did.seconds)
    return OperatorProfile(stage.number, line.number, line.name, line.text, line.estimated_rows, *actual)


def _stages(graph: StageGraph, metrics: QueryMetrics) -> tuple[StageProfile, ...]:
    numbers = {stage.id: number for number, stage in enumerate(graph.stages, start=1)}
    found = []
    for stage in graph.stages:
        did = metrics.stages.get(stage.id) or StageMetrics(stage.tasks)
        tasks = [task for task in metrics.tasks if task.stage == stage.id]
        found.append(
            StageProfile(
                numbers[stage.id],
                _operators(stage),
                tuple(sorted(numbers[exchange.producer] for exchange in graph.inputs(stage.id))),
                did.tasks,
                did.attempts,
                did.rows,
                did.bytes,
                _table_rows(stage),
                did.seconds,
                did.cpu_seconds,
                min((task.begin for task in tasks), default=0.0),
                max((task.end for task in tasks), default=0.0),
            )
        )
    return tuple(found)


def _operators(stage: Stage) -> str:
    """The operators of a stage from the last to the first, runs of equal ones once, scans with their tables.

    Projections are left out: they cost little and are everywhere.
    """
    names = []
    for node in walk(stage.body, kind_mask(PhysicalPlan)):
        if isinstance(node, TableScan):
            names.append(f"TableScan {node.table_name}")
        elif not isinstance(node, (ExchangeSource, ProjectExec)):
            names.append(type(node).__name__.removesuffix("Exec"))
    return ", ".join(name for name, _ in groupby(names))


def _table_rows(stage: Stage) -> int:
    scans = [node for node in walk(stage.body, kind_mask(TableScan)) if isinstance(node, TableScan)]
    return sum(part.rows for scan in scans for ranges in scan.partitions for part in ranges)


def _covered(tasks: Sequence[TaskMetrics]) -> float:
    """Seconds in which at least one task was running."""
    covered, until = 0.0, 0.0
    for task in sorted(tasks, key=lambda task: task.begin):
        covered += max(0.0, task.end - max(until, task.begin))
        until = max(until, task.end)
    return covered


def _critical_path(stages: Sequence[StageProfile]) -> tuple[int, ...]:
    """From the stage that ended last back through the input of each that ended last."""
    by_number = {stage.number: stage for stage in stages}
    current = max(stages, key=lambda stage: stage.end)
    path = [current.number]
    while current.inputs:
        current = max((by_number[number] for number in current.inputs), key=lambda stage: stage.end)
        path.append(current.number)
    return tuple(reversed(path))


# ------------------------------------------------------------------------------------------------------------------ text


def summary_lines(profile: Profile) -> list[str]:
    steps = ", ".join(f"{step} {ms_text(value)}" for step, value in profile.steps.items())
    lines = [f"total {ms_text(profile.seconds)}: {steps}"]
    if profile.inline:
        return [*lines, "ran in this process, without stages"]
    attempts = sum(stage.attempts for stage in profile.stages)
    tasks = ms_text(sum(stage.seconds for stage in profile.stages))
    cpu, idle = ms_text(sum(stage.cpu_seconds for stage in profile.stages)), ms_text(profile.idle_seconds)
    lines.append(f"{attempts} tasks took {tasks}, {cpu} of it on a CPU; none was running for {idle}")
    reached, parts = 0.0, []
    for stage in map(profile.stage, profile.critical_path):
        waited, took = max(0.0, stage.begin - reached), stage.end - max(reached, stage.begin)
        parts.append(f"stage {stage.number} {ms_text(took)} (waited {ms_text(waited)})")
        reached = stage.end
    lines.append(f"critical path: {' → '.join(parts)}")
    for replan in profile.replans:
        why = "; ".join(f"a stage delivered {s.rows:,} rows, not {s.estimated_rows:,.0f}" for s in replan.surprises)
        lines.append(f"planned again in {ms_text(replan.seconds)}: {why}: {', '.join(replan.changes) or 'nothing changed'}")
    return lines


def _stage_lines(profile: Profile) -> list[str]:
    if not profile.stages:
        return []
    head = ("stage", "tasks", "rows", "bytes", "table rows", "begin ms", "end ms", "task ms", "CPU ms", "reads", "operators")
    rows = [head, *(_stage_cells(stage, stage.number in profile.critical_path) for stage in profile.stages)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(head) - 1)]
    return ["", *("  ".join([*(cell.rjust(width) for cell, width in zip(row, widths)), row[-1]]) for row in rows)]


def _stage_cells(stage: StageProfile, critical: bool) -> tuple[str, ...]:
    repeated = f" (+{stage.attempts - stage.tasks})" if stage.attempts > stage.tasks else ""
    return (
        f"{'* ' if critical else ''}{stage.number}",
        f"{stage.tasks}{repeated}",
        f"{stage.rows:,}",
        bytes_text(stage.bytes),
        f"{stage.table_rows:,}" if stage.table_rows else "",
        *(f"{1000 * value:.1f}" for value in (stage.begin, stage.end, stage.seconds, stage.cpu_seconds)),
        ", ".join(map(str, stage.inputs)),
        stage.operators,
    )


def rows_text(rows: float) -> str:
    return f"{rows:,.0f} row{'' if round(rows) == 1 else 's'}"


def ms_text(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"


def bytes_text(size: int) -> str:
    amount, unit = float(size), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"

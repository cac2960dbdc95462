"""A new plan for what has not started of a running query, made at a stage border, where estimates become facts.

The logical plan is planned once more by the same strategies, but below the stages that have started there is nothing to plan:

* such a stage is a leaf, `StageOutput`, with the rows that it delivered, or is expected to deliver if it is not complete; how
  its files are grouped is what it offers. So sides to build, broadcast or hash, gather or hash, and the number of buckets are
  decided anew by what is known now;
* a stage that delivered no rows is a relation without rows, and what joins with that is not needed at all, so neither are
  stages that have started for it (`propagate_empty_relation`).

Sound because every leaf delivers exactly the rows of a logical operator (`Origin`): a plan that reads it is another plan of the
same query. What a lost leaf is computed from stays in the graph.

Decided: stages that have started are kept, also if a plan without them would now be better; their work would be lost, and the
workers that do it killed. Decided: the order of joins stays; below a join that has started nothing could be changed, and what is
above has few relations left.
Rejected: changing the running stage graph in place. Each change would need its own proof that requirements still hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from planner.analysis.determinism import DeterminismAnalysis
from planner.dir import (
    SCATTERING,
    Determinism,
    Hash,
    Layout,
    Partitioning,
    Range,
    Single,
    Spread,
    Stage,
    StageGraph,
    partition_count,
)
from planner.logical.nodes import LogicalPlan, Values
from planner.optimizer.propagate_empty_relation import propagate_empty_relation
from planner.physical.context import OPTIONAL_STEPS, PhysicalOptions
from planner.physical.cost import row_width
from planner.physical.cut_stages import cut_stages
from planner.physical.nodes import (
    AggregateExec,
    AggregateMode,
    ExchangePlan,
    ExchangeSource,
    FilterExec,
    JoinExec,
    Origin,
    PhysicalPlan,
    ProjectExec,
    StageOutput,
    exchange_sources,
    table_scans,
)
from planner.physical.plan import operators, plan_physical
from planner.physical.properties import Offered
from planner.physical.stage_outputs import StartedStage
from planner.rule import OptimizerContext, fixed_point, run_batches
from planner.schema import Column, ColumnAllocator
from planner.tree import Node, kind_mask, rewrite, walk

_EMPTY = (fixed_point("empty relations", propagate_empty_relation),)


@dataclass(frozen=True, slots=True)
class RunningPlan:
    """The plans of a running query, as they are now.

    `leaves` are the logical operators whose rows `physical` reads from stages, by id; its operators are numbered from
    `first_number`.
    """

    logical: LogicalPlan
    physical: PhysicalPlan
    graph: StageGraph
    leaves: frozenset[int] = frozenset()
    first_number: int = 1


@dataclass(frozen=True, slots=True)
class NewPlan:
    """The next version, and what is different in it, for people."""

    plan: RunningPlan
    changes: tuple[str, ...]


def replan(
    running: RunningPlan,
    actuals: Mapping[int, tuple[int, int]],
    started: Iterable[int],
    allocator: ColumnAllocator,
    options: PhysicalOptions,
) -> NewPlan | None:
    """The next version of a plan, or None if it would be the same, or if it cannot be made without work that is done already.

    `actuals` has rows and bytes of the stages that are complete, `started` names those and the ones under way.
    """
    started = frozenset(started)
    known = _started_stages(running, actuals, started)
    if known is None:
        return None
    empty = {id for id, stage in known.items() if stage.known and not stage.rows and stage.output.determinism is not _ANY}
    logical = _without(running.logical, empty, options, allocator) if empty else running.logical
    first = running.first_number + sum(1 for _ in walk(running.physical, kind_mask(PhysicalPlan)))
    physical = plan_physical(logical, allocator, options, known, first)
    graph = cut_stages(physical, running.graph)
    if _shape(graph, started) == _shape(running.graph, started):
        return None
    leaves = frozenset(known).intersection(id(plan) for plan in operators(logical, known))
    changes = tuple(_changes(running, physical, graph, started))
    return NewPlan(RunningPlan(logical, physical, graph, leaves, first), changes)


_ANY = Determinism.INDETERMINATE


def _started_stages(
    running: RunningPlan, actuals: Mapping[int, tuple[int, int]], started: frozenset[int]
) -> dict[int, StartedStage] | None:
    """By the id of a logical operator the stage that has started to deliver its rows; the topmost of each branch.

    None if the rows of a stage are needed that are those of no operator, such as the sorted runs of a merge.
    """
    producers = _producers(running.graph)
    order = operators(running.logical, running.leaves)
    determinism = DeterminismAnalysis(running.physical)
    found: dict[int, StartedStage] = {}
    stack: list[PhysicalPlan] = [running.physical]
    seen: set[int] = set()
    while stack:
        plan = stack.pop()
        if id(plan) in seen:
            continue
        seen.add(id(plan))
        if not isinstance(plan, ExchangePlan) or producers[plan.number] not in started:
            stack.extend(plan.inputs)
            continue
        stage = running.graph.stage(producers[plan.number])
        leaf = _started_stage(plan, stage, running.graph, determinism, actuals.get(stage.id)) if plan.origin else None
        if plan.origin is None or leaf is None:
            return None
        operator = order[plan.origin.operator]
        if not leaf.partial and not set(operator.columns) <= set(leaf.output.schema):
            return None
        found.setdefault(id(operator), leaf)
    return found


def _producers(graph: StageGraph) -> dict[int, int]:
    """By the number of an exchange in the plan the stage below it."""
    producer = {exchange.id: exchange.producer for exchange in graph.exchanges}
    sources = (source for stage in graph.stages for source in exchange_sources(stage.body))
    found: dict[int, int] = {}
    for source in sources:  # of the exchanges that a merge adds below itself, the first is that of the plan
        found.setdefault(source.number, producer[source.exchange])
    return found


def _started_stage(
    exchange: ExchangePlan, stage: Stage, graph: StageGraph, determinism: DeterminismAnalysis, actual: tuple[int, int] | None
) -> StartedStage | None:
    origin = exchange.origin
    assert origin is not None
    pairs = origin.sources or _own_columns(exchange, stage)
    names = {source.id: (column.id,) for column, source in pairs}
    layouts = tuple(_renamed(layout, names) for layout in graph.layouts(stage.id))
    unstable = determinism.unstable(exchange.input)
    output = StageOutput(
        stage.id,
        tuple(column for column, _ in pairs),
        tuple(source for _, source in pairs),
        tuple(layout for layout in layouts if layout is not None),
        stage.determinism,
        frozenset(column.id for column, source in pairs if source.id in unstable),
    )
    estimated = exchange.estimated_rows or 0.0
    rows, size = actual if actual is not None else (estimated, estimated * row_width(output.schema))
    return StartedStage(output, _lie(origin, stage), float(rows), float(size), actual is not None, origin.partial)


def _renamed(layout: Layout, names: Mapping[int, tuple[int, ...]]) -> Hash | Range | None:
    """A grouping of rows in terms of other names of its keys, if they have some."""
    if layout is None:
        return None
    (found,) = Offered((layout,)).rename(names).partitionings
    return found if isinstance(found, (Hash, Range)) else None


def _own_columns(exchange: ExchangePlan, stage: Stage) -> tuple[tuple[Column, Column], ...]:
    if isinstance(exchange.input, StageOutput):
        return tuple(zip(exchange.input.schema, exchange.input.sources, strict=True))
    return tuple((column, column) for column in stage.output.schema)


def _lie(origin: Origin, stage: Stage) -> tuple[Partitioning, ...]:
    """How rows lie between the tasks of a stage. What is read under other names may be planned differently from its twin."""
    if origin.sources or not origin.partitionings or partition_count(origin.partitionings[0]) != stage.tasks:
        return (Spread(stage.tasks) if stage.tasks > 1 else Single(),)
    return origin.partitionings


def _without(logical: LogicalPlan, empty: set[int], options: PhysicalOptions, allocator: ColumnAllocator) -> LogicalPlan:
    """The plan where the operators of these ids are relations without rows."""

    def replace(plan: Node) -> Node:
        return Values(plan.columns, ()) if id(plan) in empty and isinstance(plan, LogicalPlan) else plan

    emptied = rewrite(logical, replace, kind_mask(LogicalPlan))
    assert isinstance(emptied, LogicalPlan)
    rules = options.disabled.difference(OPTIONAL_STEPS)
    return run_batches(emptied, _EMPTY, OptimizerContext(allocator, disabled=rules))


# -------------------------------------------------------------------------------------------------------- what is different


def _shape(graph: StageGraph, started: frozenset[int]) -> Hashable:
    """What a graph does from its root down to stages that have started, apart from names: equal shapes run equally."""
    known: dict[int, Hashable] = {}
    producer = {exchange.id: exchange for exchange in graph.exchanges}
    for stage in graph.stages:
        if stage.id in started:
            known[stage.id] = stage.id
            continue
        parts: list[Hashable] = [stage.tasks]
        for plan in walk(stage.body, kind_mask(PhysicalPlan)):
            if isinstance(plan, ExchangeSource):
                exchange = producer[plan.exchange]
                parts.append((plan.pattern, partition_count(exchange.dir.partitioning), known[exchange.producer]))
            elif isinstance(plan, JoinExec):
                parts.append((plan.kind, plan.build))
            elif not isinstance(plan, ProjectExec):
                parts.append(type(plan).__name__)
        known[stage.id] = tuple(parts)
    return known[graph.root]


def _changes(running: RunningPlan, physical: PhysicalPlan, graph: StageGraph, started: frozenset[int]) -> Iterator[str]:
    """One line for every join and aggregate that is done otherwise, and for every table that is not read."""
    before, after = _decisions(running.physical, running.graph, started), _decisions(physical, graph, started)
    for what, decisions in before.items():
        for old, new in zip(decisions, after.get(what, ()), strict=False):
            if old != new:
                yield f"{what}: {new} instead of {old}"
    tables = Counter(_tables(running.graph))
    tables.subtract(_tables(graph))
    yield from (f"{table} is not read" for table, count in tables.items() if count > 0)


def _decisions(physical: PhysicalPlan, graph: StageGraph, started: frozenset[int]) -> dict[str, list[str]]:
    """For the joins and aggregates that have not started how their inputs come to them."""
    producers = _producers(graph)
    found: dict[str, list[str]] = {}
    seen: set[int] = set()
    stack = [physical]
    while stack:
        plan = stack.pop()
        if id(plan) in seen or (isinstance(plan, ExchangePlan) and producers[plan.number] in started):
            continue
        seen.add(id(plan))
        if isinstance(plan, JoinExec):
            pairs = zip(plan.left_keys, plan.right_keys, strict=True)
            keys = ", ".join(f"{a.name} = {b.name}" for a, b in pairs) or "no key"
            how = f"left {_way(plan.left)}, right {_way(plan.right)}, {plan.build} hashed"
            found.setdefault(f"join by {keys}", []).append(how)
        elif isinstance(plan, AggregateExec) and plan.mode is not AggregateMode.PARTIAL:
            keys = ", ".join(key.name for key in plan.keys)
            found.setdefault(f"aggregate by {keys}" if keys else "aggregate", []).append(_way(plan.input))
        stack.extend(reversed(plan.inputs))
    return found


def _way(plan: PhysicalPlan) -> str:
    """How rows come to an operator."""
    while isinstance(plan, (ProjectExec, FilterExec)):
        plan = plan.input
    if not isinstance(plan, ExchangePlan):
        return "in place"
    return str(plan.partitioning) if plan.pattern in SCATTERING else str(plan.pattern)


def _tables(graph: StageGraph) -> list[str]:
    return [scan.table_name for stage in graph.stages for scan in table_scans(stage.body)]

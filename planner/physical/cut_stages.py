"""Cuts a physical plan at its exchanges and describes every edge: the last step of planning.

Here encodings are fixed from bounds, and determinism, order and the contract are written on each edge.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from planner.analysis.bounds import BoundsAnalysis
from planner.analysis.determinism import DeterminismAnalysis
from planner.analysis.ordering import ordering_of
from planner.dir import (
    BATCH,
    SCATTERING,
    Determinism,
    Dir,
    Exchange,
    Hash,
    Partitioning,
    Pattern,
    Range,
    Replicated,
    SampledRange,
    Single,
    Spread,
    Stage,
    StageGraph,
    check_laws,
    partition_count,
)
from planner.errors import error
from planner.expr.nodes import Assign, ColumnRef
from planner.physical.encodings import encoding_for
from planner.physical.nodes import (
    BoundariesExec,
    ExchangePlan,
    ExchangeSource,
    MergeExec,
    PhysicalPlan,
    ProjectExec,
    StageOutput,
    exchange_sources,
    table_scans,
)
from planner.physical.properties import Offered
from planner.tree import Node, kind_mask, rewrite, walk


def cut_stages(root: PhysicalPlan, earlier: StageGraph | None = None) -> StageGraph:
    """The stage graph of a plan, checked against the six laws. Its root stage delivers the result.

    A plan that reads outputs of stages of an `earlier` graph gives the next version of that: it has those stages and what they
    are computed from, as they were, and then its own, whose ids are new.
    """
    determinism = DeterminismAnalysis(root)
    cutter = _Cutter(root, determinism, earlier)
    body = rewrite(root, cutter.cut, kind_mask(ExchangePlan, MergeExec))
    assert isinstance(body, PhysicalPlan)
    result = cutter.add_stage(body, determinism.level(root))
    graph = cutter.graph(result)
    check_laws(graph)
    return graph


class _Cutter:
    def __init__(self, root: PhysicalPlan, determinism: DeterminismAnalysis, earlier: StageGraph | None) -> None:
        self.levels = _levels(root, determinism)
        self.bounds = BoundsAnalysis()
        self.earlier = earlier
        self.kept: set[int] = set()
        self.stages: dict[int, Stage] = {}
        self.producers: dict[int, Stage] = {}
        self.exchanges: dict[int, Exchange] = {}
        self.stage_ids = count(1 + max((stage.id for stage in earlier.stages), default=-1) if earlier else 0)
        self.exchange_ids = count(1 + max((exchange.id for exchange in earlier.exchanges), default=-1) if earlier else 0)

    def graph(self, result: Stage) -> StageGraph:
        stages, exchanges = tuple(self.stages.values()), tuple(self.exchanges.values())
        if self.earlier is None:
            return StageGraph(stages, exchanges, result.id)
        earlier = self.earlier
        below = [exchange for exchange in earlier.exchanges if exchange.consumer in self.kept]
        return StageGraph(
            tuple(stage for stage in earlier.stages if stage.id in self.kept) + stages,
            (*below, *exchanges),
            result.id,
            earlier.version + 1,
            tuple((stage.id, earlier.layouts(stage.id)) for stage in earlier.stages if stage.id in self.kept),
        )

    def keep(self, stage: int) -> None:
        """A stage of the earlier graph, and what it is computed from, belong to the new one."""
        assert self.earlier is not None
        pending = [stage]
        while pending:
            current = pending.pop()
            if current not in self.kept:
                self.kept.add(current)
                pending.extend(exchange.producer for exchange in self.earlier.inputs(current))

    def cut(self, current: Node) -> Node:
        """An exchange whose input is already cut: the input becomes a stage, the exchange a source of its consumer.

        Exchanges with the same node as their input share its stage.
        """
        if isinstance(current, MergeExec):
            return self._with_boundaries(current)
        assert isinstance(current, ExchangePlan)
        if isinstance(current.input, StageOutput):
            return self._read_output(current, current.input)
        if id(current.input) not in self.producers:
            level = self.levels[current.number]
            self.producers[id(current.input)] = self.add_stage(current.input, level, current.estimated_rows)
        source = self._read(self.producers[id(current.input)], current.pattern, current.partitioning, current.number)
        return source.replace(placement=current.placement)

    def _read_output(self, exchange: ExchangePlan, output: StageOutput) -> PhysicalPlan:
        """An exchange from a stage of the earlier graph, its columns under the names of this plan."""
        assert self.earlier is not None
        self.keep(output.stage)
        renamed = {column.id: (source.id,) for column, source in zip(output.schema, output.sources, strict=True)}
        (partitioning,) = Offered((exchange.partitioning,)).rename(renamed).partitionings
        source = self._read(self.earlier.stage(output.stage), exchange.pattern, partitioning, exchange.number)
        if output.schema == output.sources == source.columns:
            return source
        pairs = zip(output.schema, output.sources, strict=True)
        return ProjectExec(source, tuple(Assign(column, ColumnRef(given.dtype, given)) for column, given in pairs))

    def _with_boundaries(self, merge: MergeExec) -> MergeExec:
        """A stage finds the boundaries between the ranges of sorted runs, and the merge reads them beside the runs."""
        runs = merge.input
        assert isinstance(runs, ExchangeSource)
        exchange = self.exchanges[runs.exchange]
        ranges = partition_count(exchange.dir.partitioning)
        limit = None if merge.limit is None else merge.limit + merge.offset
        gathered = self._read(self.stages[exchange.producer], Pattern.GATHER, Single(), runs.number)
        found = self.add_stage(BoundariesExec(gathered, merge.keys, ranges, limit), self.levels[runs.number])
        return merge.replace(boundaries=self._read(found, Pattern.BROADCAST, Replicated(), runs.number))

    def _read(self, producer: Stage, pattern: Pattern, partitioning: Partitioning, number: int) -> ExchangeSource:
        """An exchange from a stage to one that is not there yet, and its source in that stage's body."""
        dir = replace(producer.output, partitioning=partitioning, ordering=())
        exchange = Exchange(next(self.exchange_ids), producer.id, -1, pattern, dir)
        self.exchanges[exchange.id] = exchange
        bounds = self.bounds.columns(producer.body)
        return ExchangeSource(
            exchange.id,
            pattern,
            dir.schema,
            dir.encodings,
            tuple(sorted((column.id, bounds[column.id]) for column in dir.schema if column.id in bounds)),
            self.bounds.rows(producer.body),
            number=number,
        )

    def add_stage(self, body: PhysicalPlan, determinism: Determinism, rows: float | None = None) -> Stage:
        bounds = self.bounds.columns(body)
        encodings = tuple(encoding_for(column.dtype, bounds.get(column.id)) for column in body.columns)
        partitioning = self._partitioning(body)
        output = Dir(body.columns, encodings, partitioning, ordering_of(body), BATCH)
        tasks = partition_count(partitioning)
        stage = Stage(next(self.stage_ids), tasks, body, output, determinism, estimated_rows=rows)
        self.stages[stage.id] = stage
        for source in exchange_sources(body):
            self.exchanges[source.exchange] = replace(self.exchanges[source.exchange], consumer=stage.id)
        return stage

    def _partitioning(self, body: PhysicalPlan) -> Partitioning:
        """How the rows of a stage are spread over its tasks, by its leaves."""
        found: set[Partitioning] = set()
        projects = {id(plan.input): plan for plan in walk(body, kind_mask(ProjectExec)) if isinstance(plan, ProjectExec)}
        for source in exchange_sources(body):
            if source.pattern in SCATTERING or source.pattern is Pattern.FORWARD:
                found.add(_projected(self.exchanges[source.exchange].dir.partitioning, projects.get(id(source))))
        counts = {partition_count(partitioning) for partitioning in found}
        for scan in table_scans(body):
            if len(scan.partitions) > 1:
                counts.add(len(scan.partitions))
                if scan.range_key is not None:
                    found.add(Range(scan.range_key.id, scan.range_key.dtype, scan.boundaries))
        if len(counts) > 1:
            raise error("INTERNAL", detail=f"a stage whose inputs have {sorted(counts)} partitions")
        if not counts:
            return Single()
        count = counts.pop()
        known = {column.id for column in body.columns}
        useful = [p for p in found if isinstance(p, (Hash, Range, SampledRange)) and known.issuperset(p.keys)]
        return min(useful, key=lambda p: p.keys) if useful else (Spread(count) if count > 1 else Single())


def _projected(partitioning: Partitioning, project: ProjectExec | None) -> Partitioning:
    """The partitioning of a source as it is called above the projection that may rename a shared stage's columns."""
    if project is None:
        return partitioning
    return Offered((partitioning,)).rename(project.passed).partitionings[0]


def _levels(root: PhysicalPlan, determinism: DeterminismAnalysis) -> dict[int, Determinism]:
    """By the number of an exchange the determinism of the stage below it, which is that of the weakest exchange that reads it."""
    exchanges = [plan for plan in walk(root, kind_mask(ExchangePlan)) if isinstance(plan, ExchangePlan)]
    weakest: dict[int, Determinism] = {}
    for exchange in exchanges:
        key = id(exchange.input)
        weakest[key] = min(weakest.get(key, Determinism.ORDERED), determinism.level(exchange))
    return {exchange.number: weakest[id(exchange.input)] for exchange in exchanges}

"""The distributed intermediate representation: the value that flows from one stage to the next, and its laws.

A plan is cut into *stages* at its exchanges. What crosses an exchange is described by a `Dir`: the columns with their
encodings, how rows are spread over partitions, their order, whether they end, and a `Contract` with three orthogonal axes

    evaluation   LAZY: produced on demand, kept, read again        EAGER: pushed as made, back-pressured, read once
    recovery     LINEAGE: a lost part is computed again            CHECKPOINT: a snapshot is restored, then replayed
    update       SYNC: a consumer sees an epoch when complete      ASYNC: staleness within a bound

Batch SQL is LAZY · LINEAGE · SYNC. Nothing here assumes that a graph is batch-only: a new engine is a new stage kind, perhaps a
preset and a pattern. `check_laws` refuses a graph that breaks one of the six laws; the scheduler relies on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from planner.errors import InternalError
from planner.schema import Schema

if TYPE_CHECKING:
    from planner.dtypes import DType
    from planner.physical.encodings import Encoding
    from planner.physical.nodes import PhysicalPlan

# ---------------------------------------------------------------------------------------------------------------- axes


class Evaluation(StrEnum):
    LAZY = "lazy"
    EAGER = "eager"


class Recovery(StrEnum):
    LINEAGE = "lineage"
    CHECKPOINT = "checkpoint"


class Update(StrEnum):
    SYNC = "sync"
    ASYNC = "async"


@dataclass(frozen=True, slots=True)
class Contract:
    """How a DIR may be used. `staleness` counts the epochs that an ASYNC consumer may lag behind."""

    evaluation: Evaluation
    recovery: Recovery
    update: Update
    staleness: int = 0

    def __str__(self) -> str:
        return f"{self.evaluation} · {self.recovery} · {self.update}"


BATCH = Contract(Evaluation.LAZY, Recovery.LINEAGE, Update.SYNC)
"""Batch SQL, as in Spark: kept at every border, computed again when lost, seen when complete."""
STREAMING = Contract(Evaluation.EAGER, Recovery.CHECKPOINT, Update.SYNC)
"""Pipelines with barriers, as in Flink."""
ALL_REDUCE = Contract(Evaluation.EAGER, Recovery.CHECKPOINT, Update.SYNC)
"""Synchronous training, as in Horovod."""
ACTOR_LEARNER = Contract(Evaluation.EAGER, Recovery.CHECKPOINT, Update.ASYNC, staleness=1)
"""Experience in one direction, parameters in the other, as in actor-learner training."""


class Determinism(IntEnum):
    """What a second run of a stage gives; the weaker the smaller."""

    INDETERMINATE = 0
    """Rows may differ."""
    SET = 1
    """The same rows in any order."""
    ORDERED = 2
    """The same rows in the same order."""

    def __str__(self) -> str:
        return self.name.lower()


# -------------------------------------------------------------------------------------------------------- partitioning


@dataclass(frozen=True, slots=True)
class Single:
    """All rows in one partition."""

    def __str__(self) -> str:
        return "single"


@dataclass(frozen=True, slots=True)
class Spread:
    """Rows spread over `count` partitions by no rule that a plan could use."""

    count: int

    def __str__(self) -> str:
        return f"spread({self.count})"


@dataclass(frozen=True, slots=True)
class Hash:
    """Rows spread by the hash of `keys`. Two of them match only if everything but the keys is equal.

    Keys are hashed in their canonical logical form of `key_types`, never as stored, so encodings do not matter. `buckets` is a
    power of two and takes the high bits of the hash, so that a coarser partitioning is a union of finer buckets. NULL in
    any key goes to bucket 0. `version` names the function (`exec.exchange.hashing`).
    """

    keys: tuple[int, ...]
    key_types: tuple[DType, ...]
    buckets: int
    version: int = 1

    def refines(self, other: Hash) -> bool:
        """Whether every bucket of the other one is a run of buckets of this one."""
        return replace(self, buckets=other.buckets) == other and self.buckets % other.buckets == 0

    def __str__(self) -> str:
        return f"hash({self.buckets})"


@dataclass(frozen=True, slots=True)
class Replicated:
    """Every consumer task sees all rows."""

    def __str__(self) -> str:
        return "replicated"


@dataclass(frozen=True, slots=True)
class Range:
    """Rows spread by half-open intervals of one integer or temporal key, NULL in partition 0.

    Partition i holds boundaries[i - 1] ≤ key < boundaries[i]; boundaries ascend and are in the form of statistics (days,
    microseconds). Two range partitionings match only if their boundaries are equal.
    """

    key: int
    key_type: DType
    boundaries: tuple[int, ...]

    @property
    def keys(self) -> tuple[int, ...]:
        return (self.key,)

    def __str__(self) -> str:
        return f"range({len(self.boundaries) + 1})"


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One column of an order."""

    column: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class SampledRange:
    """Sorted runs cut into `count` half-open intervals of their order, so that partition i precedes partition i + 1.

    Rows that are equal in all keys lie in one partition, and some partitions may be empty. The boundaries are rows drawn from
    the runs; they are data that a stage of its own finds, so no plan can compare two such partitionings.
    """

    order: tuple[OrderKey, ...]
    count: int

    @property
    def keys(self) -> tuple[int, ...]:
        return tuple(key.column for key in self.order)

    def __str__(self) -> str:
        return f"sampled range({self.count})"


Partitioning = Single | Spread | Hash | Range | SampledRange | Replicated


def partition_count(partitioning: Partitioning) -> int:
    match partitioning:
        case Spread(count) | SampledRange(count=count):
            return count
        case Hash(buckets=buckets):
            return buckets
        case Range(boundaries=boundaries):
            return len(boundaries) + 1
        case _:
            return 1


# --------------------------------------------------------------------------------------------------------- the DIR


@dataclass(frozen=True, slots=True)
class Dir:
    """The value on an edge. `schema` and `encodings` have equal length."""

    schema: Schema
    encodings: tuple[Encoding, ...]
    partitioning: Partitioning
    ordering: tuple[OrderKey, ...]
    contract: Contract = BATCH
    bounded: bool = True
    barriers: bool = False
    """Whether epochs of an unbounded value are closed by barriers."""


class Pattern(StrEnum):
    """How partitions of a producer become inputs of consumer tasks."""

    GATHER = "gather"
    """The only consumer task reads all partitions in order."""
    HASH = "hash"
    """Task i reads bucket i of every producer task; rows are scattered by a Hash partitioning."""
    RANGE = "range"
    """The same; rows are scattered by a Range partitioning, or lie in sorted runs that each task cuts by a SampledRange."""
    BROADCAST = "broadcast"
    """Every task reads all partitions in order."""
    FORWARD = "forward"
    """Task i reads what producer task i wrote."""


SCATTERING = (Pattern.HASH, Pattern.RANGE)
"""The patterns whose consumer tasks read one bucket each."""

Layout = Hash | Range | None
"""How a task groups the rows that it writes; None is as they come, all in bucket 0."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An edge of the stage graph. A *feedback* edge carries the output of an epoch into the next one."""

    id: int
    producer: int
    consumer: int
    pattern: Pattern
    dir: Dir
    feedback: bool = False

    @property
    def layout(self) -> Layout:
        """How the consumer wants the rows grouped. Sorted runs are read whole: where they are cut is not known to the driver."""
        partitioning = self.dir.partitioning
        return partitioning if self.pattern in SCATTERING and isinstance(partitioning, (Hash, Range)) else None


@dataclass(frozen=True, slots=True)
class Split:
    """Some exact bytes: a file, or a block of memory whose `path` is its key.

    `footer` is a hash of the file's footer. A task verifies the identity when it opens the split and fails with FileChanged.
    """

    path: str
    size: int
    mtime_ns: int = 0
    inode: int = 0
    footer: str = ""


@dataclass(frozen=True, slots=True)
class ScanRange:
    """Rows [first_row, first_row + rows) of a split: one or several whole row groups of about `bytes` stored bytes.

    In a scan that is partitioned by ranges of a key, `claim` is the interval [low, high] that its footer claims for the key.
    """

    split: Split
    first_row: int
    rows: int
    bytes: int
    claim: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """What runs between two exchanges, once for each of its `tasks` partitions.

    `output` describes the rows that every task delivers; an exchange may re-describe them for its consumer (a hash exchange
    scatters by `output.partitioning`). `estimated_rows` is what the planner expects of all tasks together, None if it does
    not say.
    """

    id: int
    tasks: int
    body: PhysicalPlan
    output: Dir
    determinism: Determinism
    kind: str = "batch"
    replayable: bool = True
    stateful: bool = False
    estimated_rows: float | None = None


@dataclass(frozen=True, slots=True)
class StageGraph:
    """Stages in topological order (feedback edges apart); the partitions of `root`, in order, are the result.

    `version` counts the replacements of the graph while it runs; attempts carry it. `written` has the layouts of the stages that
    earlier versions had too, since their files were laid out for the consumers of that time.
    """

    stages: tuple[Stage, ...]
    exchanges: tuple[Exchange, ...]
    root: int
    version: int = 1
    written: tuple[tuple[int, tuple[Layout, ...]], ...] = ()

    def stage(self, id: int) -> Stage:
        return next(stage for stage in self.stages if stage.id == id)

    def inputs(self, stage: int) -> tuple[Exchange, ...]:
        return tuple(exchange for exchange in self.exchanges if exchange.consumer == stage)

    def outputs(self, stage: int) -> tuple[Exchange, ...]:
        return tuple(exchange for exchange in self.exchanges if exchange.producer == stage)

    def layouts(self, stage: int) -> tuple[Layout, ...]:
        """The different layouts in which every task of a stage writes its rows: what its consumers want, and the result."""
        for id, layouts in self.written:
            if id == stage:
                return layouts
        wanted = [exchange.layout for exchange in self.outputs(stage)]
        return tuple(dict.fromkeys(wanted if stage != self.root else [None, *wanted])) or (None,)


# --------------------------------------------------------------------------------------------------------- the laws


class LawBroken(InternalError):
    """A stage graph that breaks a law never runs. `law` is its name."""

    def __init__(self, law: str, message: str) -> None:
        super().__init__(f"law of {law}: {message}")
        self.law = law


def check_laws(graph: StageGraph) -> None:
    """Check the six laws. Raises LawBroken with the first law that does not hold."""
    known = {stage.id for stage in graph.stages}
    for exchange in graph.exchanges:
        if exchange.producer not in known or exchange.consumer not in known:
            raise LawBroken("cycles", f"exchange {exchange.id} joins a stage that does not exist")
    _check_determinism(graph)
    _check_cycles(graph)
    _check_regions(graph)
    _check_epochs(graph)
    _check_neutrality(graph)
    _check_snapshots(graph)


def _check_determinism(graph: StageGraph) -> None:
    """A lost INDETERMINATE output rolls back everything that read it, so all of that must be replayable, or checkpointed."""
    for stage in graph.stages:
        if stage.determinism is not Determinism.INDETERMINATE:
            continue
        for reached in downstream(graph, stage.id, through_checkpoints=False):
            if not graph.stage(reached).replayable:
                raise LawBroken(
                    "determinism", f"stage {reached} cannot be replayed, but reads from indeterminate stage {stage.id}"
                )


def _check_cycles(graph: StageGraph) -> None:
    """Without its feedback edges the graph is a DAG in the order of `stages`; ASYNC feedback has a staleness bound."""
    position = {stage.id: index for index, stage in enumerate(graph.stages)}
    for exchange in graph.exchanges:
        if not exchange.feedback and position[exchange.producer] >= position[exchange.consumer]:
            raise LawBroken("cycles", f"exchange {exchange.id} leads back without being a feedback edge")
        if exchange.feedback and exchange.dir.contract.update is Update.ASYNC and exchange.dir.contract.staleness < 1:
            raise LawBroken("cycles", f"asynchronous feedback edge {exchange.id} has no staleness bound")


def regions(graph: StageGraph) -> tuple[frozenset[int], ...]:
    """Stages joined by EAGER edges: they are scheduled and restarted together. In the order of their first stages."""
    region = {stage.id: frozenset({stage.id}) for stage in graph.stages}
    for exchange in graph.exchanges:
        if exchange.dir.contract.evaluation is Evaluation.EAGER:
            merged = region[exchange.producer] | region[exchange.consumer]
            for stage in merged:
                region[stage] = merged
    return tuple(dict.fromkeys(region[stage.id] for stage in graph.stages))


def _check_regions(graph: StageGraph) -> None:
    """A LAZY edge waits for its whole producer, so it cannot lie inside of a region whose stages run together."""
    of = {stage: region for region in regions(graph) for stage in region}
    for exchange in graph.exchanges:
        lazy = exchange.dir.contract.evaluation is Evaluation.LAZY
        if lazy and not exchange.feedback and of[exchange.producer] is of[exchange.consumer]:
            raise LawBroken("regions", f"lazy exchange {exchange.id} lies inside of an eager region")


def _check_epochs(graph: StageGraph) -> None:
    for exchange in graph.exchanges:
        if not exchange.dir.bounded and not exchange.dir.barriers:
            raise LawBroken("epochs", f"exchange {exchange.id} is unbounded and no barrier closes its epochs")
        if not exchange.dir.bounded and exchange.dir.contract.evaluation is Evaluation.LAZY:
            raise LawBroken("epochs", f"exchange {exchange.id} is unbounded, so it can never be complete and lazy")


def _check_neutrality(graph: StageGraph) -> None:
    """An exchange changes where rows are, never what they are: both ends see the same columns in the same encodings."""
    from planner.physical.nodes import ExchangeSource, exchange_sources

    for exchange in graph.exchanges:
        output = graph.stage(exchange.producer).output
        if output.schema != exchange.dir.schema or output.encodings != exchange.dir.encodings:
            raise LawBroken("neutrality", f"exchange {exchange.id} changes columns or encodings")
        sources: Iterable[ExchangeSource] = exchange_sources(graph.stage(exchange.consumer).body)
        source = next((source for source in sources if source.exchange == exchange.id), None)
        if source is None and not exchange.feedback:
            raise LawBroken("neutrality", f"stage {exchange.consumer} does not read exchange {exchange.id}")
        if source is not None and source.columns != exchange.dir.schema:
            raise LawBroken("neutrality", f"stage {exchange.consumer} reads other columns from exchange {exchange.id}")
        consumer_tasks = graph.stage(exchange.consumer).tasks
        partitions = partition_count(exchange.dir.partitioning)
        if exchange.pattern in SCATTERING and partitions != consumer_tasks:
            raise LawBroken("neutrality", f"exchange {exchange.id}: {partitions} buckets for {consumer_tasks} tasks")
        order = exchange.dir.partitioning.order if isinstance(exchange.dir.partitioning, SampledRange) else ()
        if exchange.pattern in SCATTERING and output.ordering[: len(order)] != order:
            raise LawBroken("neutrality", f"exchange {exchange.id} cuts runs that are not sorted by its keys")
        if exchange.pattern is Pattern.GATHER and consumer_tasks != 1:
            raise LawBroken("neutrality", f"exchange {exchange.id} gathers into {consumer_tasks} tasks")
        if exchange.pattern is Pattern.FORWARD and graph.stage(exchange.producer).tasks != consumer_tasks:
            raise LawBroken("neutrality", f"exchange {exchange.id} forwards between unequal numbers of tasks")


def _check_snapshots(graph: StageGraph) -> None:
    """A replayable stage names the exact bytes that it reads."""
    from planner.physical.nodes import TableScan
    from planner.tree import kind_mask, walk

    mask = kind_mask(TableScan)
    for stage in graph.stages:
        for scan in walk(stage.body, mask):
            assert isinstance(scan, TableScan)
            if stage.replayable and any(not r.split.path for part in scan.partitions for r in part):
                raise LawBroken("snapshots", f"stage {stage.id} is replayable but scans {scan.table_name} without identity")
            if len(scan.partitions) not in (1, stage.tasks):
                raise LawBroken("neutrality", f"stage {stage.id} has {stage.tasks} tasks, its scan another number of parts")


def downstream(graph: StageGraph, stage: int, through_checkpoints: bool = True) -> frozenset[int]:
    """All stages that read, directly or not, from a stage; optionally only as far as the next checkpoint."""
    reached: set[int] = set()
    pending = [stage]
    while pending:
        for exchange in graph.outputs(pending.pop()):
            if not through_checkpoints and exchange.dir.contract.recovery is Recovery.CHECKPOINT:
                continue
            if exchange.consumer not in reached:
                reached.add(exchange.consumer)
                pending.append(exchange.consumer)
    return frozenset(reached)

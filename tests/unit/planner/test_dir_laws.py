"""Each of the six laws refuses a graph that breaks it, and the planner's graphs break none."""

from dataclasses import replace

import pytest

from planner.dir import (
    ACTOR_LEARNER,
    ALL_REDUCE,
    BATCH,
    STREAMING,
    Contract,
    Determinism,
    Dir,
    Evaluation,
    Exchange,
    Hash,
    LawBroken,
    OrderKey,
    Pattern,
    Recovery,
    SampledRange,
    ScanRange,
    Single,
    Split,
    Spread,
    Stage,
    StageGraph,
    Update,
    check_laws,
    downstream,
    regions,
)
from planner.dtypes import INTEGER
from planner.join_kind import JoinKind
from planner.physical.encodings import Encoding
from planner.physical.nodes import ExchangeSource, JoinExec, TableScan, ValuesScan
from planner.schema import Column

A = Column(1, "a", INTEGER)
PLAIN = (Encoding.PLAIN,)
DIR = Dir((A,), PLAIN, Single(), ())


def source(exchange: int, pattern: Pattern = Pattern.GATHER) -> ExchangeSource:
    return ExchangeSource(exchange, pattern, (A,), PLAIN, ())


def stage(id: int, body, **changes) -> Stage:
    return replace(Stage(id, 1, body, DIR, Determinism.SET), **changes)


def chain(*, edge: Dir = DIR, pattern: Pattern = Pattern.GATHER, first=None, second=None) -> StageGraph:
    """values → exchange 0 → stage 1."""
    first = first or stage(0, ValuesScan((A,), ((1,),)))
    second = second or stage(1, source(0, pattern))
    return StageGraph((first, second), (Exchange(0, 0, 1, pattern, edge),), 1)


def refused(graph: StageGraph, law: str) -> None:
    with pytest.raises(LawBroken) as caught:
        check_laws(graph)
    assert caught.value.law == law
    assert caught.value.code == "INTERNAL"


def test_a_plain_chain_keeps_all_laws():
    check_laws(chain())


def test_presets_differ_in_the_axes_that_matter():
    assert (BATCH.evaluation, BATCH.recovery, BATCH.update) == (Evaluation.LAZY, Recovery.LINEAGE, Update.SYNC)
    assert STREAMING.recovery is Recovery.CHECKPOINT and ALL_REDUCE.evaluation is Evaluation.EAGER
    assert ACTOR_LEARNER.update is Update.ASYNC and ACTOR_LEARNER.staleness == 1
    assert str(BATCH) == "lazy · lineage · sync"


def test_determinism_an_indeterminate_stage_needs_replayable_consumers():
    loose = stage(0, ValuesScan((A,), ()), determinism=Determinism.INDETERMINATE)
    sink = stage(1, source(0), replayable=False)
    refused(chain(first=loose, second=sink), "determinism")
    checkpointed = replace(DIR, contract=replace(BATCH, recovery=Recovery.CHECKPOINT))
    check_laws(chain(edge=checkpointed, first=loose, second=sink))


def test_cycles_need_a_feedback_edge():
    first = stage(0, source(1))
    second = stage(1, source(0))
    forth = Exchange(0, 0, 1, Pattern.GATHER, DIR)
    back = Exchange(1, 1, 0, Pattern.GATHER, DIR)
    refused(StageGraph((first, second), (forth, back), 1), "cycles")
    check_laws(StageGraph((first, second), (forth, replace(back, feedback=True)), 1))


def test_cycles_asynchronous_feedback_needs_a_staleness_bound():
    asynchronous = Contract(Evaluation.LAZY, Recovery.LINEAGE, Update.ASYNC)
    graph = chain()
    back = Exchange(1, 1, 0, Pattern.GATHER, replace(DIR, contract=asynchronous), feedback=True)
    refused(replace(graph, exchanges=(*graph.exchanges, back)), "cycles")
    bounded = replace(back, dir=replace(DIR, contract=replace(asynchronous, staleness=2)))
    check_laws(replace(graph, exchanges=(*graph.exchanges, bounded)))


def test_cycles_an_edge_joins_stages_that_exist():
    graph = chain()
    refused(replace(graph, exchanges=(*graph.exchanges, Exchange(1, 7, 1, Pattern.GATHER, DIR))), "cycles")


def diamond(*, direct: Evaluation) -> StageGraph:
    """0 → 1 → 2 eager, and 0 → 2 directly."""
    eager = replace(DIR, contract=replace(BATCH, evaluation=Evaluation.EAGER))
    shortcut = replace(DIR, contract=replace(BATCH, evaluation=direct))
    join = JoinExec(source(1), source(2), JoinKind.SEMI, (A,), (A,), None)
    stages = (stage(0, ValuesScan((A,), ())), stage(1, source(0)), stage(2, join))
    edges = (
        Exchange(0, 0, 1, Pattern.GATHER, eager),
        Exchange(1, 1, 2, Pattern.GATHER, eager),
        Exchange(2, 0, 2, Pattern.GATHER, shortcut),
    )
    return StageGraph(stages, edges, 2)


def test_regions_are_joined_by_eager_edges():
    assert regions(chain()) == (frozenset({0}), frozenset({1}))
    assert regions(diamond(direct=Evaluation.EAGER)) == (frozenset({0, 1, 2}),)


def test_regions_no_lazy_edge_inside_of_an_eager_region():
    check_laws(diamond(direct=Evaluation.EAGER))
    refused(diamond(direct=Evaluation.LAZY), "regions")


def test_epochs_unbounded_input_needs_barriers_and_cannot_be_lazy():
    endless = replace(DIR, bounded=False, contract=STREAMING)
    refused(chain(edge=endless), "epochs")
    check_laws(chain(edge=replace(endless, barriers=True)))
    refused(chain(edge=replace(DIR, bounded=False, barriers=True)), "epochs")


def test_neutrality_an_exchange_changes_neither_columns_nor_encodings():
    other = Column(2, "b", INTEGER)
    refused(chain(edge=replace(DIR, schema=(other,))), "neutrality")
    refused(chain(edge=replace(DIR, encodings=(Encoding.INT64,))), "neutrality")
    refused(chain(second=stage(1, ExchangeSource(0, Pattern.GATHER, (other,), PLAIN, ()))), "neutrality")
    refused(chain(second=stage(1, ValuesScan((A,), ()))), "neutrality")


def test_neutrality_every_bucket_has_its_task():
    hashed = replace(DIR, partitioning=Hash((1,), (INTEGER,), 4))
    refused(chain(edge=hashed, pattern=Pattern.HASH), "neutrality")
    check_laws(chain(edge=hashed, pattern=Pattern.HASH, second=stage(1, source(0, Pattern.HASH), tasks=4)))
    refused(chain(second=stage(1, source(0), tasks=2)), "neutrality")
    refused(chain(pattern=Pattern.FORWARD, second=stage(1, source(0, Pattern.FORWARD), tasks=2)), "neutrality")


def scan(path: str, parts: int = 1) -> TableScan:
    ranges = tuple((ScanRange(Split(path, 10), 0, 5, 10),) for _ in range(parts))
    return TableScan("t", "parquet", "polars", (A,), ("a",), ranges, None)


def test_snapshots_a_replayable_stage_names_its_bytes():
    check_laws(chain(first=stage(0, scan("t.parquet"))))
    refused(chain(first=stage(0, scan(""))), "snapshots")
    check_laws(chain(first=stage(0, scan(""), replayable=False)))


def test_neutrality_a_scan_has_one_part_for_each_task():
    spread = replace(DIR, partitioning=Spread(3))
    check_laws(chain(first=stage(0, scan("t.parquet", 3), tasks=3, output=spread)))
    refused(chain(first=stage(0, scan("t.parquet", 2), tasks=3, output=spread)), "neutrality")


def test_downstream_follows_edges_and_stops_at_checkpoints():
    graph = diamond(direct=Evaluation.EAGER)
    assert downstream(graph, 0) == {1, 2}
    assert downstream(graph, 2) == frozenset()
    kept = replace(DIR, contract=replace(BATCH, recovery=Recovery.CHECKPOINT))
    assert downstream(chain(edge=kept), 0, through_checkpoints=False) == frozenset()


@pytest.mark.parametrize(
    "ordering, holds",
    [
        ((OrderKey(1, False, False),), True),
        ((OrderKey(1, False, False), OrderKey(2, True, True)), True),
        ((OrderKey(1, True, False),), False),
        ((), False),
    ],
)
def test_neutrality_only_sorted_runs_are_cut_by_their_order(ordering, holds):
    ranges = SampledRange((OrderKey(1, False, False),), 1)
    first = stage(0, ValuesScan((A,), ((1,),)), output=replace(DIR, ordering=ordering))
    graph = chain(edge=replace(DIR, partitioning=ranges), pattern=Pattern.RANGE, first=first)
    if holds:
        check_laws(graph)
    else:
        refused(graph, "neutrality")

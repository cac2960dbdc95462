"""Why there is an exchange, or is none: recorded where it is decided, and told in the words of the plan."""

from __future__ import annotations

import pytest

from planner.catalog import ColumnStatistics, RowGroup, TableFile, TableSnapshot
from planner.dir import Hash, Range, Single, Split
from planner.dtypes import INTEGER
from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.explain import stage_texts
from planner.physical.nodes import AggregateExec, ExchangePlan, JoinExec, PhysicalPlan, exchange_sources
from planner.physical.plan import plan_physical
from planner.physical.properties import AnyDistribution, ClusteredDistribution, HashDistribution, Offered, satisfies, satisfying
from planner.rule import OptimizerContext
from planner.schema import Field
from planner.tree import kind_mask, walk
from tests.plans import TestCatalog, bound


def table(name: str, rows: int, clustered: bool, groups: int = 8) -> TableSnapshot:
    """Columns k and v; row groups are ranged by k if the table is clustered, and hold any values if not."""
    each = rows // groups
    parts = []
    for number in range(groups):
        low, high = (number * each, (number + 1) * each - 1) if clustered else (0, rows - 1)
        statistics = (ColumnStatistics(low, high, 0), ColumnStatistics(0, rows - 1, 0))
        parts.append(RowGroup(number * each, each, each * 1000, statistics))
    whole = (ColumnStatistics(0, rows - 1, 0), ColumnStatistics(0, rows - 1, 0))
    file = TableFile(Split(f"/{name}.parquet", rows * 1000), rows, tuple(parts))
    return TableSnapshot(name, "parquet", (Field("k", INTEGER, False), Field("v", INTEGER, False)), (file,), whole)


CATALOG = TestCatalog(
    {
        "a": table("a", 8_000_000, clustered=True),
        "b": table("b", 8_000_000, clustered=True),
        "x": table("x", 8_000_000, clustered=False),
        "y": table("y", 8_000_000, clustered=False),
        "small": table("small", 800, clustered=False),
    }
)


def planned(sql: str) -> PhysicalPlan:
    plan, allocator = bound(sql, CATALOG)
    return plan_physical(optimize(plan, OptimizerContext(allocator)), allocator, PhysicalOptions(workers=2))


def nodes(plan: PhysicalPlan, kind: type[PhysicalPlan]) -> list[PhysicalPlan]:
    return [node for node in walk(plan, kind_mask(kind)) if isinstance(node, kind)]


def reasons(sql: str) -> list[str]:
    return [reason for stage in stage_texts(cut_stages(planned(sql))) for line in stage.operators for reason in line.reasons]


QUERIES = (
    "SELECT x.v, y.v FROM x JOIN y ON x.k = y.k",
    "SELECT a.v, b.v FROM a JOIN b ON a.k = b.k",
    "SELECT a.v FROM a JOIN small ON a.v = small.k",
    "SELECT k, sum(v) FROM x GROUP BY k ORDER BY 2 LIMIT 5",
    "SELECT x.k, count(*) FROM x JOIN y ON x.k = y.k GROUP BY x.k",
    "SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) FROM x",
    "SELECT k FROM x UNION SELECT k FROM y",
    "SELECT k, count(DISTINCT v) FROM x GROUP BY k",
    "SELECT k, v FROM x ORDER BY v",
)


@pytest.mark.parametrize("sql", QUERIES)
def test_every_exchange_has_its_reason(sql: str) -> None:
    plan = planned(sql)
    exchanges = nodes(plan, ExchangePlan)
    for exchange in exchanges:
        assert isinstance(exchange, ExchangePlan)
        assert exchange.placement is not None
        assert exchange.placement.met_by is None
        assert not satisfies(Offered(exchange.placement.offered), exchange.placement.required)
    sources = [source for stage in cut_stages(plan).stages for source in exchange_sources(stage.body)]
    merged = sum(source.placement is None for source in sources)  # runs that are cut have exchanges for their boundaries
    assert len(sources) - merged == len(exchanges)
    assert merged in (0, 2)


@pytest.mark.parametrize("sql", QUERIES)
def test_what_is_not_moved_lies_as_required(sql: str) -> None:
    """An input is below an exchange exactly if its placement says so."""
    for kind in (JoinExec, AggregateExec):
        for node in nodes(planned(sql), kind):
            assert isinstance(node, (JoinExec, AggregateExec))
            placements = node.placements
            if not placements:
                assert isinstance(node, AggregateExec) and node.mode == "partial"
                continue
            assert len(placements) == len(node.inputs)
            for placement, input in zip(placements, node.inputs, strict=True):
                assert (placement.met_by is None) == isinstance(input, ExchangePlan)
                if placement.met_by is not None and not placement.is_cut:
                    assert placement.met_by in placement.offered
                    assert satisfying(Offered(placement.offered), placement.required) == placement.met_by


def test_tables_that_are_cut_at_common_boundaries() -> None:
    (join,) = nodes(planned("SELECT a.v, b.v FROM a JOIN b ON a.k = b.k"), JoinExec)
    assert isinstance(join, JoinExec)
    assert [placement.is_cut for placement in join.placements] == [True, True]
    assert all(isinstance(placement.met_by, Range) for placement in join.placements)


def test_a_join_hands_its_partitioning_to_the_aggregate() -> None:
    plan = planned("SELECT x.k, count(*) FROM x JOIN (SELECT k FROM y WHERE v > 5) y ON x.k = y.k GROUP BY x.k")
    found = [node.placements[0] for node in nodes(plan, AggregateExec) if isinstance(node, AggregateExec) and node.placements]
    assert any(isinstance(p.required, ClusteredDistribution) and isinstance(p.met_by, Hash) for p in found)


def test_what_stays_for_a_broadcast() -> None:
    (join,) = nodes(planned("SELECT a.v FROM a JOIN small ON a.v = small.k"), JoinExec)
    assert isinstance(join, JoinExec)
    assert isinstance(join.placements[0].required, AnyDistribution) or isinstance(join.placements[1].required, AnyDistribution)


def test_the_offered_partitioning_that_satisfies() -> None:
    one, other = Hash((1,), (INTEGER,), 4), Hash((2,), (INTEGER,), 4)
    offered = Offered((one, other))
    assert satisfying(offered, HashDistribution(other)) == other
    assert satisfying(offered, HashDistribution(Hash((3,), (INTEGER,), 4))) is None
    assert satisfying(Offered((Single(),)), HashDistribution(one)) is None
    assert satisfying(Offered((Single(),)), ClusteredDistribution(())) == Single()


def test_texts() -> None:
    assert reasons("SELECT a.v, b.v FROM a JOIN b ON a.k = b.k")[:2] == [
        "no exchange: left: row groups are ranged by k, so that scans are cut there",
        "no exchange: right: row groups are ranged by k.2, so that scans are cut there",
    ]
    by_hash = reasons("SELECT x.v, y.v FROM x JOIN y ON x.k = y.k")
    assert "needed: rows have to be hashed by k, as on the other side, and they are spread over 8 tasks" in by_hash
    assert not any("is gone" in reason for sql in QUERIES for reason in reasons(sql))

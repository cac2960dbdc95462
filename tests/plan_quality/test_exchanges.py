"""lineitem stays where it is: in the TPC-H plans for two workers its rows are joined and grouped without a hash exchange.

What a join has left of it may be hashed, if that is less than a hundredth of the table.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from exec.engine import Engine
from exec.lower.evaluate import ConstantEvaluator
from planner.catalog import TableSnapshot
from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.plan import plan_physical
from planner.ports import Catalog
from planner.rule import OptimizerContext
from planner.schema import ColumnAllocator
from planner.sql import bind
from qengine.session import Session
from tests.golden.tpch_catalog import tpch_sf1
from tests.plan_quality.exchanges import hash_exchanges_of
from tests.plan_quality.workloads import tpch
from tpch.queries import query

STAYS = (1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 18, 19, 21)
SHARE = 0.01


def crossing(text: str, catalog: Catalog) -> list[str]:
    """The hash exchanges that lineitem crosses in a query's plan: how they are partitioned, and their estimated rows."""
    allocator = ColumnAllocator()
    plan = optimize(bind(text, catalog, allocator=allocator).plan, OptimizerContext(allocator, ConstantEvaluator()))
    lineitem = catalog.table("lineitem")
    physical = plan_physical(plan, allocator, PhysicalOptions(workers=2))
    assert isinstance(lineitem, TableSnapshot)
    exchanges = hash_exchanges_of(physical, "lineitem", SHARE * lineitem.rows)
    return [f"{one.partitioning}: {one.estimated_rows} rows" for one in exchanges]


@pytest.fixture(scope="module")
def sf10() -> Iterator[Session]:
    """The tables of TPC-H at scale factor 10, with what their footers say."""
    workload = tpch("10")
    if workload is None:
        pytest.skip("the data of scale factor 10 has not been generated")
    with Engine(2, cache="off") as engine, Session(engine=engine, sampling="off") as session:
        for table, path in workload.tables.items():
            session.register(table, session.read_parquet(path))
        yield session


@pytest.fixture(scope="module")
def sampled(sf10: Session) -> Session:
    """The same, with samples."""
    for table in sf10._catalog.names():
        sf10._engine.table_statistics.take(sf10._snapshot(table))
    return sf10


@pytest.mark.parametrize("number", [number for number in STAYS if number != 14])
def test_lineitem_stays_by_the_statistics_of_footers(number: int) -> None:
    """At scale factor 1 the parts of Q14 are few enough for an exchange of a month of lines to be as cheap as a broadcast."""
    assert crossing(query(number).text, tpch_sf1()) == []


@pytest.mark.parametrize("number", STAYS)
def test_lineitem_stays_at_scale_factor_10(sf10: Session, number: int) -> None:
    assert crossing(query(number).text, sf10._catalog) == []


@pytest.mark.parametrize("number", STAYS)
def test_lineitem_stays_at_scale_factor_10_with_samples(sampled: Session, number: int) -> None:
    assert crossing(query(number).text, sampled._catalog) == []


def test_an_exchange_of_lineitem_is_seen() -> None:
    """Nothing is clustered by the part of a line, and a window over all lines of a part cannot be computed in pieces."""
    (found,) = crossing(
        "SELECT l_partkey, row_number() OVER (PARTITION BY l_partkey ORDER BY l_orderkey) FROM lineitem", tpch_sf1()
    )
    assert "6001215" in found


def test_groups_of_lineitem_are_no_rows_of_it() -> None:
    assert crossing("SELECT l_partkey, count(*) FROM lineitem GROUP BY l_partkey HAVING count(*) > 60", tpch_sf1()) == []

"""How far estimates of filters are from what DuckDB counts: q-error is max(estimate / true, true / estimate)."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exec.sources.describe import describe
from planner.analysis.cardinality import CardinalityAnalysis
from planner.catalog import Certainty, TableSnapshot
from planner.explain import ColumnNames, expression_text
from planner.logical.nodes import Filter, Scan
from planner.optimizer import optimize
from planner.rule import OptimizerContext
from planner.tree import kind_mask, walk
from tests.golden.tpch_catalog import tpch_sf1
from tests.plans import TestCatalog, bound
from tests.sampled import sampled
from tpch.queries import query

SF1 = Path(__file__).resolve().parents[2] / "data" / "tpch" / "sf1"
ROWS = 1_000_000


def counted(path: str, where: str) -> int:
    """The rows of a file that satisfy a predicate."""
    ((rows,),) = duckdb.execute(f"SELECT count(*) FROM '{path}' WHERE {where}").fetchall()
    return int(rows)


def q_errors(sql: str, catalog: TestCatalog) -> dict[str, float]:
    """The q-errors of all filters of tables in a plan, by their text."""
    plan, allocator = bound(sql, catalog)
    cardinality = CardinalityAnalysis()
    found = {}
    for node in walk(optimize(plan, OptimizerContext(allocator)), kind_mask(Filter)):
        if isinstance(node, Filter) and isinstance(node.input, Scan):
            text = expression_text(node.predicate, ColumnNames())
            (file,) = node.input.table.files
            estimate = cardinality.estimate(node)
            assert estimate.certainty is Certainty.ESTIMATED, text
            true, estimated = max(counted(file.split.path, text), 1), max(estimate.rows, 1)
            found[f"{node.input.table.name}: {text}"] = max(true / estimated, estimated / true)
    return found


@pytest.mark.skipif(not SF1.is_dir(), reason="needs the tables of TPC-H at scale factor 1")
def test_tpch() -> None:
    catalog = TestCatalog({name: sampled(describe(str(SF1 / f"{name}.parquet"), name)) for name in tpch_sf1().names()})
    errors: dict[str, float] = {}
    for number in range(1, 23):
        errors |= q_errors(query(number).text, catalog)
    assert len(errors) > 30
    assert median(errors.values()) <= 1.2
    assert max(errors.values()) <= 3, max(errors, key=lambda text: errors[text])


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> TableSnapshot:
    """Cities determine their countries, `kind` is Zipf distributed, days ascend through the file, notes are texts."""
    generator = np.random.default_rng(11)
    city = np.minimum(generator.zipf(1.3, ROWS), 5_000)
    table = pa.table(
        {
            "city": [f"city {number}" for number in city],
            "country": [f"country {number % 40}" for number in city],
            "kind": generator.zipf(1.6, ROWS) % 10_000,
            "day": np.sort(generator.integers(0, 3_000, ROWS)).astype("datetime64[D]"),
            "a": generator.integers(0, 1_000, ROWS),
            "note": [f"note {a} {'urgent' if a % 37 == 0 else 'plain'}" for a in generator.integers(0, 1_000, ROWS)],
        }
    )
    table = table.append_column("b", pa.array(table["a"].to_numpy() + generator.integers(0, 10, ROWS)))
    path = tmp_path_factory.mktemp("skewed") / "t.parquet"
    pq.write_table(table, path, row_group_size=100_000)
    return sampled(describe(str(path), "t"))


FILTERS = [
    "city = 'city 1'",
    "city = 'city 7'",
    "city = 'city 300'",
    "country = 'country 1'",
    "city = 'city 1' AND country = 'country 1'",
    "city = 'city 2' AND country = 'country 2'",
    "city IN ('city 1', 'city 2', 'city 3') AND country IN ('country 1', 'country 3')",
    "city = 'city 1' OR country = 'country 1'",
    "kind = 1",
    "kind = 3",
    "kind < 5",
    "kind > 100",
    "kind BETWEEN 10 AND 20",
    "kind <> 1",
    "a < 100 AND b < 105",
    "a < 100 AND b > 95",
    "a = b",
    "a + b > 1900",
    "a % 10 = 3",
    "note LIKE '%urgent'",
    "note LIKE 'note 1%' AND a > 500",
    "NOT note LIKE '%plain%' OR kind = 2",
    "day < DATE '1971-01-01'",
    "day >= DATE '1975-03-01' AND day < DATE '1975-04-01'",
    "day = DATE '1973-01-01'",
    "day >= DATE '1975-03-01' AND day < DATE '1975-06-01' AND kind = 1 AND note LIKE '%plain'",
]


@pytest.mark.parametrize("where", FILTERS)
def test_skew_and_correlation(where: str, skewed: TableSnapshot) -> None:
    errors = q_errors(f"SELECT a FROM t WHERE {where}", TestCatalog({"t": skewed}))
    assert len(errors) == 1
    assert max(errors.values()) <= (1.2 if not _is_rare(where, skewed) else 3)


def _is_rare(where: str, table: TableSnapshot) -> bool:
    """Whether fewer than 200 rows of the sample are expected, so that their number alone is far off."""
    return counted(table.files[0].split.path, where) < ROWS / 100


@pytest.mark.parametrize("where", ["city = 'city 4999'", "note LIKE '%nowhere%'", "a = 5 AND b = 5 AND kind = 9999"])
def test_what_the_sample_has_not_seen_is_little_but_something(where: str, skewed: TableSnapshot) -> None:
    plan, allocator = bound(f"SELECT a FROM t WHERE {where}", TestCatalog({"t": skewed}))
    assert 1 <= CardinalityAnalysis().rows(optimize(plan, OptimizerContext(allocator))) <= ROWS / 1_000


def test_without_a_sample_correlation_is_not_seen(skewed: TableSnapshot) -> None:
    """Or the tests above see nothing."""
    (file,) = skewed.files
    blind = TestCatalog({"t": describe(file.split.path, "t")})
    plan, allocator = bound("SELECT a FROM t WHERE city = 'city 1' AND country = 'country 1'", blind)
    true = counted(file.split.path, "city = 'city 1'")
    assert CardinalityAnalysis().rows(optimize(plan, OptimizerContext(allocator))) < true / 3

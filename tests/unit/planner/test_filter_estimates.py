"""What statistics of columns and a sample say about filters, with distributions and samples that are made up for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from planner.analysis.cardinality import CardinalityAnalysis
from planner.catalog import (
    Certainty,
    ColumnDistribution,
    ColumnStatistics,
    TableSnapshot,
    TableStatistics,
    Trust,
)
from planner.dtypes import DATE, DOUBLE, INTEGER, VARCHAR
from planner.explain import ColumnNames, expression_text
from planner.expr.nodes import Expr
from planner.optimizer import optimize
from tests.plans import TestCatalog, bound, snapshot, verifying

ROWS = 100_000
FIELDS = [("n", INTEGER, False), ("city", VARCHAR, True), ("x", DOUBLE, False), ("day", DATE, False)]
COLUMNS = [
    ColumnStatistics(0, 999, 0),
    ColumnStatistics("aachen", "zwickau", 10_000),
    ColumnStatistics(),
    ColumnStatistics(0, 999, 0),
]
NUMBERS = ColumnDistribution(1000.0, 0.0, ((7, 0.5),), (0, 100, 200, 999), 1000)
CITIES = ColumnDistribution(50.0, 0.1, (("berlin", 0.4), ("bonn", 0.1)), ("aachen", "kiel", "zwickau"), 1000)
MEASURES = ColumnDistribution(1e5, 0.0, (), (0.0, 1.0, 10.0), 1000)
DAYS = ColumnDistribution(1000.0, 0.0, (), tuple(range(0, 1001, 100)), 1000, clustered=True)


class FixedSample:
    """A sample of 1000 rows that answers what it is told to; `asked` are the predicates it was asked for."""

    rows = 1000

    def __init__(self, answer: int | None) -> None:
        self._answer = answer
        self.asked: list[str] = []

    def count(self, predicate: Expr, positions: Mapping[int, int]) -> int | None:
        self.asked.append(expression_text(predicate, ColumnNames()))
        return self._answer


def table(sample: FixedSample | None = None) -> TableSnapshot:
    statistics = TableStatistics((NUMBERS, CITIES, MEASURES, DAYS), sample)
    return replace(snapshot("t", FIELDS, ROWS, COLUMNS), statistics=statistics)


def estimated(where: str, of: TableSnapshot) -> tuple[float, Certainty]:
    plan, allocator = bound(f"SELECT n FROM t WHERE {where}", TestCatalog({"t": of}))
    estimate = CardinalityAnalysis().estimate(optimize(plan, verifying(allocator)))
    assert estimate.trust is Trust.ESTIMATED
    return estimate.rows, estimate.certainty


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("n = 7", 50_000),  # frequent
        ("n = 5000", 1),  # beyond the largest
        ("n <> 7", 50_000),
        ("n IN (7, 8)", 50_000 + 50_000 / 999),
        ("n < 100", 50_000 + 50_000 / 3),  # a part of the histogram, and the frequent value
        ("n >= 100", 50_000 * 2 / 3),
        ("n BETWEEN 100 AND 149", 50_000 / 6),
        ("n > 998", 50_000 / 3 / 800),
        ("n < -5", 1),
        ("city = 'berlin'", 40_000),
        ("city IS NULL", 10_000),
        ("city IS NOT NULL", 90_000),
        ("city >= 'kiel'", 20_000),
        ("x <= 1.0", 50_000),
        ("x > 1.0 AND x < 5.5", 25_000),
        ("x = 3.5", 1),  # like every other value
        ("day < DATE '1970-04-11'", 10_000),
    ],
)
def test_single_columns(where: str, rows: float) -> None:
    """Answered by distributions: a sample is not asked."""
    sample = FixedSample(999)
    found, certainty = estimated(where, table(sample))
    assert found == pytest.approx(rows, rel=0.03)
    assert certainty is Certainty.ESTIMATED
    assert sample.asked == []


@pytest.mark.parametrize(
    "where",
    [
        "n = 8",
        "city = 'kiel'",
        "city LIKE '%x%'",
        "n + 1 = 8",
        "n = 7 AND city = 'berlin'",
        "n < CAST(x AS INTEGER)",
        "n = 7 OR city = 'bonn'",
    ],
)
def test_what_only_rows_can_tell(where: str) -> None:
    sample = FixedSample(321)
    assert estimated(where, table(sample)) == (32_100, Certainty.ESTIMATED)
    assert len(sample.asked) == 1


@pytest.mark.parametrize(("where", "rows"), [("n = 8", 50_000 / 999), ("city = 'kiel'", 40_000 / 48)])
def test_rare_values_without_a_sample(where: str, rows: float) -> None:
    """Like every other value that is not frequent."""
    assert estimated(where, table())[0] == pytest.approx(rows, rel=0.03)


def test_nothing_found_is_less_than_a_row_of_the_sample() -> None:
    found, certainty = estimated("city LIKE '%x%'", table(FixedSample(0)))
    assert 1 <= found < ROWS / 1000
    assert certainty is Certainty.ESTIMATED


def test_nothing_found_in_the_whole_table() -> None:
    whole = replace(table(FixedSample(0)), files=snapshot("t", FIELDS, 1000).files)
    assert estimated("city LIKE '%x%'", whole)[0] == 1


def test_a_predicate_that_the_sample_cannot_evaluate() -> None:
    with_sample, without = estimated("city LIKE '%x%'", table(FixedSample(None))), estimated("city LIKE '%x%'", table())
    assert with_sample == without
    assert without[1] is Certainty.UNKNOWN


def test_a_column_that_ascends_is_left_to_the_row_groups() -> None:
    sample = FixedSample(500)
    found, _ = estimated("day < DATE '1970-04-11' AND city LIKE '%x%'", table(sample))
    assert found == pytest.approx(ROWS / 10 / 2)
    assert sample.asked == ["city LIKE '%x%'"]


def test_certainties() -> None:
    plan, allocator = bound("SELECT city, count(*) FROM t GROUP BY city", TestCatalog({"t": table()}))
    grouped = CardinalityAnalysis().estimate(optimize(plan, verifying(allocator)))
    assert (grouped.rows, grouped.certainty) == (50, Certainty.ESTIMATED)
    plan, allocator = bound("SELECT n FROM t", TestCatalog({"t": table()}))
    scanned = CardinalityAnalysis().estimate(optimize(plan, verifying(allocator)))
    assert (scanned.rows, scanned.certainty, scanned.trust) == (ROWS, Certainty.EXACT, Trust.CLAIMED)


def test_values_among_a_part_of_the_rows() -> None:
    """Grouping 100 rows by a column with 1000 values gives about 95 groups, not 100 (Cardenas)."""
    one_percent: Any = FixedSample(1)
    sql = "SELECT n, count(*) FROM t WHERE city LIKE '%x%' GROUP BY n"
    plan, allocator = bound(sql, TestCatalog({"t": table(one_percent)}))
    assert CardinalityAnalysis().rows(optimize(plan, verifying(allocator))) == pytest.approx(95.16, abs=0.1)

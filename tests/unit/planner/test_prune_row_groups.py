"""Which row groups a predicate leaves out, by what footers claim of them."""

from __future__ import annotations

import pytest

from planner.catalog import ColumnStatistics
from planner.dtypes import DATE, INTEGER, VARCHAR, decimal
from planner.logical.nodes import Filter
from planner.physical.prune_row_groups import may_match
from planner.tree import kind_mask, walk
from tests.plans import TestCatalog, bound, snapshot

FIELDS = [("i", INTEGER, True), ("d", decimal(9, 2), True), ("v", VARCHAR, True), ("t", DATE, True)]
GROUP = {
    "i": ColumnStatistics(10, 20, 0),
    "d": ColumnStatistics(150, 250, 3),
    "v": ColumnStatistics("banana", "cherry", 1),
    "t": ColumnStatistics(18262, 18292, None),  # January 2020
}
CATALOG = TestCatalog({"x": snapshot("x", FIELDS, 100)})

LEFT_OUT = [
    "i < 10", "i > 20", "i = 21", "9 >= i", "i IN (1, 2, 30)", "i = 21 OR i < 3", "i = 15 AND v = 'a'",
    "d > 2.5", "d < 1.5", "d = 3", "t < DATE '2020-01-01'", "t = DATE '2020-02-01'",
    "v = 'apple'", "v > 'cherry'", "v LIKE 'a%'", "v LIKE 'cz%'", "v LIKE 'bam%'", "v LIKE 'cherryx%'", "v LIKE 'apple'",
    "v LIKE 'a_c%'", "starts_with(v, 'd')", "v LIKE 'a!%%' ESCAPE '!'", "i IS NULL",
]  # fmt: skip

KEPT = [
    "i < 11", "i = 10", "i IN (1, 20)", "i = 21 OR i = 15", "i <> 15", "i + 1 > 100", "d = 2.5", "d < 1.51",
    "v LIKE 'b%'", "v LIKE 'c%'", "v LIKE 'ban%'", "v LIKE 'banana'", "v LIKE 'cherry%'", "v LIKE 'bz%'", "v LIKE '%z'",
    "v LIKE '_a%'", "v LIKE 'ch_x'", "NOT v LIKE 'a%'", "v LIKE v", "upper(v) LIKE 'A%'", "starts_with(v, 'che')",
    "v LIKE 'c!%%' ESCAPE '!'", "v ILIKE 'CH%'", "v IS NULL", "t IS NULL", "i IS NOT NULL", "t <= DATE '2020-01-01'",
]  # fmt: skip


def matches(condition: str) -> bool:
    plan, _ = bound(f"SELECT * FROM x WHERE {condition}", CATALOG)
    filtered = next(node for node in walk(plan, kind_mask(Filter)) if isinstance(node, Filter))
    names = {column.id: column.name for column in filtered.input.columns}
    return may_match(filtered.predicate, lambda id: GROUP.get(names[id]))


@pytest.mark.parametrize("condition", LEFT_OUT)
def test_left_out(condition):
    assert not matches(condition)


@pytest.mark.parametrize("condition", KEPT)
def test_kept(condition):
    assert matches(condition)


def test_nothing_is_left_out_without_statistics():
    plan, _ = bound("SELECT * FROM x WHERE i < 0 AND v LIKE 'a%' AND d IS NULL", CATALOG)
    filtered = next(node for node in walk(plan, kind_mask(Filter)) if isinstance(node, Filter))
    assert may_match(filtered.predicate, lambda id: None)
    assert may_match(filtered.predicate, lambda id: ColumnStatistics())

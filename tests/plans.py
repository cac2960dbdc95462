"""Tables and plans for tests of the optimizer: a small schema with NULLs and duplicates, and the tables of TPC-H without data."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from planner.catalog import ColumnStatistics, RowGroup, TableFile, TableSnapshot
from planner.dir import Split
from planner.dtypes import DATE, INTEGER, VARCHAR, DType, decimal
from planner.errors import QEngineError
from planner.logical.nodes import LogicalPlan
from planner.rule import OptimizerContext
from planner.schema import ColumnAllocator, Field
from planner.sql import bind
from tests.reference_interpreter import Tables, run


class TestCatalog:
    """Tables by name, case-insensitive."""

    __test__ = False

    def __init__(self, tables: Mapping[str, TableSnapshot]) -> None:
        self._tables = dict(tables)

    def table(self, name: str) -> TableSnapshot | None:
        return self._tables.get(name.lower())

    def names(self) -> Sequence[str]:
        return sorted(self._tables)


def snapshot(
    name: str, fields: Sequence[tuple[str, DType, bool]], rows: int, statistics: Sequence[ColumnStatistics] | None = None
) -> TableSnapshot:
    """A table of one file; fields are (name, type, nullable)."""
    columns = tuple(statistics or (ColumnStatistics() for _ in fields))
    group = RowGroup(0, rows, rows * 8 * len(fields), columns)
    file = TableFile(Split(f"/{name}.parquet", rows * 8), rows, (group,))
    return TableSnapshot(name, "parquet", tuple(Field(*field) for field in fields), (file,), columns)


def bound(sql: str, catalog: TestCatalog) -> tuple[LogicalPlan, ColumnAllocator]:
    allocator = ColumnAllocator()
    return bind(sql, catalog, allocator=allocator).plan, allocator


def verifying(allocator: ColumnAllocator, **options: Any) -> OptimizerContext:
    return OptimizerContext(allocator, verify=True, **options)


def random_rows(seed: int, count: int, domains: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Rows whose values are drawn from a domain per column; put None into a domain for NULLs."""
    generator = random.Random(seed)
    return [tuple(generator.choice(domain) for domain in domains) for _ in range(count)]


SMALL_CATALOG = TestCatalog(
    {
        "o": snapshot("o", [("a", INTEGER, True), ("b", INTEGER, True), ("k", INTEGER, False), ("s", VARCHAR, True)], 12),
        "i": snapshot("i", [("a", INTEGER, True), ("c", INTEGER, True), ("k", INTEGER, False)], 12),
        "j": snapshot("j", [("c", INTEGER, True), ("d", INTEGER, True), ("k", INTEGER, False)], 8),
        "e": snapshot("e", [("a", INTEGER, True), ("x", INTEGER, False)], 0),
        "d": snapshot("d", [("k", INTEGER, False), ("day", DATE, True), ("price", decimal(10, 2), False)], 10),
    }
)
_DAYS = [date(1994, 12, 31), date(1995, 1, 1), date(1995, 1, 2)]
_VALUES = [None, 1, 2, 3]
SMALL_TABLES = [
    {
        "o": random_rows(seed, 9, [_VALUES, _VALUES, [1, 2, 3, 4], ["x", "y", None]]),
        "i": random_rows(seed + 100, [10, 3, 0][seed % 3], [_VALUES, _VALUES, [1, 2, 3, 4]]),
        "j": random_rows(seed + 200, 6, [_VALUES, _VALUES, [1, 2, 3, 4]]),
        "e": [],
        "d": random_rows(seed + 300, 10, [[1, 2, 3, 4], [None, *_DAYS], [Decimal("1.25"), Decimal("2.50"), Decimal("0.00")]]),
    }
    for seed in range(6)
]


def outcome(plan: LogicalPlan, tables: Tables) -> Counter[tuple[Any, ...]] | str:
    """The rows of a plan as a multiset, or the code of the error that it ends with."""
    try:
        return Counter(run(plan, tables))
    except QEngineError as failure:
        return failure.code

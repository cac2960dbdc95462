"""Tables and plans for tests of the optimizer: a small schema with NULLs and duplicates, and the tables of TPC-H without data."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from planner.catalog import ColumnStatistics, RowGroup, TableFile, TableSnapshot
from planner.dir import Split
from planner.dtypes import DType
from planner.logical.nodes import LogicalPlan
from planner.rule import OptimizerContext
from planner.schema import ColumnAllocator, Field
from planner.sql import bind


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

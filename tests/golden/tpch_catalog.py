"""The committed snapshot of the TPC-H tables at scale factor 1: `tpch_sf1.json`, schema and footer statistics without data, and
what samples say of their rows (`tpch_samples`).

One line per column: name, type, whether it is nullable, minimum, maximum (physical integers), NULLs. Row groups are ranged by the
column of `clustered_by`.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from planner.catalog import ColumnStatistics, RowGroup, TableFile, TableSnapshot
from planner.dir import Split
from planner.dtypes import BIGINT, DATE, INTEGER, VARCHAR, DType, decimal
from planner.schema import Field
from tests.golden.tpch_samples import recorded_statistics
from tests.plans import TestCatalog

_TYPES: dict[str, DType] = {str(dtype): dtype for dtype in (BIGINT, INTEGER, VARCHAR, DATE, decimal(15, 2))}


@cache
def tpch_sf1() -> TestCatalog:
    """The eight tables, each one file of equal row groups."""
    described = json.loads(Path(__file__).with_name("tpch_sf1.json").read_text(encoding="utf-8"))
    return TestCatalog({name: _table(name, table) for name, table in described.items()})


def _table(name: str, table: dict[str, Any]) -> TableSnapshot:
    fields = tuple(Field(column, _TYPES[dtype], nullable) for column, dtype, nullable, *_ in table["columns"])
    columns = tuple(ColumnStatistics(low, high, nulls) for *_, low, high, nulls in table["columns"])
    count = table["row_groups"]
    starts = [table["rows"] * part // count for part in range(count + 1)]
    key = [field.name for field in fields].index(table["clustered_by"])
    groups = tuple(
        RowGroup(first, end - first, table["bytes"] // count, _in_group(columns, key, part, count))
        for part, (first, end) in enumerate(pairwise(starts))
    )
    file = TableFile(Split(f"{name}.parquet", table["bytes"]), table["rows"], groups)
    return TableSnapshot(name, "parquet", fields, (file,), columns, statistics=recorded_statistics(name))


def _in_group(columns: tuple[ColumnStatistics, ...], key: int, part: int, count: int) -> tuple[ColumnStatistics, ...]:
    """Statistics of one of `count` row groups: those of the table, and an even share of the values of the key."""
    low, high = columns[key].minimum, columns[key].maximum
    bounds = [low + (high + 1 - low) * index // count for index in (part, part + 1)]
    return (*columns[:key], ColumnStatistics(bounds[0], bounds[1] - 1, 0), *columns[key + 1 :])

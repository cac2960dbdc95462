"""Small tables planned as if they were large, and answers compared with DuckDB's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from planner.logical.nodes import LogicalPlan
from planner.physical import plan as planning
from planner.physical.context import PhysicalOptions
from planner.physical.nodes import PhysicalPlan
from planner.schema import ColumnAllocator
from tpch.same_answer import same_answer


@contextmanager
def scattered(free_stages: bool = False, task_bytes: int = 1) -> Iterator[None]:
    """Every scan of a session is cut at each row group (of `task_bytes`), every hash exchange into four buckets.

    With `free_stages` further stages and tasks cost nothing, so that parts of plans are shared whatever their size.
    """

    def plan_many(root: LogicalPlan, allocator: ColumnAllocator, options: PhysicalOptions, **rest: Any) -> PhysicalPlan:
        many = PhysicalOptions(
            options.workers, options.single, task_bytes, least_task_bytes=1, buckets=4, disabled=options.disabled
        )
        return original(root, allocator, many, **rest)

    original = planning.plan_physical
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qengine.query.plan_physical", plan_many)
        if free_stages:
            patch.setattr("planner.physical.cost.STAGE", 0.0)
            patch.setattr("planner.physical.cost.TASK", 0.0)
        yield


def difference_from_duckdb(
    actual: pa.Table, oracle: duckdb.DuckDBPyConnection, text: str, *, in_sequence: bool = False
) -> str | None:
    """None if `actual` is DuckDB's answer to `text`; sums of integers are HUGEINT there, which arrives as a decimal."""
    expected = oracle.sql(text).to_arrow_table()
    columns = [
        column.cast(field.type) if pa.types.is_decimal(column.type) and pa.types.is_integer(field.type) else column
        for column, field in zip(expected.columns, actual.schema, strict=True)
    ]
    return same_answer(actual, pa.table(columns, names=expected.column_names), in_sequence=in_sequence)

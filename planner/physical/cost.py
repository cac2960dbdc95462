"""Costs of physical alternatives, in nanoseconds of one core, from estimated rows and widths.

The constants were measured on one core of a plain server with Polars 2.1; only their ratios matter. They choose between plans and
never change an answer.
"""

from __future__ import annotations

from planner.dtypes import BLOB, BOOLEAN, INTEGER_BITS, VARCHAR, DType, is_decimal
from planner.schema import Schema

BUILD_ROW = 60.0
"""Insert one row into a join's hash table."""
PROBE_ROW = 50.0
"""Look one row up in it."""
MOVE_ROW = 25.0
"""Hash, scatter, write, map and read one row, apart from its bytes."""
MOVE_BYTE = 0.6
STAGE = 1.5e6
"""Schedule a stage and open its files."""
TASK = 1.2e6
"""Run a task that does nothing."""
MERGE_GROUP = 80.0
"""Merge one partial group."""


def width(dtype: DType) -> int:
    """Bytes of a typical value as it travels."""
    if dtype in INTEGER_BITS:
        return INTEGER_BITS[dtype] // 8
    if dtype in (VARCHAR, BLOB):
        return 24
    if is_decimal(dtype):
        return 8
    return 1 if dtype == BOOLEAN else 8


def row_width(columns: Schema) -> int:
    return sum(width(column.dtype) for column in columns)


def task_cost(tasks: int) -> float:
    """Run the tasks of a stage, apart from what they do."""
    return tasks * TASK


def is_hardly_dearer(cost: float, other: float) -> bool:
    """Whether something costs less than another thing, or only a fraction of a stage more."""
    return cost < other + STAGE / 3


def move_cost(rows: float, columns: Schema) -> float:
    """Exchange `rows` rows once."""
    return STAGE + rows * (MOVE_ROW + MOVE_BYTE * row_width(columns))

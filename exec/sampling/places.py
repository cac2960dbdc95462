"""Which rows make the sample of a table, and in which parts all rows are looked at."""

from __future__ import annotations

from planner.catalog import TableSnapshot
from planner.dir import ScanRange

SAMPLE_ROWS = 20_000
WHOLE_ROWS = 30_000
"""A table with no more rows is its own sample."""
FEW_RUNS = 8
MANY_RUNS = 32
"""Of a table whose files have too few rows for long runs."""

PART_ROWS = 1 << 20
"""About the rows of a part of a table that a worker looks at in one call."""

_GOLDEN = 0.6180339887498949


def sample_places(table: TableSnapshot) -> tuple[ScanRange, ...]:
    """The rows of a table's sample, as runs in the order of the table, none across two files.

    There is one run in each of 8 (or 32) equal parts of the table, at a place that differs from part to part, so that a pattern
    that repeats over the rows is not met in the same phase each time.
    """
    rows = table.rows
    if rows <= WHOLE_ROWS:
        return tuple(ScanRange(file.split, 0, file.rows, 0) for file in table.files if file.rows)
    runs = FEW_RUNS if rows / len(table.files) >= SAMPLE_ROWS else MANY_RUNS
    length = SAMPLE_ROWS // runs
    starts = [int(rows * (part + (part + 1) * _GOLDEN % 1.0) / runs) for part in range(runs)]
    places = []
    first = 0
    for file in table.files:
        while starts and starts[0] < first + file.rows:
            start = max(0, min(starts.pop(0) - first, file.rows - length))
            places.append(ScanRange(file.split, start, min(length, file.rows - start), 0))
        first += file.rows
    return tuple(places)


def row_parts(table: TableSnapshot) -> tuple[ScanRange, ...]:
    """All rows, in parts of whole row groups of one file."""
    parts: list[ScanRange] = []
    for file in table.files:
        for group in file.row_groups:
            last = parts[-1] if parts else None
            if last is not None and last.split is file.split and last.rows + group.rows <= PART_ROWS:
                parts[-1] = ScanRange(file.split, last.first_row, last.rows + group.rows, last.bytes + group.bytes)
            elif group.rows:
                parts.append(ScanRange(file.split, group.first_row, group.rows, group.bytes))
    return tuple(parts)

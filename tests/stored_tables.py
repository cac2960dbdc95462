"""Tables whose columns are put into the column store by hand, in segments of a few rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from exec.sources import fill as filling
from exec.sources.fill import fill
from exec.store import columns, segments
from exec.store.columns import FOLDER, StoredColumn, segments_of
from exec.store.segments import StoredColumns
from planner.catalog import TableSnapshot


@contextmanager
def segments_of_rows(rows: int) -> Iterator[None]:
    """Inside of this process segments are so long."""
    with ExitStack() as stack:
        for module in (columns, segments, filling):
            stack.enter_context(patch.object(module, "SEGMENT_ROWS", rows))
        yield


def fill_all(table: TableSnapshot, folder: Path) -> StoredColumns:
    """A column store below `folder` that holds all columns of a table of files."""
    for file in table.files:
        for field in table.fields:
            column = StoredColumn(file.split, field.name, field.dtype)
            for number in segments_of(0, file.rows):
                fill(column, number, table.reader, str(folder / FOLDER))
    return StoredColumns(folder)

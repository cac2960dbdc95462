"""Names in the column store: which columns of files it knows, and what their segments are called.

A column of a file is kept in *segments* of SEGMENT_ROWS rows, one file each (`exec.store.segments`). The name of a segment
follows from the identity of the file, the column and the number of the segment; so a worker needs no index to find it, and what
was kept of a file that changed is never found again.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NamedTuple

from planner.dir import Split
from planner.dtypes import DType

SEGMENT_ROWS = 1 << 20
FOLDER = "columns"


class StoredColumn(NamedTuple):
    """A column of one exact file, read as `dtype`."""

    split: Split
    field: str
    dtype: DType

    def segment(self, number: int) -> str:
        """The file name of a segment."""
        return f"{_digest(self)}-{number}.arrow"


@lru_cache(maxsize=4096)
def _digest(column: StoredColumn) -> str:
    split = column.split
    key = (split.path, split.size, split.mtime_ns, split.inode, split.footer, column.field, str(column.dtype))
    return hashlib.blake2b(repr(key).encode(), digest_size=16).hexdigest()


def segments_of(first_row: int, rows: int) -> range:
    """The numbers of the segments that hold some rows of a file."""
    return range(first_row // SEGMENT_ROWS, -(-(first_row + rows) // SEGMENT_ROWS)) if rows else range(0)

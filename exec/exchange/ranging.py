"""Which partition of a range partitioning a row belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from planner import dtypes as t
from planner.dir import Range


def partition_ids(frame: pl.DataFrame, partitioning: Range) -> npt.NDArray[Any]:
    """The partition of every row: uint8 for up to 256 partitions, else uint16. NULL keys go to partition 0.

    `frame` holds the key as c<id>, an integer or temporal column.
    """
    values = frame.get_column(f"c{partitioning.key}")
    if t.is_temporal(partitioning.key_type):
        values = values.to_physical()
    out: type[np.uint8] | type[np.uint16] = np.uint8 if len(partitioning.boundaries) < 256 else np.uint16
    missing = values.is_null().to_numpy() if values.null_count() else None
    keys = (values.fill_null(0) if missing is not None else values).to_numpy()
    # In the keys' own type, so that they are not converted; boundaries are values of the column and fit.
    boundaries = np.asarray(partitioning.boundaries, dtype=keys.dtype)
    ids = np.searchsorted(boundaries, keys, side="right").astype(out)
    if missing is not None:
        ids[missing] = 0
    return ids

"""What an exchange delivers, in the tiers of the task that reads it."""

from __future__ import annotations

import polars as pl

from exec.lower.exact import column_encoding, convert
from planner.dtypes import DecimalType
from planner.physical.encodings import Encoding
from planner.physical.nodes import ExchangeSource


def received(node: ExchangeSource, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Wide decimals arrive as Decimal(38, 0) and go on as Int128 where that is their tier."""
    bounds = dict(node.bounds)
    wide = []
    for column, encoding in zip(node.schema, node.encodings, strict=True):
        tier = column_encoding(column.dtype, column.id, bounds)
        if isinstance(column.dtype, DecimalType) and (encoding, tier) != (Encoding.INT64, Encoding.INT64):
            arrived = Encoding.INT64 if encoding is Encoding.INT64 else Encoding.DEC38
            wide.append(convert(pl.col(f"c{column.id}"), arrived, tier))
    return frame.with_columns(wide) if wide else frame

"""Polars: LazyFrames over `scan_parquet` with the streaming engine, or over DataFrames in memory.

The queries are those of `polars_queries`, with Polars' own optimizer (join order, runtime filters, common subplans) left on.
The streaming engine is what Polars recommends for analytical queries; it runs them in memory too. POLARS_MAX_THREADS is set
before Polars is imported. Polars takes no limit of memory.
"""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from tpch.engines.protocol import Phases, Settings, Statement
from tpch.generate import TABLES, table_files


class PolarsAdapter:
    """See `tpch.engines.protocol.Engine`."""

    def __init__(self, settings: Settings) -> None:
        os.environ["POLARS_MAX_THREADS"] = str(settings.threads)
        import polars as pl

        from tpch.engines import polars_queries

        self.version = pl.__version__
        self.settings = {"threads": str(pl.thread_pool_size()), "engine": "streaming"}
        self._queries = polars_queries.QUERIES
        self._tables: dict[str, Any] = {
            table: pl.scan_parquet([str(path) for path in table_files(settings.folder, table)]) for table in TABLES
        }

    def load(self) -> None:
        self._tables = {name: frame.collect(engine="streaming").rechunk().lazy() for name, frame in self._tables.items()}

    def run(self, statement: Statement) -> pa.Table:
        frame = self._queries[statement.number](self._tables, statement.parameters)
        return frame.collect(engine="streaming").to_arrow()

    def phases(self) -> Phases:
        return Phases()

    def close(self) -> None:
        self._tables = {}

"""DuckDB: SQL over `read_parquet` views, or over its own tables in an in-memory database.

`threads` and `memory_limit` are set; `preserve_insertion_order` is off, as DuckDB's performance guide recommends for data larger
than memory, since no query needs it. The external file cache stays on, as it is by default. Results are fetched as Arrow.
"""

from __future__ import annotations

import threading

import pyarrow as pa

from tpch.engines.protocol import Phases, Settings, Statement
from tpch.generate import TABLES, table_files


class DuckDBAdapter:
    """See `tpch.engines.protocol.Engine`."""

    def __init__(self, settings: Settings) -> None:
        import duckdb

        self.version = duckdb.__version__
        self.settings = {
            "threads": str(settings.threads),
            "memory_limit": f"{settings.own_limit >> 20} MiB",
            "preserve_insertion_order": "false",
        }
        self._connection = duckdb.connect(config=dict(self.settings))
        self._local = threading.local()
        for table in TABLES:
            files = [str(path) for path in table_files(settings.folder, table)]
            literals = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
            self._connection.execute(f"CREATE VIEW {table} AS FROM read_parquet([{literals}])")

    def load(self) -> None:
        for table in TABLES:
            self._connection.execute(f"CREATE TABLE {table}_loaded AS FROM {table}")
            self._connection.execute(f"DROP VIEW {table}")
            self._connection.execute(f"ALTER TABLE {table}_loaded RENAME TO {table}")

    def run(self, statement: Statement) -> pa.Table:
        if not hasattr(self._local, "cursor"):
            self._local.cursor = self._connection.cursor()
        return self._local.cursor.sql(statement.text).to_arrow_table()

    def phases(self) -> Phases:
        return Phases()

    def close(self) -> None:
        self._connection.close()

"""Daft: `daft.sql` on its native runner, over Parquet files or over Arrow tables in memory.

Its thread pools are set by environment variables before it is imported. Daft 0.7 refuses files whose Arrow schema has string
views, which the generator writes: then it cannot be opened over files, and takes part in memory only, where the tables are read
by pyarrow with plain strings. It takes no limit of memory for a single machine.
"""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from tpch.engines.protocol import Phases, Settings, Statement
from tpch.generate import TABLES, table_files
from tpch.results import Mode


class DaftAdapter:
    """See `tpch.engines.protocol.Engine`."""

    def __init__(self, settings: Settings) -> None:
        threads = str(settings.threads)
        os.environ.update(DAFT_RUNNER="native", DAFT_PROGRESS_BAR="0", DAFT_ANALYTICS_ENABLED="0", DO_NOT_TRACK="true")
        os.environ.update(DAFT_NATIVE_THREADS=threads, RAYON_NUM_THREADS=threads, TOKIO_WORKER_THREADS=threads)
        import daft

        self.version = daft.__version__
        self.settings = {"runner": "native", "threads": threads}
        self._daft = daft
        self._files = {table: [str(path) for path in table_files(settings.folder, table)] for table in TABLES}
        self._tables: dict[str, Any] = {}
        if settings.mode is not Mode.MEMORY:
            self._tables = {table: daft.read_parquet(files) for table, files in self._files.items()}

    def load(self) -> None:
        for table, files in self._files.items():
            arrow = pa.concat_tables([pyarrow.parquet.read_table(file) for file in files])
            self._tables[table] = self._daft.from_arrow(_with_plain_strings(arrow)).collect()

    def run(self, statement: Statement) -> pa.Table:
        return self._daft.sql(statement.text, **self._tables).to_arrow()

    def phases(self) -> Phases:
        return Phases()

    def close(self) -> None:
        self._tables = {}


def _with_plain_strings(table: pa.Table) -> pa.Table:
    fields = [field.with_type(pa.large_string()) if pa.types.is_string_view(field.type) else field for field in table.schema]
    return table.cast(pa.schema(fields))

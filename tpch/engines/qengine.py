"""qengine: SQL through the public API, with the defaults of a session.

Files: `cache="auto"`, so columns that are scanned again are kept decoded in shared memory; a cold run has none. In memory:
`cache="eager"`, which is that store filled before anything else happens. The limit of memory is given as that of the store, a
quarter of it as by default, because a session has no other.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tpch.engines.protocol import Settings, Statement
from tpch.generate import TABLES, table_files
from tpch.results import Mode

if TYPE_CHECKING:
    import qengine


class QEngineAdapter:
    """See `tpch.engines.protocol.Engine`. Options: `inline` and `cache`, as of `qengine.Session`."""

    def __init__(self, settings: Settings) -> None:
        import qengine

        in_memory = settings.mode is Mode.MEMORY
        cache_memory = settings.memory_limit // (2 if in_memory else 4)
        inline = settings.options.get("inline", "auto")
        cache = settings.options.get("cache", "eager" if in_memory else "auto")
        self.version = qengine.__version__
        self.settings = {
            "workers": str(settings.threads),
            "inline": inline,
            "cache": cache,
            "cache_memory": f"{cache_memory >> 20} MiB",
        }
        self._local = threading.local()
        self._session = qengine.Session(settings.threads, inline=inline, cache=cache, cache_memory=cache_memory)
        register_tables(self._session, settings.folder)

    def load(self) -> None:
        for table in TABLES:
            columns = self._session.table(table).columns
            # A condition over all columns that no statistics can decide: they are read, and hardly anything is computed.
            values = " OR ".join(f"CAST({column} AS VARCHAR) = ''" for column in columns)
            self._session.sql(f"SELECT count(*) FROM {table} WHERE {values}").collect()

    def run(self, statement: Statement) -> pa.Table:
        started = time.perf_counter()
        executing: list[float] = []

        def note(progress: Any) -> None:
            if not executing:
                executing.append(time.perf_counter() - progress.seconds)

        table = self._session.sql(statement.text).collect(progress=note)
        self._local.planning = executing[0] - started if executing else None
        return table

    def planning_seconds(self) -> float | None:
        planning: float | None = getattr(self._local, "planning", None)
        return planning

    def close(self) -> None:
        self._session.close()


def register_tables(session: qengine.Session, folder: Path) -> None:
    """Make the eight tables in `folder` known to a session by their names."""
    for table in TABLES:
        session.register(table, session.read_parquet([str(path) for path in table_files(folder, table)]))

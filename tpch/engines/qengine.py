"""qengine: SQL through the public API, with the defaults of a session.

Files: `cache="auto"`, so columns that are scanned again are kept decoded in shared memory; a cold run has none. In memory:
`cache="eager"`, which is that store filled before anything else happens. The limit of memory is given as that of the store, a
quarter of it as by default, because a session has no other.

Queries are run by `profile()`, which gives the same rows as `collect()` and where the time went.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tpch.engines.protocol import Phases, Settings, Statement
from tpch.generate import TABLES, table_files
from tpch.results import Mode

if TYPE_CHECKING:
    import qengine


class QEngineAdapter:
    """See `tpch.engines.protocol.Engine`. Options: `inline`, `cache` and `plan_cache`, as of `qengine.Session`."""

    def __init__(self, settings: Settings) -> None:
        import qengine

        in_memory = settings.mode is Mode.MEMORY
        cache_memory = settings.memory_limit // (2 if in_memory else 4)
        inline = settings.options.get("inline", "auto")
        cache = settings.options.get("cache", "eager" if in_memory else "auto")
        plan_cache = settings.options.get("plan_cache", "auto")
        self.version = qengine.__version__
        self.settings = {
            "workers": str(settings.threads),
            "inline": inline,
            "cache": cache,
            "plan_cache": plan_cache,
            "cache_memory": f"{cache_memory >> 20} MiB",
        }
        self._local = threading.local()
        self._session = qengine.Session(
            settings.threads, inline=inline, cache=cache, cache_memory=cache_memory, plan_cache=plan_cache
        )
        register_tables(self._session, settings.folder)

    def load(self) -> None:
        for table in TABLES:
            columns = self._session.table(table).columns
            # A condition over all columns that no statistics can decide: they are read, and hardly anything is computed.
            values = " OR ".join(f"CAST({column} AS VARCHAR) = ''" for column in columns)
            self._session.sql(f"SELECT count(*) FROM {table} WHERE {values}").collect()

    def run(self, statement: Statement) -> pa.Table:
        profile = self._session.sql(statement.text).profile(operators=False)
        steps = profile.steps
        execution = steps["execute"] + steps.get("repeat", 0.0)
        self._local.phases = Phases(profile.planning_seconds, execution, steps["deliver"])
        return profile.result

    def phases(self) -> Phases:
        phases: Phases = self._local.phases
        return phases

    def close(self) -> None:
        self._session.close()


def register_tables(session: qengine.Session, folder: Path) -> None:
    """Make the eight tables in `folder` known to a session by their names."""
    for table in TABLES:
        session.register(table, session.read_parquet([str(path) for path in table_files(folder, table)]))

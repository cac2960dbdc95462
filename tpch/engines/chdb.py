"""chDB (ClickHouse in process): SQL over `file(...)` views, or over its own tables.

In memory means MergeTree tables in a session folder, ordered by the primary key of TPC-H: ClickHouse's Memory engine keeps
neither order nor indexes, and the pages of the files stay in the page cache. `max_threads` and `max_memory_usage` are set; outer
joins and aggregates of nothing give NULL, as in the SQL standard.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tpch.engines.protocol import Phases, Settings, Statement
from tpch.generate import TABLES, table_files

_PRIMARY_KEYS = {
    "customer": "c_custkey",
    "lineitem": "l_orderkey, l_linenumber",
    "nation": "n_nationkey",
    "orders": "o_orderkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "region": "r_regionkey",
    "supplier": "s_suppkey",
}


class ChDBAdapter:
    """See `tpch.engines.protocol.Engine`."""

    def __init__(self, settings: Settings) -> None:
        import chdb
        from chdb.session import Session

        self.version = chdb.__version__
        self.settings = {
            "max_threads": str(settings.threads),
            "max_memory_usage": str(settings.own_limit),
            "join_use_nulls": "1",
            "aggregate_functions_null_for_empty": "1",
            "output_format_arrow_string_as_string": "1",
        }
        self._session: Any = Session()
        for name, value in self.settings.items():
            self._session.query(f"SET {name} = {value}")
        for table in TABLES:
            files = [str(path) for path in table_files(settings.folder, table)]
            pattern = files[0] if len(files) == 1 else "{" + ",".join(files) + "}"
            literal = pattern.replace("\\", "\\\\").replace("'", "\\'")
            self._session.query(f"CREATE VIEW {table} AS SELECT * FROM file('{literal}', Parquet)")

    def load(self) -> None:
        for table in TABLES:
            self._session.query(
                f"CREATE TABLE {table}_loaded ENGINE = MergeTree ORDER BY ({_PRIMARY_KEYS[table]}) AS SELECT * FROM {table}"
            )
            self._session.query(f"DROP VIEW {table}")
            self._session.query(f"RENAME TABLE {table}_loaded TO {table}")

    def run(self, statement: Statement) -> pa.Table:
        answer = self._session.query(statement.text, "Arrow")
        return pa.ipc.open_file(pa.py_buffer(answer.bytes())).read_all()

    def phases(self) -> Phases:
        return Phases()

    def close(self) -> None:
        self._session.close()

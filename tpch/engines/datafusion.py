"""DataFusion: SQL over registered Parquet files, or over record batches in memory.

One target partition per thread, a fair memory pool with room to spill, and the two settings that DataFusion's own benchmarks use
for Parquet and that are off by default: filters are pushed into the scan, and evaluated in the best order.
"""

from __future__ import annotations

import os

import pyarrow as pa

from tpch.engines.protocol import Phases, Settings, Statement
from tpch.generate import TABLES, table_files


class DataFusionAdapter:
    """See `tpch.engines.protocol.Engine`."""

    def __init__(self, settings: Settings) -> None:
        os.environ["TOKIO_WORKER_THREADS"] = str(settings.threads)
        import datafusion

        self.version = datafusion.__version__
        filters = {
            "datafusion.execution.parquet.pushdown_filters": "true",
            "datafusion.execution.parquet.reorder_filters": "true",
        }
        self.settings = {
            "target_partitions": str(settings.threads),
            "memory pool": f"fair, {settings.own_limit >> 20} MiB",
            **filters,
        }
        runtime = datafusion.RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(settings.own_limit)
        config = datafusion.SessionConfig(filters).with_target_partitions(settings.threads)
        self._context = datafusion.SessionContext(config, runtime)
        self._threads = settings.threads
        for table in TABLES:
            files = table_files(settings.folder, table)
            # One path per table: that of its only file, or of the folder that has nothing but its parts.
            self._context.register_parquet(table, str(files[0] if len(files) == 1 else files[0].parent))

    def load(self) -> None:
        for table in TABLES:
            partitions = self._context.table(table).collect_partitioned()
            self._context.deregister_table(table)
            self._context.register_record_batches(table, [batches for batches in partitions if batches])

    def run(self, statement: Statement) -> pa.Table:
        return self._context.sql(statement.text).to_arrow_table()

    def phases(self) -> Phases:
        return Phases()

    def close(self) -> None:
        del self._context

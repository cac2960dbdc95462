"""PySpark: Spark SQL on `local[threads]`, over Parquet files or over cached tables.

One shuffle partition per thread instead of 200, which are meant for clusters; adaptive execution stays on, as by default; the
user interface is off. The heap of the driver gets three quarters of the limit, as the JVM takes memory beside it. Results come
back as Arrow. In memory means `CACHE TABLE`, Spark's compressed columns.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import pyarrow as pa

from tpch.engines.protocol import Phases, Settings, Statement
from tpch.generate import TABLES, table_files

_HEAP_SHARE = 0.75


class PySparkAdapter:
    """See `tpch.engines.protocol.Engine`."""

    def __init__(self, settings: Settings) -> None:
        # Before the JVM starts: a host name that does not resolve would be looked up for a minute.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        import pyspark
        from pyspark.sql import SparkSession

        self.version = pyspark.__version__
        self.settings = {
            "spark.sql.shuffle.partitions": str(settings.threads),
            "spark.driver.memory": f"{int(settings.own_limit * _HEAP_SHARE) >> 20}m",
            "spark.scheduler.mode": "FAIR",
        }
        builder: Any = SparkSession.builder
        builder = builder.master(f"local[{settings.threads}]")
        hidden = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.session.timeZone": "UTC",
        }
        for name, value in {**self.settings, **hidden}.items():
            builder = builder.config(name, value)
        self._session = builder.getOrCreate()
        self._local = threading.local()
        for table in TABLES:
            files = [str(path) for path in table_files(settings.folder, table)]
            self._session.read.parquet(*files).createOrReplaceTempView(table)

    def load(self) -> None:
        for table in TABLES:
            self._session.sql(f"CACHE TABLE {table}")

    def run(self, statement: Statement) -> pa.Table:
        frame = self._session.sql(statement.text)
        table = frame.toArrow()
        self._local.frame = frame
        return table

    def phases(self) -> Phases:
        phases = self._local.frame._jdf.queryExecution().tracker().phases()
        names = [name for name in ("parsing", "analysis", "optimization", "planning") if phases.contains(name)]
        return Phases(sum(phases.apply(name).durationMs() for name in names) / 1000)

    def close(self) -> None:
        self._session.stop()

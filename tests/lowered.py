"""SQL through binding, planning and lowering in this process, without engine or workers, and the same in DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from exec.lower.evaluate import ConstantEvaluator
from exec.lower.failures import translate
from exec.lower.optimizations import OPTIMIZATIONS
from exec.lower.plan import deliver, lower_body
from exec.lower.result import decode
from exec.sources.memory import register
from planner.catalog import TableSnapshot
from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.plan import plan_physical
from planner.rule import OptimizerContext
from planner.sql import bind
from tests.plans import TestCatalog


def snapshots(tables: Mapping[str, Any], folder: str) -> dict[str, TableSnapshot]:
    """Tables registered in memory files of a folder."""
    return {name: register(table, name, folder) for name, table in tables.items()}


def run(sql: str, tables: Mapping[str, TableSnapshot], optimized: bool = True, engine: str = "streaming") -> pa.Table:
    """The answer of one query planned for a single task. Raises QEngineError as a session would."""
    bound = bind(sql, TestCatalog(tables))
    context = OptimizerContext(allocator=bound.allocator, evaluator=ConstantEvaluator() if optimized else None)
    plan = plan_physical(optimize(bound.plan, context), bound.allocator, PhysicalOptions(1, single=True))
    graph = cut_stages(plan)
    assert len(graph.stages) == 1
    root = graph.stage(graph.root)
    try:
        frame = deliver(lower_body(root.body, 0, _no_exchange), root.body, root.output)
        encoded = frame.collect(engine=engine, optimizations=OPTIMIZATIONS).to_arrow()  # type: ignore[call-overload]
        return decode(encoded, root.output.schema, root.output.encodings, bound.names)
    except BaseException as problem:
        raise translate(problem) from problem


def _no_exchange(source: object) -> pl.LazyFrame:
    raise AssertionError("a plan for a single task reads an exchange")


def run_duckdb(sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """DuckDB's answer over the same tables."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        return connection.sql(sql).to_arrow_table()

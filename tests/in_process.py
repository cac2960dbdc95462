"""A stage graph task by task in this process: the files, layouts and inputs of workers without workers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from exec.attempts import Attempt
from exec.events import Committed, Input
from exec.exchange.layout import input_files, result_batches
from exec.exchange.reader import InputFile, read_files
from exec.exchange.schema import arrow_schema
from exec.lower.evaluate import ConstantEvaluator
from exec.lower.result import decode
from exec.messages import RunMessage, StageMessage
from exec.store.segments import StoredColumns
from exec.task import SharedInputs, run_task
from planner.catalog import TableSnapshot
from planner.dir import Pattern, StageGraph, check_laws
from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.plan import plan_physical
from planner.rule import OptimizerContext
from planner.sql import bind
from tests.plans import TestCatalog


def plan(sql: str, tables: Mapping[str, TableSnapshot], options: PhysicalOptions) -> tuple[StageGraph, list[str]]:
    """The stage graph of a query, and the names of its columns."""
    bound = bind(sql, TestCatalog(tables))
    optimized = optimize(bound.plan, OptimizerContext(bound.allocator, ConstantEvaluator()))
    return cut_stages(plan_physical(optimized, bound.allocator, options)), list(bound.names)


def execute(graph: StageGraph, names: list[str], folder: Path, batch_rows: int | None = None) -> list[pa.Table]:
    """The decoded partitions of the result. Every task hands over `batch_rows` rows at a time, if given."""
    check_laws(graph)
    shared, stored = SharedInputs(), StoredColumns(folder)
    done: dict[tuple[int, int], Committed] = {}
    with pytest.MonkeyPatch.context() as patch:
        if batch_rows is not None:
            patch.setattr("exec.task.BATCH_ROWS", batch_rows)
        for stage in graph.stages:
            message = StageMessage((1, 1, stage.id), stage.body, stage.output, graph.layouts(stage.id))
            for partition in range(stage.tasks):
                inputs = []
                for exchange in graph.inputs(stage.id):
                    forward = exchange.pattern is Pattern.FORWARD
                    sources = [partition] if forward else range(graph.stage(exchange.producer).tasks)
                    read = Input(exchange, tuple(done[exchange.producer, source] for source in sources))
                    inputs.append((exchange.id, input_files(graph, read, partition)))
                attempt = Attempt(1, 1, stage.id, partition, 1)
                output = run_task(message, RunMessage(attempt, tuple(inputs)), [folder], shared, stored)
                done[stage.id, partition] = Committed(attempt, output, 0, ())
    root = graph.stage(graph.root)
    schema, parts = arrow_schema(root.output), []
    for partition in range(root.tasks):
        attempt, output, _, _ = done[root.id, partition]
        files = [InputFile(attempt, output.path, output.size, result_batches(graph, output.chunks))] if output.path else []
        parts.append(decode(pa.Table.from_batches(read_files(files), schema), root.output.schema, root.output.encodings, names))
    return parts

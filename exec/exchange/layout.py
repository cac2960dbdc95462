"""Which layouts a stage writes, and which batches of its files a consumer reads: the driver's side of every pattern."""

from __future__ import annotations

from exec.events import Input
from exec.exchange.reader import InputFile
from exec.exchange.writer import Layout
from planner.dir import SCATTERING, Exchange, Hash, Range, SampledRange, StageGraph


def layout_of(exchange: Exchange) -> Layout:
    """How the consumer of an exchange wants the rows grouped."""
    if not _is_scattered(exchange):
        return None
    assert isinstance(exchange.dir.partitioning, (Hash, Range))
    return exchange.dir.partitioning


def _is_scattered(exchange: Exchange) -> bool:
    """Whether its producers write by bucket. Sorted runs are read whole: where they are cut is not known to the driver."""
    return exchange.pattern in SCATTERING and not isinstance(exchange.dir.partitioning, SampledRange)


def layouts(graph: StageGraph, stage: int) -> tuple[Layout, ...]:
    """The different layouts that the consumers of a stage want; the result is read as it comes."""
    wanted = [layout_of(exchange) for exchange in graph.outputs(stage)]
    return tuple(dict.fromkeys(wanted if stage != graph.root else [None, *wanted])) or (None,)


def input_files(graph: StageGraph, read: Input, partition: int) -> tuple[InputFile, ...]:
    """The files and batches that task `partition` of the consumer reads, in the order of the producer's partitions."""
    exchange = read.exchange
    layout = layouts(graph, exchange.producer).index(layout_of(exchange))
    bucket = partition if _is_scattered(exchange) else 0
    files = []
    for attempt, output, _, _ in read.partitions:
        batches = tuple(
            number for number, chunk in enumerate(output.chunks) if chunk.layout == layout and chunk.bucket == bucket
        )
        if batches:
            files.append(InputFile(attempt, output.path, output.size, batches))
    return tuple(files)


def result_batches(graph: StageGraph, chunks: tuple[tuple[int, int, int, int], ...]) -> tuple[int, ...]:
    """The batches of a root task's file that make up the result."""
    layout = layouts(graph, graph.root).index(None)
    return tuple(number for number, chunk in enumerate(chunks) if chunk[0] == layout)

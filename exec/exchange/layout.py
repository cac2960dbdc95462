"""Which batches of its producers' files a consumer reads: the driver's side of every pattern."""

from __future__ import annotations

from exec.events import Input
from exec.exchange.reader import InputFile
from planner.dir import Exchange, Hash, Layout, StageGraph
from planner.errors import error


def input_files(graph: StageGraph, read: Input, partition: int) -> tuple[InputFile, ...]:
    """The files and batches that task `partition` of the consumer reads, in the order of the producer's partitions."""
    layout, buckets = _what_is_read(graph.layouts(read.exchange.producer), read.exchange, partition)
    files = []
    for attempt, output, _, _ in read.partitions:
        batches = tuple(
            number
            for number, chunk in enumerate(output.chunks)
            if chunk.layout == layout and (buckets is None or chunk.bucket in buckets)
        )
        if batches:
            files.append(InputFile(attempt, output.path, output.size, batches))
    return tuple(files)


def _what_is_read(written: tuple[Layout, ...], exchange: Exchange, partition: int) -> tuple[int, range | None]:
    """The number of the layout that a task reads, and which of its buckets (None: all).

    Files may have been laid out for other consumers, before the graph was replaced: all buckets together are all rows, and a
    bucket of a hash partitioning is a run of buckets of a finer one.
    """
    wanted = exchange.layout
    if wanted is None:
        return (written.index(None) if None in written else 0), None
    for number, layout in enumerate(written):
        if layout == wanted:
            return number, range(partition, partition + 1)
    for number, layout in enumerate(written):
        if isinstance(layout, Hash) and isinstance(wanted, Hash) and layout.refines(wanted):
            finer = layout.buckets // wanted.buckets
            return number, range(partition * finer, (partition + 1) * finer)
    raise error("INTERNAL", detail=f"exchange {exchange.id} reads {wanted}, but stage {exchange.producer} writes {written}")


def result_batches(graph: StageGraph, chunks: tuple[tuple[int, int, int, int], ...]) -> tuple[int, ...]:
    """The batches of a root task's file that make up the result."""
    layout = graph.layouts(graph.root).index(None)
    return tuple(number for number, chunk in enumerate(chunks) if chunk[0] == layout)

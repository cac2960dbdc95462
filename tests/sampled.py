"""Tables with samples that are drawn in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from exec.sampling.distinct_sketch import Sketch, sketch_rows
from exec.sampling.draw import Drawing, Drawn, draw
from exec.sampling.statistics_store import StatisticsStore
from planner.catalog import TableSnapshot
from planner.dir import ScanRange


class DrawHere:
    """The workers of a StatisticsStore, without processes."""

    def draw(self, drawing: Drawing, subject: str) -> Drawn:
        return draw(drawing)

    def sketch(self, table: TableSnapshot, parts: Sequence[ScanRange]) -> list[tuple[Sketch, ...]]:
        return [sketch_rows(part, table.fields, table.format, table.reader) for part in parts]

    def idle_seconds(self) -> float:
        return 100.0


def sampled(table: TableSnapshot) -> TableSnapshot:
    """A snapshot with the statistics of a sample of its rows."""
    return replace(table, statistics=StatisticsStore(DrawHere()).take(table))

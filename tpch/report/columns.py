"""The columns of the table of engines, in which every form of the report has a row per engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tpch.report import formats
from tpch.report.figures import EngineFigures, Figures, ModeFigures


@dataclass(frozen=True, slots=True)
class Column:
    """`field` is that of an EngineFigures. `over_queries` marks sums that need to say over how many queries they are."""

    title: str
    field: str
    show: Callable[[Any], str]
    over_queries: bool = False

    def value(self, engine: EngineFigures) -> Any:
        """The figure of one engine, a number or None."""
        return getattr(engine, self.field)


_COLUMNS = (
    Column("total s", "total", formats.seconds, over_queries=True),
    Column("total of common queries s", "common_total", formats.seconds),
    Column("geometric mean s", "geometric_mean", formats.seconds, over_queries=True),
    Column("ratio to best peer", "ratio", formats.ratio),
    Column("fastest in", "fastest", formats.count),
    Column("CPU s", "cpu_seconds", formats.seconds, over_queries=True),
    Column("planning s", "planning_seconds", formats.seconds, over_queries=True),
    Column("start-up s", "startup_seconds", formats.seconds),
    Column("load s", "load_seconds", formats.seconds),
    Column("peak memory", "memory", formats.memory),
)


def engine_columns(mode: ModeFigures) -> tuple[Column, ...]:
    """Those that say something: at least one engine has the figure, and what compares engines has two of them."""
    return tuple(column for column in _COLUMNS if _is_worth_showing(column, mode))


def leaders(column: Column, mode: ModeFigures) -> frozenset[str]:
    """The engines with the least total or mean; none unless at least two answered every query."""
    complete = {engine.name: column.value(engine) for engine in mode.engines if engine.complete and not engine.variant_of}
    if column.field not in ("total", "geometric_mean") or len(complete) < 2:
        return frozenset()
    return frozenset(name for name, value in complete.items() if value == min(complete.values()))


def troubles(mode: ModeFigures) -> list[tuple[str, str, str]]:
    """(engine, where, what) of all that is not correct; an engine that was not there at all is one of them, not 22."""
    found = []
    for engine in mode.engines:
        if engine.reason:
            found.append((engine.name, "all queries", f"unavailable: {engine.reason}"))
            continue
        for query in engine.queries:
            if query.median is None:
                detail = f": {query.detail}" if query.detail else ""
                found.append((engine.name, f"Q{query.query}", formats.verdict(query) + detail))
        for run in engine.streams.incorrect if engine.streams else ():
            detail = f": {run.detail}" if run.detail else ""
            found.append((engine.name, f"stream {run.stream}, Q{run.query}", run.verdict.value + detail))
    return found


def total_of(mode: ModeFigures, queries: int) -> str:
    """What the common totals of a mode are over, `queries` being all there are."""
    if len(mode.common) == queries:
        return "all queries" if queries > 1 else "the one query"
    number = f"{len(mode.common)} {'query' if len(mode.common) == 1 else 'queries'}"
    return f"the {number} that all engines compared here answered"


def title(figures: Figures) -> str:
    """What the report is about."""
    return f"TPC-H at scale factor {figures.scale_factor}"


def setting_lines(figures: Figures) -> Iterable[tuple[str, str]]:
    """The machine and what all engines were given, as (name, value)."""
    machine = figures.machine
    yield "Processor", machine.processor or formats.NONE
    yield "Cores", str(machine.cores)
    yield "Memory", formats.memory(machine.memory)
    yield "System", machine.system or formats.NONE
    yield "Python", machine.python or formats.NONE
    yield "Threads per engine", str(figures.threads)
    yield "Memory limit per engine", formats.memory(figures.memory_limit) if figures.memory_limit else "none"
    yield "Queries", formats.query_list(figures.queries)
    yield "Query parameters", "validation values" if figures.seed is None else f"drawn with seed {figures.seed}"
    yield "Started", formats.moment(figures.started)


def _is_worth_showing(column: Column, mode: ModeFigures) -> bool:
    if column.field == "common_total":
        return not mode.complete
    if column.field == "fastest":
        return len(mode.engines) > 1
    return any(column.value(engine) is not None for engine in mode.engines)

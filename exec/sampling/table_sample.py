"""Predicates counted on a sample."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from importlib import import_module

import polars as pl

from exec.lower.expressions import Lowering
from planner.expr.nodes import ColumnRef, Expr
from planner.tree import size, walk

MOST_NODES = 2_000
"""Of a predicate that is evaluated; lowering larger ones takes longer than planning should."""
MOST_COUNTS = 512
"""Of predicates that are remembered."""

Shape = tuple[object, ...]


class TableSample:
    """Implements `planner.ports.Sample`. Thread-safe.

    `frame` has the columns p<position> in canonical form (`exec.lower.expressions`). Counts are remembered by the structure of
    the predicate: a query asks for the same one several times, and similar queries come again.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self._counts: OrderedDict[Shape, int | None] = OrderedDict()
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Load and start what evaluation takes, tens of milliseconds once in a process, so that no query's planning has to."""
        import_module("exec.lower.functions")
        self._frame.select(pl.len())

    @property
    def rows(self) -> int:
        return self._frame.height

    @property
    def bytes(self) -> int:
        return int(self._frame.estimated_size())

    def count(self, predicate: Expr, positions: Mapping[int, int]) -> int | None:
        if size(predicate, MOST_NODES) == MOST_NODES:
            return None
        shape = _shape(predicate, positions)
        with self._lock:
            if shape in self._counts:
                self._counts.move_to_end(shape)
                return self._counts[shape]
        found = self._evaluate(predicate, positions)
        with self._lock:
            self._counts[shape] = found
            if len(self._counts) > MOST_COUNTS:
                self._counts.popitem(last=False)
        return found

    def _evaluate(self, predicate: Expr, positions: Mapping[int, int]) -> int | None:
        columns = {id: pl.col(f"p{position}") for id, position in positions.items()}
        try:
            passing = self._frame.select(Lowering({}, columns).lower_rows(predicate).sum()).item()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # whatever SQL or Polars raises here, a panic included, the query itself will tell
            return None
        return int(passing)


def _shape(predicate: Expr, positions: Mapping[int, int]) -> Shape:
    """What two predicates have in common exactly if they are the same over the same table: nodes, parents first, and arities."""
    parts: list[object] = []
    for node in walk(predicate):
        parts += (type(node), len(node.children))
        if isinstance(node, ColumnRef):
            parts.append(positions.get(node.column.id, -1))
            continue
        for name in node.FIELDS:
            if name not in node.CHILD_FIELDS:
                value = getattr(node, name)
                parts += (type(value), repr(value) if isinstance(value, float) else value)
    return tuple(parts)

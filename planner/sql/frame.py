"""Frames: bound queries with the names under which their columns can be used. A DataFrame is one.

A frame is what the FROM clause of one more query would see: a plan, and the relations whose columns it gives. Each call of the
DataFrame API binds one operator over it (`bind_frame`), so nothing is bound twice, and a chain of thousands of calls is no
deeper for the binder than one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.catalog import TableSnapshot
from planner.expr.nodes import ColumnRef, Expr
from planner.expr.substitute import rename
from planner.logical.nodes import LogicalPlan
from planner.logical.reallocate import fresh_copy
from planner.schema import Column, ColumnAllocator
from planner.sql.scope import Merged, Relation

if TYPE_CHECKING:
    from planner.sql.placeholders import FrameSource


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A plan and the names of its columns.

    `relations` and `merged` are as in a scope; the plan may have columns that none of them shows. `tables` are the snapshots
    it reads. `produced` holds the ids of all columns that the plan makes (and perhaps more), `outer` the columns of surrounding
    queries that it uses. `ambiguous` are ids of columns that came from both sides of a join, so that a reference to a column of
    an earlier frame does not tell which is meant, except for columns of the joined frames themselves: `sides` are these, each
    with what its columns are called here where that differs.
    """

    plan: LogicalPlan
    relations: tuple[Relation, ...]
    merged: Mapping[str, Merged]
    tables: tuple[TableSnapshot, ...]
    produced: frozenset[int]
    outer: Mapping[int, Column]
    ambiguous: frozenset[int] = frozenset()
    sides: tuple[tuple[Frame, Mapping[int, Column]], ...] = ()

    @property
    def alias(self) -> str:
        """The name of its only relation; empty if it has none, or several relations."""
        return self.relations[0].alias if len(self.relations) == 1 else ""


def relations_of(alias: str, names: Sequence[str], columns: Sequence[Column]) -> tuple[Relation, ...]:
    """One relation with these columns; several without an alias if names repeat, so that a repeated name is ambiguous."""
    if len({name.lower() for name in names}) == len(names):
        return (Relation(alias, tuple(names), tuple(columns)),)
    groups: list[tuple[list[str], list[Column]]] = []
    seen: set[str] = set()
    for name, column in zip(names, columns, strict=True):
        if not groups or name.lower() in seen:
            groups.append(([], []))
            seen = set()
        seen.add(name.lower())
        groups[-1][0].append(name)
        groups[-1][1].append(column)
    return tuple(Relation("", tuple(group_names), tuple(group_columns)) for group_names, group_columns in groups)


class RecordingAllocator(ColumnAllocator):
    """Hands out the ids of another allocator and remembers them."""

    __slots__ = ("_inner", "ids")

    def __init__(self, inner: ColumnAllocator) -> None:
        self._inner = inner
        self.ids: list[int] = []

    def new(self, name: str, dtype: object) -> Column:
        column = self._inner.new(name, dtype)  # type: ignore[arg-type]
        self.ids.append(column.id)
        return column


class FrameUses:
    """The frames that go into one operator. One whose columns are there already is copied with columns of its own."""

    __slots__ = ("_allocator", "ambiguous", "copies", "earlier", "main", "outer", "produced", "tables")

    def __init__(self, allocator: ColumnAllocator) -> None:
        self._allocator = allocator
        self.produced: frozenset[int] = frozenset()
        self.tables: tuple[TableSnapshot, ...] = ()
        self.outer: dict[int, Column] = {}
        self.ambiguous: frozenset[int] = frozenset()
        self.main: list[Frame] = []
        self.earlier: list[tuple[Frame, Mapping[int, Column]]] = []
        """The sides of earlier joins."""
        self.copies: dict[int, dict[int, Column]] = {}
        """The new columns by old id, by the identity of a frame in `main` that was copied."""

    def take(self, source: FrameSource) -> Frame:
        """The frame of a source, or a copy of it."""
        frame, main = source.frame, source.main
        taken, fresh = frame, None
        if not self.produced:
            self.produced = frame.produced
        elif self.produced.isdisjoint(frame.produced):
            self.produced |= frame.produced
        else:
            taken, fresh = _copied(frame, self._allocator)
            if main:
                self.copies[id(frame)] = fresh
                self.ambiguous |= frame.produced & self.produced
        known = {id(table) for table in self.tables}
        self.tables += tuple(table for table in frame.tables if id(table) not in known)
        self.outer.update(frame.outer)
        if main:
            self.main.append(frame)
            self.ambiguous |= frame.ambiguous
            for side, columns in frame.sides:
                moved = {old: fresh.get(new.id, new) for old, new in columns.items()} if fresh else columns
                self.earlier.append((side, {**fresh, **moved} if fresh else moved))
        return _changed(taken, {}, source.hidden) if source.hidden else taken

    def sides(self) -> tuple[tuple[Frame, Mapping[int, Column]], ...]:
        """The sides of all joins below the operator, of this one only if a side had to be copied."""
        own = [(frame, self.copies.get(id(frame), {})) for frame in self.main] if self.copies else []
        return (*self.earlier, *own)


def _copied(frame: Frame, allocator: ColumnAllocator) -> tuple[Frame, dict[int, Column]]:
    plan, fresh = fresh_copy(frame.plan, allocator)
    return _changed(replace(frame, plan=plan), fresh, frozenset()), fresh


def _changed(frame: Frame, fresh: Mapping[int, Column], hidden: frozenset[str]) -> Frame:
    """The frame with other columns in its relations, and without some aliases (in lower case)."""
    known: dict[int, Relation] = {}

    def changed(relation: Relation) -> Relation:
        if id(relation) not in known:
            alias = "" if relation.alias.lower() in hidden else relation.alias
            columns = tuple(fresh.get(column.id, column) for column in relation.columns)
            known[id(relation)] = Relation(alias, relation.names, columns)
        return known[id(relation)]

    merged = {
        name: Merged(item.name, rename(item.expr, fresh), tuple(changed(relation) for relation in item.relations))
        for name, item in frame.merged.items()
    }
    return replace(frame, relations=tuple(changed(relation) for relation in frame.relations), merged=merged)


def column_ids(relations: Sequence[Relation]) -> frozenset[int]:
    """The ids of all columns that relations show."""
    return frozenset(column.id for relation in relations for column in relation.columns)


def only_columns(items: Sequence[tuple[str, Expr]]) -> list[Column] | None:
    """The columns that visible items are, or None if one is another expression (a column merged by a FULL join)."""
    columns = [expr.column for _, expr in items if isinstance(expr, ColumnRef)]
    return columns if len(columns) == len(items) else None

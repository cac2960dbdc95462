"""The DataFrame API's calls as operators over frames.

Every function binds sqlglot expressions by the same functions as a SELECT does; most of them bind a SELECT whose FROM is a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

# Importing this registers what it binds.
import planner.sql.bind_subquery  # noqa: F401
from planner.analysis.free_columns import free_columns
from planner.catalog import TableSnapshot
from planner.dtypes import DType
from planner.errors import error, nearest
from planner.expr.nodes import TRUE, Assign, ColumnRef, Expr, SortKey, conjunction
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Filter, Join, Limit, LogicalPlan, Project, Scan, Sort, Values, pass_through
from planner.logical.reallocate import fresh_copy
from planner.logical.view import View
from planner.ports import Catalog
from planner.schema import Column, ColumnAllocator
from planner.sql.bind_aggregate import aggregate_in
from planner.sql.bind_from import bind_from, star_columns, table_alias
from planner.sql.bind_placeholder import twofold
from planner.sql.bind_query import bind_query
from planner.sql.bind_window import Windowing
from planner.sql.binder import BoundQuery, bind
from planner.sql.coercion import to_boolean
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression
from planner.sql.frame import Frame, FrameUses, RecordingAllocator, column_ids, only_columns, relations_of
from planner.sql.parameters import Parameters
from planner.sql.placeholders import FrameColumn, FrameSource, placeholder
from planner.sql.scope import BoundRelation, Merged, Relation, Scope, candidates_text

_JOINS = {
    "inner": ("", "INNER"), "left": ("LEFT", ""), "right": ("RIGHT", ""), "full": ("FULL", ""), "semi": ("", "SEMI"),
    "anti": ("", "ANTI"),
}  # fmt: skip
JOIN_KINDS = (*_JOINS, "cross")


class FrameBinder:
    """Makes frames out of tables, texts and other frames. All frames that meet must come from one of these.

    Its methods raise the subclasses of QueryError that SQL with the same fault raises, with a position where the fault is in a
    fragment of SQL text, and whatever DataError the catalog raises.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.allocator = ColumnAllocator()

    # ---------------------------------------------------------------------------------------------------------- sources

    def sql(
        self,
        text: str,
        dialect: str,
        parsed: Callable[[], None] = lambda: None,
        sources: Mapping[str, TableSnapshot | View] | None = None,
        parameters: Parameters = (),
    ) -> tuple[Frame, BoundQuery]:
        """The result of one SQL query, as a frame and as it was bound; see `bind`."""
        allocator = RecordingAllocator(self.allocator)
        bound = bind(text, self._catalog, dialect, allocator, parsed, sources, parameters)
        relations = relations_of("", bound.names, bound.plan.columns)
        frame = Frame(bound.plan, relations, {}, bound.tables, frozenset(allocator.ids), {})
        return frame, replace(bound, allocator=self.allocator)

    def table(self, name: str) -> Frame:
        """All columns of a table, a view or a file, by its name in the catalog. Raises UNKNOWN_TABLE."""
        found = BindContext("", self._catalog, "duckdb", self.allocator).table(name, exp.Placeholder())
        if isinstance(found, TableSnapshot):
            return self.snapshot(found, table_alias(name))
        relations = relations_of(table_alias(name), found.names, found.plan.columns)
        return Frame(found.plan, relations, {}, found.tables, found.produced, {})

    def snapshot(self, table: TableSnapshot, alias: str) -> Frame:
        """All columns of a table."""
        columns = tuple(self.allocator.new(field.name, field.dtype) for field in table.fields)
        plan = Scan(table, tuple((column, position) for position, column in enumerate(columns)))
        relations = relations_of(alias, [field.name for field in table.fields], columns)
        return Frame(plan, relations, {}, (table,), frozenset(column.id for column in columns), {})

    def rows(self, columns: Sequence[tuple[str, DType]], rows: Iterable[tuple[Any, ...]]) -> Frame:
        """Constant rows of Python values; `columns` are names and types."""
        made = tuple(self.allocator.new(name, dtype) for name, dtype in columns)
        relations = relations_of("", [name for name, _ in columns], made)
        return Frame(Values(made, tuple(rows)), relations, {}, (), frozenset(column.id for column in made), {})

    # -------------------------------------------------------------------------------------------------------- operators

    def filter(self, frame: Frame, conditions: Sequence[exp.Expr]) -> Frame:
        step = _Step(self)
        scope = step.scope(frame)
        predicate = conjunction([step.condition(scope, node, "WHERE") for node in conditions])
        return step.frame(Filter(frame.plan, predicate), frame.relations, frame.merged)

    def select(self, frame: Frame, items: Sequence[exp.Expr]) -> Frame:
        """Exactly these expressions. With an aggregate among them, one row."""
        step = _Step(self)
        bound = step.query(exp.Select(expressions=list(items), from_=step.source(frame)))
        return step.frame(bound.plan, relations_of(frame.alias, bound.names, bound.plan.columns))

    def with_columns(self, frame: Frame, items: Sequence[exp.Expr]) -> Frame:
        """All columns and further ones. A new column takes the place of one that has its name."""
        step = _Step(self)
        visible = visible_items(frame)
        bound = step.query(exp.Select(expressions=[exp.Star(), *items], from_=step.source(frame)))
        columns = list(bound.plan.columns)
        kept, added = columns[: len(visible)], list(zip(bound.names, columns, strict=True))[len(visible) :]
        relations: Sequence[Relation] = frame.relations
        if only_columns(visible) != kept or frame.merged:
            relations = relations_of(frame.alias, [name for name, _ in visible], kept)
        for name, column in added:
            relations = _with_column(relations, name, column)
        return step.frame(bound.plan, relations)

    def aggregate(self, frame: Frame, keys: Sequence[exp.Expr], aggregates: Sequence[exp.Expr]) -> Frame:
        """One row for each combination of the keys, with the keys first. Without keys one row."""
        step = _Step(self)
        for key in keys:
            if key.is_star:
                raise step.context.unsupported("* as a key of groups", key)
        group = exp.Group(expressions=[exp.Literal.number(at + 1) for at in range(len(keys))])
        bound = step.query(exp.Select(expressions=[*keys, *aggregates], from_=step.source(frame), group=group))
        return step.frame(bound.plan, relations_of(frame.alias, bound.names, bound.plan.columns))

    def sort(self, frame: Frame, keys: Sequence[exp.Expr]) -> Frame:
        """Ordered by `exp.Ordered` keys, which may hold window functions but no aggregates."""
        step = _Step(self)
        scope = step.scope(frame)
        step.context.selects.append(scope)
        bound = [bind_expression(step.context, scope, key.this) for key in keys]
        for expr in bound:
            aggregate = aggregate_in(step.context, scope, expr)
            if aggregate is not None:
                raise step.context.error("MISPLACED_AGGREGATE", aggregate, where="ORDER BY")
        plan = frame.plan
        if scope.has_windows:
            windowing = Windowing(step.context, plan)
            bound = [windowing.replace(expr) for expr in bound]
            plan = windowing.plan()
        available = {column.id for column in plan.columns}
        assigns = list(pass_through(plan.columns))
        sort_keys = []
        for key, expr in zip(keys, bound, strict=True):
            if not (isinstance(expr, ColumnRef) and expr.column.id in available):
                column = step.context.allocator.new("order", expr.dtype)
                assigns.append(Assign(column, expr))
                expr = reference(column)
            sort_keys.append(SortKey(expr, bool(key.args.get("desc")), bool(key.args.get("nulls_first"))))
        if len(assigns) > len(available):
            plan = Project(plan, tuple(assigns))
        return step.frame(Sort(plan, tuple(sort_keys)), frame.relations, frame.merged)

    def limit(self, frame: Frame, limit: int | None, offset: int) -> Frame:
        step = _Step(self)
        step.scope(frame)
        return step.frame(Limit(frame.plan, limit, offset), frame.relations, frame.merged)

    def distinct(self, frame: Frame) -> Frame:
        step = _Step(self)
        plan, relations = step.flat(frame)
        return step.frame(Aggregate(plan, pass_through(plan.columns), ()), relations)

    def join(self, left: Frame, right: Frame, how: str, names: Sequence[str] = (), condition: exp.Expr | None = None) -> Frame:
        """Both frames joined by columns of the same names, which become one each, or by a condition."""
        step = _Step(self)
        aliases = {relation.alias.lower() for relation in left.relations}
        common = frozenset(aliases.intersection(relation.alias.lower() for relation in right.relations) - {""})
        sources = [FrameSource(frame, True, common) for frame in (left, right)]
        if how == "cross":
            first, second = (step.uses.take(source) for source in sources)
            plan: LogicalPlan = Join(first.plan, second.plan, JoinKind.INNER, TRUE)
            merged = {**second.merged, **first.merged}
            return step.frame(plan, (*first.relations, *second.relations), merged)
        side, kind = _JOINS[how]
        using = [exp.to_identifier(name) for name in names] or None
        first_item, second_item = (placeholder(source) for source in sources)
        joined = exp.Join(this=second_item, side=side or None, kind=kind or None, using=using, on=condition)
        scope = Scope(None, {})
        plan = bind_from(step.context, scope, exp.Select(from_=exp.From(this=first_item), joins=[joined]))
        return step.frame(plan, tuple(scope.relations), scope.merged)

    def union(self, first: Frame, second: Frame, distinct: bool) -> Frame:
        """The rows of both; columns are matched by their order and have the names of the first."""
        step = _Step(self)
        arms = [exp.Select(expressions=[exp.Star()], from_=step.source(frame)) for frame in (first, second)]
        bound = step.query(exp.Union(this=arms[0], expression=arms[1], distinct=distinct))
        return step.frame(bound.plan, relations_of("", bound.names, bound.plan.columns))

    def drop(self, frame: Frame, columns: Sequence[exp.Expr | str]) -> Frame:
        """All columns but these, given by name or as columns of a frame."""
        frame = _unmerged(self, frame)
        dropped = {self._single(frame, column).id for column in columns}
        relations = []
        for relation in frame.relations:
            kept = [(n, c) for n, c in zip(relation.names, relation.columns, strict=True) if c.id not in dropped]
            if kept:
                relations.append(Relation(relation.alias, tuple(n for n, _ in kept), tuple(c for _, c in kept)))
        if not relations:
            raise error("COLUMN_COUNT", what="the result of drop", given=0, expected="at least one")
        return _with_relations(frame, relations)

    def rename(self, frame: Frame, names: Mapping[str, str]) -> Frame:
        """The same columns, some of them under other names."""
        frame = _unmerged(self, frame)
        renamed = {self._single(frame, old).id: new for old, new in names.items()}
        relations: list[Relation] = []
        for relation in frame.relations:
            pairs = zip(relation.names, relation.columns, strict=True)
            new_names = [renamed.get(column.id, name) for name, column in pairs]
            relations += relations_of(relation.alias, new_names, relation.columns)
        return _with_relations(frame, relations)

    def alias(self, frame: Frame, name: str) -> Frame:
        """The same rows as a relation of this name, with columns of its own: it can be joined with what it was made of."""
        frame = _unmerged(self, frame)
        allocator = RecordingAllocator(self.allocator)
        plan, fresh = fresh_copy(frame.plan, allocator)
        visible = visible_items(frame)
        columns = [fresh.get(column.id, column) for column in only_columns(visible) or ()]
        relations = relations_of(name, [item for item, _ in visible], columns)
        return Frame(plan, relations, {}, frame.tables, frozenset(allocator.ids), frame.outer)

    # ---------------------------------------------------------------------------------------------------------- columns

    def column(self, frame: Frame, name: str) -> exp.Expr:
        """A column of a frame by its name, as a node that means it in later frames too."""
        return placeholder(FrameColumn(frame, name, _named(frame, name)))

    def has_column(self, frame: Frame, name: str) -> bool:
        """Whether a frame shows exactly one column of this name."""
        return [item.lower() for item, _ in visible_items(frame)].count(name.lower()) == 1

    def _single(self, frame: Frame, column: exp.Expr | str) -> Column:
        """A visible column by name or as a column of a frame."""
        if isinstance(column, str):
            expr = _named(frame, column)
        else:
            step = _Step(self)
            expr = bind_expression(step.context, step.scope(frame), column)
        if not isinstance(expr, ColumnRef) or expr.column.id not in column_ids(frame.relations):
            raise error("INVALID_SETTING", name="a column", expected="a name or a column of a frame", given=column)
        return expr.column

    # ----------------------------------------------------------------------------------------------------------- result

    def bound(self, frame: Frame) -> BoundQuery:
        """The frame as a query of its own: a plan with exactly the visible columns. Raises UNKNOWN_COLUMN for outer columns."""
        for column in frame.outer.values():
            hint = "; an outer column has a meaning only inside of exists(), scalar() or is_in() of a frame that has it"
            raise error("UNKNOWN_COLUMN", name=column.name, nearest=hint)
        plan, _ = _Step(self).flat(frame)
        return BoundQuery(plan, tuple(name for name, _ in visible_items(frame)), frame.tables, self.allocator)

    def view(self, frame: Frame) -> View:
        """The frame as what a catalog can keep under a name. Raises UNKNOWN_COLUMN for outer columns."""
        bound = self.bound(frame)
        made = frozenset(column.id for column in bound.plan.columns)
        return View(bound.plan, bound.names, bound.tables, frame.produced | made)


def visible_items(frame: Frame) -> list[tuple[str, Expr]]:
    """The columns that a frame shows, in order."""
    return star_columns(list(frame.relations), dict(frame.merged))


class _Step:
    """Binding one operator: its context, and the frames that go into it."""

    def __init__(self, binder: FrameBinder) -> None:
        self.allocator = RecordingAllocator(binder.allocator)
        self.context = BindContext("", binder._catalog, "duckdb", self.allocator)
        self.uses = self.context.frames = FrameUses(self.allocator)

    def source(self, frame: Frame) -> exp.Expr:
        """A FROM clause that is this frame."""
        return exp.From(this=placeholder(FrameSource(frame, main=True)))

    def scope(self, frame: Frame) -> Scope:
        """The names that the columns of this frame have. For operators over a single frame, which is then used as it is."""
        self.uses.take(FrameSource(frame, main=True))
        scope = Scope(None, {})
        scope.relations, scope.merged = list(frame.relations), dict(frame.merged)
        return scope

    def condition(self, scope: Scope, node: exp.Expr, clause: str) -> Expr:
        scope.clause = clause
        return to_boolean(self.context, _bound(self.context, scope, node), clause, node)

    def query(self, node: exp.Expr) -> BoundRelation:
        try:
            return bind_query(self.context, node, Scope(None, {}))
        except RecursionError:
            raise error("TOO_DEEP") from None

    def flat(self, frame: Frame) -> tuple[LogicalPlan, tuple[Relation, ...]]:
        """A plan of exactly the visible columns, and their relations."""
        frame = self.uses.take(FrameSource(frame, main=True))
        visible = visible_items(frame)
        columns = only_columns(visible)
        if columns is None:
            columns = []
            assigns = []
            for name, expr in visible:
                column = expr.column if isinstance(expr, ColumnRef) else self.allocator.new(name, expr.dtype)
                columns.append(column)
                assigns.append(Assign(column, expr))
            plan: LogicalPlan = Project(frame.plan, tuple(assigns))
        elif tuple(columns) == frame.plan.columns:
            plan = frame.plan
        else:
            plan = Project(frame.plan, pass_through(tuple(columns)))
        if not frame.merged:
            return plan, frame.relations
        return plan, relations_of(frame.alias, [name for name, _ in visible], columns)

    def frame(self, plan: LogicalPlan, relations: Iterable[Relation], merged: Mapping[str, Merged] | None = None) -> Frame:
        """The frame of the operator that was bound."""
        uses = self.uses
        tables = uses.tables
        tables += tuple(table for table in self.context.snapshots() if not any(table is known for known in tables))
        produced = uses.produced | frozenset(self.allocator.ids) if self.allocator.ids else uses.produced
        outer: Mapping[int, Column] = uses.outer
        if outer:
            for column in outer.values():
                if column.id in uses.ambiguous:
                    raise twofold(column.name)
            free = free_columns(plan)
            outer = {number: column for number, column in outer.items() if number in free}
        return Frame(plan, tuple(relations), merged or {}, tables, produced, outer, uses.ambiguous, uses.sides())


def _bound(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    try:
        return bind_expression(context, scope, node)
    except RecursionError:
        raise error("TOO_DEEP") from None


def _with_relations(frame: Frame, relations: Iterable[Relation]) -> Frame:
    return replace(frame, relations=tuple(relations), merged={})


def _unmerged(binder: FrameBinder, frame: Frame) -> Frame:
    """The frame with every visible column in a relation, and none that stands for two."""
    if not frame.merged:
        return frame
    visible = visible_items(frame)
    columns = only_columns(visible)
    if columns is not None:
        return _with_relations(frame, relations_of(frame.alias, [name for name, _ in visible], columns))
    step = _Step(binder)
    plan, relations = step.flat(frame)
    return step.frame(plan, relations)


def _named(frame: Frame, name: str) -> Expr:
    """The visible column of a name. Raises UNKNOWN_COLUMN and AMBIGUOUS_COLUMN."""
    folded = name.lower()
    found = [expr for item, expr in visible_items(frame) if item.lower() == folded]
    if not found:
        raise error("UNKNOWN_COLUMN", name=name, nearest=nearest(name, [item for item, _ in visible_items(frame)]))
    if len(found) > 1:
        owners = [relation.alias for relation in frame.relations if folded in relation.index]
        raise error("AMBIGUOUS_COLUMN", name=name, candidates=candidates_text(name, owners))
    return found[0]


def _with_column(relations: Sequence[Relation], name: str, column: Column) -> list[Relation]:
    """The relations with a column in the place of the one of its name, or as their last."""
    folded = name.lower()
    owners = [at for at, relation in enumerate(relations) if folded in relation.index]
    if len(owners) > 1:
        raise error("AMBIGUOUS_COLUMN", name=name, candidates="several columns of the frame")
    changed = list(relations)
    if owners:
        owner = relations[owners[0]]
        pairs = zip(owner.names, owner.columns, strict=True)
        columns = tuple(column if known.lower() == folded else old for known, old in pairs)
        changed[owners[0]] = Relation(owner.alias, owner.names, columns)
    elif len(relations) == 1 or (relations and not relations[-1].alias):
        last = relations[-1]
        changed[-1] = Relation(last.alias, (*last.names, name), (*last.columns, column))
    else:
        changed.append(Relation("", (name,), (column,)))
    return changed

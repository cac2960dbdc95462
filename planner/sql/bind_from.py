"""The FROM clause: tables, derived tables, CTE references, VALUES and joins.

Items separated by commas are groups that see nothing of each other; inside of a group joins associate to the left, and an ON
condition sees the items joined so far. The result is one plan and, in the scope, the relations in the order in which `*`
lists them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sqlglot import exp

from planner import dtypes as t
from planner.errors import QEngineError
from planner.expr.nodes import TRUE, Assign, Call, ColumnRef, CompareOp, Expr, conjunction
from planner.join_kind import JoinKind
from planner.logical.nodes import Join, LogicalPlan, Project, Scan, Values
from planner.logical.reallocate import fresh_copy
from planner.logical.view import View
from planner.schema import Column
from planner.sql.bind_operators import compare
from planner.sql.bind_series import bind_series
from planner.sql.coercion import to_boolean, unify
from planner.sql.context import MAX_RELATIONS, BindContext
from planner.sql.dispatch import bind_expression, describe, refuse_arguments
from planner.sql.placeholders import FrameSource, content_of
from planner.sql.positions import position_of
from planner.sql.reserved_words import refuse_reserved_alias
from planner.sql.scope import BoundRelation, Merged, Relation, Scope, find_column, shows_column, unknown_column


@dataclass(slots=True)
class _Joined:
    """Some joined items: their plan, their relations, and the names merged by USING."""

    plan: LogicalPlan
    relations: list[Relation]
    merged: dict[str, Merged] = field(default_factory=dict)


def bind_from(context: BindContext, scope: Scope, select: exp.Expr) -> LogicalPlan:
    """The plan of a SELECT's FROM clause; `scope` gets its relations. Without FROM there is one row without columns to use."""
    source = select.args.get("from_")
    if source is None:
        return one_row(context)
    refuse_arguments(context, source, ("this",))
    joined = _bind_item(context, scope, source.this)
    groups: list[_Joined] = []
    for join in select.args.get("joins") or ():
        if _is_comma(context, join):
            groups.append(joined)
            joined = _bind_item(context, scope, join.this)
        else:
            joined = _bind_join(context, scope, joined, join)
    groups.append(joined)
    if len(groups) > MAX_RELATIONS:
        raise _too_many_relations(context, source)
    joined = groups[0]
    for group in groups[1:]:
        joined = _combine(joined, group, Join(joined.plan, group.plan, JoinKind.INNER, TRUE))
    scope.relations = joined.relations
    scope.merged = joined.merged
    _refuse_duplicates(context, joined.relations, source)
    return joined.plan


def one_row(context: BindContext) -> LogicalPlan:
    """A relation of one row, for queries without FROM. Its column is there because frames without columns have no rows."""
    return Values((context.allocator.new("row", t.INTEGER),), ((0,),))


_AFTER_JOIN = re.compile(r"\bjoin[\s(]*(?:(?:select|values|with|from)\b[\s(]*)*$", re.IGNORECASE)

# Dialects in which JOIN without a condition is a cross join.
_BARE_JOINS = frozenset({"mysql", "spark", "databricks", "hive", "sqlite", "clickhouse"})


def _is_comma(context: BindContext, join: exp.Expr) -> bool:
    """Whether an item follows a comma. sqlglot's tree does not tell that from JOIN without a condition, only the text does."""
    if any(value for key, value in join.args.items() if key != "this"):
        return False  # in dialects whose comma binds as tightly as JOIN does, sqlglot calls it a CROSS JOIN
    item = join.this
    start = item.this.meta.get("start") if isinstance(item, exp.Table) and item.this is not None else None
    if start is None:
        position = position_of(context.text, item)
        start = position.start if position is not None else 0
    if not _AFTER_JOIN.search(context.text[max(0, start - 80) : start]):
        return True
    if context.dialect not in _BARE_JOINS:
        raise context.error("SYNTAX", item, detail="this join needs a condition (ON or USING)")
    return False


def _too_many_relations(context: BindContext, node: exp.Expr) -> QEngineError:
    return context.unsupported(f"a FROM clause with more than {MAX_RELATIONS} tables", node)


def _refuse_duplicates(context: BindContext, relations: list[Relation], source: exp.Expr) -> None:
    seen: set[str] = set()
    for relation in relations:
        folded = relation.alias.lower()
        if folded and folded in seen:
            raise context.error("DUPLICATE_ALIAS", _last_named(source, folded), name=relation.alias, clause="FROM")
        seen.add(folded)


def _last_named(source: exp.Expr, folded: str) -> exp.Expr:
    """The last item with an alias in the FROM clause that `source` begins."""
    items = [source.this, *(join.this for join in (source.parent.args.get("joins") or () if source.parent else ()))]
    return next((item for item in reversed(items) if item.alias_or_name.lower() == folded), source)


def _combine(left: _Joined, right: _Joined, plan: LogicalPlan) -> _Joined:
    return _Joined(plan, left.relations + right.relations, {**right.merged, **left.merged})


# -------------------------------------------------------------------------------------------------------------------- items


def _bind_item(context: BindContext, scope: Scope, node: exp.Expr) -> _Joined:
    """One item of a FROM clause. Derived tables see the queries around this one, but none of its other items."""
    if isinstance(node, exp.Table):
        joined = _bind_table(context, scope, node)
    elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
        joined = _bind_parenthesized(context, scope, node)
    elif isinstance(node, (exp.Subquery, exp.Values)):
        joined = _bind_derived(context, scope, node)
    elif isinstance(source := content_of(node), FrameSource):
        joined = _bind_frame(context, scope, source)
    else:
        raise context.unsupported(f"{describe(context, node)} in FROM", node)
    for join in node.args.get("joins") or ():
        joined = _bind_join(context, scope, joined, join)
    return joined


def _bind_table(context: BindContext, scope: Scope, node: exp.Table) -> _Joined:
    refuse_arguments(context, node, ("this", "db", "catalog", "alias", "joins"))
    identifier = node.this
    if isinstance(identifier, exp.GenerateSeries):
        bound = bind_series(context, identifier)
        return _as_relation(context, bound, node.args.get("alias"), bound.names[0])
    if not isinstance(identifier, exp.Identifier):
        raise context.unsupported(f"{describe(context, identifier)} in FROM", identifier, instead="a file name in quotes works")
    parts = [node.args[key].name for key in ("catalog", "db") if isinstance(node.args.get(key), exp.Expr)]
    name = ".".join((*parts, identifier.name))
    alias = node.args.get("alias")
    cte = scope.ctes.get(name.lower()) if not parts else None
    if cte is not None:
        from planner.sql.bind_query import bind_query

        context.count_reference(node)
        inner = cte.node
        bound = _renamed(context, bind_query(context, inner.this, cte.scope), inner.args.get("alias"))
        return _as_relation(context, bound, alias, name)
    table = context.table(name, node)
    if isinstance(table, View):
        copied, _ = fresh_copy(table.plan, context.allocator)
        return _as_relation(context, BoundRelation(copied, table.names), alias, table_alias(identifier.name))
    output = tuple((context.allocator.new(field.name, field.dtype), at) for at, field in enumerate(table.fields))
    plan = Scan(table, output)
    names = tuple(field.name for field in table.fields)
    return _as_relation(context, BoundRelation(plan, names), alias, table_alias(identifier.name))


def table_alias(name: str) -> str:
    """A file is known by its name without folders and ending."""
    if re.search(r"[/\\*]|\.\w+$", name):
        return re.split(r"[/\\]", name)[-1].split(".")[0] or name
    return name


def _bind_parenthesized(context: BindContext, scope: Scope, node: exp.Expr) -> _Joined:
    """(a JOIN b ON ...), which may have an alias that hides those inside."""
    refuse_arguments(context, node, ("this", "alias", "joins"))
    joined = _bind_item(context, scope, node.this)
    alias = node.args.get("alias")
    if alias is None:
        return joined
    visible = star_columns(joined.relations, joined.merged)
    names = tuple(name for name, _ in visible)
    columns = tuple(expr.column for _, expr in visible if isinstance(expr, ColumnRef))
    if len(columns) == len(visible):
        return _as_relation(context, BoundRelation(joined.plan, names), alias, "", columns)
    assigns = tuple(Assign(context.allocator.new(name, expr.dtype), expr) for name, expr in visible)
    return _as_relation(context, BoundRelation(Project(joined.plan, assigns), names), alias, "")


def _bind_derived(context: BindContext, scope: Scope, node: exp.Expr) -> _Joined:
    from planner.sql.bind_query import bind_query

    return _as_relation(context, bind_query(context, node, _outside(scope)), node.args.get("alias"), "")


def _bind_frame(context: BindContext, scope: Scope, source: FrameSource) -> _Joined:
    """A frame of the DataFrame API. What it uses of surrounding queries must be there."""
    assert context.frames is not None
    produced = context.frames.produced
    frame = context.frames.take(source)
    for column in frame.outer.values() if not source.main else ():
        if column.id in produced and not shows_column(scope.parent, column.id):
            raise unknown_column(context, scope.parent or scope, exp.Placeholder(), column.name)
    return _Joined(frame.plan, list(frame.relations), dict(frame.merged))


def _outside(scope: Scope) -> Scope:
    """What an item of a FROM clause sees: the CTEs of its query and the queries around it, but none of its other items."""
    return Scope(scope.parent, scope.ctes)


def _renamed(context: BindContext, bound: BoundRelation, alias: exp.Expr | None) -> BoundRelation:
    """Apply the column names of an alias, which may be fewer than there are columns."""
    names = [identifier.name for identifier in alias.args.get("columns") or ()] if alias is not None else []
    if len(names) > len(bound.names):
        assert alias is not None
        raise context.error("COLUMN_COUNT", alias, what=f"table {alias.name!r}", given=len(bound.names), expected=len(names))
    return BoundRelation(bound.plan, (*names, *bound.names[len(names) :]))


def _as_relation(
    context: BindContext, bound: BoundRelation, alias: exp.Expr | None, name: str, columns: tuple[Column, ...] | None = None
) -> _Joined:
    if alias is not None:
        refuse_arguments(context, alias, ("this", "columns"))
        refuse_reserved_alias(context, alias.this, even_after_as=True)
        bound = _renamed(context, bound, alias)
        name = alias.name or name
    relation = Relation(name, _distinct_names(bound.names), columns if columns is not None else bound.plan.columns)
    return _Joined(bound.plan, [relation])


def _distinct_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Columns of a derived table that share a name are told apart by a number, as in DuckDB."""
    if len({name.lower() for name in names}) == len(names):
        return names
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        count = seen.get(name.lower(), 0)
        seen[name.lower()] = count + 1
        distinct.append(f"{name}_{count}" if count else name)
    return tuple(distinct)


def star_columns(relations: list[Relation], merged: dict[str, Merged]) -> list[tuple[str, Expr]]:
    """What `*` means: every column once, a merged one at its first place."""
    found: list[tuple[str, Expr]] = []
    done: set[str] = set()
    for relation in relations:
        for name, column in zip(relation.names, relation.columns, strict=True):
            folded = name.lower()
            joined = merged.get(folded)
            if joined is None or relation not in joined.relations:
                found.append((name, ColumnRef(column.dtype, column)))
            elif folded not in done:
                done.add(folded)
                found.append((name, joined.expr))
    return found


# -------------------------------------------------------------------------------------------------------------------- joins

_KINDS = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.INNER,
    ("LEFT", ""): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.LEFT,
    ("FULL", ""): JoinKind.FULL,
    ("", "SEMI"): JoinKind.SEMI,
    ("", "ANTI"): JoinKind.ANTI,
    ("LEFT", "SEMI"): JoinKind.SEMI,
    ("LEFT", "ANTI"): JoinKind.ANTI,
}


def _bind_join(context: BindContext, scope: Scope, left: _Joined, node: exp.Expr) -> _Joined:
    refuse_arguments(context, node, ("this", "side", "kind", "on", "using", "method"))
    side, kind = (node.args.get("side") or "").upper(), (node.args.get("kind") or "").upper()
    method = (node.args.get("method") or "").upper()
    kind = "" if kind == "OUTER" else kind
    join_kind = _KINDS.get((side, kind))
    if join_kind is None or method not in ("", "NATURAL"):
        raise context.unsupported(f"{' '.join(filter(None, (method, side, kind)))} JOIN", node.this)
    right = _bind_item(context, scope, node.this)
    if len(left.relations) + len(right.relations) > MAX_RELATIONS:
        raise _too_many_relations(context, node.this)
    on, using = node.args.get("on"), node.args.get("using")
    names = [identifier.name for identifier in using or ()] or (_common_names(left, right) if method else [])
    both = _combine(left, right, left.plan)
    if names:
        condition, merged = _using(context, left, right, names, side, using or [node.this] * len(names))
        both.merged.update(merged)
    elif method:
        raise context.unsupported("a NATURAL JOIN of tables without common columns", node.this)
    elif on is not None:
        condition = _on(context, scope, both, on)
    elif join_kind is not JoinKind.INNER:
        raise context.error("SYNTAX", node.this, detail="this join needs a condition (ON or USING)")
    else:
        condition = TRUE
    if side == "RIGHT":
        both.plan = Join(right.plan, left.plan, join_kind, condition)
    else:
        both.plan = Join(left.plan, right.plan, join_kind, condition)
    if join_kind in (JoinKind.SEMI, JoinKind.ANTI):
        return _Joined(both.plan, left.relations, left.merged)
    return both


def _on(context: BindContext, scope: Scope, both: _Joined, on: exp.Expr) -> Expr:
    local = Scope(scope.parent, scope.ctes)
    local.relations, local.merged = both.relations, both.merged
    local.clause = "a join condition"
    return to_boolean(context, bind_expression(context, local, on), "ON", on)


def _common_names(left: _Joined, right: _Joined) -> list[str]:
    """The columns of a natural join, in the order of the left side."""
    available = {name.lower() for name, _ in star_columns(right.relations, right.merged)}
    return [name for name, _ in star_columns(left.relations, left.merged) if name.lower() in available]


def _using(
    context: BindContext, left: _Joined, right: _Joined, names: list[str], side: str, nodes: list[exp.Expr]
) -> tuple[Expr, dict[str, Merged]]:
    """The condition of USING (names), and the one meaning that each name has after the join."""
    terms: list[Expr] = []
    merged: dict[str, Merged] = {}
    for name, node in zip(names, nodes, strict=True):
        folded = name.lower()
        sides = []
        for joined in (left, right):
            local = Scope(None, {})
            local.relations, local.merged = joined.relations, joined.merged
            expr = find_column(context, local, folded, node)
            if expr is None:
                raise unknown_column(context, local, node, name)
            sides.append(expr)
        terms.append(compare(context, CompareOp.EQ, sides[0], sides[1], node, node))
        relations = tuple(relation for relation in left.relations + right.relations if folded in relation.index)
        if side == "FULL":
            both = unify(context, sides, (node, node), "USING")
            value: Expr = Call(both[0].dtype, "coalesce", tuple(both))
        else:
            value = sides[1] if side == "RIGHT" else sides[0]
        merged[folded] = Merged(name, value, relations)
    return conjunction(terms), merged

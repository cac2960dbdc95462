"""`*` and `t.*` with EXCLUDE, REPLACE and RENAME: which columns they stand for, and under which names."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from planner.errors import nearest
from planner.expr.nodes import ColumnRef, Expr
from planner.sql.bind_from import star_columns
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression, refuse_arguments
from planner.sql.scope import Scope, find_relation, unknown_alias, unknown_column


@dataclass(frozen=True, slots=True)
class StarItem:
    """A column of a star; `node` is its syntax if it was written, in REPLACE."""

    name: str
    expr: Expr
    node: exp.Expr | None


def bind_star(context: BindContext, scope: Scope, node: exp.Expr) -> list[StarItem]:
    """The columns of `*` or `alias.*`. Raises UNKNOWN_TABLE, and UNKNOWN_COLUMN for what EXCLUDE and the others do not find."""
    star = node if isinstance(node, exp.Star) else node.this
    refuse_arguments(context, star, ("except_", "replace", "rename"))
    columns = _columns(context, scope, node)
    for _, expr in columns:
        if isinstance(expr, ColumnRef):
            context.origins[id(expr)] = (expr, node)
    items = [StarItem(name, expr, None) for name, expr in columns]
    known = [name for name, _ in columns]
    excluded = _excluded(context, scope, star.args.get("except_") or [], columns)
    replaced = _changed(context, [(item.alias, item) for item in star.args.get("replace") or ()], known)
    renamed = _changed(context, [(item.this.name, item) for item in star.args.get("rename") or ()], known)
    found = []
    for at, item in enumerate(items):
        folded = item.name.lower()
        if at in excluded:
            if folded in replaced or folded in renamed:
                place = replaced.get(folded) or renamed[folded]
                raise context.error("SYNTAX", place, detail=f"column {item.name!r} is excluded from the star already")
        elif folded in replaced:
            written = replaced[folded]
            found.append(StarItem(written.alias, bind_expression(context, scope, written.this), written.this))
        else:
            found.append(StarItem(renamed[folded].alias if folded in renamed else item.name, item.expr, None))
    if not found:
        raise context.error("SYNTAX", node, detail="every column is excluded from the star")
    return found


def _columns(context: BindContext, scope: Scope, node: exp.Expr) -> list[tuple[str, Expr]]:
    if isinstance(node, exp.Star):
        if not scope.relations:
            raise context.error("SYNTAX", node, detail="* needs a FROM clause")
        return star_columns(scope.relations, scope.merged)
    refuse_arguments(context, node, ("this", "table"))
    alias = node.args["table"].name
    relation = next((known for known in scope.relations if known.alias.lower() == alias.lower()), None)
    if relation is None:
        raise unknown_alias(context, scope, node, alias)
    return star_columns([relation], {})


def _excluded(context: BindContext, scope: Scope, nodes: list[exp.Expr], columns: list[tuple[str, Expr]]) -> set[int]:
    """The positions of the columns that EXCLUDE names: all of that name, or with a qualifier the one of that table."""
    excluded: set[int] = set()
    for node in nodes:
        folded, qualifier = node.name.lower(), node.args.get("table")
        found = {at for at, (name, _) in enumerate(columns) if name.lower() == folded}
        if qualifier is not None:
            owner = find_relation(scope, qualifier.name.lower())
            if owner is None:
                raise unknown_alias(context, scope, qualifier, qualifier.name)
            if folded in scope.merged:
                raise context.unsupported("* EXCLUDE of one side of a column that both tables share", node)
            column = owner[1].index.get(folded)
            found = {at for at in found if isinstance(expr := columns[at][1], ColumnRef) and expr.column == column}
        if not found:
            raise unknown_column(context, scope, node, node.name)
        excluded |= found
    return excluded


def _changed(context: BindContext, changes: list[tuple[str, exp.Expr]], known: list[str]) -> dict[str, exp.Expr]:
    """The items of REPLACE or RENAME by the columns that they change, in lower case."""
    folded = {name.lower() for name in known}
    for name, node in changes:
        if name.lower() not in folded:
            raise context.error("UNKNOWN_COLUMN", node, name=name, nearest=nearest(name, known))
    return {name.lower(): node for name, node in changes}

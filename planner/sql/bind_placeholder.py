"""Placeholders: parameters of SQL text, and what the DataFrame API puts into a tree (see `placeholders`)."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from planner.analysis.free_columns import free_columns
from planner.errors import QEngineError, error
from planner.expr.nodes import ColumnRef, Expr, Literal
from planner.expr.substitute import rename
from planner.schema import Column
from planner.sql.context import BindContext
from planner.sql.dispatch import handles
from planner.sql.frame import FrameUses, column_ids
from planner.sql.parameters import parameter_name, parameter_position, written
from planner.sql.placeholders import FrameColumn, content_of
from planner.sql.positions import text_of
from planner.sql.scope import Scope
from planner.tree import walk


@handles(exp.Placeholder, args=None)
def bind_placeholder(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """What a placeholder stands for."""
    content = content_of(node)
    if isinstance(content, Literal):
        return content
    if isinstance(content, FrameColumn) and context.frames is not None:
        return _frame_column(context, context.frames, scope, content)
    return bind_parameter(context, scope, node)


def _frame_column(context: BindContext, uses: FrameUses, scope: Scope, content: FrameColumn) -> Expr:
    """A column of some frame: it is the same column wherever the columns of a later frame include it."""
    expr = content.expr
    direct = [frame for frame in uses.main if frame is content.frame]
    if content.outer:
        columns = {column.id: column for column in _columns_of(expr)}
        if not uses.produced.isdisjoint(columns):
            raise twofold(content.name)
        uses.outer.update(columns)
        return expr
    sides: list[Mapping[int, Column]] = [uses.copies.get(id(frame), {}) for frame in direct]
    sides = sides or [columns for frame, columns in uses.earlier if frame is content.frame]
    if len(sides) > 1 or (not sides and not uses.ambiguous.isdisjoint(free_columns(expr))):
        raise twofold(content.name)
    expr = rename(expr, sides[0]) if sides else expr
    numbers = free_columns(expr)
    current: Scope | None = scope
    while current is not None:
        if numbers <= column_ids(current.relations):
            context.level = max(context.level, current.depth)
            found = ColumnRef(expr.dtype, expr.column) if isinstance(expr, ColumnRef) else expr
            if isinstance(found, ColumnRef):
                context.origins[id(found)] = (found, exp.Placeholder())
            return found
        current = current.parent
    raise error("UNKNOWN_COLUMN", name=content.name, nearest=" here: the DataFrame that it belongs to is no input")


def _columns_of(expr: Expr) -> list[Column]:
    return [node.column for node in walk(expr) if isinstance(node, ColumnRef)]


def twofold(name: str) -> QEngineError:
    """A frame was joined with itself, or with what was made of it, and its columns do not tell the sides apart."""
    candidates = "a column of either side; give the sides names with alias(), and take the columns from those"
    return error("AMBIGUOUS_COLUMN", name=name, candidates=candidates)


@handles(exp.Parameter, args="this expression")
def bind_parameter(context: BindContext, scope: Scope, node: exp.Expr) -> Literal:
    """The value of a parameter. Raises MISSING_PARAMETER where none was given."""
    name = parameter_name(node) or ""
    value = context.parameters.get(name)
    if value is None:
        position = parameter_position(text_of(context.text, node), name)
        raise error("MISSING_PARAMETER", name=written(name), position=position)
    return value

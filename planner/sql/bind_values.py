"""VALUES as a relation."""

from __future__ import annotations

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import Assign, Case, ColumnRef, Compare, CompareOp, Expr, Literal
from planner.logical.nodes import LogicalPlan, Project, Values
from planner.sql.coercion import unify
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression
from planner.sql.scope import BoundRelation, Scope


def bind_values(context: BindContext, scope: Scope, node: exp.Expr) -> BoundRelation:
    """The rows of VALUES with the columns col0, col1, and so on, each in the common type of its values.

    Rows that are not all constants become a projection over row numbers. Raises COLUMN_COUNT for rows of unequal length.
    """
    scope.clause = "VALUES"
    rows: list[list[Expr]] = []
    nodes: list[list[exp.Expr]] = []
    for row in node.expressions:
        parts = row.expressions if isinstance(row, exp.Tuple) else [row]
        if nodes and len(parts) != len(nodes[0]):
            raise context.error("COLUMN_COUNT", row, what="a row of VALUES", given=len(parts), expected=len(nodes[0]))
        nodes.append(parts)
        rows.append([bind_expression(context, scope, part) for part in parts])
    scope.clause = None
    columns = [unify(context, [row[at] for row in rows], [row[at] for row in nodes], "VALUES") for at in range(len(rows[0]))]
    names = tuple(f"col{at}" for at in range(len(columns)))
    return BoundRelation(_plan(context, columns, names), names)


def _plan(context: BindContext, columns: list[list[Expr]], names: tuple[str, ...]) -> LogicalPlan:
    schema = tuple(context.allocator.new(name, column[0].dtype) for name, column in zip(names, columns, strict=True))
    count = len(columns[0])
    constants = [[value.value for value in column if isinstance(value, Literal)] for column in columns]
    if all(len(column) == count for column in constants):
        return Values(schema, tuple(zip(*constants, strict=True)))
    number = context.allocator.new("row", t.INTEGER)
    row = ColumnRef(t.INTEGER, number)
    conditions = tuple(Compare(t.BOOLEAN, CompareOp.EQ, row, Literal(t.INTEGER, at)) for at in range(count - 1))
    assigns = tuple(
        Assign(target, Case(target.dtype, conditions, tuple(column[:-1]), column[-1]) if conditions else column[0])
        for target, column in zip(schema, columns, strict=True)
    )
    return Project(Values((number,), tuple((at,) for at in range(count))), assigns)

"""Duplicating a plan. A column id must be produced once, so the copy gets columns of its own."""

from __future__ import annotations

from typing import TypeVar, cast

from planner.analysis.free_columns import produced_columns
from planner.expr.nodes import Assign, ColumnRef
from planner.logical.nodes import DependentJoin, Join, LogicalPlan, Scan, Union, Values
from planner.schema import Column, ColumnAllocator
from planner.tree import Node, kind_mask, rewrite

P = TypeVar("P", bound=LogicalPlan)

_HOLDERS = kind_mask(Assign, ColumnRef, Scan, Values, Union, Join, DependentJoin)


def fresh_copy(plan: P, allocator: ColumnAllocator) -> tuple[P, dict[int, Column]]:
    """A copy of `plan` in which every column that it produces is a new one, and the new column by old id.

    Columns that the plan only uses (correlation) stay as they are.
    """
    fresh = {column.id: allocator.copy_of(column) for column in produced_columns(plan)}

    def renew(node: Node) -> Node:
        match node:
            case ColumnRef():
                column = fresh.get(node.column.id)
                return node if column is None else ColumnRef(node.dtype, column)
            case Assign():
                return node.replace(column=fresh[node.column.id])
            case Scan():
                return node.replace(output=tuple((fresh[column.id], position) for column, position in node.output))
            case Values() | Union():
                return node.replace(schema=tuple(fresh[column.id] for column in node.schema))
            case Join() | DependentJoin() if node.mark is not None:
                return node.replace(mark=fresh[node.mark.id])
        return node

    return cast(P, rewrite(plan, renew, _HOLDERS)), fresh

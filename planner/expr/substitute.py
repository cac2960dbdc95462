"""Replacing columns inside of expressions and plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from planner.expr.nodes import ColumnRef, Expr
from planner.schema import Column
from planner.tree import Node, kind_mask, rewrite

N = TypeVar("N", bound=Node)

_REFS = kind_mask(ColumnRef)


def substitute(node: N, replacements: Mapping[int, Expr]) -> N:
    """`node` with the references to some columns (by id) replaced by expressions of the same types.

    The replacements are not searched themselves. Plans of subqueries are entered, since correlation makes them use outer columns.
    """
    if not replacements:
        return node

    def replace(ref: Node) -> Node | None:
        assert isinstance(ref, ColumnRef)
        return replacements.get(ref.column.id)

    return cast(N, rewrite(node, replace, _REFS))


def reference(column: Column) -> ColumnRef:
    """The value of a column."""
    return ColumnRef(column.dtype, column)


def rename(node: N, columns: Mapping[int, Column]) -> N:
    """`node` with references to some columns (by id) turned into references to others."""
    return substitute(node, {old: reference(new) for old, new in columns.items()})

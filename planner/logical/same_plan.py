"""Equality of plans up to the numbering of columns and the identity of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.schema import Column
from planner.tree import Node


def same_plan(a: Node, b: Node) -> bool:
    """Whether two plans are the same if columns are numbered by first appearance. Linear and iterative."""
    return a is b or canonical_form(a) == canonical_form(b)


def canonical_form(root: Node, known: Mapping[int, int] | None = None) -> list[tuple[Any, ...]]:
    """The nodes below `root`, parents first, with their values and with columns numbered by first appearance.

    `known` numbers the columns, by their ids, that have a number beforehand.
    """
    numbers = dict(known or {})
    rows: list[tuple[Any, ...]] = []
    stack = [root]
    while stack:
        current = stack.pop()
        row: list[Any] = [type(current)]
        for name in current.FIELDS:
            value = getattr(current, name)
            if name in current.CHILD_FIELDS:
                row.append(len(value) if value.__class__ is tuple else value is not None)
            else:
                row.append(canonical_value(value, numbers))
        rows.append(tuple(row))
        stack.extend(reversed(current.children))
    return rows


def canonical_value(value: Any, numbers: dict[int, int]) -> Any:
    """A field's value in a form that compares as it should: 1 and True differ, 0.0 and -0.0 too, NaN equals itself."""
    if isinstance(value, Column):
        return numbers.setdefault(value.id, len(numbers)), value.dtype
    if value.__class__ is tuple:
        return tuple(canonical_value(item, numbers) for item in value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (bool, int)):
        return type(value), value
    return value

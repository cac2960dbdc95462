"""Structural equality of expressions: nodes compare by identity, so whoever looks for a repeated expression asks here."""

from __future__ import annotations

from typing import Any

from planner.tree import Node


def same_expression(first: Node, second: Node) -> bool:
    """Whether two expressions have the same shape, types, values and columns (by id).

    Equal expressions give equal values on equal rows. The plans of two subqueries are equal only if they are one object or use
    the same column ids throughout, so two separate scans never are. Iterative: depth does not matter.
    """
    pairs = [(first, second)]
    while pairs:
        a, b = pairs.pop()
        if a is b:
            continue
        if a.__class__ is not b.__class__:
            return False
        for name in a.FIELDS:
            left, right = getattr(a, name), getattr(b, name)
            if left is right:
                continue
            if name not in a.CHILD_FIELDS:
                if not _same_value(left, right):
                    return False
            elif left.__class__ is tuple:
                if len(left) != len(right):
                    return False
                pairs.extend(zip(left, right, strict=True))
            elif left is None or right is None:
                return False
            else:
                pairs.append((left, right))
    return True


def _same_value(left: Any, right: Any) -> bool:
    """Equality of field values; 0.0 and -0.0 differ, NaN equals itself, 1 and True differ."""
    if left.__class__ is not right.__class__:
        return False
    if isinstance(left, float):
        return repr(left) == repr(right)
    return bool(left == right)

"""The kinds of joins, which logical and physical plans share."""

from __future__ import annotations

from enum import StrEnum

from planner.schema import Column, Schema


class JoinKind(StrEnum):
    INNER = "inner"
    LEFT = "left"
    FULL = "full"
    SEMI = "semi"
    """Left rows with a match."""
    ANTI = "anti"
    """Left rows without a match (a condition that is NULL is no match)."""
    MARK = "mark"
    """Every left row once, and `mark`: whether it has a match. Never NULL."""
    SINGLE = "single"
    """A left join whose left rows have at most one match; a second match is an error."""


def join_columns(kind: JoinKind, left: Schema, right: Schema, mark: Column | None) -> Schema:
    """The output columns of a join."""
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left
    if kind is JoinKind.MARK:
        assert mark is not None
        return (*left, mark)
    return left + right

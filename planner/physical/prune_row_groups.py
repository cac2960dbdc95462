"""Leaves out row groups in which, by their footers, no row can satisfy a scan's predicate.

Trusting CLAIMED statistics here is what every reader of Parquet does: a footer that lies hides rows from all of them.
Statistics of exact types are scaled integers, so literals are brought to that form; a comparison that is not understood
keeps the row group.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from itertools import takewhile
from typing import Any

from planner.analysis.intervals import scaled_value
from planner.catalog import ColumnStatistics
from planner.dtypes import DATE, TIMESTAMP, VARCHAR, DType, is_exact
from planner.expr.nodes import MIRRORED, Call, ColumnRef, Compare, CompareOp, Expr, InList, IsNull, Literal, Or, conjuncts

_EPOCH = datetime.date(1970, 1, 1)
_EPOCH_TIME = datetime.datetime(1970, 1, 1)


def statistics_value(value: Any, dtype: DType) -> Any:
    """A literal in the form of statistics, or None if it has none."""
    if value is None:
        return None
    if is_exact(dtype):
        return scaled_value(value, dtype)
    if dtype == DATE and isinstance(value, datetime.date):
        return (value - _EPOCH).days
    if dtype == TIMESTAMP and isinstance(value, datetime.datetime):
        return (value - _EPOCH_TIME) // datetime.timedelta(microseconds=1)
    return value if dtype == VARCHAR else None


def may_match(predicate: Expr | None, statistics: Callable[[int], ColumnStatistics | None]) -> bool:
    """False only if no row of the row group can satisfy the predicate. `statistics` gives those of a column id."""
    if predicate is None:
        return True
    return all(_term_may_match(term, statistics) for term in conjuncts(predicate))


def _term_may_match(term: Expr, statistics: Callable[[int], ColumnStatistics | None]) -> bool:
    if isinstance(term, Or):
        return any(may_match(part, statistics) for part in term.terms)
    if isinstance(term, InList) and isinstance(term.needle, ColumnRef):
        options = [option for option in term.options if isinstance(option, Literal)]
        if len(options) < len(term.options):
            return True
        return any(_compare(CompareOp.EQ, term.needle, option, statistics) for option in options)
    if isinstance(term, IsNull) and isinstance(term.operand, ColumnRef):
        known = statistics(term.operand.column.id)
        return known is None or known.null_count != 0
    if isinstance(term, Call) and term.function in ("like", "starts_with"):
        return _prefix_may_match(term, statistics)
    if isinstance(term, Compare):
        if isinstance(term.left, ColumnRef) and isinstance(term.right, Literal):
            return _compare(term.op, term.left, term.right, statistics)
        if isinstance(term.right, ColumnRef) and isinstance(term.left, Literal):
            return _compare(MIRRORED[term.op], term.right, term.left, statistics)
    return True


def _prefix_may_match(term: Call, statistics: Callable[[int], ColumnStatistics | None]) -> bool:
    """Whether a text between the bounds can begin as the pattern does."""
    text, pattern, *escape = term.arguments
    if not isinstance(text, ColumnRef) or not all(
        isinstance(part, Literal) and part.value is not None for part in (pattern, *escape)
    ):
        return True
    known = statistics(text.column.id)
    if known is None or not isinstance(known.minimum, str) or not isinstance(known.maximum, str):
        return True
    assert isinstance(pattern, Literal)
    prefix = pattern.value
    if term.function == "like":
        special = {"%", "_", *(part.value for part in escape if isinstance(part, Literal))}
        prefix = "".join(takewhile(lambda character: character not in special, prefix))
    return known.minimum[: len(prefix)] <= prefix <= known.maximum


def _compare(op: CompareOp, ref: ColumnRef, literal: Literal, statistics: Callable[[int], ColumnStatistics | None]) -> bool:
    known = statistics(ref.column.id)
    value = statistics_value(literal.value, literal.dtype)
    if known is None or value is None or known.minimum is None or known.maximum is None:
        return True
    match op:
        case CompareOp.EQ:
            return bool(known.minimum <= value <= known.maximum)
        case CompareOp.LT:
            return bool(known.minimum < value)
        case CompareOp.LE:
            return bool(known.minimum <= value)
        case CompareOp.GT:
            return bool(known.maximum > value)
        case CompareOp.GE:
            return bool(known.maximum >= value)
        case _:
            return True

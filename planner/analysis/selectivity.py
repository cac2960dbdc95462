"""Estimated share of rows that satisfy a predicate."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from planner.analysis.column_shares import Described, any_value_share, range_share, value_share
from planner.analysis.intervals import scaled_value
from planner.dtypes import VARCHAR, is_exact
from planner.expr.nodes import (
    And,
    Call,
    ColumnRef,
    Compare,
    CompareOp,
    Expr,
    InList,
    IsNull,
    Literal,
    Not,
    Or,
    conjuncts,
)

EQUAL = 0.05
"""Equality with something about which nothing is known."""
RANGE = 0.3
"""An inequality about which nothing is known."""
COMPUTED = 0.1
"""An inequality with a computed value, typically an aggregate: few groups are outstanding."""
CONTAINS = 0.06
STARTS_WITH = 0.03
OTHER = 0.3

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_LOWER = (CompareOp.GT, CompareOp.GE)
_UPPER = (CompareOp.LT, CompareOp.LE)


class Predicates:
    """Selectivities over the columns of one plan."""

    def __init__(self, columns: Mapping[int, Described]) -> None:
        self._columns = columns
        self.guessed = False
        """Whether something was a default, since nothing was known of it."""

    def selectivity(self, predicate: Expr, depth: int = 0) -> float:
        """Between 0 and 1. Conjuncts count as independent, apart from several bounds of one column."""
        if depth > 20:
            return self._guess(OTHER)
        match predicate:
            case Literal():
                return 1.0 if predicate.value is True else 0.0
            case And():
                return self.selectivity_of_all(predicate.terms, depth + 1)
            case Or():
                missed = 1.0
                for term in predicate.terms:
                    missed *= 1.0 - self.selectivity(term, depth + 1)
                return 1.0 - missed
            case Not():
                return 1.0 - self.selectivity(predicate.operand, depth + 1)
            case IsNull():
                known = self._of(predicate.operand)
                return known.null_share if known is not None else self._guess(EQUAL)
            case InList():
                return min(1.0, sum(self._equal(predicate.needle, option) for option in predicate.options))
            case Compare():
                return self._comparison(predicate)
            case Call(function="like"):
                return self._like(predicate)
        return self._guess(OTHER)

    def selectivity_of_all(self, terms: Iterable[Expr], depth: int = 0) -> float:
        """The selectivity of a conjunction: bounds of the same column make one range."""
        share = 1.0
        ranges: dict[int, list[Compare]] = {}
        for whole in terms:
            for term in conjuncts(whole):
                if isinstance(term, Compare) and self._is_bound(term):
                    assert isinstance(term.left, ColumnRef)
                    ranges.setdefault(term.left.column.id, []).append(term)
                else:
                    share *= self.selectivity(term, depth)
        for column, bounds in ranges.items():
            share *= self._range(self._columns[column], bounds)
        return share

    def _guess(self, share: float) -> float:
        self.guessed = True
        return share

    def _of(self, expr: Expr) -> Described | None:
        return self._columns.get(expr.column.id) if isinstance(expr, ColumnRef) else None

    def _equal(self, expr: Expr, value: Expr) -> float:
        known = self._of(expr)
        if known is None:
            return self._guess(EQUAL)
        constant = statistic_value(value) if isinstance(value, Literal) else None
        if known.distribution is None:
            self.guessed |= not isinstance(known.low, int)
        return value_share(known, constant) if constant is not None else any_value_share(known)

    def _comparison(self, expr: Compare) -> float:
        if expr.op in (CompareOp.EQ, CompareOp.NOT_DISTINCT):
            other = self._equal(expr.right, expr.left) if isinstance(expr.right, ColumnRef) else 1.0
            return min(self._equal(expr.left, expr.right), other)
        if expr.op in (CompareOp.NE, CompareOp.DISTINCT):
            return 1.0 - self._equal(expr.left, expr.right)
        if self._is_bound(expr):
            assert isinstance(expr.left, ColumnRef)
            return self._range(self._columns[expr.left.column.id], [expr])
        known = [self._of(side) is not None or isinstance(side, Literal) for side in (expr.left, expr.right)]
        return self._guess(RANGE if all(known) else COMPUTED)

    def _is_bound(self, expr: Compare) -> bool:
        """Whether a column is compared with a constant, as a bound of its values."""
        if expr.op not in _LOWER + _UPPER or self._of(expr.left) is None or not isinstance(expr.right, Literal):
            return False
        return statistic_value(expr.right) is not None

    def _range(self, known: Described, bounds: list[Compare]) -> float:
        low: Any = None
        high: Any = None
        low_open = high_open = False
        for bound in bounds:
            assert isinstance(bound.right, Literal)
            value = statistic_value(bound.right)
            if bound.op in _LOWER:
                if low is None or value >= low:
                    low, low_open = value, bound.op is CompareOp.GT or (low_open and value == low)
            elif high is None or value <= high:
                high, high_open = value, bound.op is CompareOp.LT or (high_open and value == high)
        if low is not None and high is not None and low > high:
            return 0.0
        share = range_share(known, low, low_open, high, high_open)
        return share if share is not None else self._guess(RANGE ** ((low is not None) + (high is not None)))

    def _like(self, expr: Call) -> float:
        pattern = expr.arguments[1]
        if isinstance(pattern, Literal) and isinstance(pattern.value, str):
            return self._guess(CONTAINS if pattern.value.startswith("%") else STARTS_WITH)
        return self._guess(OTHER)


def statistic_value(literal: Literal) -> Any:
    """A literal as statistics store its type: scaled integer, days, microseconds, float, or text; None for other types."""
    value = literal.value
    if isinstance(value, str):
        return value if literal.dtype == VARCHAR else None
    if isinstance(value, float):
        return value if value == value else None
    return physical_integer(literal)


def physical_integer(literal: Literal) -> int | None:
    """A literal as statistics store its type: scaled integer, days, or microseconds."""
    value = literal.value
    if isinstance(value, datetime.datetime):
        midnight = datetime.datetime.combine(value.date(), datetime.time(), value.tzinfo)
        return (value.toordinal() - _EPOCH) * 86_400_000_000 + (value - midnight) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return value.toordinal() - _EPOCH
    if value is None or isinstance(value, bool) or not is_exact(literal.dtype):
        return None
    return scaled_value(value, literal.dtype)

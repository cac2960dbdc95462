"""Estimated share of rows that satisfy a predicate."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Protocol

from planner.analysis.intervals import scaled_value
from planner.catalog import Trust
from planner.dtypes import is_exact
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


class Described(Protocol):
    """What is known of a column; see `planner.analysis.estimates.ColumnEstimate`."""

    @property
    def ndv(self) -> float: ...
    @property
    def low(self) -> int | str | None: ...
    @property
    def high(self) -> int | str | None: ...
    @property
    def null_share(self) -> float: ...
    @property
    def trust(self) -> Trust: ...


class Predicates:
    """Selectivities over the columns of one plan."""

    def __init__(self, columns: Mapping[int, Described]) -> None:
        self._columns = columns

    def selectivity(self, predicate: Expr, depth: int = 0) -> float:
        """Between 0 and 1. Conjuncts count as independent, apart from several bounds of one column."""
        if depth > 20:
            return OTHER
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
                return known.null_share if known is not None else EQUAL
            case InList():
                return min(1.0, len(predicate.options) * self._equal(predicate.needle))
            case Compare():
                return self._comparison(predicate)
            case Call(function="like"):
                return self._like(predicate)
        return OTHER

    def selectivity_of_all(self, terms: Iterable[Expr], depth: int = 0) -> float:
        """The selectivity of a conjunction: bounds of the same column make one range."""
        share = 1.0
        ranges: dict[int, list[Compare]] = {}
        for whole in terms:
            for term in conjuncts(whole):
                if isinstance(term, Compare) and term.op in _LOWER + _UPPER and self._bound(term) is not None:
                    assert isinstance(term.left, ColumnRef)
                    ranges.setdefault(term.left.column.id, []).append(term)
                else:
                    share *= self.selectivity(term, depth)
        for column, bounds in ranges.items():
            share *= self._range(self._columns[column], bounds)
        return share

    def _of(self, expr: Expr) -> Described | None:
        return self._columns.get(expr.column.id) if isinstance(expr, ColumnRef) else None

    def _equal(self, expr: Expr) -> float:
        known = self._of(expr)
        return 1.0 / max(known.ndv, 1.0) if known is not None else EQUAL

    def _comparison(self, expr: Compare) -> float:
        if expr.op in (CompareOp.EQ, CompareOp.NOT_DISTINCT):
            return min(self._equal(expr.left), self._equal(expr.right) if isinstance(expr.right, ColumnRef) else 1.0)
        if expr.op in (CompareOp.NE, CompareOp.DISTINCT):
            return 1.0 - self._equal(expr.left)
        if self._bound(expr) is not None:
            return self.selectivity_of_all((expr,))
        known = [self._of(side) is not None or isinstance(side, Literal) for side in (expr.left, expr.right)]
        return RANGE if all(known) else COMPUTED

    def _bound(self, expr: Compare) -> int | None:
        """The physical integer that a column with a known range is compared with."""
        known = self._of(expr.left)
        if known is None or not isinstance(expr.right, Literal) or not isinstance(known.low, int):
            return None
        return physical_integer(expr.right)

    def _range(self, known: Described, bounds: list[Compare]) -> float:
        assert isinstance(known.low, int) and isinstance(known.high, int)
        low, high = known.low, known.high
        for bound in bounds:
            value = self._bound(bound)
            assert value is not None
            if bound.op in _LOWER:
                low = max(low, value + (bound.op is CompareOp.GT))
            else:
                high = min(high, value - (bound.op is CompareOp.LT))
        if low > high:
            return 0.0
        return (high - low + 1) / (known.high - known.low + 1)

    def _like(self, expr: Call) -> float:
        pattern = expr.arguments[1]
        if isinstance(pattern, Literal) and isinstance(pattern.value, str):
            return CONTAINS if pattern.value.startswith("%") else STARTS_WITH
        return OTHER


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

"""Estimates of columns that are computed: how many values an expression has, given the columns that it is made of.

A function of one column has no more values than the column, a function of several no more than they have combinations. Parts of
dates, pieces of text and choices among constants have few by what they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from planner.analysis.estimates import ColumnEstimate
from planner.catalog import Certainty, Trust
from planner.dtypes import BOOLEAN, DATE, TIMESTAMP, TIMESTAMPTZ
from planner.expr.nodes import Call, Case, Cast, ColumnRef, Expr, Literal

_PARTS = {
    "quarter": 4, "month": 12, "week": 53, "day": 31, "dow": 7, "isodow": 7, "doy": 366, "hour": 24, "minute": 60, "second": 60,
}  # fmt: skip
_DAYS = {"year": 365.25, "quarter": 91.3, "month": 30.4, "week": 7.0, "day": 1.0, "hour": 1 / 24, "minute": 1 / 1440}
"""Days between two values of a date or time that is cut to a unit."""
_NAMES = {"dayname": 7, "monthname": 12, "sign": 3}
_MICROSECONDS_OF_A_DAY = 86_400_000_000
_LETTERS = 32
"""Different characters that one place of a text is assumed to have."""
_DEEP = 50


def describe_expression(
    expr: Expr, columns: Mapping[int, ColumnEstimate], rows: float, depth: int = 0
) -> ColumnEstimate | None:
    """The values of an expression over `rows` rows with these columns; None if nothing is known."""
    if depth > _DEEP:
        return None
    match expr:
        case ColumnRef():
            return columns.get(expr.column.id)
        case Literal():
            return _counted(1.0, rows, Certainty.EXACT)
        case Cast():
            known = describe_expression(expr.operand, columns, rows, depth + 1)
            return None if known is None else _anew(known, known.ndv)
        case Case():
            return _choice(expr, columns, rows, depth)
        case Call():
            known = _of_parts(expr, columns, rows, depth)
            return known if known is not None or expr.dtype != BOOLEAN else _counted(2.0, rows)
    return _counted(2.0, rows) if expr.dtype == BOOLEAN else None


def _of_parts(call: Call, columns: Mapping[int, ColumnEstimate], rows: float, depth: int) -> ColumnEstimate | None:
    described = [describe_expression(argument, columns, rows, depth + 1) for argument in call.arguments]
    known = [one for one in described if one is not None]
    if len(known) < len(described) or not known:
        return None
    combinations, table_rows = 1.0, 1.0
    for one in known:
        combinations = min(combinations * max(one.ndv, 1.0), max(rows, one.rows))
        table_rows = max(table_rows, one.rows)
    combined = ColumnEstimate(combinations, table_rows, certainty=min(one.certainty for one in known))
    if call.dtype == BOOLEAN:
        return _anew(combined, min(2.0, combinations))
    return _anew(combined, min(combinations, _most_values(call, columns)))


def _most_values(call: Call, columns: Mapping[int, ColumnEstimate]) -> float:
    """How many values a function has by what it does."""
    first = call.arguments[0]
    if call.function in _NAMES:
        return _NAMES[call.function]
    if call.function in ("extract", "date_trunc") and isinstance(first, Literal):
        part = str(first.value).lower()
        if call.function == "extract" and part in _PARTS:
            return _PARTS[part]
        days = _days_between(call.arguments[1], columns)
        if part in _DAYS and days is not None:
            return math.floor(days / _DAYS[part]) + 1.0
    length = {"substring": 2, "left": 1, "right": 1}.get(call.function)
    if length is not None and len(call.arguments) > length:
        characters = call.arguments[length]
        if isinstance(characters, Literal) and isinstance(characters.value, int) and 0 <= characters.value <= 6:
            return float(_LETTERS**characters.value)
    return math.inf


def _days_between(expr: Expr, columns: Mapping[int, ColumnEstimate]) -> float | None:
    """Between the first and the last date or time of a column."""
    while isinstance(expr, Cast):
        expr = expr.operand
    known = columns.get(expr.column.id) if isinstance(expr, ColumnRef) else None
    if known is None or not isinstance(known.low, int) or not isinstance(known.high, int):
        return None
    if expr.dtype not in (DATE, TIMESTAMP, TIMESTAMPTZ):
        return None
    return (known.high - known.low) / (1 if expr.dtype == DATE else _MICROSECONDS_OF_A_DAY)


def _choice(case: Case, columns: Mapping[int, ColumnEstimate], rows: float, depth: int) -> ColumnEstimate | None:
    """CASE: the values of all its results."""
    results = (*case.results, case.otherwise)
    constants = {result.value for result in results if isinstance(result, Literal)}
    total, table_rows = float(len(constants)), max(rows, 1.0)
    for result in results:
        if not isinstance(result, Literal):
            known = describe_expression(result, columns, rows, depth + 1)
            if known is None:
                return None
            total, table_rows = total + known.ndv, max(table_rows, known.rows)
    return ColumnEstimate(min(total, table_rows), table_rows, certainty=Certainty.ESTIMATED)


def _counted(ndv: float, rows: float, certainty: Certainty = Certainty.ESTIMATED) -> ColumnEstimate:
    return ColumnEstimate(ndv, max(rows, 1.0), certainty=certainty)


def _anew(known: ColumnEstimate, ndv: float) -> ColumnEstimate:
    """Other values of the same rows: what was known of them is not known any more."""
    certainty = min(known.certainty, Certainty.ESTIMATED)
    return replace(known, ndv=ndv, low=None, high=None, trust=Trust.ESTIMATED, certainty=certainty, distribution=None)

"""Functions of columns: aggregates, window functions, and every scalar function of SQL by its name.

    from qengine import col, functions as f

    df.group_by("g").agg(f.sum("price * quantity").alias("total"), n=f.count())
    df.select(f.upper("name"), f.coalesce("a", "b", 0))
    df.with_columns(place=f.rank().over("g", order_by=col("price").desc()))

An argument is a Column, SQL text, or another Python value as a constant; for a constant text write `lit("...")`. A function that
is not defined here is looked up by its name when it is used: `f.date_trunc(lit("month"), "day")` is `date_trunc('month', day)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.column import Column, aggregate, col, expression_column, function, lit, outer, when

__all__ = [
    "abs", "any_value", "avg", "bool_and", "bool_or", "ceil", "coalesce", "col", "concat", "count", "count_distinct", "cume_dist",
    "dense_rank", "extract", "first_value", "floor", "lag", "last_value", "lead", "length", "lit", "lower", "max", "min",
    "nth_value", "ntile", "nullif", "outer", "percent_rank", "rank", "round", "row_number", "stddev", "substring", "sum", "trim",
    "upper", "variance", "when", "year",
]  # fmt: skip

Expression = Column | str
"""A Column, or SQL text for one."""


# ------------------------------------------------------------------------------------------------------------- aggregates


def count(expression: Expression | None = None) -> Column:
    """The number of rows, or of those where an expression is not NULL: BIGINT."""
    return aggregate("count", expression)


def count_distinct(expression: Expression) -> Column:
    """The number of different values that are not NULL."""
    return aggregate("count", expression, distinct=True)


def sum(expression: Expression, *, distinct: bool = False) -> Column:
    """The sum: NULL over no rows, BIGINT of integers, DECIMAL(38, s) of decimals, DOUBLE of floats."""
    return aggregate("sum", expression, distinct=distinct)


def avg(expression: Expression, *, distinct: bool = False) -> Column:
    """The mean: a decimal of decimals, else DOUBLE."""
    return aggregate("avg", expression, distinct=distinct)


def min(expression: Expression) -> Column:
    """The least value."""
    return aggregate("min", expression)


def max(expression: Expression) -> Column:
    """The greatest value; NaN is above all numbers."""
    return aggregate("max", expression)


def any_value(expression: Expression) -> Column:
    """Some value that is not NULL."""
    return aggregate("any_value", expression)


def bool_and(condition: Expression) -> Column:
    """Whether a condition is true wherever it is not NULL."""
    return aggregate("bool_and", condition)


def bool_or(condition: Expression) -> Column:
    """Whether a condition is true anywhere."""
    return aggregate("bool_or", condition)


def stddev(expression: Expression) -> Column:
    """The standard deviation of a sample: NULL for less than two rows."""
    return aggregate("stddev_samp", expression)


def variance(expression: Expression) -> Column:
    """The variance of a sample: NULL for less than two rows."""
    return aggregate("var_samp", expression)


# ---------------------------------------------------------------------------------------------------------------- windows
#
# These, and the aggregates above, get their rows from `Column.over`: f.rank().over("g", order_by="x").


def row_number() -> Column:
    """The number of the row in its partition, from 1."""
    return function("row_number")


def rank() -> Column:
    """The number of the first row that is ordered like this one, from 1."""
    return function("rank")


def dense_rank() -> Column:
    """The number of different keys of the order up to this row, from 1."""
    return function("dense_rank")


def percent_rank() -> Column:
    """(rank - 1) / (rows of the partition - 1), from 0 to 1."""
    return function("percent_rank")


def cume_dist() -> Column:
    """The share of the partition's rows that are ordered up to or like this one."""
    return function("cume_dist")


def ntile(tiles: int) -> Column:
    """The number of the tile, from 1, if the partition is cut into as many of nearly equal size."""
    return function("ntile", tiles)


def lag(expression: Expression, offset: int = 1, default: Any = None) -> Column:
    """The value some rows before in the partition; `default` where there is no such row."""
    return _shifted("lag", expression, offset, default)


def lead(expression: Expression, offset: int = 1, default: Any = None) -> Column:
    """The value some rows after in the partition; `default` where there is no such row."""
    return _shifted("lead", expression, offset, default)


def _shifted(name: str, expression: Expression, offset: int, default: Any) -> Column:
    return function(name, expression, offset) if default is None else function(name, expression, offset, default)


def first_value(expression: Expression) -> Column:
    """The value of the frame's first row."""
    return function("first_value", expression)


def last_value(expression: Expression) -> Column:
    """The value of the frame's last row: with an order, of the last one that is ordered like this row."""
    return function("last_value", expression)


def nth_value(expression: Expression, number: int) -> Column:
    """The value of the frame's row of a number, from 1; NULL if it has fewer rows."""
    return function("nth_value", expression, number)


# ---------------------------------------------------------------------------------------------------------------- scalars


def abs(expression: Expression) -> Column:
    """The absolute value."""
    return function("abs", expression)


def ceil(expression: Expression) -> Column:
    """The least whole number that is not less."""
    return function("ceil", expression)


def floor(expression: Expression) -> Column:
    """The greatest whole number that is not greater."""
    return function("floor", expression)


def round(expression: Expression, digits: int = 0) -> Column:
    """Rounded to some digits after the point, half away from zero."""
    return function("round", expression, digits) if digits else function("round", expression)


def coalesce(*expressions: Any) -> Column:
    """The first value that is not NULL."""
    return function("coalesce", *expressions)


def nullif(expression: Expression, other: Any) -> Column:
    """The value, or NULL where it equals another."""
    return function("nullif", expression, other)


def concat(*expressions: Any) -> Column:
    """The texts of all arguments joined; NULL counts as empty."""
    return function("concat", *expressions)


def upper(expression: Expression) -> Column:
    """The text in upper case."""
    return function("upper", expression)


def lower(expression: Expression) -> Column:
    """The text in lower case."""
    return function("lower", expression)


def length(expression: Expression) -> Column:
    """The number of characters."""
    return function("length", expression)


def trim(expression: Expression) -> Column:
    """The text without spaces at its ends."""
    return function("trim", expression)


def substring(expression: Expression, start: Any, length: Any = None) -> Column:
    """Part of a text, from a position (1 is the first character), of a length or to the end."""
    return expression_column(expression).substring(start, length)


def extract(part: str, expression: Expression) -> Column:
    """Part of a date or timestamp: "year", "month", "day", ..."""
    return expression_column(expression).extract(part)


def year(expression: Expression) -> Column:
    """The year of a date or timestamp."""
    return function("year", expression)


def __getattr__(name: str) -> Callable[..., Column]:
    """Every other function that SQL knows, by its name there."""
    from planner.errors import nearest
    from planner.sql.dispatch import function_names

    if name.startswith("_") or name not in (known := function_names()):
        hint = "" if name.startswith("_") else nearest(name, known)
        raise AttributeError(f"module 'qengine.functions' has no function {name!r}{hint}", name=name)

    def call(*arguments: Any) -> Column:
        return function(name, *arguments)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The SQL function {name} of Columns, SQL texts and constants."
    return call


def __dir__() -> list[str]:
    from planner.sql.dispatch import function_names

    return sorted({*__all__, *function_names()})

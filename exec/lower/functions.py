"""The kernel of every scalar function in `planner.expr.functions.FUNCTIONS`; a test holds the two tables together."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from exec.lower import arithmetic, dates, texts
from exec.lower.expressions import Guard, Lowering, both
from planner.analysis.can_raise import can_raise
from planner.expr.nodes import Call

Kernel = Callable[[Lowering, Call, Guard], pl.Expr]


def coalesce(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """The first argument that is not NULL. An argument is evaluated only where all before it are NULL."""
    target, typed = low.encoding(call), low.polars_type(call)
    open_rows = guard
    values: list[pl.Expr] = []
    raising = can_raise(call)
    for argument in call.arguments:
        value = low.lower_as(argument, target, open_rows) if argument.dtype == call.dtype else low.lower(argument, open_rows)
        values.append(value.cast(typed) if argument.dtype != call.dtype else value)
        if raising:
            open_rows = both(open_rows, values[-1].is_null())
    return pl.coalesce(values)


def nullif(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """NULL where both arguments are equal, else the first."""
    first, second = low.pair(call.arguments[0], call.arguments[1], guard)
    equal = (first == second).fill_null(False)
    return pl.when(~equal).then(low.lower_as(call.arguments[0], low.encoding(call), guard))


KERNELS: dict[str, Kernel] = {
    "add": arithmetic.add,
    "subtract": arithmetic.subtract,
    "multiply": arithmetic.multiply,
    "divide": arithmetic.divide,
    "integer_divide": arithmetic.integer_divide,
    "modulo": arithmetic.modulo,
    "negate": arithmetic.negate,
    "abs": arithmetic.absolute,
    "round": arithmetic.round_number,
    "floor": arithmetic.floor,
    "ceil": arithmetic.ceil,
    "concat": texts.concat,
    "like": texts.lower_like,
    "substring": texts.substring,
    "upper": texts.upper,
    "lower": texts.lower_case,
    "length": texts.length,
    "trim": texts.trim,
    "extract": dates.extract,
    "add_interval": dates.add_interval,
    "subtract_interval": dates.subtract_interval,
    "date_difference": dates.date_difference,
    "coalesce": coalesce,
    "nullif": nullif,
}

"""The kernel of every scalar function in `planner.expr.functions.FUNCTIONS`; a test holds the two tables together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

from exec.kernels import texts as python_texts
from exec.lower import arithmetic, calendar_functions, dates, mathematics, patterns, texts
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
    "ltrim": texts.left_trim,
    "rtrim": texts.right_trim,
    "left": texts.left,
    "right": texts.right,
    "replace": texts.replace,
    "translate": texts.row_kernel(python_texts.translate, pl.String()),
    "lpad": texts.pad_left,
    "rpad": texts.pad_right,
    "strpos": texts.position,
    "reverse": texts.reverse,
    "repeat": texts.row_kernel(python_texts.repeat, pl.String()),
    "split_part": texts.split_part,
    "starts_with": texts.starts_with,
    "ends_with": texts.ends_with,
    "contains": texts.contains,
    "concat_ws": texts.concat_ws,
    "ascii": texts.row_kernel(partial(python_texts.first_code, of_nothing=0), pl.Int32()),
    "unicode": texts.row_kernel(partial(python_texts.first_code, of_nothing=-1), pl.Int32()),
    "chr": texts.row_kernel(python_texts.character, pl.String()),
    "strlen": texts.byte_length,
    "md5": texts.row_kernel(python_texts.md5, pl.String()),
    "hex": texts.hexadecimal,
    "regexp_matches": patterns.regexp_matches,
    "regexp_full_match": patterns.regexp_full_match,
    "regexp_replace": patterns.regexp_replace,
    "regexp_extract": patterns.regexp_extract,
    "sqrt": mathematics.double(lambda x: x.sqrt()),
    "cbrt": mathematics.double(lambda x: x.cbrt()),
    "exp": mathematics.double(lambda x: x.exp()),
    "ln": mathematics.vectorized(np.log),
    "log10": mathematics.vectorized(np.log10),
    "log2": mathematics.vectorized(np.log2),
    "power": mathematics.vectorized(np.power),
    "degrees": mathematics.vectorized(np.degrees),
    "radians": mathematics.vectorized(np.radians),
    "sin": mathematics.double(lambda x: x.sin()),
    "cos": mathematics.double(lambda x: x.cos()),
    "tan": mathematics.double(lambda x: x.tan()),
    "asin": mathematics.double(lambda x: x.arcsin()),
    "acos": mathematics.double(lambda x: x.arccos()),
    "atan": mathematics.double(lambda x: x.arctan()),
    "atan2": mathematics.vectorized(np.arctan2),
    "sinh": mathematics.double(lambda x: x.sinh()),
    "cosh": mathematics.double(lambda x: x.cosh()),
    "tanh": mathematics.double(lambda x: x.tanh()),
    "even": mathematics.vectorized(mathematics.even),
    "fmod": mathematics.vectorized(np.mod),
    "sign": mathematics.sign,
    "trunc": mathematics.trunc,
    "gcd": mathematics.greatest_common_divisor,
    "lcm": mathematics.least_common_multiple,
    "isnan": mathematics.double(lambda x: x.is_nan()),
    "isinf": mathematics.double(lambda x: x.is_infinite()),
    "isfinite": mathematics.double(lambda x: x.is_finite()),
    "bit_count": mathematics.bit_count,
    "bit_and": mathematics.bit_and,
    "bit_or": mathematics.bit_or,
    "bit_xor": mathematics.bit_xor,
    "bit_not": mathematics.bit_not,
    "greatest": mathematics.greatest,
    "least": mathematics.least,
    "extract": dates.extract,
    "add_interval": dates.add_interval,
    "subtract_interval": dates.subtract_interval,
    "date_difference": dates.date_difference,
    "date_trunc": calendar_functions.date_trunc,
    "date_diff": calendar_functions.date_diff,
    "last_day": calendar_functions.last_day,
    "dayname": calendar_functions.dayname,
    "monthname": calendar_functions.monthname,
    "make_date": calendar_functions.make_date,
    "make_timestamp": calendar_functions.make_timestamp,
    "epoch_ms": calendar_functions.epoch_milliseconds,
    "epoch_us": calendar_functions.epoch_microseconds,
    "strftime": calendar_functions.strftime,
    "to_timestamp": calendar_functions.to_timestamp,
    "coalesce": coalesce,
    "nullif": nullif,
}

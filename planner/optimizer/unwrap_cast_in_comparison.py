"""Rule: a cast column compared with a constant is the column compared with another constant."""

from __future__ import annotations

import datetime

from planner.analysis.can_raise import can_raise
from planner.analysis.intervals import scaled_value
from planner.dtypes import BOOLEAN, DATE, TIMESTAMP, DType, is_exact, scale_of
from planner.expr.constants import exact_literal
from planner.expr.nodes import MIRRORED, Cast, Compare, CompareOp, Expr, InList, Literal
from planner.rule import OptimizerContext, rule

_BELOW = (CompareOp.LT, CompareOp.LE)
_ABOVE = (CompareOp.GT, CompareOp.GE)


@rule(Compare, InList)
def unwrap_cast_in_comparison(expr: Compare | InList, context: OptimizerContext) -> Expr | None:
    """The constant is converted instead of every row.

        CAST(d AS TIMESTAMP) < TIMESTAMP '1995-01-01 00:00:00'   ⇒   d < DATE '1995-01-01'
        CAST(i AS BIGINT) = 5                                    ⇒   i = 5
        CAST(x AS DECIMAL(10,2)) < 2.50                          ⇒   x <= 2     (x an integer)
        5 > a                                                    ⇒   a < 5

    Only for casts that keep every value and its order, so none that can raise, or gives NULL instead. An equality with a
    constant that no value of the column has stays as it is: it is false or NULL.
    """
    if isinstance(expr, InList):
        return _unwrap_in_list(expr)
    left, right, op = expr.left, expr.right, expr.op
    if isinstance(left, Literal) and not isinstance(right, Literal):
        return Compare(BOOLEAN, MIRRORED[op], right, left)
    if not isinstance(left, Cast) or not isinstance(right, Literal) or right.value is None or not _keeps_values(left):
        return None
    converted = _convert(right, left.operand.dtype)
    if converted is None:
        return None
    literal, exact = converted
    if not exact:
        if op in _BELOW:
            op = CompareOp.LE
        elif op in _ABOVE:
            op = CompareOp.GT
        else:
            return None
    return Compare(BOOLEAN, op, left.operand, literal)


def _keeps_values(cast: Cast) -> bool:
    return not can_raise(cast.replace(lenient=False) if cast.lenient else cast)


def _unwrap_in_list(expr: InList) -> Expr | None:
    needle = expr.needle
    if not isinstance(needle, Cast) or not _keeps_values(needle):
        return None
    options: list[Expr] = []
    for option in expr.options:
        if not isinstance(option, Literal) or option.value is None:
            return None
        converted = _convert(option, needle.operand.dtype)
        if converted is None or not converted[1]:
            return None
        options.append(converted[0])
    return InList(BOOLEAN, needle.operand, tuple(options))


def _convert(literal: Literal, dtype: DType) -> tuple[Literal, bool] | None:
    """The greatest value of `dtype` that is not above the literal, and whether it is the literal."""
    if literal.dtype == TIMESTAMP and dtype == DATE and isinstance(literal.value, datetime.datetime):
        moment = literal.value
        return Literal(DATE, moment.date()), moment.time() == datetime.time()
    if not (is_exact(literal.dtype) and is_exact(dtype)) or scale_of(literal.dtype) < scale_of(dtype):
        return None
    factor = 10 ** (scale_of(literal.dtype) - scale_of(dtype))
    floor, rest = divmod(scaled_value(literal.value, literal.dtype), factor)
    converted = exact_literal(floor, dtype)
    return None if converted is None else (converted, rest == 0)

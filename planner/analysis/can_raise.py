"""Whether evaluating an expression can be an error for some row.

Such an expression must never see rows that it did not see where the user wrote it. The answer is by type and by the intervals
that types imply, never by statistics: a claim of a file must not decide what is an error.
"""

from __future__ import annotations

from planner.analysis.intervals import Interval, checked_interval, expression_interval, type_interval
from planner.analysis.keys import at_most_one_row
from planner.analysis.per_node import per_node
from planner.dtypes import (
    BLOB,
    BOOLEAN,
    DOUBLE,
    NULL,
    REAL,
    VARCHAR,
    DecimalType,
    DType,
    is_exact,
    is_float,
    is_temporal,
    scale_of,
)
from planner.expr.functions import FUNCTIONS, WINDOW_FUNCTIONS
from planner.expr.nodes import AggregateCall, And, Call, Cast, Expr, Literal, Or, ScalarSubquery, WindowCall
from planner.join_kind import JoinKind
from planner.logical.nodes import DependentJoin, Join, LogicalPlan
from planner.tree import Node, kind_mask, walk

ROWS = 2**62
"""No operator handles more rows than this, so no sum has more terms."""

_DEEP = 100
"""Intervals are computed recursively; deeper arithmetic counts as able to raise."""

_RAISERS = kind_mask(Call, Cast, AggregateCall, WindowCall, ScalarSubquery, Join, DependentJoin)
_ARITHMETIC = frozenset(("add", "subtract", "multiply", "negate", "abs"))
_DIVISIONS = frozenset(("divide", "integer_divide", "modulo"))


@per_node
def can_raise(node: Node) -> bool:
    """Whether some input makes the expression (or any expression of the plan) an error."""
    if not node.kinds & _RAISERS:
        return False
    if isinstance(node, (And, Or)):  # each term is known by itself: rules build long conjunctions piece by piece
        return any(can_raise(term) for term in node.terms)
    candidates = list(walk(node, _RAISERS))
    if len(candidates) > _DEEP and _depth(node) > _DEEP:
        return True
    return any(_raises(candidate) for candidate in candidates)


def _raises(node: Node) -> bool:
    match node:
        case Call():
            return _call_raises(node)
        case Cast():
            return not node.lenient and _cast_raises(node)
        case AggregateCall():
            return _aggregate_raises(node)
        case WindowCall():
            if node.function in WINDOW_FUNCTIONS:
                return node.function == "ntile"  # into no tiles
            return _aggregate_raises(AggregateCall(node.dtype, node.function, node.arguments))
        case ScalarSubquery():
            return not (isinstance(node.plan, LogicalPlan) and at_most_one_row(node.plan))
        case Join() | DependentJoin():
            return node.kind is JoinKind.SINGLE and not at_most_one_row(node.right)
    return False


def _call_raises(call: Call) -> bool:
    if not FUNCTIONS[call.function].can_raise:
        return False
    if call.function in _ARITHMETIC:
        return is_exact(call.dtype) and not _fits(expression_interval(call, {}), call.dtype)
    if call.function in _DIVISIONS:
        return is_exact(call.dtype) and _division_raises(call)
    return not _harmless(call)


_SHORT = 10_000


def _harmless(call: Call) -> bool:
    """Whether the constant arguments of a call keep it from failing, whatever the others are."""
    match call.function, call.arguments:
        case ("lpad" | "rpad", (_, Literal(value=int(length)), Literal(value=str(fill)))):
            return length <= _SHORT and bool(fill)
        case ("repeat", (_, Literal(value=int(times)))):
            return times <= 1
        case ("make_timestamp", (_,)):
            return True
    return False


def _division_raises(call: Call) -> bool:
    dividend, divisor = call.arguments
    interval = checked_interval(divisor, {})
    if interval is None or interval.low <= 0 <= interval.high:
        return True
    if call.function == "integer_divide" and interval.low > 0:
        return not _fits(checked_interval(dividend, {}), call.dtype)  # a positive divisor brings a value nearer to zero
    if call.function != "divide":
        return not _fits(expression_interval(call, {}), call.dtype)
    # |quotient| < 10**(digits before the point of the dividend) / 10**-(scale of the divisor)
    digits = len(str(10 ** _digits(dividend.dtype))) - 1 - scale_of(dividend.dtype) + scale_of(divisor.dtype)
    return not (isinstance(call.dtype, DecimalType) and digits + call.dtype.scale <= call.dtype.precision)


def _digits(dtype: DType) -> int:
    limit = type_interval(dtype)
    return 38 if limit is None else len(str(limit.magnitude))


def _cast_raises(cast: Cast) -> bool:
    source, target = cast.operand.dtype, cast.dtype
    if source in (target, NULL) or target in (VARCHAR, BLOB):
        return False
    if is_exact(source) and is_exact(target):
        return not _fits(expression_interval(cast, {}), target)
    if is_float(target):
        return not (is_exact(source) or source == BOOLEAN or (source == REAL and target == DOUBLE))
    if target == BOOLEAN:
        return source == VARCHAR
    # A date beyond the year 294246 has no timestamp; such dates are not worth keeping every comparison from moving.
    return not ((source == BOOLEAN and is_exact(target)) or (is_temporal(source) and is_temporal(target)))


def _aggregate_raises(call: AggregateCall) -> bool:
    if not is_exact(call.dtype) or call.function not in ("sum", "avg"):
        return False
    argument: Expr = call.arguments[0]
    interval = checked_interval(argument, {})
    if interval is None:
        return True
    if call.function == "avg":
        factor = 10 ** max(0, scale_of(call.dtype) - scale_of(argument.dtype))
        return not _fits(Interval(interval.low * factor, interval.high * factor), call.dtype)
    return not _fits(Interval(min(0, interval.low * ROWS), max(0, interval.high * ROWS)), call.dtype)


def _fits(interval: Interval | None, dtype: DType) -> bool:
    limit = type_interval(dtype)
    return interval is not None and limit is not None and interval.within(limit.low, limit.high)


def _depth(node: Node) -> int:
    """The length of the longest path below a node, up to a little more than is asked for."""
    level = [node]
    depth = 0
    while level and depth <= _DEEP:
        depth += 1
        level = list({id(child): child for parent in level for child in parent.children}.values())
    return depth

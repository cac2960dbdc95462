"""Scalar functions: argument and result types, by theme. CASE and the casts are here too, since they read like functions."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import Call, Case, Cast, CompareOp, Expr, Literal
from planner.sql.arithmetic import arithmetic
from planner.sql.bind_calls import bind_call, now
from planner.sql.bind_operators import compare, concatenation
from planner.sql.coercion import cast_to, literal_text, to_boolean, to_text, unify
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression, handles, unknown_function
from planner.sql.literals import convert, interval_of, parse_interval
from planner.sql.positions import function_name, text_of
from planner.sql.scope import Scope
from planner.sql.signatures import SIGNATURES
from planner.sql.signatures.dates import PARTS, TIME_PARTS, extraction
from planner.sql.type_names import bind_type

# ------------------------------------------------------------------------------------------------------------ conditional


@handles(exp.Case, args="this ifs default")
def bind_case(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    base_node = node.this
    base = bind_expression(context, scope, base_node) if base_node is not None else None
    conditions, results, nodes = [], [], []
    for branch in node.args["ifs"]:
        condition_node, result_node = branch.this, branch.args["true"]
        condition = bind_expression(context, scope, condition_node)
        if base is not None:
            context.count_copies(base, base_node)
            condition = compare(context, CompareOp.EQ, base, condition, base_node, condition_node)
        conditions.append(to_boolean(context, condition, "WHEN", condition_node))
        results.append(bind_expression(context, scope, result_node))
        nodes.append(result_node)
    default = node.args.get("default")
    results.append(bind_expression(context, scope, default) if default is not None else Literal(t.NULL, None))
    nodes.append(default if default is not None else node)
    *unified, otherwise = unify(context, results, nodes, "CASE")
    return Case(otherwise.dtype, tuple(conditions), tuple(unified), otherwise)


@handles(exp.If, args="this true false")
def bind_if(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    condition = to_boolean(context, bind_expression(context, scope, node.this), "IF", node.this)
    then_node, else_node = node.args["true"], node.args.get("false")
    otherwise: Expr = bind_expression(context, scope, else_node) if else_node is not None else Literal(t.NULL, None)
    results = (bind_expression(context, scope, then_node), otherwise)
    then, otherwise = unify(context, results, (then_node, else_node or node), "IF")
    return Case(then.dtype, (condition,), (then,), otherwise)


@handles(exp.Coalesce, args="this expressions")
def bind_coalesce(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    nodes = [node.this, *node.expressions]
    bound = unify(context, [bind_expression(context, scope, part) for part in nodes], nodes, "COALESCE")
    return bound[0] if len(bound) == 1 else Call(bound[0].dtype, "coalesce", tuple(bound))


@handles(exp.Nullif, args="this expression")
def bind_nullif(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """The first argument, in its own type, unless it equals the second one."""
    nodes = (node.this, node.args["expression"])
    value, other = (bind_expression(context, scope, part) for part in nodes)
    left, right = unify(context, (value, other), nodes, "NULLIF", comparing=True)
    if left.dtype == value.dtype:
        return Call(value.dtype, "nullif", (left, right))
    context.count_copies(value, node.this)
    equal = compare(context, CompareOp.EQ, left, right, *nodes)
    return Case(value.dtype, (equal,), (Literal(value.dtype, None),), value)


# ------------------------------------------------------------------------------------------------------------------ casts


@handles(exp.Cast, exp.TryCast, args="this to safe")
def bind_cast(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    operand = bind_expression(context, scope, node.this)
    return explicit_cast(context, operand, bind_type(context, node.args["to"], node), isinstance(node, exp.TryCast), node)


@handles(exp.TsOrDsToDate, args="this")
def bind_to_date(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """What some dialects wrap around the argument of YEAR and its like: text, date or timestamp to date."""
    return explicit_cast(context, bind_expression(context, scope, node.this), t.DATE, False, node)


def explicit_cast(context: BindContext, operand: Expr, dtype: t.DType, lenient: bool, node: exp.Expr) -> Expr:
    """CAST or TRY_CAST. A constant is converted at once. Raises TYPE_MISMATCH where no value could be converted."""
    if not _castable(operand.dtype, dtype):
        raise context.error("TYPE_MISMATCH", node, what=f"CAST to {dtype}", types=operand.dtype)
    if not lenient:
        return cast_to(context, operand, dtype, node)
    if not isinstance(operand, Literal) or operand.dtype == dtype:
        return operand if operand.dtype == dtype else Cast(dtype, operand, True)
    try:
        return Literal(dtype, convert(operand.value, operand.dtype, dtype))
    except LookupError:
        return Cast(dtype, operand, True)
    except (ValueError, ArithmeticError):
        return Literal(dtype, None)


def _castable(source: t.DType, target: t.DType) -> bool:
    if source == target or source == t.NULL or t.VARCHAR in (source, target):
        return True
    if t.INTERVAL in (source, target):
        return False
    numbers = (t.is_numeric(source) or source == t.BOOLEAN) and (t.is_numeric(target) or target == t.BOOLEAN)
    moments = t.is_temporal(source) and t.is_temporal(target) and (source, target) not in ((t.DATE, t.TIME), (t.TIME, t.DATE))
    return numbers or (moments and t.TIME not in (source, target)) or (target == t.TIME and t.is_temporal(source))


@handles(exp.Interval, args="this unit")
def bind_interval(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """INTERVAL '1' DAY, INTERVAL 1 DAY, INTERVAL '1 day 2 hours'."""
    amount, unit = node.this, node.args.get("unit")
    value = bind_expression(context, scope, amount) if amount is not None else Literal(t.NULL, None)
    if not isinstance(value, Literal) or value.value is None:
        raise context.unsupported("an INTERVAL that is not constant", node)
    text = literal_text(value)
    if isinstance(amount, exp.Literal) and unit is not None and "start" not in amount.meta:
        text, unit = _whole_interval(context, node, text, unit), None
    try:
        if unit is None:
            return Literal(t.INTERVAL, parse_interval(text))
        if not isinstance(unit, exp.Var):
            raise context.unsupported("an INTERVAL from one unit to another", node)
        return Literal(t.INTERVAL, interval_of(Decimal(text.strip()), unit.name))
    except (ValueError, InvalidOperation):
        written = f"{text} {unit.name}" if unit is not None else text
        raise context.error("INVALID_LITERAL", node, text=written, dtype=t.INTERVAL) from None


def _whole_interval(context: BindContext, node: exp.Expr, amount: str, unit: exp.Expr) -> str:
    """The text of INTERVAL '1 day 02:00:00', of which sqlglot keeps '1' and DAY and drops the rest without a word.

    The tree holds no position then, and neither does that of INTERVAL 1 DAY, so both are looked up in the query's text. Raises
    UNSUPPORTED if it may be one of two.
    """
    written = _spelled_intervals(text_of(context.text, node)).get((amount, unit.name.lower()), set())
    if len(written) > 1:
        raise context.unsupported("several INTERVAL constants that begin alike", node, instead="INTERVAL '1' DAY works")
    return min(written, default=f"{amount} {unit.name}")


@lru_cache(maxsize=8)
def _spelled_intervals(text: str) -> dict[tuple[str, str], set[str]]:
    """The INTERVAL constants of a text by their first amount and unit."""
    found: dict[tuple[str, str], set[str]] = {}
    for quoted, plain in re.findall(r"\binterval\s+(?:'([^']*)'|([\d.]+\s*[a-z]+))", text, re.IGNORECASE):
        written = " ".join((quoted or plain).lower().split())
        if beginning := re.match(r"(-?[\d.]+)\s*([a-z]+)", written):
            found.setdefault((beginning[1], beginning[2]), set()).add(written)
    return found


# ------------------------------------------------------------------------------------------------------------------- text


def _text_argument(context: BindContext, scope: Scope, part: exp.Expr, node: exp.Expr) -> Expr:
    return to_text(context, bind_expression(context, scope, part), function_name(context.text, node), part)


def _integer_argument(context: BindContext, scope: Scope, part: exp.Expr, node: exp.Expr) -> Expr:
    bound = bind_expression(context, scope, part)
    if not (t.is_integer(bound.dtype) or bound.dtype == t.NULL):
        raise context.error("TYPE_MISMATCH", part, what=function_name(context.text, node), types=bound.dtype)
    return cast_to(context, bound, t.BIGINT, part)


@handles(exp.Upper, args="this")
def bind_upper(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return Call(t.VARCHAR, "upper", (_text_argument(context, scope, node.this, node),))


@handles(exp.Lower, args="this")
def bind_lower(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return Call(t.VARCHAR, "lower", (_text_argument(context, scope, node.this, node),))


@handles(exp.Length, args="this")
def bind_length(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return Call(t.BIGINT, "length", (_text_argument(context, scope, node.this, node),))


@handles(exp.Substring, args="this start length zero_start")
def bind_substring(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    start, length = node.args.get("start"), node.args.get("length")
    if start is None:
        expected = "a text, a start and optionally a length"
        raise context.error("WRONG_ARGUMENTS", node, name="substring", expected=expected, given="one argument")
    arguments = [_text_argument(context, scope, node.this, node), _integer_argument(context, scope, start, node)]
    if node.args.get("zero_start") and not (isinstance(arguments[1], Literal) and arguments[1].value):
        raise context.unsupported("a SUBSTRING of this dialect that may start at 0", start)
    if length is not None:
        arguments.append(_integer_argument(context, scope, length, node))
    return Call(t.VARCHAR, "substring", tuple(arguments))


@handles(exp.Concat, args="expressions safe coalesce")
def bind_concat(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """CONCAT; whether NULL arguments are left out or make the result NULL is up to the dialect."""
    nodes = node.expressions
    operands = [bind_expression(context, scope, part) for part in nodes]
    if node.args.get("coalesce"):
        empty = Literal(t.VARCHAR, "")
        texts = [cast_to(context, operand, t.VARCHAR, part) for operand, part in zip(operands, nodes, strict=True)]
        operands = [
            text if isinstance(text, Literal) and text.value else Call(t.VARCHAR, "coalesce", (text, empty)) for text in texts
        ]
    return concatenation(context, operands, nodes)


# ---------------------------------------------------------------------------------------------------------------- numbers


def _number_argument(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    bound = bind_expression(context, scope, node.this)
    if bound.dtype == t.NULL:
        return cast_to(context, bound, t.INTEGER, node.this)
    if not t.is_numeric(bound.dtype):
        raise context.error("TYPE_MISMATCH", node.this, what=function_name(context.text, node), types=bound.dtype)
    return bound


@handles(exp.Abs, args="this")
def bind_abs(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    if node.this is None:  # sqlglot lets the operator @ stand alone
        raise context.error("SYNTAX", node, detail="something is missing after '@'")
    number = _number_argument(context, scope, node)
    return Call(number.dtype, "abs", (number,))


@handles(exp.Floor, args="this")
def bind_floor(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return _whole(context, scope, node, "floor")


@handles(exp.Ceil, args="this")
def bind_ceil(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return _whole(context, scope, node, "ceil")


def _whole(context: BindContext, scope: Scope, node: exp.Expr, function: str) -> Expr:
    """FLOOR and CEIL: a decimal without scale, DOUBLE for integers as in DuckDB."""
    number = _number_argument(context, scope, node)
    if t.is_integer(number.dtype):
        number = cast_to(context, number, t.DOUBLE, node.this)
    dtype = t.decimal(number.dtype.precision, 0) if isinstance(number.dtype, t.DecimalType) else number.dtype
    return Call(dtype, function, (number,))


@handles(exp.Round, args="this decimals")
def bind_round(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """ROUND(x) and ROUND(x, digits) with a constant number of digits."""
    number = _number_argument(context, scope, node)
    digits_node = node.args.get("decimals")
    digits: Expr = bind_expression(context, scope, digits_node) if digits_node is not None else Literal(t.INTEGER, 0)
    if not (isinstance(digits, Literal) and digits.dtype == t.INTEGER and digits.value is not None):
        raise context.unsupported("a number of digits that is not a constant integer", digits_node or node)
    dtype = number.dtype
    if isinstance(dtype, t.DecimalType):
        if digits.value >= dtype.scale:
            return number
        dtype = t.decimal(dtype.precision, max(0, digits.value))
    elif t.is_integer(dtype) and digits.value >= 0:
        return number
    return Call(dtype, "round", (number, digits))


# ------------------------------------------------------------------------------------------------------------------ dates


@handles(exp.Extract, args="this expression")
def bind_extract(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return _extract(context, scope, node.this.name, node.args["expression"], node)


@handles(exp.Year, exp.Quarter, exp.Month, exp.Week, exp.Day, exp.Hour, exp.Minute, exp.Second, args="this")
def bind_date_part_function(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return _extract(context, scope, node.key, node.this, node)


def _extract(context: BindContext, scope: Scope, written: str, operand: exp.Expr, node: exp.Expr) -> Expr:
    """Part of a date or timestamp: BIGINT, but DOUBLE for the seconds of the epoch."""
    part = PARTS.get(written.lower())
    if part is None:
        raise context.unsupported(f"the date part {written!r}", node, instead="year, quarter, month, week and day work")
    moment = bind_expression(context, scope, operand)
    if moment.dtype in (t.NULL, t.VARCHAR) and isinstance(moment, Literal):
        moment = cast_to(context, moment, t.TIMESTAMP if part in TIME_PARTS else t.DATE, operand)
    if moment.dtype not in (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ):
        raise context.error("TYPE_MISMATCH", operand, what=f"extract({part})", types=moment.dtype)
    return extraction(part, moment)


@handles(exp.DateAdd, exp.TsOrDsAdd, exp.DateSub, args="this expression unit")
def bind_date_add(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """DATE_ADD and DATE_SUB of the dialects that have them."""
    amount = node.args["expression"]
    if not isinstance(amount, exp.Interval):
        amount = exp.Interval(this=amount.copy(), unit=node.args.get("unit"))
    span = bind_interval(context, scope, amount)
    function = "subtract" if isinstance(node, exp.DateSub) else "add"
    return arithmetic(context, function, bind_expression(context, scope, node.this), span, node)


# -------------------------------------------------------------------------------------------------------- any other name


def _count(arguments: list[exp.Expr]) -> str:
    return f"{len(arguments)} arguments" if len(arguments) != 2 else "a part that is not constant"


@handles(exp.Anonymous, args="this expressions")
def bind_named_function(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """Functions that sqlglot has no class for. Raises UNKNOWN_FUNCTION."""
    name = str(node.this).lower()
    if name in ("now", "get_current_timestamp") and not node.expressions:
        return now(context, exp.CurrentTimestamp)
    if name in SIGNATURES:
        return bind_call(context, scope, node, name, node.expressions)
    if name not in ("date_part", "datepart"):
        raise unknown_function(context, node)
    arguments = node.expressions
    part = arguments[0] if arguments else None
    if len(arguments) != 2 or not isinstance(part, exp.Literal) or not part.args["is_string"]:
        expected = "a constant part and a date or timestamp"
        raise context.error("WRONG_ARGUMENTS", node, name=name, expected=expected, given=_count(arguments))
    return _extract(context, scope, part.this, arguments[1], node)

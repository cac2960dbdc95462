"""Calls of the functions in `planner.sql.signatures`, however sqlglot spells them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import Expr, Literal
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression, handles, refuse_arguments
from planner.sql.positions import function_name
from planner.sql.scope import Scope
from planner.sql.signatures import SIGNATURES

_CLASSES: dict[type[exp.Expr], tuple[str, str]] = {
    # texts
    exp.Left: ("left", "this expression"),
    exp.Right: ("right", "this expression"),
    exp.Replace: ("replace", "this expression replacement"),
    exp.Translate: ("translate", "this from_ to"),
    exp.StrPosition: ("strpos", "this substr"),
    exp.Reverse: ("reverse", "this"),
    exp.Repeat: ("repeat", "this times"),
    exp.SplitPart: ("split_part", "this delimiter part_index"),
    exp.StartsWith: ("starts_with", "this expression"),
    exp.EndsWith: ("ends_with", "this expression"),
    exp.Contains: ("contains", "this expression"),
    exp.Ascii: ("ascii", "this"),
    exp.Unicode: ("unicode", "this"),
    exp.Chr: ("chr", "expressions"),
    exp.BitLength: ("bit_length", "this"),
    exp.MD5: ("md5", "this"),
    exp.Hex: ("hex", "this"),
    exp.RegexpFullMatch: ("regexp_full_match", "this expression options"),
    # numbers
    exp.Sqrt: ("sqrt", "this"),
    exp.Cbrt: ("cbrt", "this"),
    exp.Exp: ("exp", "this"),
    exp.Ln: ("ln", "this"),
    exp.Log: ("log", "this expression"),
    exp.Degrees: ("degrees", "this"),
    exp.Radians: ("radians", "this"),
    exp.Sin: ("sin", "this"),
    exp.Cos: ("cos", "this"),
    exp.Tan: ("tan", "this"),
    exp.Asin: ("asin", "this"),
    exp.Acos: ("acos", "this"),
    exp.Atan: ("atan", "this"),
    exp.Atan2: ("atan2", "this expression"),
    exp.Sinh: ("sinh", "this"),
    exp.Cosh: ("cosh", "this"),
    exp.Tanh: ("tanh", "this"),
    exp.Pow: ("power", "this expression"),
    exp.Pi: ("pi", ""),
    exp.Sign: ("sign", "this"),
    exp.Trunc: ("trunc", "this decimals"),
    exp.IsNan: ("isnan", "this"),
    exp.IsInf: ("isinf", "this"),
    exp.BitwiseAnd: ("bit_and", "this expression"),
    exp.BitwiseOr: ("bit_or", "this expression"),
    exp.BitwiseXor: ("xor", "this expression"),
    exp.BitwiseNot: ("bit_not", "this"),
    exp.Typeof: ("typeof", "this"),
    exp.Nvl2: ("nvl2", "this true false"),
    # dates
    exp.DayOfMonth: ("dayofmonth", "this"),
    exp.DayOfWeek: ("dayofweek", "this"),
    exp.DayOfWeekIso: ("isodow", "this"),
    exp.DayOfYear: ("dayofyear", "this"),
    exp.WeekOfYear: ("weekofyear", "this"),
    exp.TimeToUnix: ("epoch", "this"),
    exp.LastDay: ("last_day", "this"),
    exp.Dayname: ("dayname", "this"),
    exp.Monthname: ("monthname", "this"),
    exp.DateFromParts: ("make_date", "year month day"),
    exp.TimestampFromParts: ("make_timestamp", "year month day hour min sec"),
    exp.TimeToStr: ("strftime", "this format"),
}
"""The signature that a class of syntax nodes stands for, and which of its arguments are those of the function, in order."""


def bind_call(context: BindContext, scope: Scope, node: exp.Expr, name: str, parts: Sequence[exp.Expr]) -> Expr:
    """A call of a signature by its name, with the syntax of its arguments."""
    values = [bind_expression(context, scope, part) for part in parts]
    return SIGNATURES[name].bind(context, name, values, parts, node)


def _parts(node: exp.Expr, keys: str) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    for key in keys.split():
        value = node.args.get(key)
        found.extend(value if isinstance(value, list) else [value] if value is not None else [])
    return found


@handles(*_CLASSES, args=None)
def bind_named_class(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    name, keys = _CLASSES[type(node)]
    refuse_arguments(context, node, keys.split())
    return bind_call(context, scope, node, name, _parts(node, keys))


@handles(exp.Greatest, exp.Least, args="this expressions ignore_nulls")
def bind_greatest(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """NULLs are left out, as in DuckDB; the dialects in which one makes the result NULL are refused."""
    name = "greatest" if isinstance(node, exp.Greatest) else "least"
    if not node.args.get("ignore_nulls"):
        raise context.unsupported(f"{name} that is NULL if one argument is", node)
    return bind_call(context, scope, node, name, _parts(node, "this expressions"))


@handles(exp.Pad, args="this expression fill_pattern is_left")
def bind_pad(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    name = "lpad" if node.args.get("is_left") else "rpad"
    return bind_call(context, scope, node, name, _parts(node, "this expression fill_pattern"))


@handles(exp.Trim, args="this expression position")
def bind_trim(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.args.get("position") or "", "trim")
    return bind_call(context, scope, node, name, _parts(node, "this expression"))


@handles(exp.ConcatWs, args="expressions safe coalesce")
def bind_concat_ws(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return bind_call(context, scope, node, "concat_ws", node.expressions)


@handles(exp.RegexpLike, args="this expression flag")
def bind_regexp_matches(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """The function finds its pattern anywhere, the operator ~ of DuckDB matches the whole text; the tree is the same."""
    called = "start" in node.meta or function_name(context.text, node).startswith("regexp")
    name = "regexp_matches" if called or context.dialect != "duckdb" else "regexp_full_match"
    return bind_call(context, scope, node, name, _parts(node, "this expression flag"))


@handles(exp.RegexpReplace, args="this expression replacement modifiers single_replace")
def bind_regexp_replace(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    if not node.args.get("single_replace"):
        raise context.unsupported("REGEXP_REPLACE of this dialect", node)
    return bind_call(context, scope, node, "regexp_replace", _parts(node, "this expression replacement modifiers"))


@handles(exp.RegexpExtract, args="this expression group parameters null_if_pos_overflow")
def bind_regexp_extract(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return bind_call(context, scope, node, "regexp_extract", _parts(node, "this expression group parameters"))


def _unit(node: exp.Expr) -> exp.Expr:
    """A date part, which sqlglot makes a word of, as the text that it was."""
    unit = node.args["unit"]
    literal = exp.Literal.string(unit.name) if isinstance(unit, exp.Var) else unit
    literal.meta.update(unit.meta)
    return literal


@handles(exp.TimestampTrunc, exp.DateTrunc, args="this unit unabbreviate")
def bind_date_trunc(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return bind_call(context, scope, node, "date_trunc", [_unit(node), node.this])


@handles(exp.DateDiff, args="this expression unit date_part_boundary")
def bind_date_diff(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    if not node.args.get("date_part_boundary") and context.dialect != "duckdb":
        raise context.unsupported("DATEDIFF of this dialect", node)
    return bind_call(context, scope, node, "date_diff", [_unit(node), node.args["expression"], node.this])


_BY_SCALE = {"": "to_timestamp", "3": "epoch_ms", "6": "make_timestamp"}


@handles(exp.UnixToTime, args="this scale")
def bind_from_epoch(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    scale = node.args.get("scale")
    name = _BY_SCALE.get(scale.name if scale is not None else "")
    if name is None:
        raise context.unsupported("this unit of time since the epoch", node)
    return bind_call(context, scope, node, name, [node.this])


@handles(exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp, args="")
def bind_now(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """The beginning of the statement, a constant of it: no task looks at a clock of its own."""
    return now(context, type(node))


def now(context: BindContext, kind: type[exp.Expr]) -> Expr:
    if kind is exp.CurrentTimestamp:
        return Literal(t.TIMESTAMPTZ, context.now.astimezone(datetime.UTC))
    local = context.now.replace(tzinfo=None)
    return Literal(t.TIMESTAMP, local) if kind is exp.Localtimestamp else Literal(t.DATE, local.date())

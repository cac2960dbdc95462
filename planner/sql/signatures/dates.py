"""Functions of dates and timestamps."""

from __future__ import annotations

from planner import dtypes as t
from planner.expr.nodes import Call, Cast, Expr, Literal
from planner.sql.signatures.signature import Arguments, Signature

PARTS = {
    name: part
    for part, names in {
        "year": "year years y yr yrs", "quarter": "quarter quarters", "month": "month months mon mons",
        "week": "week weeks w weekofyear", "day": "day days d dayofmonth", "dow": "dow dayofweek weekday", "isodow": "isodow",
        "doy": "doy dayofyear", "epoch": "epoch", "isoyear": "isoyear", "yearweek": "yearweek", "decade": "decade decades dec",
        "century": "century centuries cent", "millennium": "millennium millenniums millennia mil", "hour": "hour hours h hr",
        "minute": "minute minutes m min mins", "second": "second seconds s sec secs",
        "millisecond": "millisecond milliseconds ms msec", "microsecond": "microsecond microseconds us usec",
    }.items()
    for name in names.split()
}  # fmt: skip
"""The part of a date or timestamp that a name means."""

TIME_PARTS = frozenset(("hour", "minute", "second", "millisecond", "microsecond"))
_TRUNCATED = frozenset(PARTS.values()) - {"dow", "isodow", "doy", "epoch", "isoyear", "yearweek"}


def part_of(arguments: Arguments, written: str, allowed: frozenset[str]) -> str:
    part = PARTS.get(written.lower())
    if part is None or part not in allowed:
        instead = "year, quarter, month, week and day work"
        raise arguments.context.unsupported(f"the date part {written!r}", arguments.node, instead=instead)
    return part


def extraction(part: str, moment: Expr) -> Expr:
    """A part of a moment: BIGINT, but DOUBLE for the seconds of the epoch."""
    if moment.dtype == t.DATE and part in TIME_PARTS:
        moment = Cast(t.TIMESTAMP, moment)
    return Call(t.DOUBLE if part == "epoch" else t.BIGINT, "extract", (Literal(t.VARCHAR, part), moment))


def _extract(part: str) -> Signature:
    return Signature("extract", ("moment",), t.BIGINT, build=lambda arguments: extraction(part, arguments.values[0]))


def _as_timestamp(moment: Expr) -> Expr:
    return Cast(t.TIMESTAMP, moment) if moment.dtype == t.DATE else moment


def _date_trunc(arguments: Arguments) -> Expr:
    """The beginning of the year, month and so on that a moment lies in, as a timestamp."""
    written = arguments.constant(0, str, "a date part")
    moment = _as_timestamp(arguments.values[1])
    part = part_of(arguments, str(written), _TRUNCATED)
    return Call(moment.dtype, "date_trunc", (Literal(t.VARCHAR, part), moment))


def _date_diff(arguments: Arguments) -> Expr:
    """How many borders between years, months and so on lie between two moments."""
    written = arguments.constant(0, str, "a date part")
    part = part_of(arguments, str(written), _TRUNCATED)
    first, last = arguments.values[1:]
    if first.dtype != last.dtype:
        first, last = _as_timestamp(first), _as_timestamp(last)
    if first.dtype != last.dtype:
        types = f"{first.dtype} and {last.dtype}"
        raise arguments.context.error("TYPE_MISMATCH", arguments.node, what="date_diff", types=types)
    if part in TIME_PARTS:
        first, last = _as_timestamp(first), _as_timestamp(last)
    return Call(t.BIGINT, "date_diff", (Literal(t.VARCHAR, part), first, last))


def _last_day(arguments: Arguments) -> Expr:
    moment = arguments.values[0]
    return Call(t.DATE, "last_day", (moment if moment.dtype == t.DATE else Cast(t.DATE, moment),))


def _epoch_milliseconds(arguments: Arguments) -> Expr:
    """Of a moment its milliseconds, of a number of milliseconds its moment."""
    value = arguments.values[0]
    if t.is_integer(value.dtype):
        micros = Call(t.BIGINT, "multiply", (_big(value), Literal(t.BIGINT, 1000)))
        return Call(t.TIMESTAMP, "make_timestamp", (micros,))
    return _epoch("epoch_ms", arguments)


def _big(value: Expr) -> Expr:
    return value if value.dtype == t.BIGINT else Cast(t.BIGINT, value)


def _epoch(function: str, arguments: Arguments) -> Expr:
    moment = arguments.values[0]
    if moment.dtype not in (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ):
        raise arguments.context.error("TYPE_MISMATCH", arguments.node, what=function, types=moment.dtype)
    return Call(t.BIGINT, function, (_as_timestamp(moment),))


def _strftime(arguments: Arguments) -> Expr:
    """The moment and the format may come in either order; the format is constant."""
    moment, form = arguments.values
    at = 1
    if moment.dtype == t.VARCHAR:
        moment, form, at = form, moment, 0
    if moment.dtype not in (t.DATE, t.TIMESTAMP) or form.dtype not in (t.VARCHAR, t.NULL):
        types = f"{moment.dtype} and {form.dtype}"
        raise arguments.context.error("TYPE_MISMATCH", arguments.node, what="strftime", types=types)
    given = arguments.constant(at, str, "a format")
    if isinstance(given, str):
        _check_format(arguments, given, at)
    return Call(t.VARCHAR, "strftime", (_as_timestamp(moment), Literal(t.VARCHAR, given)))


FORMAT_DIRECTIVES = frozenset("aAbBcdfgGHIjmMnpSuUVwWxXyYzZ%") | {f"-{letter}" for letter in "dmHIMSj"}


def _check_format(arguments: Arguments, form: str, at: int) -> None:
    position = 0
    while position < len(form):
        if form[position] != "%":
            position += 1
            continue
        length = 2 if form[position + 1 : position + 2] == "-" else 1
        directive = form[position + 1 : position + 1 + length]
        if directive not in FORMAT_DIRECTIVES:
            raise arguments.context.unsupported(f"the format %{directive}", arguments.nodes[at])
        position += 1 + length


def _date_name(function: str) -> Signature:
    return Signature(function, ("moment",), t.VARCHAR)


_DIFF = Signature("date_diff", ("text", "moment", "moment"), t.BIGINT, build=_date_diff)
_TRUNC = Signature("date_trunc", ("text", "moment"), t.TIMESTAMP, build=_date_trunc)

DATES: dict[str, Signature] = {
    **{name: _extract(PARTS[name]) for name in (
        "year", "quarter", "month", "week", "weekofyear", "day", "dayofmonth", "dayofweek", "weekday", "isodow", "dayofyear",
        "isoyear", "yearweek", "decade", "century", "millennium", "hour", "minute", "second", "millisecond", "microsecond",
        "epoch",
    )},
    "date_trunc": _TRUNC,
    "datetrunc": _TRUNC,
    "date_diff": _DIFF,
    "datediff": _DIFF,
    "last_day": Signature("last_day", ("moment",), t.DATE, build=_last_day),
    "dayname": _date_name("dayname"),
    "monthname": _date_name("monthname"),
    "make_date": Signature("make_date", ("integer", "integer", "integer"), t.DATE),
    "make_timestamp": Signature(
        "make_timestamp", ("integer", "integer", "integer", "integer", "integer", "double"), t.TIMESTAMP, 1
    ),
    "epoch_ms": Signature("epoch_ms", ("any",), t.BIGINT, build=_epoch_milliseconds),
    "epoch_us": Signature("epoch_us", ("moment",), t.BIGINT, build=lambda arguments: _epoch("epoch_us", arguments)),
    "strftime": Signature("strftime", ("any", "any"), t.VARCHAR, build=_strftime),
    "to_timestamp": Signature("to_timestamp", ("double",), t.TIMESTAMPTZ),
}  # fmt: skip

"""A tiny and slow executor of logical plans, by the book: nested loops over lists of Python values.

It takes plans with or without subquery expressions and dependent joins, so a plan can be run before and after the optimizer.
Nothing
of the engine is used, apart from the node classes.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from planner.dtypes import BOOLEAN, DATE, DOUBLE, REAL, TIMESTAMP, VARCHAR, DecimalType, is_exact, value_range
from planner.errors import error
from planner.expr.nodes import (
    AggregateCall,
    And,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    CompareOp,
    Exists,
    Expr,
    Frame,
    FrameUnit,
    InList,
    InSubquery,
    IsNull,
    Literal,
    Not,
    Or,
    ScalarSubquery,
    SortKey,
    WindowCall,
)
from planner.expr.values import Interval
from planner.join_kind import JoinKind
from planner.logical.nodes import (
    Aggregate,
    DependentJoin,
    Filter,
    Join,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    TopN,
    Union,
    Values,
    Window,
)

Row = dict[int, Any]
Tables = Mapping[str, Sequence[Sequence[Any]]]
_WIDE = Context(prec=60, rounding=ROUND_HALF_UP)


def run(plan: LogicalPlan, tables: Tables) -> list[tuple[Any, ...]]:
    """The rows of a plan, its columns in order. `tables` gives the rows of every scanned table, fields in schema order."""
    ids = [column.id for column in plan.columns]
    return [tuple(row[id] for id in ids) for row in _Interpreter(tables).rows(plan, {})]


class _Interpreter:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def rows(self, plan: LogicalPlan, outer: Row) -> list[Row]:
        match plan:
            case Scan():
                return [{c.id: row[i] for c, i in plan.output} for row in self.tables[plan.table.name]]
            case Values():
                return [{c.id: v for c, v in zip(plan.schema, row, strict=True)} for row in plan.rows]
            case Filter():
                return [r for r in self.rows(plan.input, outer) if self.value(plan.predicate, outer | r) is True]
            case Project():
                return [
                    {a.column.id: self.value(a.expr, outer | r) for a in plan.assigns} for r in self.rows(plan.input, outer)
                ]
            case Join() | DependentJoin():
                return self.join(plan, outer)
            case Aggregate():
                return self.aggregate(plan, outer)
            case Window():
                return self.window(plan, outer)
            case Union():
                return [
                    {out.id: row[column.id] for out, column in zip(plan.schema, arm.columns, strict=True)}
                    for arm in plan.arms
                    for row in self.rows(arm, outer)
                ]
            case Sort():
                return self.sort(self.rows(plan.input, outer), plan.keys, outer)
            case TopN():
                ordered = self.sort(self.rows(plan.input, outer), plan.keys, outer)
                return ordered[plan.offset : plan.offset + plan.limit]
            case Limit():
                found = self.rows(plan.input, outer)
                return found[plan.offset :] if plan.limit is None else found[plan.offset : plan.offset + plan.limit]
        raise NotImplementedError(type(plan).__name__)

    def join(self, plan: Join | DependentJoin, outer: Row) -> list[Row]:
        found: list[Row] = []
        fixed = None if isinstance(plan, DependentJoin) else self.rows(plan.right, outer)
        nothing = {c.id: None for c in plan.right.columns}
        matched_right: set[int] = set()
        for left in self.rows(plan.left, outer):
            rights = self.rows(plan.right, outer | left) if fixed is None else fixed
            hits = [i for i, r in enumerate(rights) if self.value(plan.condition, outer | left | r) is True]
            matched_right.update(hits)
            match plan.kind:
                case JoinKind.SEMI:
                    found += [left] if hits else []
                case JoinKind.ANTI:
                    found += [] if hits else [left]
                case JoinKind.MARK:
                    assert plan.mark is not None
                    found.append(left | {plan.mark.id: bool(hits)})
                case _:
                    if plan.kind is JoinKind.SINGLE and len(hits) > 1:
                        raise error("SCALAR_SUBQUERY_ROWS")
                    found += [left | rights[i] for i in hits]
                    if not hits and plan.kind is not JoinKind.INNER:
                        found.append(left | nothing)
        if plan.kind is JoinKind.FULL:
            assert fixed is not None
            no_left = {c.id: None for c in plan.left.columns}
            found += [no_left | r for i, r in enumerate(fixed) if i not in matched_right]
        return found

    def aggregate(self, plan: Aggregate, outer: Row) -> list[Row]:
        groups: dict[tuple[Any, ...], list[Row]] = {}
        if not plan.keys:
            groups[()] = []
        for row in self.rows(plan.input, outer):
            key = tuple(self.value(a.expr, outer | row) for a in plan.keys)
            groups.setdefault(key, []).append(row)
        found = []
        for key, members in groups.items():
            result = {a.column.id: v for a, v in zip(plan.keys, key, strict=True)}
            for assign in plan.aggregates:
                assert isinstance(assign.expr, AggregateCall)
                result[assign.column.id] = self.aggregate_value(assign.expr, members, outer)
            found.append(result)
        return found

    def aggregate_value(self, call: AggregateCall, members: list[Row], outer: Row) -> Any:
        if call.condition is not None:
            members = [r for r in members if self.value(call.condition, outer | r) is True]
        if call.function == "count_star":
            return len(members)
        values = [v for r in members if (v := self.value(call.arguments[0], outer | r)) is not None]
        if call.distinct:
            values = list(dict.fromkeys(values))
        if call.function == "count":
            return len(values)
        if call.function == "sum_counts":
            return sum(values)
        if not values:
            return None
        match call.function:
            case "sum":
                return checked(sum(values[1:], values[0]), call)
            case "min":
                return min(values)
            case "max":
                return max(values)
            case "any_value":
                return values[0]
            case "bool_and":
                return all(values)
            case "bool_or":
                return any(values)
            case "avg":
                total = sum(values[1:], values[0])
                if isinstance(call.dtype, DecimalType):
                    return quantized(_WIDE.divide(Decimal(total), Decimal(len(values))), call.dtype)
                return float(total) / len(values)
        raise NotImplementedError(call.function)

    def window(self, plan: Window, outer: Row) -> list[Row]:
        """Every call for every row, from the list of the rows of its partition and the end of its frame."""
        partitions: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.sort(self.rows(plan.input, outer), plan.order, outer):
            partitions.setdefault(tuple(self.value(key, outer | row) for key in plan.partition), []).append(row)
        found = []
        for rows in partitions.values():
            orders = [tuple(self.value(key.expr, outer | row) for key in plan.order) for row in rows]
            for at, row in enumerate(rows):
                values = {}
                for assign in plan.calls:
                    assert isinstance(assign.expr, WindowCall)
                    values[assign.column.id] = self.window_value(assign.expr, rows, orders, at, outer)
                found.append(row | values)
        return found

    def frame_of(self, frame: Frame, orders: list[tuple[Any, ...]], at: int) -> tuple[int, int]:
        """The number of the first row of a frame, and of the one after its last."""
        count, groups = len(orders), list(dict.fromkeys(orders))
        if frame.unit is FrameUnit.ROWS:
            first = 0 if frame.first is None else at + frame.first
            last = count - 1 if frame.last is None else at + frame.last
            return max(first, 0), min(last, count - 1) + 1
        here = groups.index(orders[at])
        first = 0 if frame.first is None else max(here + frame.first, 0)
        last = len(groups) - 1 if frame.last is None else min(here + frame.last, len(groups) - 1)
        inside = [row for row, order in enumerate(orders) if order in groups[first : last + 1]]
        return (inside[0], inside[-1] + 1) if inside else (0, 0)

    def window_value(self, call: WindowCall, rows: list[Row], orders: list[tuple[Any, ...]], at: int, outer: Row) -> Any:
        first_peer, peers = orders.index(orders[at]), orders.count(orders[at])
        start, end = self.frame_of(call.frame, orders, at)
        arguments = [self.value(argument, outer | rows[at]) for argument in call.arguments]

        def value_at(index: int) -> Any:
            return self.value(call.arguments[0], outer | rows[index])

        match call.function:
            case "row_number":
                return at + 1
            case "rank":
                return first_peer + 1
            case "dense_rank":
                return len(set(orders[: at + 1]))
            case "percent_rank":
                return first_peer / (len(rows) - 1) if len(rows) > 1 else 0.0
            case "cume_dist":
                return (first_peer + peers) / len(rows)
            case "ntile":
                if arguments[0] is None:
                    return None
                sizes = [len(rows) // arguments[0] + (tile < len(rows) % arguments[0]) for tile in range(arguments[0])]
                return next(tile + 1 for tile in range(arguments[0]) if at < sum(sizes[: tile + 1]))
            case "lag" | "lead":
                if arguments[1] is None:
                    return None
                index = at - arguments[1] if call.function == "lag" else at + arguments[1]
                return value_at(index) if 0 <= index < len(rows) else arguments[2] if len(arguments) > 2 else None
            case "first_value":
                return value_at(start) if start < end else None
            case "last_value":
                return value_at(end - 1) if start < end else None
            case "nth_value":
                number = arguments[1]
                return value_at(start + number - 1) if number is not None and 1 <= number <= end - start else None
        aggregate = AggregateCall(call.dtype, call.function, call.arguments, call.distinct, call.condition)
        return self.aggregate_value(aggregate, rows[start : max(start, end)], outer)

    def sort(self, rows: list[Row], keys: Sequence[SortKey], outer: Row) -> list[Row]:
        def compare(a: Row, b: Row) -> int:
            for key in keys:
                x, y = self.value(key.expr, outer | a), self.value(key.expr, outer | b)
                if x is None or y is None:
                    if (x is None) != (y is None):
                        return -1 if (x is None) == key.nulls_first else 1
                elif x != y:
                    return -1 if (x < y) != key.descending else 1
            return 0

        return sorted(rows, key=functools.cmp_to_key(compare))

    def value(self, expr: Expr, row: Row) -> Any:
        match expr:
            case Literal():
                return expr.value
            case ColumnRef():
                return row[expr.column.id]
            case Compare():
                return compare(expr.op, self.value(expr.left, row), self.value(expr.right, row))
            case And():
                values = []
                for term in expr.terms:
                    values.append(self.value(term, row))
                    if values[-1] is False:
                        return False
                return None if None in values else True
            case Or():
                values = []
                for term in expr.terms:
                    values.append(self.value(term, row))
                    if values[-1] is True:
                        return True
                return None if None in values else False
            case Not():
                value = self.value(expr.operand, row)
                return None if value is None else not value
            case IsNull():
                return self.value(expr.operand, row) is None
            case InList():
                needle = self.value(expr.needle, row)
                return member(needle, [self.value(option, row) for option in expr.options])
            case Case():
                for condition, result in zip(expr.conditions, expr.results, strict=True):
                    if self.value(condition, row) is True:
                        return self.value(result, row)
                return self.value(expr.otherwise, row)
            case Cast():
                return cast_value(self.value(expr.operand, row), expr)
            case Call():
                return self.call(expr, row)
            case ScalarSubquery():
                assert isinstance(expr.plan, LogicalPlan)
                found = self.rows(expr.plan, row)
                if len(found) > 1:
                    raise error("SCALAR_SUBQUERY_ROWS")
                return found[0][expr.plan.columns[0].id] if found else None
            case Exists():
                assert isinstance(expr.plan, LogicalPlan)
                return bool(self.rows(expr.plan, row))
            case InSubquery():
                assert isinstance(expr.plan, LogicalPlan)
                first = expr.plan.columns[0].id
                return member(self.value(expr.needle, row), [r[first] for r in self.rows(expr.plan, row)])
        raise NotImplementedError(type(expr).__name__)

    def call(self, expr: Call, row: Row) -> Any:
        if expr.function == "coalesce":
            for argument in expr.arguments:
                if (value := self.value(argument, row)) is not None:
                    return value
            return None
        values = [self.value(argument, row) for argument in expr.arguments]
        if expr.function == "nullif":
            return None if values[0] == values[1] else values[0]
        if any(value is None for value in values):
            return None
        return checked(FUNCTIONS[expr.function](*values), expr)


def member(needle: Any, options: list[Any]) -> bool | None:
    if not options:
        return False
    if needle is None:
        return None
    if any(option == needle for option in options if option is not None):
        return True
    return None if None in options else False


def compare(op: CompareOp, a: Any, b: Any) -> bool | None:
    if op is CompareOp.NOT_DISTINCT:
        return bool(a == b)
    if op is CompareOp.DISTINCT:
        return bool(a != b)
    if a is None or b is None:
        return None
    match op:
        case CompareOp.EQ:
            return bool(a == b)
        case CompareOp.NE:
            return bool(a != b)
        case CompareOp.LT:
            return bool(a < b)
        case CompareOp.LE:
            return bool(a <= b)
        case CompareOp.GT:
            return bool(a > b)
    return bool(a >= b)


def quantized(value: Decimal, dtype: DecimalType) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-dtype.scale), context=_WIDE)


def checked(value: Any, expr: Expr) -> Any:
    """An exact value in its type; OVERFLOW if it does not fit."""
    if value is None or not is_exact(expr.dtype):
        return value
    low, high = value_range(expr.dtype)
    if isinstance(expr.dtype, DecimalType):
        value = quantized(Decimal(value), expr.dtype)
        scaled = int(value.scaleb(expr.dtype.scale, context=_WIDE))
    else:
        scaled = value
    if not low <= scaled <= high:
        raise error("OVERFLOW", dtype=expr.dtype)
    return value


def cast_value(value: Any, expr: Cast) -> Any:
    if value is None:
        return None
    try:
        return _cast(value, expr)
    except (ValueError, ArithmeticError):
        if expr.lenient:
            return None
        raise error("CAST_FAILED", value=value, dtype=expr.dtype) from None


def _cast(value: Any, expr: Cast) -> Any:
    target = expr.dtype
    if target == VARCHAR:
        return str(value)
    if isinstance(target, DecimalType):
        return checked(Decimal(str(value)), expr)
    if is_exact(target):
        return checked(
            int(Decimal(str(value) if not isinstance(value, bool) else int(value)).to_integral_value(ROUND_HALF_UP)), expr
        )
    if target in (DOUBLE, REAL):
        return float(value)
    if target == BOOLEAN:
        return bool(value)
    if target == DATE:
        return value.date() if isinstance(value, datetime.datetime) else value
    if target == TIMESTAMP:
        return datetime.datetime.combine(value, datetime.time()) if not isinstance(value, datetime.datetime) else value
    raise NotImplementedError(str(target))


def _truncating(a: Any, b: Any, function: Callable[[int, int], int]) -> int:
    if b == 0:
        raise error("DIVISION_BY_ZERO")
    return function(a, b)


def _quotient(a: int, b: int) -> int:
    sign = -1 if (a < 0) != (b < 0) else 1
    return sign * (abs(a) // abs(b))


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        if isinstance(b, float):
            return float("nan") if a == 0 else float("inf")
        raise error("DIVISION_BY_ZERO")
    return a / b if isinstance(b, float) else _WIDE.divide(Decimal(a), Decimal(b))


def _like(text: str, pattern: str, _escape: str = "") -> bool:
    expression = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch(expression, text, re.DOTALL) is not None


def add_interval(value: Any, span: Interval) -> datetime.datetime:
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    month = value.year * 12 + value.month - 1 + span.months
    year, month = divmod(month, 12)
    last = (datetime.date(year + (month == 11), (month + 1) % 12 + 1, 1) - datetime.timedelta(days=1)).day
    moved = value.replace(year=year, month=month + 1, day=min(value.day, last))
    return moved + datetime.timedelta(days=span.days, microseconds=span.microseconds)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda *values: sum(values[1:], values[0]),
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": _divide,
    "integer_divide": lambda a, b: _truncating(a, b, _quotient),
    "modulo": lambda a, b: _truncating(a, b, lambda x, y: x - y * _quotient(x, y)),
    "negate": lambda a: -a,
    "abs": abs,
    "concat": lambda *values: "".join(values),
    "like": _like,
    "upper": lambda text: text.upper(),
    "lower": lambda text: text.lower(),
    "length": len,
    "trim": lambda text: text.strip(" "),
    "substring": lambda text, start, length=10**9: text[start - 1 : start - 1 + length],
    "extract": lambda part, value: getattr(value, part),
    "add_interval": add_interval,
    "subtract_interval": lambda value, span: add_interval(value, -span),
    "date_difference": lambda a, b: (a - b).days,
}

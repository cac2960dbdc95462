"""Plans and expressions as stable text: no ids, no addresses.

`logical_text` prints one operator per line, inputs indented below it by two spaces. Columns are called by their names; when two
different columns of one text share a name, the second to appear is `name.2`, and so on. Plans of subqueries that are still
expressions appear as `(subquery 1)` and are printed below their operator.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Container, Iterable
from decimal import Decimal

from planner.dtypes import DATE, TIMESTAMP, TIMESTAMPTZ
from planner.expr.functions import AGGREGATES
from planner.expr.nodes import (
    AggregateCall,
    And,
    Assign,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    Exists,
    Expr,
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
from planner.schema import Column
from planner.tree import Node, kind_mask, walk

_SUBQUERIES = kind_mask(ScalarSubquery, Exists, InSubquery)

# How tightly operators bind; an operand that binds less than its place demands gets parentheses.
_OR, _AND, _NOT, _COMPARE, _ADD, _MULTIPLY, _UNARY, _ATOM = range(1, 9)

_INFIX = {
    "add": ("+", _ADD),
    "subtract": ("-", _ADD),
    "add_interval": ("+", _ADD),
    "subtract_interval": ("-", _ADD),
    "date_difference": ("-", _ADD),
    "concat": ("||", _ADD),
    "multiply": ("*", _MULTIPLY),
    "divide": ("/", _MULTIPLY),
    "integer_divide": ("//", _MULTIPLY),
    "modulo": ("%", _MULTIPLY),
}


class ColumnNames:
    """Gives every column of one text a name of its own, in the order of first appearance."""

    __slots__ = ("_count", "_names", "subqueries")

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._count: dict[str, int] = {}
        self.subqueries: dict[int, int] = {}
        """Numbers of the subquery expressions met so far, by identity of their plans."""

    def name(self, column: Column) -> str:
        known = self._names.get(column.id)
        if known is not None:
            return known
        base = column.name or "column"
        count = self._count[base] = self._count.get(base, 0) + 1
        name = self._names[column.id] = base if count == 1 else f"{base}.{count}"
        return name

    def list(self, columns: Iterable[Column]) -> str:
        return ", ".join(self.name(column) for column in columns)

    def subquery(self, plan: Node) -> str:
        number = self.subqueries.setdefault(id(plan), len(self.subqueries) + 1)
        return f"(subquery {number})"


def logical_text(plan: LogicalPlan, names: ColumnNames | None = None, short: Container[int] = ()) -> str:
    """The plan as an indented tree, without a final newline. Of operators in `short`, by identity, the inputs are left out."""
    names = names or ColumnNames()
    lines: list[str] = []
    stack: list[tuple[LogicalPlan | str, int]] = [(plan, 0)]
    while stack:
        current, depth = stack.pop()
        if isinstance(current, str):
            lines.append("  " * depth + current)
            continue
        text = "  " * depth + operator_text(current, names)
        if id(current) in short:
            lines.append(f"{text} …" if current.inputs else text)
            continue
        lines.append(text)
        below: list[tuple[LogicalPlan | str, int]] = []
        for expr in current.expressions:
            for found in walk(expr, _SUBQUERIES):
                inner = getattr(found, "plan", None)
                if isinstance(inner, LogicalPlan) and id(inner) in names.subqueries:
                    below += [(f"Subquery {names.subqueries[id(inner)]}", depth + 1), (inner, depth + 2)]
        below += [(child, depth + 1) for child in current.inputs]
        stack.extend(reversed(below))
    return "\n".join(lines)


def operator_text(plan: LogicalPlan, names: ColumnNames) -> str:
    """One logical operator, without its inputs, on one line."""
    match plan:
        case Scan():
            return f"Scan {plan.table.name} [{names.list(plan.columns)}]"
        case Values():
            return f"Values [{names.list(plan.schema)}] {_rows_text(plan)}"
        case Filter():
            return f"Filter {expression_text(plan.predicate, names)}"
        case Project():
            return f"Project {assigns_text(plan.assigns, names)}".rstrip()
        case Join() | DependentJoin():
            return _join_text(plan, names)
        case Aggregate():
            keys = f" by {assigns_text(plan.keys, names)}" if plan.keys else ""
            calls = f": {assigns_text(plan.aggregates, names)}" if plan.aggregates else ""
            return f"Aggregate{keys}{calls}"
        case Window():
            return f"Window {window_text(plan.partition, plan.order, names)}: {assigns_text(plan.calls, names)}"
        case Union():
            return f"Union [{names.list(plan.schema)}]"
        case Sort():
            return f"Sort by {sort_text(plan.keys, names)}"
        case TopN():
            return f"TopN {plan.limit}{_offset_text(plan.offset)} by {sort_text(plan.keys, names)}"
        case Limit():
            return f"Limit {'all' if plan.limit is None else plan.limit}{_offset_text(plan.offset)}"
    return type(plan).__name__


def _rows_text(plan: Values) -> str:
    if len(plan.rows) > 3:
        return f"({len(plan.rows)} rows)"
    rows = ("(" + ", ".join(literal_text(value) for value in row) + ")" if row else "()" for row in plan.rows)
    return ", ".join(rows) or "(no rows)"


def _offset_text(offset: int) -> str:
    return f" offset {offset}" if offset else ""


def _join_text(join: Join | DependentJoin, names: ColumnNames) -> str:
    word = "Join" if isinstance(join, Join) else "DependentJoin"
    kind = str(join.kind)
    trivial = isinstance(join.condition, Literal) and join.condition.value is True
    if trivial and join.kind is JoinKind.INNER:
        kind = "cross"
    text = f"{word} {kind}"
    if join.mark is not None:
        text += f" {names.name(join.mark)}"
    return text if trivial else f"{text} on {expression_text(join.condition, names)}"


def assigns_text(assigns: Iterable[Assign], names: ColumnNames) -> str:
    """`a, b + 1 AS c`: a column that is passed through is only named."""
    return ", ".join(_assign_text(assign, names) for assign in assigns)


def _assign_text(assign: Assign, names: ColumnNames) -> str:
    text = expression_text(assign.expr, names)
    if isinstance(assign.expr, ColumnRef) and assign.expr.column == assign.column:
        return text
    return f"{text} AS {names.name(assign.column)}"


def sort_text(keys: Iterable[SortKey], names: ColumnNames) -> str:
    """`a desc, b nulls first`; ascending and nulls last are not said."""
    return ", ".join(
        expression_text(key.expr, names) + (" desc" if key.descending else "") + (" nulls first" if key.nulls_first else "")
        for key in keys
    )


def expression_text(expr: Expr, names: ColumnNames) -> str:
    """The expression as readable SQL. Iterative: the depth of the expression does not matter."""
    done: dict[int, tuple[str, int]] = {}
    stack: list[Node] = [expr]
    while stack:
        current = stack[-1]
        if id(current) in done:
            stack.pop()
            continue
        operands = [child for child in current.children if isinstance(child, Expr)]
        pending = [child for child in operands if id(child) not in done]
        if pending:
            stack.extend(reversed(pending))
            continue
        stack.pop()
        assert isinstance(current, Expr)
        done[id(current)] = _node_text(current, [done[id(operand)] for operand in operands], names)
    return done[id(expr)][0]


def _node_text(expr: Expr, operands: list[tuple[str, int]], names: ColumnNames) -> tuple[str, int]:
    """Text and binding of one node, given those of its operands."""

    def operand(index: int, least: int) -> str:
        text, binding = operands[index]
        return text if binding >= least else f"({text})"

    texts = [text for text, _ in operands]
    match expr:
        case Literal():
            return literal_text(expr.value), _ATOM
        case ColumnRef():
            return names.name(expr.column), _ATOM
        case Call():
            return _call_text(expr, operands, operand)
        case Compare():
            return f"{operand(0, _ADD)} {expr.op} {operand(1, _ADD)}", _COMPARE
        case And():
            return " AND ".join(operand(i, _AND + 1) for i in range(len(operands))), _AND
        case Or():
            return " OR ".join(operand(i, _OR + 1) for i in range(len(operands))), _OR
        case Not(operand=IsNull()):
            return texts[0].removesuffix(" IS NULL") + " IS NOT NULL", _COMPARE
        case Not():
            return f"NOT {operand(0, _NOT)}", _NOT
        case IsNull():
            return f"{operand(0, _ADD)} IS NULL", _COMPARE
        case InList():
            return f"{operand(0, _ADD)} IN ({', '.join(texts[1:])})", _COMPARE
        case Case():
            count = len(expr.conditions)
            arms = " ".join(f"WHEN {texts[i]} THEN {texts[count + i]}" for i in range(count))
            return f"CASE {arms} ELSE {texts[-1]} END", _ATOM
        case Cast():
            return f"{'TRY_CAST' if expr.lenient else 'CAST'}({texts[0]} AS {expr.dtype})", _ATOM
        case AggregateCall():
            return _aggregate_text(expr, texts), _ATOM
        case WindowCall():
            return _window_call_text(expr, texts), _ATOM
        case ScalarSubquery():
            return names.subquery(expr.plan), _ATOM
        case Exists():
            return f"EXISTS {names.subquery(expr.plan)}", _ATOM
        case InSubquery():
            return f"{operand(0, _ADD)} IN {names.subquery(expr.plan)}", _COMPARE
    return f"{type(expr).__name__}({', '.join(texts)})", _ATOM


def _call_text(call: Call, operands: list[tuple[str, int]], operand: Callable[[int, int], str]) -> tuple[str, int]:
    texts = [text for text, _ in operands]
    infix = _INFIX.get(call.function)
    if infix is not None:
        symbol, binding = infix
        rest = [operand(i, binding + 1) for i in range(1, len(operands))]
        return f" {symbol} ".join([operand(0, binding), *rest]), binding
    if call.function == "negate":
        return f"-{operand(0, _UNARY)}", _UNARY
    if call.function == "like" and len(texts) >= 2:
        escape = f" ESCAPE {texts[2]}" if len(texts) > 2 and texts[2] != "''" else ""
        return f"{operand(0, _ADD)} LIKE {operand(1, _ADD)}{escape}", _COMPARE
    if call.function == "extract" and len(texts) == 2:
        return f"extract({texts[0].strip(chr(39))} FROM {texts[1]})", _ATOM
    return f"{call.function}({', '.join(texts)})", _ATOM


def _aggregate_text(call: AggregateCall, texts: list[str]) -> str:
    arguments = texts[: len(call.arguments)]
    name = "count" if call.function == "count_star" else call.function
    inside = ", ".join(arguments) if arguments else "*"
    text = f"{name}({'DISTINCT ' if call.distinct else ''}{inside})"
    return text if call.condition is None else f"{text} FILTER (WHERE {texts[-1]})"


def _window_call_text(call: WindowCall, texts: list[str]) -> str:
    """The call without its partition and order, which are those of the operator."""
    arguments = texts[: len(call.arguments)]
    name = "count" if call.function == "count_star" else call.function
    inside = "*" if call.function == "count_star" else ", ".join(arguments)
    text = f"{name}({'DISTINCT ' if call.distinct else ''}{inside})"
    if call.condition is not None:
        text += f" FILTER (WHERE {texts[-1]})"
    framed = call.function in AGGREGATES or call.function in ("last_value", "nth_value")
    framed |= call.function == "first_value" and call.frame.first is not None
    return f"{text} {call.frame}" if framed else text


def window_text(partition: tuple[Expr, ...], order: tuple[SortKey, ...], names: ColumnNames) -> str:
    parts = [f"by {', '.join(expression_text(key, names) for key in partition)}"] if partition else []
    parts += [f"order by {sort_text(order, names)}"] if order else []
    return " ".join(parts) or "over all"


def literal_text(value: object) -> str:
    """A Python value as an SQL literal."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"BLOB '{value.hex()}'"
        case Decimal():
            return f"{value:f}"
        case datetime.datetime():
            return f"{TIMESTAMP if value.tzinfo is None else TIMESTAMPTZ} '{value.isoformat(sep=' ')}'"
        case datetime.date():
            return f"{DATE} '{value.isoformat()}'"
        case datetime.time():
            return f"TIME '{value.isoformat()}'"
        case Interval():
            parts = [
                f"{amount} {unit}"
                for amount, unit in ((value.months, "months"), (value.days, "days"), (value.microseconds, "microseconds"))
                if amount
            ]
            return f"INTERVAL '{' '.join(parts) or '0 days'}'"
    return repr(value)

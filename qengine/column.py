"""Column: an expression over the columns of a DataFrame, written with Python's operators.

    from qengine import col, lit, when

    df.filter((col("a") > 3) & col("name").like("x%"))
    df.select("a", (col("price") * (1 - col("discount"))).alias("net"))
    df.with_columns(size=when(col("n") > 100).then("large").otherwise("small"))

A Column holds the same syntax tree that SQL text becomes, and is bound by the same binder when a DataFrame uses it. Python
values become typed constants of that tree. Methods and operators of a Column take *values*: `col("a") == "x"` compares with the
text x. Methods of a DataFrame and the functions of `qengine.functions` take *expressions*: there a text is SQL.

`&`, `|` and `~` are AND, OR and NOT, and bind more tightly than comparisons in Python: put those in parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError

from planner.errors import QEngineError, error
from planner.sql.fragments import node_text, parse_condition, parse_items, parse_order
from planner.sql.parse import parse
from planner.sql.placeholders import FrameColumn, constant, content_of, placeholder, select_all

if TYPE_CHECKING:
    from planner.sql.frame import Frame
    from qengine.dataframe import DataFrame

_DIALECT = "duckdb"


class Column:
    """An expression. Made by `col`, `lit`, `when`, the functions of `qengine.functions`, and `df["name"]`."""

    __slots__ = ("_node",)

    def __init__(self, node: exp.Expr) -> None:
        self._node = node

    # --------------------------------------------------------------------------------------------------- names and types

    def alias(self, name: str) -> Column:
        """The same expression under a name."""
        return Column(exp.Alias(this=_unnamed(self._node), alias=_identifier(name)))

    def cast(self, dtype: str) -> Column:
        """The value as another type, by its SQL name: `"DECIMAL(10, 2)"`. A value that does not fit is an error."""
        return Column(exp.Cast(this=_unnamed(self._node), to=_type(dtype)))

    def try_cast(self, dtype: str) -> Column:
        """Like `cast`, but a value that does not fit is NULL."""
        return Column(exp.TryCast(this=_unnamed(self._node), to=_type(dtype), safe=True))

    # ------------------------------------------------------------------------------------------------------ conditions

    def is_null(self) -> Column:
        """Whether the value is NULL. (`== None` is a comparison with NULL, which is never true, as in SQL.)"""
        return Column(exp.Is(this=_unnamed(self._node), expression=exp.Null()))

    def is_not_null(self) -> Column:
        """Whether the value is not NULL."""
        return ~self.is_null()

    def is_in(self, values: Iterable[Any] | DataFrame) -> Column:
        """Whether the value equals one of several, or one in the only column of a DataFrame; three-valued as IN is in SQL."""
        frame = getattr(values, "_frame", None)
        if frame is not None:
            return Column(exp.In(this=_unnamed(self._node), query=select_all(frame)))
        if isinstance(values, (str, bytes, Column)) or not isinstance(values, Iterable):
            raise error("INVALID_SETTING", name="values", expected="a list of values or a DataFrame", given=values)
        options = [_value(value) for value in values]
        if not options:
            return Column(exp.Boolean(this=False))
        return Column(exp.In(this=_unnamed(self._node), expressions=options))

    def between(self, low: Any, high: Any) -> Column:
        """low <= value <= high."""
        return Column(exp.Between(this=_unnamed(self._node), low=_value(low), high=_value(high)))

    def like(self, pattern: Any) -> Column:
        """Whether the text matches a pattern, in which % is any text and _ any character."""
        return Column(exp.Like(this=_unnamed(self._node), expression=_value(pattern)))

    def ilike(self, pattern: Any) -> Column:
        """Like `like`, without regard to case."""
        return Column(exp.ILike(this=_unnamed(self._node), expression=_value(pattern)))

    def is_not_distinct_from(self, other: Any) -> Column:
        """Equality in which NULL equals NULL; never NULL."""
        return self._binary(exp.NullSafeEQ, other)

    def is_distinct_from(self, other: Any) -> Column:
        """The opposite of `is_not_distinct_from`."""
        return self._binary(exp.NullSafeNEQ, other)

    def fill_null(self, value: Any) -> Column:
        """The value, or another one in place of NULL."""
        return Column(exp.Coalesce(this=_unnamed(self._node), expressions=[_value(value)]))

    # --------------------------------------------------------------------------------------------------- parts of values

    def extract(self, part: str) -> Column:
        """Part of a date or timestamp: "year", "quarter", "month", "week", "day", "dow", "hour", ..."""
        return Column(exp.Extract(this=exp.Var(this=part), expression=_unnamed(self._node)))

    def substring(self, start: Any, length: Any = None) -> Column:
        """Part of a text, from a position (1 is the first character), of a length or to the end."""
        node = exp.Substring(this=_unnamed(self._node), start=_value(start))
        if length is not None:
            node.set("length", _value(length))
        return Column(node)

    # ------------------------------------------------------------------------------------------------------- aggregates

    def sum(self) -> Column:
        """The sum: see `qengine.functions.sum`."""
        return aggregate("sum", self)

    def avg(self) -> Column:
        """The mean: see `qengine.functions.avg`."""
        return aggregate("avg", self)

    def min(self) -> Column:
        """The least value."""
        return aggregate("min", self)

    def max(self) -> Column:
        """The greatest value; NaN is above all numbers."""
        return aggregate("max", self)

    def count(self) -> Column:
        """The number of rows where the value is not NULL."""
        return aggregate("count", self)

    def filter(self, condition: Column | str) -> Column:
        """An aggregate over the rows only for which a condition is true: `sum("x").filter("y > 0")`."""
        where = exp.Where(this=condition_node(condition))
        return Column(exp.Filter(this=_unnamed(self._node), expression=where))

    def over(
        self,
        partition_by: Column | str | Iterable[Column | str] = (),
        order_by: Column | Ordering | str | Iterable[Any] = (),
        *,
        rows: tuple[int | None, int | None] | None = None,
    ) -> Column:
        """An aggregate or window function over the rows with the same values of some expressions, in some order.

        `rows` are the first and last row that count, by their distance from the current one: (-2, 0) are two rows before it
        and itself, None is the end of the partition on that side. By default all rows up to the last one that is ordered
        like the current one, and without an order all rows of the partition.
        """
        parts = [_unnamed(node) for node in expression_nodes(_listed(partition_by))]
        keys = order_nodes(_listed(order_by))
        order = exp.Order(expressions=keys) if keys else None
        spec = _frame_spec(*rows) if rows is not None else None
        window = exp.Window(this=_unnamed(self._node), partition_by=parts or None, order=order, spec=spec, over="OVER")
        return Column(window)

    # ------------------------------------------------------------------------------------------------------------ order

    def asc(self, *, nulls_last: bool = True) -> Ordering:
        """A key to sort by, from small to large."""
        return Ordering(_ordered(_unnamed(self._node), False, nulls_last))

    def desc(self, *, nulls_last: bool = True) -> Ordering:
        """A key to sort by, from large to small."""
        return Ordering(_ordered(_unnamed(self._node), True, nulls_last))

    # -------------------------------------------------------------------------------------------------------- operators

    def _binary(self, cls: type[exp.Expr], other: Any, **arguments: Any) -> Column:
        return Column(cls(this=_unnamed(self._node), expression=_value(other), **arguments))

    def _reflected(self, cls: type[exp.Expr], other: Any, **arguments: Any) -> Column:
        return Column(cls(this=_value(other), expression=_unnamed(self._node), **arguments))

    def __add__(self, other: Any) -> Column:
        return self._binary(exp.Add, other)

    def __radd__(self, other: Any) -> Column:
        return self._reflected(exp.Add, other)

    def __sub__(self, other: Any) -> Column:
        return self._binary(exp.Sub, other)

    def __rsub__(self, other: Any) -> Column:
        return self._reflected(exp.Sub, other)

    def __mul__(self, other: Any) -> Column:
        return self._binary(exp.Mul, other)

    def __rmul__(self, other: Any) -> Column:
        return self._reflected(exp.Mul, other)

    def __truediv__(self, other: Any) -> Column:
        return self._binary(exp.Div, other, typed=False, safe=False)

    def __rtruediv__(self, other: Any) -> Column:
        return self._reflected(exp.Div, other, typed=False, safe=False)

    def __floordiv__(self, other: Any) -> Column:
        """Division of integers that truncates toward zero, as in SQL (Python rounds down)."""
        return self._binary(exp.IntDiv, other)

    def __rfloordiv__(self, other: Any) -> Column:
        return self._reflected(exp.IntDiv, other)

    def __mod__(self, other: Any) -> Column:
        """The remainder, with the sign of the dividend, as in SQL (Python takes that of the divisor)."""
        return self._binary(exp.Mod, other)

    def __rmod__(self, other: Any) -> Column:
        return self._reflected(exp.Mod, other)

    def __neg__(self) -> Column:
        return Column(exp.Neg(this=_unnamed(self._node)))

    def __pos__(self) -> Column:
        return self

    def __abs__(self) -> Column:
        return Column(exp.Abs(this=_unnamed(self._node)))

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return self._binary(exp.EQ, other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return self._binary(exp.NEQ, other)

    def __lt__(self, other: Any) -> Column:
        return self._binary(exp.LT, other)

    def __le__(self, other: Any) -> Column:
        return self._binary(exp.LTE, other)

    def __gt__(self, other: Any) -> Column:
        return self._binary(exp.GT, other)

    def __ge__(self, other: Any) -> Column:
        return self._binary(exp.GTE, other)

    def __and__(self, other: Any) -> Column:
        return self._binary(exp.And, other)

    def __rand__(self, other: Any) -> Column:
        return self._reflected(exp.And, other)

    def __or__(self, other: Any) -> Column:
        return self._binary(exp.Or, other)

    def __ror__(self, other: Any) -> Column:
        return self._reflected(exp.Or, other)

    def __invert__(self) -> Column:
        return Column(exp.Not(this=_unnamed(self._node)))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a Column has no truth value before a query runs: write & | ~ for and, or, not, put comparisons in parentheses, "
            "and write between() for a chain such as 1 < x < 3"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("a Column cannot be iterated over; collect() the DataFrame first")

    def __repr__(self) -> str:
        return f"Column({node_text(self._node)})"


class Ordering:
    """A key to sort by, with its direction. Made by `Column.asc` and `Column.desc`."""

    __slots__ = ("_node",)

    def __init__(self, node: exp.Expr) -> None:
        self._node = node

    def __repr__(self) -> str:
        direction = "desc" if self._node.args.get("desc") else "asc"
        return f"Ordering({node_text(self._node.this)} {direction})"


class Case(Column):
    """`when(...).then(...)`: NULL where no condition is true, until `otherwise` says what."""

    __slots__ = ()

    def when(self, condition: Column | str) -> When:
        """A further condition, looked at where those before are not true."""
        return When(condition, self._node.args["ifs"])

    def otherwise(self, value: Any) -> Column:
        """The value where no condition is true."""
        return Column(exp.Case(ifs=list(self._node.args["ifs"]), default=_value(value)))


class When:
    """A condition that waits for its value."""

    __slots__ = ("_branches", "_condition")

    def __init__(self, condition: Column | str, branches: list[exp.Expr]) -> None:
        self._condition = condition_node(condition)
        self._branches = branches

    def then(self, value: Any) -> Case:
        """The value where the condition is true: a Column, or a Python value (a text is a text, not a column's name)."""
        return Case(exp.Case(ifs=[*self._branches, exp.If(this=self._condition, true=_value(value))]))


def col(name: str) -> Column:
    """A column by its name, without regard to case; `"t.a"` is column a of the DataFrame with alias t, `"*"` all columns.

    A name that has a dot in it is written as SQL text instead: `df.select('"a.b"')`.
    """
    if not isinstance(name, str) or not name:
        raise error("INVALID_SETTING", name="name", expected="a text that is not empty", given=name)
    if name == "*":
        return Column(exp.Star())
    table, dot, column = name.partition(".")
    if not dot:
        return Column(exp.Column(this=_identifier(name)))
    this = exp.Star() if column == "*" else _identifier(column)
    return Column(exp.Column(this=this, table=_identifier(table)))


def lit(value: Any) -> Column:
    """A constant: bool, int, float, Decimal, str, bytes, date, datetime, time, timedelta (an INTERVAL) or None.

    A float is a DOUBLE; for exact decimals give a `decimal.Decimal`. Raises BindError (INVALID_LITERAL) for other types.
    """
    return value if isinstance(value, Column) else Column(placeholder(constant(value)))


def when(condition: Column | str) -> When:
    """The beginning of a CASE: `when(col("a") > 3).then("x").when("a > 1").then("y").otherwise(None)`."""
    return When(condition, [])


def outer(column: Column) -> Column:
    """A column of the query around a subquery, for `exists()`, `scalar()` and `is_in()`.

        late = lineitem.filter(col("l_orderkey") == outer(orders["o_orderkey"]))
        orders.filter(late.exists())

    `column` is a column of a DataFrame, `df["name"]`, and that DataFrame or one made from it must be what uses the subquery.
    """
    content = content_of(column._node) if isinstance(column, Column) else None
    if not isinstance(content, FrameColumn):
        raise error("INVALID_SETTING", name="column", expected="a column of a DataFrame, df['name']", given=column)
    return Column(placeholder(FrameColumn(content.frame, content.name, content.expr, outer=True)))


# ------------------------------------------------------------------------------------- for functions and dataframe only


def function(name: str, *arguments: Any) -> Column:
    """A call of a scalar or aggregate function by its SQL name. Texts among the arguments are SQL.

    What the function takes is known when a DataFrame uses it; raises WRONG_ARGUMENTS where the syntax tree can tell already.
    """
    nodes = [_plain(expression_node(argument)) for argument in arguments]
    parser = Dialect.get_or_raise(_DIALECT).parser_class
    upper = name.upper()
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise error("UNKNOWN_FUNCTION", name=name)
    if upper in parser.FUNCTION_PARSERS:
        return Column(_special_call(name, nodes))
    builder: Any = parser.FUNCTIONS.get(upper)
    if builder is None:
        return Column(exp.Anonymous(this=name, expressions=nodes))
    try:
        try:
            node = builder(nodes)
        except TypeError:
            node = builder(nodes, dialect=Dialect.get_or_raise(_DIALECT))
    except (TypeError, ValueError, AttributeError, IndexError, ParseError):
        raise _wrong_arguments(name, nodes) from None
    if isinstance(node, exp.Func) and node.error_messages(nodes):
        raise _wrong_arguments(name, nodes)
    return Column(node)


def aggregate(name: str, argument: Any = None, *, distinct: bool = False) -> Column:
    """A call of an aggregate of one argument; None is count(*)."""
    if argument is None:
        return Column(exp.Count(this=exp.Star()))
    if not isinstance(argument, (Column, str)):
        raise error("INVALID_SETTING", name=f"the argument of {name}", expected="a Column or SQL text", given=argument)
    node = expression_node(argument)
    if isinstance(node, exp.Star):
        return Column(exp.Count(this=node)) if name == "count" else function(name, argument)
    called = _AGGREGATES[name](this=_unnamed(node))
    if distinct:
        called.set("this", exp.Distinct(expressions=[called.this]))
    return Column(called)


_AGGREGATES: dict[str, type[exp.Expr]] = {
    "count": exp.Count, "sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max, "any_value": exp.AnyValue,
    "bool_and": exp.LogicalAnd, "bool_or": exp.LogicalOr, "stddev_samp": exp.StddevSamp, "var_samp": exp.Variance,
}  # fmt: skip


def expression_column(value: Any) -> Column:
    """A Column of an argument that is an expression."""
    return Column(_unnamed(expression_node(value)))


def _wrong_arguments(name: str, nodes: list[exp.Expr]) -> QEngineError:
    return error("WRONG_ARGUMENTS", name=name.lower(), expected="other arguments", given=len(nodes))


def _special_call(name: str, nodes: list[exp.Expr]) -> exp.Expr:
    """A function whose arguments have a syntax of their own: parsed with names in the place of the arguments."""
    names = [f"argument{at}" for at in range(len(nodes))]
    try:
        statement = parse(f"SELECT {name}({', '.join(names)})", _DIALECT)
    except QEngineError:
        raise _wrong_arguments(name, nodes) from None
    call = statement.expressions[0]
    for node in list(call.walk()):
        node.meta.pop("start", None)
        node.meta.pop("end", None)
        if isinstance(node, exp.Column) and node.name in names:
            node.replace(nodes[names.index(node.name)])
    return call


def frame_subquery(frame: Frame, *, exists: bool) -> Column:
    """EXISTS of a frame, or its only value."""
    query = select_all(frame)
    return Column(exp.Exists(this=query) if exists else query)


def expression_node(value: Any) -> exp.Expr:
    """An argument that is an expression: a Column, SQL text for one, or any other Python value as a constant."""
    if isinstance(value, str):
        items = parse_items(value)
        return items[0] if len(items) == 1 else parse_condition(value)
    return _value(value)


def expression_nodes(values: Iterable[Any], named: dict[str, Any] | None = None) -> list[exp.Expr]:
    """Select items: Columns and SQL text, which may hold several, and named ones."""
    nodes: list[exp.Expr] = []
    for value in values:
        if isinstance(value, str):
            nodes += parse_items(value)
        elif isinstance(value, (list, tuple)):
            nodes += expression_nodes(value)
        else:
            nodes.append(_value(value))
    for name, value in (named or {}).items():
        nodes.append(exp.Alias(this=_unnamed(expression_node(value)), alias=_identifier(name)))
    return nodes


def condition_node(value: Column | str) -> exp.Expr:
    """A condition: a Column, SQL text, or a bool."""
    if isinstance(value, str):
        return parse_condition(value)
    if not isinstance(value, (Column, bool)):
        raise error("INVALID_SETTING", name="a condition", expected="a Column or SQL text", given=value)
    return _value(value)


def order_nodes(
    keys: Iterable[Any], descending: list[bool] | None = None, nulls_last: list[bool] | None = None
) -> list[exp.Expr]:
    """`exp.Ordered` of Columns, Orderings and SQL text; the flags are for keys that are given without a direction."""
    nodes: list[exp.Expr] = []
    for at, key in enumerate(keys):
        down = descending[at] if descending else False
        last = nulls_last[at] if nulls_last else True
        if isinstance(key, Ordering):
            nodes.append(key._node)
        elif isinstance(key, str):
            parsed = parse_order(key)
            plain = descending is not None or nulls_last is not None
            for node in parsed:
                if plain and node.args.get("desc") is None:
                    node = _ordered(node.this, down, last and not node.args.get("nulls_first"))
                nodes.append(node)
        else:
            nodes.append(_ordered(_unnamed(_value(key)), down, last))
    return nodes


def join_condition(value: Column | str | Iterable[Column | str]) -> exp.Expr:
    """A join's condition: one, or several that must all be true."""
    conditions = [condition_node(item) for item in _listed(value)]
    if not conditions:
        raise error("INVALID_SETTING", name="on", expected="names or a condition", given=value)
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = exp.And(this=joined, expression=condition)
    return joined


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, (str, Column, Ordering)) or not isinstance(value, Iterable) else list(value)


def _value(value: Any) -> exp.Expr:
    """The node of a Column, or of a Python value as a typed constant."""
    if isinstance(value, Column):
        return value._node
    frame = getattr(value, "_frame", None)
    if frame is not None:
        raise error(
            "INVALID_SETTING", name="a value", expected="a Column or a constant; a subquery is df.scalar()", given=value
        )
    if isinstance(value, (Ordering, When)):
        raise error("INVALID_SETTING", name="a value", expected="a Column or a constant", given=value)
    return placeholder(constant(value))


def _plain(node: exp.Expr) -> exp.Expr:
    """An argument of a function: text constants as sqlglot knows them, since it looks for names of units among them."""
    content = content_of(_unnamed(node))
    value = getattr(content, "value", None)
    return exp.Literal.string(value) if isinstance(value, str) else _unnamed(node)


def _unnamed(node: exp.Expr) -> exp.Expr:
    """An expression without its alias, to be part of another."""
    return node.this if isinstance(node, exp.Alias) else node


def _ordered(node: exp.Expr, descending: bool, nulls_last: bool) -> exp.Expr:
    return exp.Ordered(this=_unnamed(node), desc=descending, nulls_first=not nulls_last)


def _frame_spec(first: int | None, last: int | None) -> exp.Expr:
    """ROWS BETWEEN two distances from the current row."""
    bounds: list[Any] = []
    for bound, side in ((first, "PRECEDING"), (last, "FOLLOWING")):
        if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool)):
            raise error("INVALID_SETTING", name="rows", expected="two numbers of rows, or None", given=(first, last))
        if bound is None:
            bounds += ["UNBOUNDED", side]
        elif bound == 0:
            bounds += ["CURRENT ROW", None]
        else:
            bounds += [exp.Literal.number(abs(bound)), "PRECEDING" if bound < 0 else "FOLLOWING"]
    start, start_side, end, end_side = bounds
    return exp.WindowSpec(kind="ROWS", start=start, start_side=start_side, end=end, end_side=end_side)


def _identifier(name: str) -> exp.Expr:
    if not isinstance(name, str) or not name:
        raise error("INVALID_SETTING", name="name", expected="a text that is not empty", given=name)
    return exp.Identifier(this=name, quoted=True)


def _type(dtype: str) -> exp.Expr:
    try:
        return exp.DataType.build(str(dtype), dialect=_DIALECT, udt=True)
    except (ParseError, TokenError, ValueError):
        raise error("UNKNOWN_TYPE", name=str(dtype)) from None

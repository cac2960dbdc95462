"""Names of output columns that the query does not name, as DuckDB gives them where that is cheap."""

from __future__ import annotations

from sqlglot import exp

from planner.explain import literal_text
from planner.expr.nodes import ColumnRef, Expr, Literal
from planner.sql.context import BindContext
from planner.sql.placeholders import FrameColumn, content_of
from planner.sql.positions import function_name, written_arguments

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%", exp.DPipe: "||", exp.EQ: "=",
    exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.And: "AND", exp.Or: "OR",
}  # fmt: skip
_TYPE_NAMES = {"INT": "INTEGER", "TEXT": "VARCHAR", "REAL": "FLOAT", "INT128": "HUGEINT"}
"""DuckDB's names of types where sqlglot writes others."""

_MAX_LENGTH = 200
_ARGUMENTS_IN_ORDER = frozenset(("this", "expression", "expressions", "start", "length", "decimals"))


def output_name(context: BindContext, node: exp.Expr, expr: Expr) -> str:
    """The name of the column that `node`, bound as `expr`, becomes."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        return expr.column.name if isinstance(expr, ColumnRef) and expr.column.name.lower() == node.name.lower() else node.name
    content = content_of(node)
    if isinstance(content, FrameColumn):
        return content.name
    return _write(context, node, 0)[:_MAX_LENGTH]


def write_expression(context: BindContext, node: exp.Expr) -> str:
    """An expression as DuckDB writes it in the name of a column."""
    return _write(context, node, 0)


def _write(context: BindContext, node: exp.Expr, depth: int) -> str:
    if depth > 20:
        return "..."
    if isinstance(node, exp.Paren):
        return _write(context, node.this, depth + 1)
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        table = node.args.get("table")
        return f"{table.name}.{node.name}" if table is not None else node.name
    if isinstance(node, exp.Literal):
        quoted = node.this.replace("'", "''")
        return f"'{quoted}'" if node.args["is_string"] else str(node.this)
    if isinstance(node, exp.Count) and (node.this is None or isinstance(node.this, exp.Star)):
        return "count_star()"
    content = content_of(node)
    if content is not None:
        return content.name if isinstance(content, FrameColumn) else _constant(content)
    operator = _OPERATORS.get(type(node))
    if operator is not None:
        left, right = node.this, node.args["expression"]
        return f"({_write(context, left, depth + 1)} {operator} {_write(context, right, depth + 1)})"
    if isinstance(node, exp.Is):
        return f"({_write(context, node.this, depth + 1)} IS {_write(context, node.args['expression'], depth + 1)})"
    if isinstance(node, (exp.Null, exp.Boolean)):
        return "NULL" if isinstance(node, exp.Null) else str(node.this).lower()
    if isinstance(node, exp.Not):
        operand = node.this
        if isinstance(operand, exp.Is):
            return _write(context, operand, depth + 1).replace(" IS ", " IS NOT ")
        return f"(NOT {_write(context, operand, depth + 1)})"
    if isinstance(node, exp.In) and node.expressions:
        return f"({_write(context, node.this, depth + 1)} IN ({_list(context, node.expressions, depth)}))"
    if isinstance(node, exp.Filter):
        condition = _write(context, node.args["expression"].this, depth + 1)
        return f"{_write(context, node.this, depth + 1)} FILTER (WHERE {condition})"
    if isinstance(node, exp.Coalesce):
        return f"COALESCE({_list(context, [node.this, *node.expressions], depth)})"
    if isinstance(node, exp.Neg):
        return f"-{_write(context, node.this, depth + 1)}"
    if isinstance(node, exp.Distinct):
        return f"DISTINCT {_list(context, node.expressions, depth)}"
    if isinstance(node, exp.IgnoreNulls):
        return _write(context, node.this, depth + 1)
    if isinstance(node, exp.Func) and not isinstance(node, (exp.Case, exp.Cast, exp.Extract, exp.Exists, exp.If)):
        name = function_name(context.text, node)
        given = {key: value for key, value in node.args.items() if value and isinstance(value, (list, exp.Expr))}
        if not given.keys() <= _ARGUMENTS_IN_ORDER:
            # sqlglot's arguments are others than those that are written, or in another order.
            written = written_arguments(context.text, node)
            if written is not None:
                return f"{name}({written})"
        parts = [part for value in given.values() for part in (value if isinstance(value, list) else [value])]
        return f"{name}({_list(context, parts, depth)})"
    if isinstance(node, exp.Cast) and node.to.sql(dialect="duckdb") in _TYPE_NAMES:
        cast = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
        return f"{cast}({_write(context, node.this, depth + 1)} AS {_TYPE_NAMES[node.to.sql(dialect='duckdb')]})"
    if isinstance(node, exp.Window):
        return _write_window(context, node, depth)
    try:
        return node.sql(dialect=context.dialect)
    except (ValueError, RecursionError):
        return node.key


def _write_window(context: BindContext, node: exp.Expr, depth: int) -> str:
    function = node.this
    star = isinstance(function, exp.Count) and isinstance(function.this, (exp.Star, type(None)))
    called = "count()" if star else _write(context, function, depth + 1)
    if node.args.get("alias") is not None:
        return f"{called} OVER {node.args['alias'].name}"
    parts = []
    if node.args.get("partition_by"):
        parts.append(f"PARTITION BY {_list(context, node.args['partition_by'], depth)}")
    for key in ("order", "spec"):
        if node.args.get(key) is not None:
            parts.append(node.args[key].sql(dialect=context.dialect).strip())
    return f"{called} OVER ({' '.join(parts)})"


def _constant(content: object) -> str:
    return literal_text(content.value) if isinstance(content, Literal) else "?"


def _list(context: BindContext, nodes: list[exp.Expr], depth: int) -> str:
    return ", ".join(_write(context, node, depth + 1) for node in nodes)

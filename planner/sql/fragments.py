"""SQL expressions as text beside the DataFrame API: `df.filter("a > 3")`, `df.sort("b DESC")`.

A fragment is parsed inside of the smallest statement that can hold it. Every node of its tree remembers the fragment as its
text, since one operator may combine several, so that a caret stands under the fragment that is at fault.
"""

from __future__ import annotations

from sqlglot import exp

from planner.errors import Position, QEngineError, error
from planner.schema import ColumnAllocator
from planner.sql.context import BindContext
from planner.sql.output_names import write_expression
from planner.sql.parse import parse

_SELECT = "SELECT "
_ORDER = "SELECT 1 ORDER BY "


def parse_items(text: str, dialect: str = "duckdb") -> list[exp.Expr]:
    """The expressions of a select list: with aliases and stars. Raises what `parse` raises, and SYNTAX for further clauses."""
    return _marked(text, _SELECT, dialect, {"expressions"}).expressions


def parse_condition(text: str, dialect: str = "duckdb") -> exp.Expr:
    """One expression without an alias."""
    items = parse_items(text, dialect)
    if len(items) != 1 or isinstance(items[0], (exp.Alias, exp.Star)):
        raise error("SYNTAX", detail="one expression is expected here", position=Position(text, 0, max(1, len(text))))
    return items[0]


def parse_order(text: str, dialect: str = "duckdb") -> list[exp.Expr]:
    """The keys of ORDER BY, as `exp.Ordered`. A number is a constant here: frames have no positions to count."""
    return _marked(text, _ORDER, dialect, {"expressions", "order"}).args["order"].expressions


class _NoTables:
    """A catalog without tables."""

    def table(self, name: str) -> None:
        return None

    def names(self) -> tuple[str, ...]:
        return ()


def node_text(node: exp.Expr) -> str:
    """An expression as readable SQL, for people."""
    alias = f" AS {node.alias}" if isinstance(node, exp.Alias) else ""
    context = BindContext("", _NoTables(), "duckdb", ColumnAllocator())
    return write_expression(context, node.this if alias else node) + alias


def _marked(text: str, prefix: str, dialect: str, clauses: set[str]) -> exp.Expr:
    if not isinstance(text, str):
        raise error("INVALID_SETTING", name="an expression", expected="a Column or SQL text", given=text)
    try:
        statement = parse(prefix + text, dialect)
    except QEngineError as failure:
        raise _moved(failure, text, len(prefix)) from None
    clauses_given = {key for key, value in statement.args.items() if value}
    if not isinstance(statement, exp.Select) or clauses_given != clauses:
        detail = "an expression is expected here, not a clause or a statement"
        raise error("SYNTAX", detail=detail, position=Position(text, 0, max(1, len(text))) if text.strip() else None)
    for node in statement.walk():
        meta = node.meta
        meta["text"] = text
        if "start" in meta:
            meta["start"] -= len(prefix)
            meta["end"] -= len(prefix)
    return statement


def _moved(failure: QEngineError, text: str, by: int) -> QEngineError:
    """The error of the whole statement as one of the fragment in it."""
    position = failure.position
    if position is not None:
        start = max(0, min(position.start - by, len(text) - 1))
        end = max(start + 1, position.end - by)
        failure.position = Position(text, start, end) if text else None
    return failure

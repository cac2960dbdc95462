"""Text to a typed logical plan: the public entry of the SQL front end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

# Importing these registers what they bind.
from planner.sql import (  # noqa: F401  isort: skip
    bind_aggregate, bind_functions, bind_operators, bind_placeholder, bind_subquery, bind_window,
)  # fmt: skip

from planner.catalog import TableSnapshot
from planner.errors import Position, QEngineError, error
from planner.logical.nodes import LogicalPlan
from planner.logical.view import View
from planner.ports import Catalog
from planner.schema import ColumnAllocator
from planner.sql.bind_query import bind_query
from planner.sql.context import BindContext
from planner.sql.parameters import Parameters, parameter_values
from planner.sql.parse import parse
from planner.sql.scope import Scope


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A bound statement.

    The plan's `columns` are the output columns in order, and `names` their names, which may repeat. `tables` are the snapshots
    that it reads, each once. `allocator` gave all its column ids and has to give those of every later rewrite.
    `sources` are the tables and views of a text by the names that it has for them; a text that is `repeatable` means the same
    again as long as these names do, others depend on the time.
    """

    plan: LogicalPlan
    names: tuple[str, ...]
    tables: tuple[TableSnapshot, ...]
    allocator: ColumnAllocator
    sources: Mapping[str, TableSnapshot | View] = field(default_factory=dict)
    repeatable: bool = True


def bind(
    text: str,
    catalog: Catalog,
    dialect: str = "duckdb",
    allocator: ColumnAllocator | None = None,
    parsed: Callable[[], None] = lambda: None,
    sources: Mapping[str, TableSnapshot | View] | None = None,
    parameters: Parameters = (),
) -> BoundQuery:
    """Bind one SELECT statement (or VALUES, or a parenthesized one). `parsed` is called between parsing and binding. Names
    in `sources` mean these, whatever the catalog says. `parameters` are the values of the statement's parameters.

    Raises the subclasses of QueryError in `planner.errors`, with a position in `text` wherever the construct at fault has one,
    and whatever DataError the catalog raises for a file that cannot be read.
    """
    context = BindContext(text, catalog, dialect.lower(), allocator or ColumnAllocator())
    context.tables.update(sources or {})
    try:
        statement = parse_query(text, dialect)
        parsed()
        if parameters:
            context.parameters = parameter_values(statement, parameters)
        bound = bind_query(context, statement, Scope(None, {}))
    except RecursionError:
        raise error("TOO_DEEP") from None
    return BoundQuery(bound.plan, bound.names, context.snapshots(), context.allocator, context.tables, not context.asked_time)


def parse_query(text: str, dialect: str) -> exp.Expr:
    """The syntax tree of the only statement in a text. Raises what `parse` raises, and UNSUPPORTED if it is no query."""
    statement = parse(text, dialect)
    if not isinstance(statement, (exp.Query, exp.Values)):
        raise _not_a_query(text)
    return statement


def _not_a_query(text: str) -> QEngineError:
    """UNSUPPORTED at the word that begins the statement."""
    found = re.search(r"[A-Za-z]+", text)
    start, end = found.span() if found else (0, 1)
    what = f"the statement {text[start:end].upper()}"
    return error("UNSUPPORTED", what=what, nearest="; only queries run here", position=Position(text, start, end))

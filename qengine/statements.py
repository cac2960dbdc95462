"""Statements that are no queries, executed: each gives a DataFrame of constant rows.

    EXPLAIN                  plan VARCHAR; a row for each line, one row of JSON
    SET, RESET, SHOW         name, value, description VARCHAR; the settings that were changed or asked for, as they are now
    SHOW TABLES              name, kind VARCHAR; kind is "table", "file" or "view"
    DESCRIBE                 column_name, column_type, null VARCHAR
    ANALYZE, SHOW STATS FOR  a row for each column of the table, see `STATISTICS_COLUMNS`

A statement is executed when `Session.sql` is called, as its effect is what it is for. The rows of what it says can be filtered
and joined like any others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from planner import dtypes as t
from planner.errors import error
from planner.sql.parameters import Parameters, parameter_items, written
from planner.sql.statements import (
    Analyze,
    DescribeQuery,
    DescribeTable,
    Explain,
    Part,
    Reset,
    Set,
    Show,
    ShowStatistics,
    ShowTables,
    Statement,
    query_in,
)
from qengine.display import value_text
from qengine.explanation import explanation_json, explanation_lines
from qengine.settings import SETTINGS, setting

if TYPE_CHECKING:
    from qengine.dataframe import DataFrame
    from qengine.session import Session

Columns = tuple[tuple[str, t.DType], ...]

PLAN_COLUMNS: Columns = (("plan", t.VARCHAR),)
SETTING_COLUMNS: Columns = (("name", t.VARCHAR), ("value", t.VARCHAR), ("description", t.VARCHAR))
TABLE_COLUMNS: Columns = (("name", t.VARCHAR), ("kind", t.VARCHAR))
DESCRIPTION_COLUMNS: Columns = (("column_name", t.VARCHAR), ("column_type", t.VARCHAR), ("null", t.VARCHAR))
STATISTICS_COLUMNS: Columns = (
    ("column_name", t.VARCHAR), ("column_type", t.VARCHAR), ("rows", t.BIGINT), ("null_share", t.DOUBLE),
    ("distinct_values", t.DOUBLE), ("certainty", t.VARCHAR), ("minimum", t.VARCHAR), ("maximum", t.VARCHAR),
    ("common_values", t.VARCHAR),
)  # fmt: skip
"""Minimum and maximum are those that the file claims; common values have their shares of all rows. NULL is unknown."""


def execute(session: Session, statement: Statement, dialect: str, parameters: Parameters) -> DataFrame:
    """Do what a statement asks for. `parameters` are for a query inside of it.

    Raises UNKNOWN_SETTING, INVALID_SETTING and UNKNOWN_RULE for settings, UNKNOWN_TABLE, UNKNOWN_PARAMETER, and what
    `Session.sql` raises for a query; the position is one in the whole text.
    """
    if query_in(statement) is None:
        for name, _ in parameter_items(parameters):
            raise error("UNKNOWN_PARAMETER", name=written(str(name)))

    def query(part: Part) -> DataFrame:
        with part.located():
            return session._query(part.text, dialect, parameters)

    return session._rows(*_result(statement, session, query))


Result = tuple[Columns, Iterable[tuple[Any, ...]]]
Query = Callable[[Part], "DataFrame"]


@singledispatch
def _result(statement: Any, session: Session, query: Query) -> Result:
    raise AssertionError(f"{type(statement).__name__} is not executed here")


@_result.register(Explain)
def _explain(statement: Explain, session: Session, query: Query) -> Result:
    frame = query(statement.query)
    profile = frame.profile() if statement.analyze else None
    current = frame._current_query()
    if statement.json:
        return PLAN_COLUMNS, [(explanation_json(current, statement.verbose, profile),)]
    return PLAN_COLUMNS, [(line,) for line in explanation_lines(current, statement.verbose, profile)]


@_result.register(Set)
def _set(statement: Set, session: Session, query: Query) -> Result:
    with statement.name.located():
        chosen = setting(statement.name.said)
    with statement.value.located():
        session._change_settings(lambda now: chosen.change(now, statement.value.said))
    return _settings(session, statement.name.said)


@_result.register(Reset)
def _reset(statement: Reset, session: Session, query: Query) -> Result:
    if statement.name is None:
        session._change_settings(lambda now: session._opened_settings)
        return _settings(session)
    with statement.name.located():
        chosen = setting(statement.name.said)
    session._change_settings(lambda now: chosen.change(now, chosen.value(session._opened_settings)))
    return _settings(session, statement.name.said)


@_result.register(Show)
def _show(statement: Show, session: Session, query: Query) -> Result:
    if statement.name is None:
        return _settings(session)
    with statement.name.located():
        return _settings(session, statement.name.said)


def _settings(session: Session, *names: str) -> Result:
    """The settings of some names, of all without any."""
    chosen = {name.lower(): setting(name) for name in names} or SETTINGS
    return SETTING_COLUMNS, [(name, found.value(session._settings), found.description) for name, found in chosen.items()]


@_result.register(ShowTables)
def _show_tables(statement: ShowTables, session: Session, query: Query) -> Result:
    return TABLE_COLUMNS, sorted(session._catalog.kinds().items())


@_result.register(DescribeTable)
def _describe_table(statement: DescribeTable, session: Session, query: Query) -> Result:
    with statement.table.located():
        return _description(session.table(statement.table.said))


@_result.register(DescribeQuery)
def _describe_query(statement: DescribeQuery, session: Session, query: Query) -> Result:
    return _description(query(statement.query))


def _description(frame: DataFrame) -> Result:
    rows = [(field.name, str(field.dtype), "YES" if field.nullable else "NO") for field in frame.schema]
    return DESCRIPTION_COLUMNS, rows


@_result.register(Analyze)
def _analyze(statement: Analyze, session: Session, query: Query) -> Result:
    with statement.table.located():
        session.analyze(statement.table.said)
        return _statistics(session, statement.table.said)


@_result.register(ShowStatistics)
def _show_statistics(statement: ShowStatistics, session: Session, query: Query) -> Result:
    with statement.table.located():
        return _statistics(session, statement.table.said)


def _statistics(session: Session, name: str) -> Result:
    table = session.statistics(name)
    rows = []
    for column in table.columns:
        common = ", ".join(f"{value_text(value)} {100 * share:.3g}%" for value, share in column.common)
        bounds = (None if value is None else value_text(value) for value in (column.minimum, column.maximum))
        known = (column.name, column.dtype, table.rows, column.null_share, column.distinct, column.certainty)
        rows.append((*known, *bounds, common or None))
    return STATISTICS_COLUMNS, rows

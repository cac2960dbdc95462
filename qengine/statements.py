"""Statements that are no queries, executed: each gives a DataFrame of constant rows.

    EXPLAIN                  plan VARCHAR; a row for each line, one row of JSON
    SET, RESET, SHOW         name, value, description VARCHAR; the settings that were changed or asked for, as they are now
    SHOW TABLES              name, kind VARCHAR; kind is "table", "file" or "view"
    DESCRIBE                 column_name, column_type, null VARCHAR
    ANALYZE, SHOW STATS FOR  a row for each column of the table, see `STATISTICS_COLUMNS`
    PREPARE, DEALLOCATE      name, parameters VARCHAR; the prepared queries that there are now
    EXECUTE                  the rows of the prepared query

A statement is executed when `Session.sql` is called, as its effect is what it is for. The rows of what it says can be filtered
and joined like any others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from planner import dtypes as t
from planner.errors import error, nearest
from planner.sql.binder import parse_query
from planner.sql.parameters import Parameters, parameter_items, parameter_names, written
from planner.sql.statements import (
    Analyze,
    Deallocate,
    DescribeQuery,
    DescribeTable,
    Execute,
    Explain,
    Part,
    Prepare,
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
    from qengine.prepared import PreparedStatement
    from qengine.session import Session

Columns = tuple[tuple[str, t.DType], ...]

PLAN_COLUMNS: Columns = (("plan", t.VARCHAR),)
SETTING_COLUMNS: Columns = (("name", t.VARCHAR), ("value", t.VARCHAR), ("description", t.VARCHAR))
PREPARED_COLUMNS: Columns = (("name", t.VARCHAR), ("parameters", t.VARCHAR))
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

    Raises UNKNOWN_PREPARED for a query that is not prepared, UNKNOWN_SETTING, INVALID_SETTING and UNKNOWN_RULE for settings,
    UNKNOWN_TABLE, UNKNOWN_PARAMETER, and what `Session.sql` raises for a query; the position is one in the whole text.
    """
    if query_in(statement) is None:
        for name, _ in parameter_items(parameters):
            raise error("UNKNOWN_PARAMETER", name=written(str(name)))

    query = _Reader(session, dialect, parameters)
    if isinstance(statement, Execute):
        return _executed(statement, session, query)
    return session._rows(*_result(statement, session, query))


Result = tuple[Columns, Iterable[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the queries inside of a statement. Called with one, it gives its frame."""

    session: Session
    dialect: str
    parameters: Parameters

    def __call__(self, part: Part) -> DataFrame:
        with part.located():
            return self.session._query(part.text, self.dialect, self.parameters)

    def prepare(self, part: Part) -> PreparedStatement:
        with part.located():
            names = parameter_names(parse_query(part.text, self.dialect))
            for name in names:
                if not name.isdigit():
                    raise error("UNSUPPORTED", what=f"the named parameter ${name} in PREPARE", nearest="; use ? or $1")
        return self.session.prepare(part.said, self.dialect)


@singledispatch
def _result(statement: Any, session: Session, query: _Reader) -> Result:
    raise AssertionError(f"{type(statement).__name__} is not executed here")


@_result.register(Explain)
def _explain(statement: Explain, session: Session, query: _Reader) -> Result:
    frame = query(statement.query)
    profile = frame.profile() if statement.analyze else None
    current = frame._current_query()
    if statement.json:
        return PLAN_COLUMNS, [(explanation_json(current, statement.verbose, profile),)]
    return PLAN_COLUMNS, [(line,) for line in explanation_lines(current, statement.verbose, profile)]


@_result.register(Set)
def _set(statement: Set, session: Session, query: _Reader) -> Result:
    with statement.name.located():
        chosen = setting(statement.name.said)
    with statement.value.located():
        session._change_settings(lambda now: chosen.change(now, statement.value.said))
    return _settings(session, statement.name.said)


@_result.register(Reset)
def _reset(statement: Reset, session: Session, query: _Reader) -> Result:
    if statement.name is None:
        session._change_settings(lambda now: session._opened_settings)
        return _settings(session)
    with statement.name.located():
        chosen = setting(statement.name.said)
    session._change_settings(lambda now: chosen.change(now, chosen.value(session._opened_settings)))
    return _settings(session, statement.name.said)


@_result.register(Show)
def _show(statement: Show, session: Session, query: _Reader) -> Result:
    if statement.name is None:
        return _settings(session)
    with statement.name.located():
        return _settings(session, statement.name.said)


def _settings(session: Session, *names: str) -> Result:
    """The settings of some names, of all without any."""
    chosen = {name.lower(): setting(name) for name in names} or SETTINGS
    return SETTING_COLUMNS, [(name, found.value(session._settings), found.description) for name, found in chosen.items()]


@_result.register(ShowTables)
def _show_tables(statement: ShowTables, session: Session, query: _Reader) -> Result:
    return TABLE_COLUMNS, sorted(session._catalog.kinds().items())


@_result.register(DescribeTable)
def _describe_table(statement: DescribeTable, session: Session, query: _Reader) -> Result:
    with statement.table.located():
        return _description(session.table(statement.table.said))


@_result.register(DescribeQuery)
def _describe_query(statement: DescribeQuery, session: Session, query: _Reader) -> Result:
    return _description(query(statement.query))


def _description(frame: DataFrame) -> Result:
    rows = [(field.name, str(field.dtype), "YES" if field.nullable else "NO") for field in frame.schema]
    return DESCRIPTION_COLUMNS, rows


@_result.register(Analyze)
def _analyze(statement: Analyze, session: Session, query: _Reader) -> Result:
    with statement.table.located():
        session.analyze(statement.table.said)
        return _statistics(session, statement.table.said)


@_result.register(ShowStatistics)
def _show_statistics(statement: ShowStatistics, session: Session, query: _Reader) -> Result:
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


@_result.register(Prepare)
def _prepare(statement: Prepare, session: Session, query: _Reader) -> Result:
    session._prepared[statement.name.said.casefold()] = query.prepare(statement.query)
    return _prepared(session)


@_result.register(Deallocate)
def _deallocate(statement: Deallocate, session: Session, query: _Reader) -> Result:
    if statement.name is None:
        session._prepared.clear()
    else:
        _find_prepared(statement.name, session)
        session._prepared.pop(statement.name.said.casefold(), None)
    return _prepared(session)


def _prepared(session: Session) -> Result:
    return PREPARED_COLUMNS, [(name, ", ".join(known.parameters)) for name, known in sorted(session._prepared.items())]


def _executed(statement: Execute, session: Session, query: _Reader) -> DataFrame:
    """The frame of a prepared query; its values are computed as those of a SELECT without tables."""
    prepared = _find_prepared(statement.name, session)
    if statement.values is None:
        return prepared.execute()
    with statement.values.located():
        values = query(statement.values).collect()
    return prepared.execute(*(column[0].as_py() for column in values.columns))


def _find_prepared(name: Part, session: Session) -> PreparedStatement:
    found = session._prepared.get(name.said.casefold())
    if found is None:
        close = nearest(name.said, session._prepared)
        raise error("UNKNOWN_PREPARED", name=name.said, nearest=close, position=name.position)
    return found

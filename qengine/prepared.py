"""Prepared statements: a text with parameters, to be run with values again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.errors import error
from planner.sql.parameters import parameter_names
from planner.sql.parse import parse
from planner.sql.statements import parse_statement, query_in

if TYPE_CHECKING:
    from qengine.dataframe import DataFrame
    from qengine.session import Session


class PreparedStatement:
    """A statement of a session. `parameters` are the names of its parameters, "1", "2", ... for those without a name.

    Every execution is planned for its values, once for each set of values that the plan cache remembers: the best plan for
    a frequent value is seldom that for a rare one. Names and types are looked up then, so a table may come later.
    """

    def __init__(self, session: Session, text: str, dialect: str) -> None:
        """Raises SyntaxFault if the text is not one statement."""
        self._session = session
        self._dialect = dialect
        self.text = text
        self.parameters = _parameters(text, dialect)

    def execute(self, *values: Any, **named: Any) -> DataFrame:
        """The lazy result for values by place, or by name: `statement.execute(1, "x")`, `statement.execute(low=1)`.

        Raises what `Session.sql` raises.
        """
        if values and named:
            raise error("INVALID_SETTING", name="parameters", expected="all by place or all by name", given=(values, named))
        return self._session.sql(self.text, self._dialect, parameters=named or values)

    def __repr__(self) -> str:
        return f"PreparedStatement({self.text!r})"


def _parameters(text: str, dialect: str) -> tuple[str, ...]:
    statement = parse_statement(text)
    if statement is None:
        return parameter_names(parse(text, dialect))
    query = query_in(statement)
    if query is None:
        return ()
    with query.located():
        return parameter_names(parse(query.text, dialect))

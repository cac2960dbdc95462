"""Every error that qengine raises, with stable codes.

    QEngineError
    ├── QueryError              the query is at fault; carries the position in its text
    │   ├── SyntaxFault         it is not SQL
    │   ├── BindError           names or types do not fit
    │   └── NotSupported        it is SQL that qengine does not do
    ├── ExpressionError         a value is at fault: overflow, division by zero, a failed cast, two rows for a scalar subquery
    ├── DataError               a file or table is at fault
    │   ├── FileChanged         it is not the one that was planned on
    │   └── StatisticsViolated  its footer claims what its values deny
    ├── ResourceError           the machine is at fault: memory, disk, processes
    ├── QueryCancelled          the user (or a closing session) ended it
    └── InternalError           qengine is at fault

`error(code, ...)` builds the error of a code from the one table `CODES`. Errors travel between processes, so each of them
rebuilds itself from its class, message, code and position.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Position:
    """A part [start, end) of a query's text, in characters."""

    text: str
    start: int
    end: int

    def caret(self) -> str:
        """The line of the text that holds the position, and carets under it. Tabs are shown as single spaces."""
        line_start = self.text.rfind("\n", 0, self.start) + 1
        line_end = self.text.find("\n", self.start)
        line_end = len(self.text) if line_end < 0 else line_end
        number = self.text.count("\n", 0, self.start) + 1
        prefix = f"LINE {number}: "
        line = self.text[line_start:line_end].replace("\t", " ")
        column = self.start - line_start
        width = max(1, min(self.end, line_end) - self.start)
        if column > 100:  # a long line is shown from near the position on
            line, column = "..." + line[column - 60 :], 63
        return f"{prefix}{line[:160]}\n{' ' * (len(prefix) + column)}{'^' * min(width, max(1, 160 - column))}"


class QEngineError(Exception):
    """Base of all errors. `code` is stable; `str(error)` is a message for people, with a caret where there is a text."""

    code = "QENGINE_ERROR"

    def __init__(self, message: str, *, code: str | None = None, position: Position | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message}\n{self.position.caret()}" if self.position is not None else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.code, self.position)


def _rebuild(cls: type[QEngineError], message: str, code: str, position: Position | None) -> QEngineError:
    created = cls.__new__(cls)
    QEngineError.__init__(created, message, code=code, position=position)
    return created


class QueryError(QEngineError):
    """The query is at fault."""


class SyntaxFault(QueryError):
    """The text is not SQL."""


class BindError(QueryError):
    """Names or types do not fit."""


class NotSupported(QueryError):
    """It is SQL that qengine does not do."""


class ExpressionError(QEngineError):
    """A value is at fault."""


class DataError(QEngineError):
    """A file or table is at fault."""


class FileChanged(DataError):
    """A file is not the one that was planned on."""


class StatisticsViolated(DataError):
    """A footer claims what the values deny. The engine plans once more without trusting the file."""


class ResourceError(QEngineError):
    """The machine is at fault."""


class QueryCancelled(QEngineError):
    """The query was ended before it was done."""


class InternalError(QEngineError):
    """A bug of qengine."""

    code = "INTERNAL"


CODES: dict[str, tuple[type[QEngineError], str]] = {
    "SYNTAX": (SyntaxFault, "syntax error: {detail}"),
    "EMPTY_QUERY": (SyntaxFault, "there is no statement to run"),
    "SEVERAL_STATEMENTS": (SyntaxFault, "one statement is expected, {count} were given"),
    "TOO_DEEP": (SyntaxFault, "the statement is nested too deeply"),
    "UNKNOWN_DIALECT": (BindError, "there is no SQL dialect {name!r}{nearest}"),
    "UNKNOWN_TABLE": (BindError, "table {name!r} does not exist{nearest}"),
    "UNKNOWN_COLUMN": (BindError, "column {name!r} does not exist{nearest}"),
    "AMBIGUOUS_COLUMN": (BindError, "column {name!r} is ambiguous: it could be {candidates}"),
    "DUPLICATE_ALIAS": (BindError, "the table alias {name!r} is used twice in one {clause} clause"),
    "UNKNOWN_FUNCTION": (BindError, "function {name!r} does not exist{nearest}"),
    "WRONG_ARGUMENTS": (BindError, "{name} takes {expected}, not {given}"),
    "TYPE_MISMATCH": (BindError, "{what} cannot be applied to {types}"),
    "UNKNOWN_TYPE": (BindError, "there is no type {name!r}{nearest}"),
    "INVALID_LITERAL": (BindError, "{text!r} is not a valid {dtype}"),
    "DECIMAL_TOO_WIDE": (BindError, "{what} would need more than 38 digits"),
    "NOT_GROUPED": (BindError, "column {name!r} must be in GROUP BY or inside an aggregate function"),
    "MISPLACED_AGGREGATE": (BindError, "an aggregate function is not allowed in {where}"),
    "MISPLACED_WINDOW": (BindError, "a window function is not allowed in {where}"),
    "INVALID_ORDINAL": (BindError, "{clause} position {ordinal} is not between 1 and {count}"),
    "COLUMN_COUNT": (BindError, "the number of columns of {what} is {given}, not {expected}"),
    "INVALID_LIMIT": (BindError, "{clause} must be a constant integer that is not negative"),
    "UNKNOWN_PREPARED": (BindError, "there is no prepared query {name!r}{nearest}"),
    "MISSING_PARAMETER": (BindError, "parameter {name} has no value"),
    "UNKNOWN_PARAMETER": (BindError, "the statement has no parameter {name}{nearest}"),
    "UNSUPPORTED": (NotSupported, "{what} is not supported{nearest}"),
    "INVALID_SETTING": (BindError, "{name} must be {expected}, not {given!r}"),
    "UNKNOWN_SETTING": (BindError, "there is no setting {name!r}{nearest}"),
    "UNKNOWN_RULE": (BindError, "no optional rule of the optimizer is called {name!r}{nearest}"),
    "UNSUPPORTED_VALUE": (BindError, "{what} cannot be used as a table"),
    "OVERFLOW": (ExpressionError, "a value is out of the range of {dtype}"),
    "DIVISION_BY_ZERO": (ExpressionError, "division by zero"),
    "INVALID_ARGUMENT": (ExpressionError, "{name} cannot be computed of {value}"),
    "CAST_FAILED": (ExpressionError, "{value} cannot be converted to {dtype}"),
    "SCALAR_SUBQUERY_ROWS": (ExpressionError, "a subquery used as a value returned more than one row"),
    "FILE_NOT_FOUND": (DataError, "no file matches {path!r}{nearest}"),
    "FILE_UNREADABLE": (DataError, "{path!r} cannot be read: {detail}"),
    "FILE_INVALID": (DataError, "{path!r} is not a valid {format} file: {detail}"),
    "FILE_SCHEMA_MISMATCH": (DataError, "{path!r} has other columns than {first!r}: {detail}"),
    "FILE_TYPE_UNSUPPORTED": (DataError, "column {column!r} of {path!r} has the type {type}, which is not supported"),
    "FILE_CHANGED": (FileChanged, "{path!r} changed while it was being queried"),
    "FILE_COLUMNS_CHANGED": (DataError, "table {table!r} has no column {column!r} of the type that the query was written for"),
    "STATISTICS_VIOLATED": (StatisticsViolated, "column {column!r} of {path!r} has values outside of its footer's claim"),
    "OUT_OF_MEMORY": (ResourceError, "the query ran out of memory: {detail}"),
    "DISK_FULL": (ResourceError, "there is no space left in {path!r}"),
    "WORKER_LOST": (ResourceError, "a worker process died {count} times on the same task: {detail}"),
    "OUTPUT_LOST": (ResourceError, "the output of a task was lost {count} times and cannot be computed again"),
    "WORKER_START": (ResourceError, "a worker process could not be started: {detail}"),
    "CANCELLED": (QueryCancelled, "the query was cancelled"),
    "SESSION_CLOSED": (ResourceError, "the session is closed"),
    "FORKED": (ResourceError, "an engine cannot be used in a forked child of the process that opened it"),
    "INTERNAL": (InternalError, "internal error, please report it: {detail}"),
}
"""Code, class and message template of every error. Codes are stable: one is never reused for something else."""

_LONGEST = 400
"""Characters of a value in a message."""


def error(code: str, *, position: Position | None = None, **values: Any) -> QEngineError:
    """The error of a code; `values` fill its template (`nearest` is optional, see `nearest`)."""
    cls, template = CODES[code]
    values.setdefault("nearest", "")
    message = template.format(**{name: _shortened(value) for name, value in values.items()})
    created = cls.__new__(cls)
    QEngineError.__init__(created, message, code=code, position=position)
    return created


def _shortened(value: Any) -> Any:
    """A value for a message. Texts and texts of objects that fill pages are cut in the middle."""
    text = value if isinstance(value, str) else repr(value)
    return value if len(text) <= _LONGEST else text[: _LONGEST // 2] + "..." + text[-_LONGEST // 4 :]


def nearest(name: str, candidates: Iterable[str]) -> str:
    """The end of a message that proposes the candidate most like `name`; empty if none is close."""
    by_fold = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return f"; did you mean {by_fold[close[0]]!r}?" if close else ""

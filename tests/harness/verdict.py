"""Whether the engine's answer to a query is right, when DuckDB answers or raises, and when the engine answers or raises.

Answers are compared by `tpch.same_answer`. For errors the rule is:

- Both raise for a value (overflow, division by zero, failed cast, too many rows of a scalar subquery): fine, since SQL does
  not say which of several wrong values is met first.
- DuckDB raises and we answer. What is evaluated is free: a filter may come first, an unused column may not be computed. So
  the answer has to be that of DuckDB without its optimizer; if that raises as well, nothing is known about the query
  (`Kind.UNDECIDED`). For a *flat* query, which evaluates all of its expressions for all rows, nothing is free: it is
  compared row by row, and we have to raise for the very rows for which DuckDB does.
- DuckDB answers and we raise. Fine if DuckDB raises without its optimizer, or where we differ on purpose (DESIGN.md section
  7): a sum of integers beyond BIGINT and a decimal beyond 38 digits are errors, and a constant that cannot be converted is
  refused with its position when the query is bound, whether a row needs it or not. Anything else is a bug.
- DuckDB refuses to bind the query: nothing is known. We refuse what DuckDB answers: a bug, unless it says UNSUPPORTED.
- An internal error is always a bug.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa

from planner.errors import ExpressionError, NotSupported, QEngineError, QueryError
from planner.rule import RuleFault
from tests.harness.random_queries import RandomQuery
from tpch.same_answer import same_answer

ROWS = 23
"""Rows of a table that are looked at one by one."""

Run = Callable[[str], pa.Table]


class Kind(enum.Enum):
    SAME = "the same answer"
    BOTH_RAISE = "both raise"
    UNDECIDED = "the oracle raises, with and without its optimizer"
    PURPOSE = "raises on purpose"
    REFUSED = "refused by the oracle"
    UNSUPPORTED = "not supported"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: Kind
    detail: str = ""


class OracleFailed(Exception):
    """DuckDB answered with an internal error or refused the query."""


class Oracle:
    """DuckDB over tables in memory: the statistics of Parquet files make it lose sight of NaN."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self._tables = tables
        self._connect()

    def _connect(self) -> None:
        self._optimizing = duckdb.connect(config={"threads": 1})
        for name, table in self._tables.items():
            self._optimizing.register("arrow", table)
            self._optimizing.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
        self._naive = self._optimizing.cursor()
        self._naive.execute("PRAGMA disable_optimizer")
        for connection in (self._optimizing, self._naive):
            connection.execute("SET TimeZone = 'UTC'")

    def answer(self, text: str, naive: bool = False) -> pa.Table | str:
        """The answer, or the message of an error that a value caused. Raises OracleFailed for every other error."""
        try:
            return (self._naive if naive else self._optimizing).sql(text).to_arrow_table()
        except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException) as problem:
            return str(problem)
        except (duckdb.InternalException, duckdb.FatalException) as problem:
            self._connect()
            raise OracleFailed(str(problem)) from problem
        except duckdb.Error as problem:
            raise OracleFailed(str(problem)) from problem

    def close(self) -> None:
        self._naive.close()
        self._optimizing.close()


def judge(query: RandomQuery, run: Run, oracle: Oracle) -> Verdict:
    """The verdict on one query, which `run` has the engine answer."""
    try:
        expected = oracle.answer(query.text)
    except OracleFailed as problem:
        return _unless_internal(query, run, str(problem))
    try:
        actual: pa.Table | QEngineError = run(query.text)
    except (ExpressionError, QueryError) as problem:
        actual = problem
    except (QEngineError, RuleFault) as problem:
        return Verdict(Kind.WRONG, f"internal error: {problem}")
    if isinstance(actual, NotSupported):
        return Verdict(Kind.UNSUPPORTED, actual.message)
    if query.flat and (isinstance(expected, str) or isinstance(actual, QEngineError)):
        return _row_by_row(query, run, oracle)
    match expected, actual:
        case str(), QEngineError():
            if isinstance(actual, QueryError) and actual.code != "INVALID_LITERAL":
                return Verdict(Kind.WRONG, f"refused: {actual.message}; the oracle raises: {_first_line(expected)}")
            return Verdict(Kind.BOTH_RAISE, f"{actual.message} / {_first_line(expected)}")
        case str(), pa.Table():
            return _against_naive(query, actual, oracle, _first_line(expected))
        case pa.Table(), QEngineError():
            return _excused(query, actual, oracle)
        case pa.Table(), pa.Table():
            difference = _difference(query, actual, expected, oracle)
            return Verdict(Kind.SAME) if difference is None else Verdict(Kind.WRONG, difference)
    raise AssertionError


def _unless_internal(query: RandomQuery, run: Run, reason: str) -> Verdict:
    try:
        run(query.text)
    except (ExpressionError, QueryError):
        pass
    except (QEngineError, RuleFault) as problem:
        return Verdict(Kind.WRONG, f"internal error: {problem}")
    return Verdict(Kind.REFUSED, _first_line(reason))


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else text


def _difference(query: RandomQuery, actual: pa.Table, expected: pa.Table, oracle: Oracle) -> str | None:
    uncut = oracle.answer(query.uncut) if query.uncut is not None else None
    return same_answer(
        actual,
        _typed_nulls(expected, actual),
        query.order_by,
        limit=query.limit,
        offset=query.offset,
        uncut=_typed_nulls(uncut, actual) if isinstance(uncut, pa.Table) else None,
        in_sequence=query.in_sequence,
    )


def _typed_nulls(expected: pa.Table, actual: pa.Table) -> pa.Table:
    """DuckDB forgets types where it folds to NULL; a column of nothing but NULL on both sides gets the type of ours."""
    if expected.num_columns != actual.num_columns:
        return expected
    columns = [
        pa.nulls(len(theirs), mine.type) if theirs.null_count == len(theirs) and mine.null_count == len(mine) else theirs
        for theirs, mine in zip(expected.columns, actual.columns, strict=True)
    ]
    return pa.table(columns, names=expected.column_names)


def _row_by_row(query: RandomQuery, run: Run, oracle: Oracle) -> Verdict:
    ids = oracle.answer(f"SELECT id FROM {query.table} ORDER BY id")
    assert isinstance(ids, pa.Table)
    for number in ids.column(0).to_pylist()[:ROWS]:
        one = replace(query, text=f"{query.text} WHERE id = {number}", flat=False)
        try:
            expected = oracle.answer(one.text)
        except OracleFailed as problem:
            return Verdict(Kind.REFUSED, _first_line(str(problem)))
        try:
            actual: pa.Table | QEngineError = run(one.text)
        except (ExpressionError, QueryError) as problem:
            actual = problem
        except (QEngineError, RuleFault) as problem:
            return Verdict(Kind.WRONG, f"internal error: {problem}")
        if isinstance(expected, str):
            if isinstance(actual, pa.Table):
                shown = actual.to_pylist()
                return Verdict(Kind.WRONG, f"row {number}: we give {shown}, the oracle raises: {_first_line(expected)}")
        elif isinstance(actual, QEngineError):
            verdict = _excused(one, actual, oracle)
            if verdict.kind is Kind.WRONG:
                return Verdict(Kind.WRONG, f"row {number}: {verdict.detail}")
        elif (difference := same_answer(actual, _typed_nulls(expected, actual))) is not None:
            return Verdict(Kind.WRONG, f"row {number}: {difference}")
    return Verdict(Kind.BOTH_RAISE, "row by row")


def _against_naive(query: RandomQuery, actual: pa.Table, oracle: Oracle, reason: str) -> Verdict:
    expected = oracle.answer(query.text, naive=True)
    if isinstance(expected, str):
        return Verdict(Kind.UNDECIDED, reason)
    difference = _difference(query, actual, expected, oracle)
    return (
        Verdict(Kind.SAME)
        if difference is None
        else Verdict(Kind.WRONG, f"{difference} (unoptimized oracle; it raises: {reason})")
    )


def _excused(query: RandomQuery, problem: QEngineError, oracle: Oracle) -> Verdict:
    detail = f"we raise {problem.code}: {problem.message}"
    if problem.code == "INVALID_LITERAL":
        return Verdict(Kind.PURPOSE, detail)
    if isinstance(problem, QueryError):
        return Verdict(Kind.WRONG, f"refused: {problem.message}")
    if problem.code == "OVERFLOW" and ("DECIMAL(38" in problem.message or re.search(r"\b(sum|avg)\(", query.text)):
        return Verdict(Kind.PURPOSE, detail)
    try:
        naive = oracle.answer(query.text, naive=True)
    except OracleFailed:
        return Verdict(Kind.REFUSED, detail)
    if isinstance(naive, str):
        return Verdict(Kind.UNDECIDED, f"{detail}; unoptimized oracle: {_first_line(naive)}")
    return Verdict(Kind.WRONG, f"{detail}; the oracle answers")

"""Session: a catalog, settings, and the way to an engine."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from exec.engine import Engine
from exec.store.column_store import MODES as CACHE_MODES
from planner.catalog import TableSnapshot
from planner.dtypes import DType
from planner.errors import error, nearest
from planner.logical.view import View
from planner.sql.bind_frame import FrameBinder
from planner.sql.bind_from import table_alias
from planner.sql.parameters import Parameters, parameter_key
from planner.sql.statements import parse_statement
from qengine.catalog import SessionCatalog, path_tuple
from qengine.dataframe import DataFrame
from qengine.engines import attach, detach
from qengine.plan_cache import PlanCache
from qengine.prepared import PreparedStatement
from qengine.query import Query
from qengine.query_profile import Record
from qengine.settings import INLINE, PLAN_CACHE, Settings

if TYPE_CHECKING:
    from qengine.table_statistics import TableSummary

SAMPLING = ("auto", "off")


class Session:
    """A light, thread-safe handle on an engine; many may exist in one process and share its workers.

    `workers`: worker processes, by default one per core. `inline`: "auto" runs a query inside this process if it is proven to
    be small, "off" never does. `cache`: "auto" keeps columns of files that are scanned again decoded in shared memory, "eager"
    all before they are used, "off" none; at most `cache_memory` bytes (default: a quarter of the machine's memory), and only
    for as long as the file is unchanged. `plan_cache`: "auto" plans a text once, for as long as the names in it mean the same,
    "off" every time. `sampling`: "auto" draws small samples of the tables that queries use, when no query is running, and plans
    later queries with them; "off" draws none (`analyze` does). `disabled_rules`: names of optimizer rules, and of
    `reuse_exchanges`, to leave out, for finding errors in them.

    A session is closed by `close()`, at the end of a `with` block, or when the process ends. Raises BindError
    (INVALID_SETTING) for settings out of range.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        inline: str = "auto",
        cache: str = "auto",
        cache_memory: int | None = None,
        plan_cache: str = "auto",
        sampling: str = "auto",
        disabled_rules: frozenset[str] | set[str] | tuple[str, ...] = (),
        engine: Engine | None = None,
    ) -> None:
        if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or not 1 <= workers <= 1024):
            raise error("INVALID_SETTING", name="workers", expected="an integer from 1 to 1024", given=workers)
        if inline not in INLINE:
            raise error("INVALID_SETTING", name="inline", expected="'auto' or 'off'", given=inline)
        if cache not in CACHE_MODES:
            raise error("INVALID_SETTING", name="cache", expected="'auto', 'eager' or 'off'", given=cache)
        if plan_cache not in PLAN_CACHE:
            raise error("INVALID_SETTING", name="plan_cache", expected="'auto' or 'off'", given=plan_cache)
        if sampling not in SAMPLING:
            raise error("INVALID_SETTING", name="sampling", expected="'auto' or 'off'", given=sampling)
        if cache_memory is not None and (
            not isinstance(cache_memory, int) or isinstance(cache_memory, bool) or cache_memory < 0
        ):
            raise error("INVALID_SETTING", name="cache_memory", expected="a number of bytes", given=cache_memory)
        self._attached = engine is None
        self._engine = engine if engine is not None else attach(workers, cache, cache_memory)
        self._catalog = SessionCatalog(self._engine, sampling == "auto")
        self._binder = FrameBinder(self._catalog)
        self._plans = PlanCache(self._catalog)
        self._prepared: dict[str, PreparedStatement] = {}
        self._settings = self._opened_settings = Settings(inline, frozenset(disabled_rules), plan_cache)
        self._lock = threading.Lock()
        self._closed = False

    @property
    def workers(self) -> int:
        """The number of worker processes."""
        return self._engine.workers

    def sql(self, text: str, dialect: str = "duckdb", *, parameters: Parameters = ()) -> DataFrame:
        """The lazy result of one SQL query in any dialect that sqlglot reads; nothing runs until it is collected.

        EXPLAIN, SET, SHOW and the like (`planner.sql.statements`) are executed at once, and what they say are the rows.

        `parameters`: the values of `?` or `$1` as a list, those of `$name` as a dict. They are values, never text of SQL.
        Raises QueryError, with the position in the text, if the query cannot be understood; DataError if it names a file
        that cannot be read.
        """
        self._check_open()
        if not isinstance(text, str):
            raise error("INVALID_SETTING", name="text", expected="the text of a query", given=text)
        if not isinstance(dialect, str):
            raise error("UNKNOWN_DIALECT", name=dialect)
        statement = parse_statement(text)
        if statement is not None:
            from qengine.statements import execute

            return execute(self, statement, dialect, parameters)
        return self._query(text, dialect, parameters)

    def _query(self, text: str, dialect: str, parameters: Parameters) -> DataFrame:
        record, settings = Record(), self._settings
        key = (text, dialect, settings, parameter_key(parameters))
        query = self._plans.find(key)
        record.passed("look up")
        if query is not None:
            sources = query.bound.sources
            rebind = partial(self._binder.sql, text, dialect, sources=sources, parameters=parameters)
            return DataFrame(self, lambda: rebind()[0], query=query, planning=record.seconds)
        frame, bound = self._binder.sql(text, dialect, lambda: record.passed("parse"), parameters=parameters)
        query = Query(bound, settings, self.workers)
        if settings.plan_cache == "auto":
            self._plans.keep(key, query, text)
        record.passed("bind")
        return DataFrame(self, frame, query=query, planning=record.seconds)

    def _rows(self, columns: Sequence[tuple[str, DType]], rows: Iterable[tuple[Any, ...]]) -> DataFrame:
        return DataFrame(self, self._binder.rows(columns, rows))

    def _change_settings(self, change: Callable[[Settings], Settings]) -> None:
        with self._lock:
            self._settings = change(self._settings)

    def prepare(self, text: str, dialect: str = "duckdb") -> PreparedStatement:
        """A statement with parameters, to be run with values. Raises SyntaxFault if the text is not one statement."""
        self._check_open()
        if not isinstance(text, str):
            raise error("INVALID_SETTING", name="text", expected="the text of a query", given=text)
        return PreparedStatement(self, text, dialect)

    def table(self, name: str) -> DataFrame:
        """All columns of a registered table or view, or of a file, by its name.

        Raises BindError (UNKNOWN_TABLE), and DataError if the name is that of a file that cannot be read.
        """
        self._check_open()
        if not isinstance(name, str) or not name:
            raise error("INVALID_SETTING", name="name", expected="a text that is not empty", given=name)
        return DataFrame(self, self._binder.table(name))

    def from_arrow(self, table: Any, name: str = "arrow") -> DataFrame:
        """The rows of an object with the Arrow stream interface (pyarrow, Polars, pandas, ...) as they are now.

        `name` is what plans and column qualifiers call it; it is not registered. The rows are kept until the engine ends.
        Raises BindError (UNSUPPORTED_VALUE) for other objects and for columns of types that qengine does not have.
        """
        self._check_open()
        from exec.sources.memory import register

        return DataFrame(self, self._binder.snapshot(register(table, name, str(self._engine.folder)), name))

    def read_parquet(self, path: str | os.PathLike[str] | list[str] | list[os.PathLike[str]]) -> DataFrame:
        """The rows of a Parquet file, of a pattern or folder of files, or of a list of them, in that order.

        Raises DataError if there is no such file, if one is not Parquet, or if their columns differ.
        """
        self._check_open()
        paths = path_tuple(path)
        return DataFrame(self, self._binder.snapshot(self._catalog.describe(paths, paths[0]), table_alias(paths[0])), paths)

    def register(self, name: str, table: Any) -> None:
        """Give a table a name for SQL, in place of an earlier one of that name.

        `table`: a pyarrow Table, a Polars or pandas DataFrame, any other object with the Arrow stream interface (their rows
        are taken as they are now), or a DataFrame of this session: a view, which every query that uses it computes anew, over
        the tables that its names meant when it was made; of files, as they are by then.
        """
        self._check_open()
        if not isinstance(name, str) or not name:
            raise error("INVALID_SETTING", name="name", expected="a text that is not empty", given=name)
        if isinstance(table, DataFrame):
            self._register_view(name, table)
        else:
            self._register_rows(name, table)
        self._plans.forget(name)

    def _register_rows(self, name: str, table: Any) -> None:
        from exec.sources.memory import register

        self._catalog.register_snapshot(name, register(table, name, str(self._engine.folder)))

    def _register_view(self, name: str, frame: DataFrame) -> None:
        if frame._session is not self:
            raise error("UNSUPPORTED_VALUE", what="a DataFrame of another session (collect it first)")
        if frame.source_files is not None:
            self._catalog.register_files(name, frame.source_files)
            return
        self._catalog.register_view(name, self._binder.view(frame._frame))

    def analyze(self, name: str) -> None:
        """Look at all rows of a table now, for better plans of the queries after this: distinct values, NULLs, and a sample.

        Statistics are kept as long as the engine runs and the files are unchanged. Raises BindError
        (UNKNOWN_TABLE), NotSupported for a view, DataError if the table cannot be read.
        """
        self._engine.table_statistics.analyze(self._snapshot(name))

    def statistics(self, name: str) -> TableSummary:
        """What is known of the rows of a table, by `analyze`, by a sample that was drawn meanwhile, or from its file alone.

        Raises BindError (UNKNOWN_TABLE), NotSupported for a view, DataError if the table cannot be read.
        """
        from qengine.table_statistics import summary_of

        return summary_of(self._snapshot(name))

    def _snapshot(self, name: str) -> TableSnapshot:
        self._check_open()
        if not isinstance(name, str) or not name:
            raise error("INVALID_SETTING", name="name", expected="a text that is not empty", given=name)
        found = self._catalog.table(name)
        if found is None:
            raise error("UNKNOWN_TABLE", name=name, nearest=nearest(name, self._catalog.names()))
        if isinstance(found, View):
            raise error("UNSUPPORTED", what="statistics of a view (its tables have them)")
        return found

    def close(self) -> None:
        """End the session; its engine ends with the last session that uses it. Closing twice does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._plans.clear()
        if self._attached:
            detach(self._engine)

    def _check_open(self) -> None:
        if self._closed:
            raise error("SESSION_CLOSED")

    def __enter__(self) -> Session:
        self._check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

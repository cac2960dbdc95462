"""Session: a catalog, settings, and the way to an engine."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Any

from exec.engine import Engine
from planner.errors import error
from qengine.catalog import SessionCatalog, path_tuple
from qengine.dataframe import DataFrame
from qengine.engines import attach, detach
from qengine.query import Settings

INLINE = ("auto", "off")


class Session:
    """A light, thread-safe handle on an engine; many may exist in one process and share its workers.

    `workers`: worker processes, by default one per core. `inline`: "auto" runs a query inside this process if it is proven to
    be small, "off" never does. `disabled_rules`: names of optimizer rules to leave out, for finding errors in them.

    A session is closed by `close()`, at the end of a `with` block, or when the process ends. Raises BindError
    (INVALID_SETTING) for settings out of range.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        inline: str = "auto",
        disabled_rules: frozenset[str] | set[str] | tuple[str, ...] = (),
        engine: Engine | None = None,
    ) -> None:
        if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or not 1 <= workers <= 1024):
            raise error("INVALID_SETTING", name="workers", expected="an integer from 1 to 1024", given=workers)
        if inline not in INLINE:
            raise error("INVALID_SETTING", name="inline", expected="'auto' or 'off'", given=inline)
        self._engine = engine if engine is not None else attach(workers)
        self._catalog = SessionCatalog(self._engine)
        self._settings = Settings(inline, frozenset(disabled_rules))
        self._lock = threading.Lock()
        self._closed = False

    @property
    def workers(self) -> int:
        """The number of worker processes."""
        return self._engine.workers

    def sql(self, text: str, dialect: str = "duckdb") -> DataFrame:
        """The lazy result of one SQL query in any dialect that sqlglot reads; nothing runs until it is collected.

        Raises QueryError, with the position in the text, if the query cannot be understood; DataError if it names a file
        that cannot be read.
        """
        self._check_open()
        return DataFrame.from_sql(self, text, dialect)

    def read_parquet(self, path: str | os.PathLike[str] | list[str] | list[os.PathLike[str]]) -> DataFrame:
        """The rows of a Parquet file, of a pattern or folder of files, or of a list of them, in that order.

        Raises DataError if there is no such file, if one is not Parquet, or if their columns differ.
        """
        self._check_open()
        return DataFrame.from_files(self, path_tuple(path))

    def register(self, name: str, table: Any) -> None:
        """Give a table a name for SQL, in place of an earlier one of that name.

        `table`: a pyarrow Table, a Polars or pandas DataFrame, any other object with the Arrow stream interface (their rows
        are taken as they are now), or what `read_parquet` returned (whose files are read by each query).
        """
        self._check_open()
        if not isinstance(name, str) or not name:
            raise error("INVALID_SETTING", name="name", expected="a text that is not empty", given=name)
        if isinstance(table, DataFrame):
            if table.source_files is None:
                raise error("UNSUPPORTED_VALUE", what="the result of a query (collect it first)")
            self._catalog.register_files(name, table.source_files)
            return
        from exec.sources.memory import register

        self._catalog.register_snapshot(name, register(table, name, str(self._engine.folder)))

    def close(self) -> None:
        """End the session; its engine ends with the last session that uses it. Closing twice does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        detach(self._engine)

    def _check_open(self) -> None:
        if self._closed:
            raise error("SESSION_CLOSED")

    def __enter__(self) -> Session:
        self._check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

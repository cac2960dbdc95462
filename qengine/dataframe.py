"""DataFrame: a query that has not run yet."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from exec.progress import ProgressCallback
from planner.errors import FileChanged, StatisticsViolated, error
from planner.schema import ColumnAllocator, Field
from planner.sql import BoundQuery, bind
from qengine.query import Query, scan_table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from qengine.session import Session

EXPLAIN_LEVELS = ("logical", "optimized", "physical", "stages")


class DataFrame:
    """A lazy result: columns are known, rows are not computed before they are asked for. Made by a Session."""

    def __init__(self, session: Session, bind: Callable[[], BoundQuery], source_files: tuple[str, ...] | None = None) -> None:
        self._session = session
        self._bind = bind
        self._query = self._new_query()
        self.source_files = source_files
        """The paths of `read_parquet`, if this is nothing but files."""

    @classmethod
    def from_sql(cls, session: Session, text: str, dialect: str) -> DataFrame:
        return cls(session, lambda: bind(text, session._catalog, dialect, ColumnAllocator()))

    @classmethod
    def from_files(cls, session: Session, paths: tuple[str, ...]) -> DataFrame:
        return cls(session, lambda: scan_table(session._catalog.describe(paths, paths[0])), paths)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order; names may repeat."""
        return self._query.bound.names

    @property
    def schema(self) -> tuple[Field, ...]:
        """Name, type and nullability of each column."""
        return self._query.schema

    def collect(self, *, progress: ProgressCallback | None = None, cancel: threading.Event | None = None) -> pa.Table:
        """Run the query. Gives a pyarrow Table of exact types: decimals as decimal128, dates as date32.

        `progress` is called with the `Progress` so far (tasks, rows, bytes, seconds); setting `cancel` from another thread
        ends the query.
        Raises QEngineError: ExpressionError for values out of range and the like, DataError for files, ResourceError for the
        machine, QueryCancelled. Ctrl-C cancels the query and raises KeyboardInterrupt; the session stays usable.
        """
        self._session._check_open()
        query = self._current_query()
        engine, catalog = self._session._engine, self._session._catalog
        try:
            return query.run(engine, progress, cancel)
        except StatisticsViolated:
            catalog.distrust(query.bound.tables)
        except FileChanged:
            catalog.forget(query.bound.tables)
        # Nothing was delivered yet, so the query is planned once more on what the files really are.
        return self._current_query().run(engine, progress, cancel)

    def to_arrow(self) -> pa.Table:
        """The same as `collect()`."""
        return self.collect()

    def to_polars(self) -> polars.DataFrame:
        """Run the query and give a Polars DataFrame. Raises what `collect` raises, and ValueError for repeated names."""
        import polars

        table = self.collect()
        _refuse_repeated(table.column_names)
        frame = polars.from_arrow(table)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """Run the query and give a pandas DataFrame (decimals as decimal.Decimal). Needs the extra `pandas`."""
        return self.collect().to_pandas()

    def show(self, limit: int = 20) -> None:
        """Run the query and print its first rows as a table."""
        from qengine.display import table_text

        print(table_text(self.collect(), limit))

    def explain(self, level: str = "optimized") -> str:
        """The plan as text: "logical" as bound, "optimized", "physical" operators, or "stages" with the DIR on every edge."""
        from planner.explain import logical_text
        from planner.physical.explain import physical_text, stages_text

        self._session._check_open()
        if level not in EXPLAIN_LEVELS:
            raise error("INVALID_SETTING", name="level", expected=f"one of {', '.join(EXPLAIN_LEVELS)}", given=level)
        query = self._current_query()
        match level:
            case "logical":
                return logical_text(query.bound.plan)
            case "optimized":
                return logical_text(query.optimized)
            case "physical":
                return physical_text(query.physical())
            case _:
                return stages_text(query.stages())

    def _new_query(self) -> Query:
        return Query(self._bind(), self._session._settings, self._session.workers)

    def _current_query(self) -> Query:
        """The query bound to its tables as they are now; its plans are kept as long as no table changes."""
        if not all(self._session._catalog.is_current(table) for table in self._query.bound.tables):
            self._query = self._new_query()
        return self._query

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule interface: run the query and export its rows."""
        return self.collect().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(f"{field.name} {field.dtype}" for field in self.schema)
        return f"DataFrame({columns})"


def _refuse_repeated(names: list[str]) -> None:
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"Polars does not allow the column name {repeated!r} twice; give one an alias")

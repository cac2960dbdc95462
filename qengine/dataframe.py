"""DataFrame: a query that has not run yet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exec.progress import ProgressCallback
from planner.errors import FileChanged, StatisticsViolated, error
from planner.schema import Field
from planner.sql.frame import Frame
from qengine.query import Query
from qengine.query_profile import Profile, Record, profile_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from qengine.column import Column, Ordering
    from qengine.session import Session

EXPLAIN_LEVELS = ("logical", "optimized", "physical", "stages")


class DataFrame:
    """A lazy result: columns are known, rows are not computed before they are asked for. Made by a Session.

    Every method that returns a DataFrame gives a new one and leaves this one as it is. Where a method takes an expression, that
    is a Column (`qengine.col`, `qengine.functions`) or SQL text; errors are those of the same SQL, and are raised by the call.

    A column is meant by its name, `col("a")`, or as the column of one DataFrame, `df["a"]`. The latter stays the same column
    after joins, whatever else is called a then. There is no `df.a`: it would be in the way of methods, for tables whose columns
    are called count or filter, and of every method that is added later.
    """

    def __init__(
        self,
        session: Session,
        frame: Frame | Callable[[], Frame],
        source_files: tuple[str, ...] | None = None,
        query: Query | None = None,
        planning: Mapping[str, float] | None = None,
    ) -> None:
        self._session = session
        self._planning = planning or {}
        self._bound_frame = frame
        self._query = query
        self.source_files = source_files
        """The paths of `read_parquet`, if this is nothing but files."""

    @property
    def _frame(self) -> Frame:
        if not isinstance(self._bound_frame, Frame):
            self._bound_frame = self._bound_frame()
        return self._bound_frame

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order; names may repeat."""
        from planner.sql.bind_frame import visible_items

        return tuple(name for name, _ in visible_items(self._frame))

    @property
    def schema(self) -> tuple[Field, ...]:
        """Name, type and nullability of each column."""
        return self._planned().schema

    def __getitem__(self, name: str) -> Column:
        """A column of this DataFrame, which means the same in every DataFrame that is made from it.

        Raises BindError: UNKNOWN_COLUMN, and AMBIGUOUS_COLUMN if several have the name.
        """
        from qengine.column import Column

        if not isinstance(name, str):
            raise error("INVALID_SETTING", name="a column", expected="its name", given=name)
        return Column(self._session._binder.column(self._frame, name))

    def __iter__(self) -> None:
        # Without this, Python would try df[0], df[1], and so on.
        raise TypeError("a DataFrame cannot be iterated over; collect() gives its rows")

    # ------------------------------------------------------------------------------------------------------- operators

    def filter(self, *conditions: Column | str) -> DataFrame:
        """The rows for which all conditions are true (not NULL)."""
        from qengine.column import condition_node

        if not conditions:
            return self
        nodes = [condition_node(condition) for condition in conditions]
        return self._made(self._session._binder.filter(self._frame, nodes))

    def select(self, *expressions: Column | str | Iterable[Column | str], **named: Any) -> DataFrame:
        """Exactly these columns: `df.select("a", "b + 1 AS c", col("d") * 2, e="upper(f)")`. `"*"` is all columns.

        With aggregates and no columns beside them, one row.
        """
        from qengine.column import expression_nodes

        nodes = expression_nodes(expressions, named)
        _refuse_none(nodes, "select")
        return self._made(self._session._binder.select(self._frame, nodes))

    def with_columns(self, *expressions: Column | str | Iterable[Column | str], **named: Any) -> DataFrame:
        """All columns and further ones; one that has the name of an old one takes its place.

        Expressions see the columns as they were; a new name means the new column in the expressions after it.
        """
        from qengine.column import expression_nodes

        nodes = expression_nodes(expressions, named)
        return self._made(self._session._binder.with_columns(self._frame, nodes)) if nodes else self

    def join(self, other: DataFrame, on: Column | str | Iterable[Column | str] | None = None, how: str = "inner") -> DataFrame:
        """Joined with another DataFrame: "inner", "left", "right", "full", "semi", "anti" or "cross" (without `on`).

        `on`: the name of a column of both, or a list of such names, which are one column each in the result; or a condition of
        columns of both, `a["id"] == b["key"]`, `col("x.id") == col("y.key")` after `alias("x")` and `alias("y")`, or SQL text.
        Then all columns of both are kept, and those whose names repeat are told apart by alias or as `a["id"]`.
        """
        from planner.sql.bind_frame import JOIN_KINDS
        from qengine.column import join_condition

        right = self._other(other)
        if how not in JOIN_KINDS:
            raise error("INVALID_SETTING", name="how", expected=f"one of {', '.join(JOIN_KINDS)}", given=how)
        if (on is None) != (how == "cross"):
            expected = "left out for a cross join" if how == "cross" else "given (a name, names or a condition)"
            raise error("INVALID_SETTING", name="on", expected=expected, given=on)
        binder = self._session._binder
        if on is None:
            return self._made(binder.join(self._frame, right, how))
        names = [on] if isinstance(on, str) else list(on) if isinstance(on, (list, tuple)) else []
        if names and all(isinstance(name, str) for name in names) and self._share(names, right):
            return self._made(binder.join(self._frame, right, how, names))
        return self._made(binder.join(self._frame, right, how, condition=join_condition(on)))

    def group_by(self, *keys: Column | str | Iterable[Column | str], **named: Any) -> GroupedFrame:
        """Groups of rows with the same values of some expressions, NULL being one value. `agg` makes rows of them."""
        from qengine.column import expression_nodes

        return GroupedFrame(self, expression_nodes(keys, named))

    def agg(self, *aggregates: Column | str | Iterable[Column | str], **named: Any) -> DataFrame:
        """One row of aggregates over all rows."""
        return GroupedFrame(self, []).agg(*aggregates, **named)

    def sort(
        self,
        *keys: Column | Ordering | str | Iterable[Column | Ordering | str],
        descending: bool | Iterable[bool] = False,
        nulls_last: bool | Iterable[bool] = True,
    ) -> DataFrame:
        """The rows in the order of some keys: `df.sort("a", col("b").desc())`, `df.sort("a DESC NULLS FIRST")`.

        `descending` and `nulls_last` are for all keys, or one for each; a direction that a key has itself comes first.
        """
        from qengine.column import order_nodes

        flat = [item for key in keys for item in (key if isinstance(key, (list, tuple)) else (key,))]
        _refuse_none(flat, "sort")
        downs, lasts = _flags(descending, len(flat), "descending"), _flags(nulls_last, len(flat), "nulls_last")
        return self._made(self._session._binder.sort(self._frame, order_nodes(flat, downs, lasts)))

    def limit(self, n: int, offset: int = 0) -> DataFrame:
        """At most n rows, after leaving out the first `offset`."""
        for name, value in (("n", n), ("offset", offset)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise error("INVALID_LIMIT", clause=name)
        return self._made(self._session._binder.limit(self._frame, n, offset))

    def head(self, n: int = 5) -> DataFrame:
        """The first n rows."""
        return self.limit(n)

    def distinct(self) -> DataFrame:
        """Every row once; NULL equals NULL here."""
        return self._made(self._session._binder.distinct(self._frame))

    def union(self, other: DataFrame, distinct: bool = False) -> DataFrame:
        """The rows of both (`distinct`: every row once). Columns are matched by their order, and have the names of this one."""
        return self._made(self._session._binder.union(self._frame, self._other(other), distinct))

    def drop(self, *columns: Column | str) -> DataFrame:
        """All columns but these: names, or columns of a DataFrame (`joined.drop(right["id"])`)."""
        targets = [column if isinstance(column, str) else _node_of(column) for column in columns]
        return self._made(self._session._binder.drop(self._frame, targets)) if targets else self

    def rename(self, names: Mapping[str, str]) -> DataFrame:
        """The same columns, some under other names: `df.rename({"old": "new"})`."""
        if not isinstance(names, Mapping) or not all(isinstance(name, str) and name for pair in names.items() for name in pair):
            raise error("INVALID_SETTING", name="names", expected="a dict from old to new names", given=names)
        return self._made(self._session._binder.rename(self._frame, names))

    def alias(self, name: str) -> DataFrame:
        """The same rows under a name for expressions: `df.alias("x")` has `col("x.a")`.

        Its columns are others than those of this DataFrame, so that both can be joined, each with its own `["a"]`.
        """
        if not isinstance(name, str) or not name:
            raise error("INVALID_SETTING", name="name", expected="a text that is not empty", given=name)
        return self._made(self._session._binder.alias(self._frame, name))

    # ------------------------------------------------------------------------------------------------------ subqueries

    def exists(self) -> Column:
        """Whether this DataFrame has a row, as a condition for another one. Correlated by `outer`."""
        from qengine.column import frame_subquery

        return frame_subquery(self._frame, exists=True)

    def scalar(self) -> Column:
        """The only value of this DataFrame (one column, at most one row; none is NULL), for expressions of another one.

        Correlated by `outer`. Two rows are an ExpressionError (SCALAR_SUBQUERY_ROWS) when the query runs.
        """
        from qengine.column import frame_subquery

        return frame_subquery(self._frame, exists=False)

    # --------------------------------------------------------------------------------------------------------- results

    def collect(self, *, progress: ProgressCallback | None = None, cancel: threading.Event | None = None) -> pa.Table:
        """Run the query. Gives a pyarrow Table of exact types: decimals as decimal128, dates as date32.

        `progress` is called with the `Progress` so far (tasks, rows, bytes, seconds); setting `cancel` from another thread
        ends the query.
        Raises QEngineError: ExpressionError for values out of range and the like, DataError for files, ResourceError for the
        machine, QueryCancelled. Ctrl-C cancels the query and raises KeyboardInterrupt; the session stays usable.
        """
        return self._run(progress, cancel, Record())

    def profile(
        self,
        *,
        operators: bool = True,
        progress: ProgressCallback | None = None,
        cancel: threading.Event | None = None,
    ) -> Profile:
        """Run the query and tell where its time went: planning step by step, each stage, and when no task was running.

        What was planned before, for this DataFrame or for the same text, takes no time again. The result is in the profile, and
        `print` shows the rest; EXPLAIN ANALYZE is the same run shown in the plan. `operators` counts what every operator
        delivers, at next to no cost (see `exec.lower.observe`). Raises what `collect` raises.
        """
        record = Record(dict(self._planning), operators)
        return profile_of(self._run(progress, cancel, record), record)

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

        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            raise error("INVALID_SETTING", name="limit", expected="a number of rows", given=limit)
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

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule interface: run the query and export its rows."""
        return self.collect().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(f"{field.name} {field.dtype}" for field in self.schema)
        return f"DataFrame({columns})"

    # -------------------------------------------------------------------------------------------------------- internal

    def _run(self, progress: ProgressCallback | None, cancel: threading.Event | None, record: Record) -> pa.Table:
        if progress is not None and not callable(progress):
            raise error("INVALID_SETTING", name="progress", expected="a function", given=progress)
        if cancel is not None and not callable(getattr(cancel, "is_set", None)):
            raise error("INVALID_SETTING", name="cancel", expected="a threading.Event", given=cancel)
        self._session._check_open()
        query = self._current_query()
        record.passed("refresh")
        engine, catalog = self._session._engine, self._session._catalog
        try:
            return query.run(engine, progress, cancel, record)
        except StatisticsViolated:
            catalog.distrust(query.bound.tables)
        except FileChanged:
            catalog.forget(query.bound.tables)
        # Nothing was delivered yet, so the query is planned once more on what the files really are.
        record.passed("repeat")
        return self._current_query().run(engine, progress, cancel, record)

    def _made(self, frame: Frame) -> DataFrame:
        return DataFrame(self._session, frame)

    def _other(self, other: DataFrame) -> Frame:
        """The frame of another DataFrame of this session."""
        if not isinstance(other, DataFrame) or other._session is not self._session:
            raise error("INVALID_SETTING", name="other", expected="a DataFrame of the same session", given=other)
        return other._frame

    def _share(self, names: list[Any], right: Frame) -> bool:
        """Whether texts are to be names of columns of both sides, and not conditions."""
        binder = self._session._binder
        shared = all(binder.has_column(self._frame, name) and binder.has_column(right, name) for name in names)
        return shared or all(name.isidentifier() for name in names)

    def _planned(self) -> Query:
        if self._query is None:
            bound = self._session._binder.bound(self._frame)
            self._query = Query(bound, self._session._settings, self._session.workers)
        return self._query

    def _current_query(self) -> Query:
        """The query over its tables as they are now; its plans are kept as long as no table changes."""
        query = self._planned()
        plan, tables = self._session._catalog.refreshed(query.bound.plan, query.bound.tables)
        if plan is not query.bound.plan:
            bound = replace(query.bound, plan=plan, tables=tables)
            query = self._query = Query(bound, self._session._settings, self._session.workers)
        return query


class GroupedFrame:
    """The groups of a DataFrame, which `agg` makes rows of."""

    def __init__(self, input: DataFrame, keys: list[Any]) -> None:
        self._input = input
        self._keys = keys

    def agg(self, *aggregates: Column | str | Iterable[Column | str], **named: Any) -> DataFrame:
        """One row for each group: the keys, then these: `df.group_by("a").agg(f.sum("b").alias("s"), n="count(*)")`."""
        from qengine.column import expression_nodes

        nodes = expression_nodes(aggregates, named)
        _refuse_none(self._keys + nodes, "agg")
        return self._input._made(self._input._session._binder.aggregate(self._input._frame, self._keys, nodes))


def _refuse_none(given: list[Any], what: str) -> None:
    if not given:
        raise error("INVALID_SETTING", name=f"the arguments of {what}", expected="at least one expression", given=())


def _flags(value: Any, count: int, name: str) -> list[bool]:
    """One flag for each of `count` keys."""
    flags = [value] * count if isinstance(value, bool) else list(value) if isinstance(value, (list, tuple)) else []
    if len(flags) != count or not all(isinstance(flag, bool) for flag in flags):
        raise error("INVALID_SETTING", name=name, expected=f"a bool, or a list of {count}", given=value)
    return flags


def _node_of(column: Any) -> Any:
    from qengine.column import Column

    if not isinstance(column, Column):
        raise error("INVALID_SETTING", name="a column", expected="a name or a column of a DataFrame", given=column)
    return column._node


def _refuse_repeated(names: list[str]) -> None:
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"Polars does not allow the column name {repeated!r} twice; give one an alias")

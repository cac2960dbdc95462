"""The expected answers: made by DuckDB over the same files, committed for scale factor 1, and compared by type.

The answers bundled with other generators of TPC-H data do not fit, since their texts differ: these are made from the
very files. An answer is a CSV file whose header names each column and its type (`revenue:decimal128(38, 4)`), so that a
change shows in a diff and nothing is lost: decimals have all their places, floats the digits that give the same float
back, and NULL is `\\N`. Where a query has a LIMIT, the file goes on to the end of the tie that the limit cuts, because
any of the tied rows would be right.
"""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tpch.errors import TpchError
from tpch.generate import TABLES, data_format, table_files
from tpch.queries import Query
from tpch.same_answer import same_answer

if TYPE_CHECKING:
    import duckdb

_NULL = r"\N"

_TYPES: dict[str, pa.DataType] = {
    str(kind): kind for kind in (pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.bool_())
}


def check(actual: pa.Table, uncut: pa.Table, query: Query) -> str | None:
    """None if `actual` answers `query`, else the first difference; `uncut` is an answer as this module makes them."""
    expected = uncut if query.limit is None else uncut.slice(0, query.limit)
    return same_answer(actual, expected, query.order_by, limit=query.limit, uncut=uncut)


def connect(folder: Path, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection whose views are the tables in `folder`.

    Raises TpchError: DuckDB is not installed, or the tables are not there as Parquet files.
    """
    try:
        import duckdb
    except ImportError:
        raise TpchError("DuckDB is not installed: pip install 'qengine[tpch]'") from None
    if data_format(folder) != "parquet":
        raise TpchError(f"the tables in {folder} are CSV files: answers are made from Parquet files")
    connection = duckdb.connect()
    if threads is not None:
        connection.execute(f"SET threads = {threads}")
    for table in TABLES:
        paths = ", ".join("'" + str(path).replace("'", "''") + "'" for path in table_files(folder, table))
        connection.execute(f"CREATE VIEW {table} AS FROM read_parquet([{paths}])")
    return connection


def run_in_duckdb(connection: duckdb.DuckDBPyConnection, text: str) -> pa.Table:
    """The result of a query in DuckDB as an Arrow table."""
    return connection.sql(text).to_arrow_table()


def make(connection: duckdb.DuckDBPyConnection, query: Query) -> pa.Table:
    """The answer to `query`, through the end of the tie that its limit cuts."""
    table = run_in_duckdb(connection, query.uncut_text)
    if query.limit is None or table.num_rows <= query.limit:
        return table
    keys = [table.column(column) for column, _, _ in query.order_by]
    end = query.limit
    while end < table.num_rows and all(key[end] == key[query.limit - 1] for key in keys):
        end += 1
    return table.slice(0, end)


def has_committed(scale_factor: Decimal) -> bool:
    """Whether answers for this scale factor come with the package."""
    return scale_factor == 1


def committed(query: Query) -> pa.Table:
    """The answer at scale factor 1 that comes with the package."""
    return read(_folder() / file_name(query))


def file_name(query: Query) -> str:
    """The name of an answer's file."""
    return f"q{query.number:02}.csv"


def write(table: pa.Table, path: Path) -> None:
    """Write an answer as CSV with the types in its header."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(f"{field.name}:{field.type}" for field in table.schema)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        writer.writerow(_format(value) for value in row)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")


def read(path: Path | Traversable) -> pa.Table:
    """Read an answer that `write` wrote; types and values are the same.

    Raises TpchError: no such file, or not an answer.
    """
    try:
        header, *rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
        names, types = zip(*(_parse_heading(heading) for heading in header), strict=True)
        columns = [pa.array([_parse(row[place], kind) for row in rows], kind) for place, kind in enumerate(types)]
    except FileNotFoundError:
        raise TpchError(f"there is no answer {path}") from None
    except (ValueError, IndexError, ArithmeticError, pa.ArrowException) as error:
        raise TpchError(f"{path} is no answer of this package: {error}") from None
    return pa.table(columns, schema=pa.schema(list(zip(names, types, strict=True))))


def _folder() -> Traversable:
    return files("tpch") / "answers" / "sf1"


def _format(value: Any) -> str:
    if value is None:
        return _NULL
    if isinstance(value, Decimal):
        return f"{value:f}"
    return repr(value) if isinstance(value, float) else str(value)


def _parse_heading(heading: str) -> tuple[str, pa.DataType]:
    name, _, kind = heading.rpartition(":")
    if kind.startswith("decimal128(") and kind.endswith(")"):
        precision, scale = kind.removeprefix("decimal128(").removesuffix(")").split(",")
        return name, pa.decimal128(int(precision), int(scale))
    for label, known in _TYPES.items():
        if kind == label:
            return name, known
    raise ValueError(f"unknown type {kind!r}")


def _parse(text: str, kind: pa.DataType) -> Any:
    if text == _NULL:
        return None
    if pa.types.is_decimal(kind):
        return Decimal(text)
    if pa.types.is_floating(kind):
        return float(text)
    if pa.types.is_boolean(kind):
        return text == "True"
    return text if pa.types.is_string(kind) else pa.scalar(text).cast(kind).as_py()

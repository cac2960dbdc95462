"""Results as text: a table for people, CSV, JSON and Markdown for other programs.

Values look as in SQL: decimals with all their digits, dates as 1994-01-31, timestamps as 1994-01-31 12:00:00, NULL as NULL
in tables, empty in CSV, null in JSON.
"""

from __future__ import annotations

import datetime
import json
import math
import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("table", "csv", "json", "markdown")


def render(table: pa.Table, format: str) -> str:
    """The whole result in one of FORMATS, without a newline at the end."""
    match format:
        case "csv":
            return csv_text(table)
        case "json":
            return json_text(table)
        case "markdown":
            return markdown_text(table)
        case _:
            return table_text(table, None)


def table_text(table: pa.Table, limit: int | None = 20) -> str:
    """A framed table of the first `limit` rows (None: all), numbers to the right, and how many rows there are."""
    shown = table if limit is None else table.slice(0, limit)
    names = [_one_line(name) for name in table.column_names]
    columns = [[_one_line(value_text(value)) for value in column.to_pylist()] for column in shown.columns]
    widths = [max([_width(name), *(_width(cell) for cell in cells)]) for name, cells in zip(names, columns, strict=True)]
    right = [_is_number(field.type) for field in table.schema]

    def line(cells: list[str]) -> str:
        padded = [
            " " * (width - _width(cell)) + cell if to_right else cell + " " * (width - _width(cell))
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        ]
        return "│ " + " │ ".join(padded) + " │"

    bars = ["─" * (width + 2) for width in widths]
    lines = ["┌" + "┬".join(bars) + "┐", line(names), "├" + "┼".join(bars) + "┤"]
    lines += [line([cells[row] for cells in columns]) for row in range(shown.num_rows)]
    lines.append("└" + "┴".join(bars) + "┘")
    count = f"{table.num_rows} row{'' if table.num_rows == 1 else 's'}"
    lines.append(count if shown.num_rows == table.num_rows else f"{count}, the first {shown.num_rows} shown")
    return "\n".join(lines)


def csv_text(table: pa.Table) -> str:
    """RFC 4180 with a header; NULL is an empty field, the empty text a quoted one."""
    columns = [[_csv(value) for value in column.to_pylist()] for column in table.columns]
    header = ",".join(_csv(name) for name in table.column_names)
    return "\n".join([header, *(",".join(row) for row in zip(*columns, strict=True))])


def json_text(table: pa.Table) -> str:
    """An array of objects, one line each. Decimals are numbers with all their digits; NaN and infinities are null."""
    names = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    columns = [column.to_pylist() for column in table.columns]
    rows = [
        "{" + ", ".join(f"{name}: {_json(value)}" for name, value in zip(names, row, strict=True)) + "}"
        for row in zip(*columns, strict=True)
    ]
    return "[" + ",\n ".join(rows) + "]"


def markdown_text(table: pa.Table) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(_one_line(cell).replace("|", "\\|") for cell in cells) + " |"

    rules = ["---:" if _is_number(field.type) else ":---" for field in table.schema]
    columns = [column.to_pylist() for column in table.columns]
    rows = [line([value_text(value) for value in row]) for row in zip(*columns, strict=True)]
    return "\n".join([line(table.column_names), "|" + "|".join(rules) + "|", *rows])


def value_text(value: Any) -> str:
    """A value as SQL shows it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"{value:f}"
        case datetime.datetime():
            return value.isoformat(sep=" ")
        case datetime.date() | datetime.time():
            return value.isoformat()
        case bytes():
            return "\\x" + value.hex()
        case _:
            return str(value)


def _csv(value: Any) -> str:
    if value is None:
        return ""
    text = value_text(value)
    if text and not any(character in text for character in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _json(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float) and not math.isfinite(value):
        return "null"
    if value is None or isinstance(value, (bool, int, float)):
        return json.dumps(value)
    return json.dumps(value_text(value), ensure_ascii=False)


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")


def _width(text: str) -> int:
    """Columns of a terminal that a text takes: wide East Asian characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1 for c in text)


def _is_number(dtype: pa.DataType) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype))

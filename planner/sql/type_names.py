"""SQL type names to logical types."""

from __future__ import annotations

from sqlglot import exp

from planner import dtypes as t
from planner.errors import nearest
from planner.sql.context import BindContext
from planner.sql.literals import HUGEINT

_D = exp.DType

_TYPES: dict[exp.DType, t.DType] = {
    _D.BOOLEAN: t.BOOLEAN,
    _D.TINYINT: t.TINYINT,
    _D.SMALLINT: t.SMALLINT,
    _D.MEDIUMINT: t.INTEGER,
    _D.INT: t.INTEGER,
    _D.BIGINT: t.BIGINT,
    _D.INT128: HUGEINT,
    _D.UTINYINT: t.UTINYINT,
    _D.USMALLINT: t.USMALLINT,
    _D.UINT: t.UINTEGER,
    _D.UBIGINT: t.UBIGINT,
    _D.FLOAT: t.REAL,
    _D.DOUBLE: t.DOUBLE,
    _D.TEXT: t.VARCHAR,
    _D.VARCHAR: t.VARCHAR,
    _D.NVARCHAR: t.VARCHAR,
    _D.CHAR: t.VARCHAR,
    _D.NCHAR: t.VARCHAR,
    _D.MEDIUMTEXT: t.VARCHAR,
    _D.LONGTEXT: t.VARCHAR,
    _D.TINYTEXT: t.VARCHAR,
    _D.BINARY: t.BLOB,
    _D.VARBINARY: t.BLOB,
    _D.BLOB: t.BLOB,
    _D.DATE: t.DATE,
    _D.DATE32: t.DATE,
    _D.TIME: t.TIME,
    _D.TIMESTAMP: t.TIMESTAMP,
    _D.TIMESTAMPNTZ: t.TIMESTAMP,
    _D.DATETIME: t.TIMESTAMP,
    _D.TIMESTAMPTZ: t.TIMESTAMPTZ,
    _D.TIMESTAMPLTZ: t.TIMESTAMPTZ,
    _D.INTERVAL: t.INTERVAL,
}

_NAMES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "REAL", "FLOAT", "DOUBLE", "DECIMAL", "NUMERIC", "VARCHAR", "TEXT", "STRING", "CHAR", "BLOB", "DATE", "TIME", "TIMESTAMP",
    "TIMESTAMPTZ", "INTERVAL",
)  # fmt: skip


def bind_type(context: BindContext, node: exp.DataType, around: exp.Expr) -> t.DType:
    """The logical type that a type name means. A length such as that of VARCHAR(20) is ignored, as in DuckDB.

    `around` gives the position, since type names carry none. Raises UNKNOWN_TYPE, UNSUPPORTED or DECIMAL_TOO_WIDE.
    """
    kind = node.this
    if kind in (_D.DECIMAL, _D.BIGDECIMAL):
        return _decimal_type(context, node, around)
    if kind == _D.INTERVAL and not node.expressions:
        return t.INTERVAL
    found = _TYPES.get(kind) if isinstance(kind, exp.DType) else None
    if found is not None:
        return found
    if kind == _D.USERDEFINED:
        name = str(node.args.get("kind"))
        raise context.error("UNKNOWN_TYPE", around, name=name, nearest=nearest(name, _NAMES))
    name = kind.value if isinstance(kind, exp.DType) else "INTERVAL with a unit"
    raise context.unsupported(f"the type {name}", around)


def _decimal_type(context: BindContext, node: exp.DataType, around: exp.Expr) -> t.DType:
    written = [parameter.name for parameter in node.expressions]
    name = f"DECIMAL({','.join(written)})"
    if len(written) > 2 or not all(number.isascii() and number.isdigit() for number in written):
        raise context.error("UNKNOWN_TYPE", around, name=name)
    numbers = [int(number[:5]) for number in written]
    precision = numbers[0] if numbers else 18
    scale = numbers[1] if len(numbers) > 1 else 0 if numbers else 3
    if precision > 38 or scale > 38:
        raise context.error("DECIMAL_TOO_WIDE", around, what=name)
    if precision < 1 or scale > precision:
        raise context.error("UNKNOWN_TYPE", around, name=name)
    return t.decimal(precision, scale)

"""A small catalog for tests of the binder, and its tables as DuckDB and the reference interpreter take them."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from planner import dtypes as t
from planner.expr.nodes import Expr
from planner.logical.nodes import Project
from planner.sql import BoundQuery, bind
from tests.plans import TestCatalog, snapshot

T_FIELDS = [
    ("i", t.INTEGER), ("b", t.BIGINT), ("s", t.SMALLINT), ("d", t.decimal(15, 2)), ("e", t.decimal(10, 4)), ("f", t.DOUBLE),
    ("v", t.VARCHAR), ("dt", t.DATE), ("ts", t.TIMESTAMP), ("bo", t.BOOLEAN),
]  # fmt: skip
U_FIELDS = [("i", t.INTEGER), ("k", t.VARCHAR), ("x", t.decimal(10, 2))]
W_FIELDS = [("i", t.INTEGER), ("b", t.BIGINT), ("y", t.INTEGER)]
FIELDS = {"t": T_FIELDS, "u": U_FIELDS, "w": W_FIELDS}

_D = Decimal
ROWS = {
    "t": [
        (1, 2, 3, _D("4.5"), _D("5.5"), 6.5, "ab", date(2020, 1, 1), datetime(2020, 1, 1), True),
        (2, 20, -3, _D("-4.25"), _D("0.1234"), -6.5, "aBc", date(1999, 12, 31), datetime(2021, 2, 3, 4, 5, 6), False),
        (None, None, None, None, None, None, None, None, None, None),
        (2, 7, 30, _D("10"), _D("0"), 0.25, "", date(2024, 2, 29), datetime(2020, 1, 1, 12), None),
        (3, None, 5, _D("99.99"), _D("5.5"), 1.0, "a%b", date(2020, 1, 1), None, True),
    ],
    "u": [(1, "one", _D("1.5")), (2, "two", _D("2.5")), (2, "zwei", None), (None, "none", _D("7")), (9, "nine", _D("0"))],
    "w": [(1, 2, 100), (2, 20, 200), (3, 3, None)],
}

CATALOG = TestCatalog(
    {
        **{
            name: snapshot(name, [(column, dtype, True) for column, dtype in fields], len(ROWS[name]))
            for name, fields in FIELDS.items()
        },
        "data/part-1.parquet": snapshot("data/part-1.parquet", [("Aa", t.INTEGER, True)], 3),
    }
)


def query(text: str, dialect: str = "duckdb") -> BoundQuery:
    return bind(text, CATALOG, dialect)


def expression(text: str, dialect: str = "duckdb") -> Expr:
    """The bound form of an expression over table t, which must need no aggregate."""
    plan = query(f"SELECT {text} FROM t", dialect).plan
    assert isinstance(plan, Project)
    return plan.assigns[0].expr

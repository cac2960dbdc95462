"""The type of every expression, and the conversions that the binder writes out."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from planner import dtypes as t
from planner.explain import ColumnNames, expression_text
from planner.expr.nodes import Call, Case, Cast, Compare, InList, Literal
from planner.expr.values import Interval
from planner.sql import bind
from tests.plans import TestCatalog, snapshot
from tests.unit.sql.small_tables import expression, query

TYPES = {
    # literals
    "1": "INTEGER", "2147483647": "INTEGER", "2147483648": "BIGINT", "9223372036854775808": "DECIMAL(38,0)",
    "-2147483648": "BIGINT", "-9223372036854775808": "BIGINT", "1.25": "DECIMAL(3,2)", "1.250": "DECIMAL(4,3)",
    "0.05": "DECIMAL(3,2)", "1e3": "DOUBLE", "'a'": "VARCHAR", "true": "BOOLEAN", "NULL": "NULL",
    "0.00000000000000000000000000000000000001": "DECIMAL(38,38)", "1.00000000000000000000000000000000000001": "DOUBLE",
    # integers
    "i + i": "INTEGER", "i + b": "BIGINT", "s + s": "SMALLINT", "s + 1": "SMALLINT", "s + 100000": "INTEGER",
    "i + s": "INTEGER",
    "i * 3000000000": "BIGINT", "i / 2": "DOUBLE", "i // 2": "INTEGER", "b % i": "BIGINT", "-i": "INTEGER",
    "abs(s)": "SMALLINT",
    # decimals: DECIMAL(15,2) and DECIMAL(10,4)
    "d + d": "DECIMAL(16,2)", "d + e": "DECIMAL(18,4)", "d - e": "DECIMAL(18,4)", "d * e": "DECIMAL(25,6)",
    "d + 1": "DECIMAL(16,2)",
    "1 - d": "DECIMAL(16,2)", "d + i": "DECIMAL(16,2)", "d + b": "DECIMAL(22,2)", "d * i": "DECIMAL(25,2)",
    "d * 2": "DECIMAL(16,2)",
    "d * (1 - d) * (1 + d)": "DECIMAL(38,6)", "d / 2": "DECIMAL(38,8)", "d / e": "DECIMAL(38,8)", "e / d": "DECIMAL(38,10)",
    "1.0000000 / 3": "DECIMAL(38,12)", "d % e": "DECIMAL(17,4)", "-d": "DECIMAL(15,2)", "d + d + d": "DECIMAL(17,2)",
    "i / 2.0": "DECIMAL(38,6)", "d * d * d * d": "DECIMAL(38,8)",
    # floats
    "f + i": "DOUBLE", "f + d": "DOUBLE", "f * 1.5": "DOUBLE", "f % 2": "DOUBLE", "CAST(f AS REAL) + i": "REAL",
    "f / 0": "DOUBLE",
    # dates
    "dt + INTERVAL 1 DAY": "TIMESTAMP", "dt - INTERVAL '1' MONTH": "TIMESTAMP", "ts + INTERVAL '1 hour'": "TIMESTAMP",
    "INTERVAL 1 DAY + dt": "TIMESTAMP", "dt - dt": "BIGINT", "dt + 1": "DATE", "extract(year FROM dt)": "BIGINT",
    "extract(epoch FROM dt)": "DOUBLE", "year(dt)": "BIGINT", "hour(dt)": "BIGINT", "date_part('month', ts)": "BIGINT",
    # text
    "v || 'x'": "VARCHAR", "v || i": "VARCHAR", "upper(v)": "VARCHAR", "length(v)": "BIGINT", "substring(v, 1, 2)": "VARCHAR",
    "substring(v FROM 2)": "VARCHAR", "trim(v)": "VARCHAR", "v LIKE 'a%'": "BOOLEAN", "concat(v, i)": "VARCHAR",
    # rounding
    "round(d, 1)": "DECIMAL(15,1)", "round(d)": "DECIMAL(15,0)", "round(d, 5)": "DECIMAL(15,2)",
    "round(d, -1)": "DECIMAL(15,0)",
    "round(f, 1)": "DOUBLE", "round(i)": "INTEGER", "floor(d)": "DECIMAL(15,0)", "ceil(f)": "DOUBLE", "floor(i)": "DOUBLE",
    # conditional
    "CASE WHEN bo THEN i ELSE b END": "BIGINT", "CASE WHEN bo THEN d ELSE 0 END": "DECIMAL(15,2)",
    "CASE WHEN bo THEN d ELSE e END": "DECIMAL(17,4)", "CASE WHEN bo THEN 'a' END": "VARCHAR",
    "CASE WHEN bo THEN dt ELSE ts END": "TIMESTAMP",
    "coalesce(i, b, 1)": "BIGINT", "coalesce(d, f)": "DOUBLE", "coalesce(i, '1')": "INTEGER", "nullif(i, 2.5)": "INTEGER",
    "ifnull(d, 1)": "DECIMAL(15,2)", "coalesce(NULL, NULL)": "NULL", "if(bo, 1, 2.5)": "DECIMAL(11,1)",
    # conditions
    "i = d": "BOOLEAN", "i IS NULL": "BOOLEAN", "i IN (1, 2)": "BOOLEAN", "NOT bo": "BOOLEAN", "bo AND i": "BOOLEAN",
    "EXISTS (SELECT 1)": "BOOLEAN", "(SELECT max(x) FROM u)": "DECIMAL(10,2)", "NULL + 1": "INTEGER",
    # casts
    "CAST(i AS DECIMAL)": "DECIMAL(18,3)", "CAST(i AS DECIMAL(10))": "DECIMAL(10,0)", "v::VARCHAR(3)": "VARCHAR",
    "i::HUGEINT": "DECIMAL(38,0)",
    "TRY_CAST(v AS FLOAT)": "REAL", "ts::DATE": "DATE", "dt::TIMESTAMP": "TIMESTAMP", "v::TIMESTAMPTZ": "TIMESTAMPTZ",
}  # fmt: skip


@pytest.mark.parametrize("text", TYPES)
def test_scalar(text):
    assert str(expression(text).dtype) == TYPES[text]


AGGREGATES = {
    "count(*)": "BIGINT", "count(v)": "BIGINT", "sum(s)": "BIGINT", "sum(i)": "BIGINT", "sum(b)": "BIGINT",
    "sum(d)": "DECIMAL(38,2)",
    "sum(f)": "DOUBLE", "sum(bo)": "BIGINT", "sum(NULL)": "BIGINT", "avg(i)": "DOUBLE", "avg(d)": "DECIMAL(38,8)",
    "avg(f)": "DOUBLE",
    "avg(e * e)": "DECIMAL(38,12)", "min(v)": "VARCHAR", "max(dt)": "DATE", "max(d)": "DECIMAL(15,2)",
    "any_value(ts)": "TIMESTAMP",
    "bool_and(bo)": "BOOLEAN", "bool_or(bo)": "BOOLEAN", "stddev(i)": "DOUBLE", "stddev_samp(d)": "DOUBLE",
    "variance(f)": "DOUBLE",
    "var_samp(i)": "DOUBLE", "count(DISTINCT v)": "BIGINT", "sum(d) FILTER (WHERE bo)": "DECIMAL(38,2)", "max(NULL)": "NULL",
    "sum(d * (1 - d))": "DECIMAL(38,4)", "sum(d) / count(*)": "DECIMAL(38,8)", "0.5 * sum(d)": "DECIMAL(38,3)",
    "sum(i) / 7": "DOUBLE",
}  # fmt: skip


@pytest.mark.parametrize("text", AGGREGATES)
def test_aggregate(text):
    assert str(query(f"SELECT {text} FROM t").plan.columns[0].dtype) == AGGREGATES[text]


TEXTS = {
    # a literal takes the column's type, the column keeps its own
    "b = 1": "b = 1",
    "d > 24": "d > 24.00",
    "d BETWEEN 0.06 - 0.01 AND 0.07": "d >= CAST(0.06 - 0.01 AS DECIMAL(15,2)) AND d <= 0.07",
    "dt < '1994-01-01'": "dt < DATE '1994-01-01'",
    "i = '5'": "i = 5",
    "d = '1.005'": "d = 1.01",
    "bo = 1": "CAST(bo AS INTEGER) = 1",
    "v = 8": "CAST(v AS INTEGER) = 8",
    # where a column has to change, it is cast
    "i = b": "CAST(i AS BIGINT) = b",
    "i > 3000000000": "CAST(i AS BIGINT) > 3000000000",
    "i > 2.5": "CAST(i AS DECIMAL(11,1)) > 2.5",
    "dt < DATE '1994-01-01' + INTERVAL '1' YEAR": "CAST(dt AS TIMESTAMP) < DATE '1994-01-01' + INTERVAL '12 months'",
    "i IN (1, 2.5)": "CAST(i AS DECIMAL(11,1)) IN (1.0, 2.5)",
    "v IS NOT NULL": "v IS NOT NULL",
    "bo IS TRUE": "bo IS NOT DISTINCT FROM TRUE",
    "1 - d": "1.00 - d",
    "d + e": "CAST(d AS DECIMAL(17,4)) + e",
    "i / 2": "CAST(i AS DOUBLE) / 2.0",
    "TRY_CAST('x' AS INTEGER)": "NULL",
    "CASE i WHEN 1 THEN 'a' ELSE v END": "CASE WHEN i = 1 THEN 'a' ELSE v END",
    "i = 1 AND (b = 2 AND (s = 3 OR bo))": "i = 1 AND b = 2 AND (s = 3 OR bo)",
    "v ILIKE 'A%'": "lower(v) LIKE lower('A%')",
}


@pytest.mark.parametrize("text", TEXTS)
def test_written_out(text):
    assert expression_text(expression(text), ColumnNames()) == TEXTS[text]


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("DATE '1994-01-01'", t.DATE, date(1994, 1, 1)),
        ("TIMESTAMP '1994-01-01 10:11:12.5'", t.TIMESTAMP, datetime(1994, 1, 1, 10, 11, 12, 500_000)),
        ("CAST('2020-01-01' AS TIMESTAMP)", t.TIMESTAMP, datetime(2020, 1, 1)),
        ("CAST(1.005 AS DECIMAL(5,2))", t.decimal(5, 2), Decimal("1.01")),
        ("CAST(-2.5 AS INTEGER)", t.INTEGER, -3),
        ("CAST('1e3' AS INTEGER)", t.INTEGER, 1000),
        ("CAST(7 AS VARCHAR)", t.VARCHAR, "7"),
        ("CAST(1.50 AS VARCHAR)", t.VARCHAR, "1.50"),
        ("CAST('yes' AS BOOLEAN)", t.BOOLEAN, True),
        ("-12345678901234567890123456789012345678", t.decimal(38, 0), Decimal("-12345678901234567890123456789012345678")),
        ("INTERVAL '3' MONTH", t.INTERVAL, Interval(months=3)),
        ("INTERVAL 90 DAY", t.INTERVAL, Interval(days=90)),
        ("INTERVAL '1 year 2 days'", t.INTERVAL, Interval(months=12, days=2)),
        ("INTERVAL '1.5' HOUR", t.INTERVAL, Interval(microseconds=5_400_000_000)),
        ("INTERVAL '1 day 02:03:04.5'", t.INTERVAL, Interval(days=1, microseconds=7_384_500_000)),
        ("-INTERVAL '1' DAY", t.INTERVAL, Interval(days=-1)),
        ("INTERVAL '1' YEAR * 2", t.INTERVAL, Interval(months=24)),
        ("INTERVAL '1' YEAR - INTERVAL '1' DAY", t.INTERVAL, Interval(months=12, days=-1)),
    ],
)
def test_constants_are_converted_when_bound(text, dtype, value):
    bound = expression(text)
    assert isinstance(bound, Literal)
    assert (bound.dtype, bound.value) == (dtype, value)
    assert type(bound.value) is type(value)


def test_operands_of_one_call_have_one_type():
    """What kernels rely on: sums of decimals share a scale, comparisons and lists have a single type."""
    total = expression("d + e + i")
    assert isinstance(total, Call)
    assert {t.scale_of(argument.dtype) for argument in total.arguments} == {4}
    for text in ("i = d", "f > e", "ts < dt", "s <> b"):
        comparison = expression(text)
        assert isinstance(comparison, Compare)
        assert comparison.left.dtype == comparison.right.dtype
    listed = expression("s IN (1, b, 2.5)")
    assert isinstance(listed, InList)
    assert {option.dtype for option in listed.options} == {listed.needle.dtype}
    case = expression("CASE WHEN bo THEN s WHEN i = 1 THEN d END")
    assert isinstance(case, Case)
    assert {result.dtype for result in (*case.results, case.otherwise)} == {case.dtype}


def test_unsigned_integers():
    kinds = {"a": t.UTINYINT, "b": t.USMALLINT, "c": t.UINTEGER, "d": t.UBIGINT, "i": t.INTEGER}
    catalog = TestCatalog({"n": snapshot("n", [(name, dtype, False) for name, dtype in kinds.items()], 1)})
    plan = bind("SELECT a + i, c + i, d + i, a + b, d + 1, sum(d) FROM n GROUP BY ALL", catalog).plan
    names = ["INTEGER", "BIGINT", "DECIMAL(21,0)", "USMALLINT", "UBIGINT", "BIGINT"]
    assert [str(column.dtype) for column in plan.columns] == names


def test_a_date_shifted_by_days_stays_a_date():
    shifted = expression("dt + 3")
    assert isinstance(shifted, Cast)
    assert shifted.dtype == t.DATE

"""Windows of the DataFrame API have the plans of the same SQL, and its errors."""

from __future__ import annotations

import pyarrow as pa
import pytest

import qengine
from qengine import col, lit
from qengine import functions as f
from qengine.errors import QEngineError

TABLE = pa.table({"g": [1, 1, 2, 2, 2], "x": [5, 3, 1, 2, 2], "y": [1, 2, 3, 4, 5], "s": ["a", "b", None, "d", "e"]})


@pytest.fixture(scope="module")
def session():
    with qengine.Session(workers=1) as opened:
        opened.register("t", TABLE)
        yield opened


PAIRS = {
    "an aggregate": (
        lambda t: t.select("g", w=col("x").sum().over("g", order_by="y")),
        "SELECT g, sum(x) OVER (PARTITION BY g ORDER BY y) AS w FROM t",
    ),
    "a whole partition": (
        lambda t: t.select("y", w=f.count().over("g")),
        "SELECT y, count(*) OVER (PARTITION BY g) AS w FROM t",
    ),
    "all rows": (lambda t: t.select(w=col("x").max().over()), "SELECT max(x) OVER () AS w FROM t"),
    "places": (
        lambda t: t.select(
            a=f.row_number().over("g", order_by="y"),
            b=f.rank().over("g", order_by="y"),
            c=f.dense_rank().over("g", order_by="y"),
            d=f.percent_rank().over("g", order_by="y"),
            e=f.cume_dist().over("g", order_by="y"),
            h=f.ntile(2).over("g", order_by="y"),
        ),
        """SELECT row_number() OVER w AS a, rank() OVER w AS b, dense_rank() OVER w AS c, percent_rank() OVER w AS d,
           cume_dist() OVER w AS e, ntile(2) OVER w AS h FROM t WINDOW w AS (PARTITION BY g ORDER BY y)""",
    ),
    "values of other rows": (
        lambda t: t.select(
            a=f.lag("x").over("g", order_by="y"),
            b=f.lead("x", 2).over("g", order_by="y"),
            c=f.lag("x", 1, 0).over("g", order_by="y"),
            d=f.first_value("s").over("g", order_by="y"),
            e=f.last_value("s").over("g", order_by="y"),
            h=f.nth_value("s", 2).over("g", order_by="y"),
        ),
        """SELECT lag(x) OVER w AS a, lead(x, 2) OVER w AS b, lag(x, 1, 0) OVER w AS c, first_value(s) OVER w AS d,
           last_value(s) OVER w AS e, nth_value(s, 2) OVER w AS h FROM t WINDOW w AS (PARTITION BY g ORDER BY y)""",
    ),
    "first and last": (
        lambda t: t.select(a=f.first("x").over(order_by="y"), b=f.last("x").over(order_by="y")),
        "SELECT first(x) OVER (ORDER BY y) AS a, last(x) OVER (ORDER BY y) AS b FROM t",
    ),
    "expressions as keys, descending": (
        lambda t: t.select(w=f.rank().over([col("g") % 2, "s IS NULL"], [col("x").desc(), "y + 1 DESC NULLS FIRST"])),
        "SELECT rank() OVER (PARTITION BY g % 2, s IS NULL ORDER BY x DESC, y + 1 DESC NULLS FIRST) AS w FROM t",
    ),
    "frames": (
        lambda t: t.select(
            a=col("x").sum().over("g", order_by="y", rows=(-1, 1)),
            b=col("x").min().over("g", order_by="y", rows=(0, None)),
            c=f.last_value("x").over("g", order_by="y", rows=(None, -1)),
        ),
        """SELECT sum(x) OVER (w ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a,
           min(x) OVER (w ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b,
           last_value(x) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS c
           FROM t WINDOW w AS (PARTITION BY g ORDER BY y)""",
    ),
    "a window inside of an expression": (
        lambda t: t.select(w=col("x") * 100 / col("x").sum().over("g")),
        "SELECT x * 100 / sum(x) OVER (PARTITION BY g) AS w FROM t",
    ),
    "FILTER": (
        lambda t: t.select(w=col("x").sum().filter("y > 1").over("g")),
        "SELECT sum(x) FILTER (WHERE y > 1) OVER (PARTITION BY g) AS w FROM t",
    ),
    "DISTINCT": (
        lambda t: t.select(w=f.count_distinct("x").over("g")),
        "SELECT count(DISTINCT x) OVER (PARTITION BY g) AS w FROM t",
    ),
    "with_columns": (
        lambda t: t.with_columns(w=f.row_number().over("g", order_by="y")),
        "SELECT *, row_number() OVER (PARTITION BY g ORDER BY y) AS w FROM t",
    ),
    "a filter above": (
        lambda t: t.with_columns(w=f.row_number().over("g", order_by="y")).filter(col("w") == 1).select("y"),
        "SELECT y FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY y) AS w FROM t) WHERE w = 1",
    ),
    "a filter on the partition": (
        lambda t: t.select("g", "y", w=f.rank().over("g", order_by="y")).filter("g = 1"),
        "SELECT * FROM (SELECT g, y, rank() OVER (PARTITION BY g ORDER BY y) AS w FROM t) WHERE g = 1",
    ),
    "aggregates below": (
        lambda t: t.group_by("g").agg(n=f.count(), w=f.sum(f.sum("x")).over(order_by="g")),
        "SELECT g, count(*) AS n, sum(sum(x)) OVER (ORDER BY g) AS w FROM t GROUP BY g",
    ),
    "sort": (
        lambda t: t.sort(f.row_number().over(order_by=col("y").desc())).select("y"),
        "SELECT y FROM t ORDER BY row_number() OVER (ORDER BY y DESC)",
    ),
    "SQL text": (
        lambda t: t.select("rank() OVER (PARTITION BY g ORDER BY x) AS w"),
        "SELECT rank() OVER (PARTITION BY g ORDER BY x) AS w FROM t",
    ),
}


@pytest.mark.parametrize("build, text", PAIRS.values(), ids=PAIRS)
def test_the_plan_and_the_rows_of_the_same_sql(session, build, text):
    frame, query = build(session.table("t")), session.sql(text)
    assert frame.explain("optimized") == query.explain("optimized")
    assert "Window" in frame.explain("optimized")
    assert sorted(map(str, frame.collect().to_pylist())) == sorted(map(str, query.collect().to_pylist()))


def test_a_column_of_an_earlier_frame_may_be_windowed(session):
    t = session.table("t")
    frame = t.filter("x > 1").select(t["y"], f.lag(t["x"]).over(t["g"], order_by=t["y"]).alias("w")).sort("y")
    assert frame.collect().to_pylist() == [{"y": 1, "w": None}, {"y": 2, "w": 5}, {"y": 4, "w": None}, {"y": 5, "w": 2}]


ERRORS = {
    "filter": (lambda t: t.filter(f.rank().over("g") > 1), "MISPLACED_WINDOW", "WHERE"),
    "group_by": (lambda t: t.group_by(f.rank().over("g").alias("r")).agg(f.count()), "MISPLACED_WINDOW", "GROUP BY"),
    "inside of a window": (
        lambda t: t.select(f.sum(f.rank().over("g")).over("g")),
        "MISPLACED_WINDOW",
        "a window function",
    ),
    "an aggregate beside": (lambda t: t.sort(f.sum("x")), "MISPLACED_AGGREGATE", "ORDER BY"),
    "no window": (lambda t: t.select(f.rank()), "UNSUPPORTED", "rank without OVER"),
    "no window function": (lambda t: t.select(f.upper("s").over("g")), "UNSUPPORTED", "upper with OVER"),
    "a frame of texts": (lambda t: t.select(col("x").sum().over(rows=("a", 0))), "INVALID_SETTING", "rows must be"),
    "a frame that ends first": (lambda t: t.select(col("x").sum().over(rows=(1, 0))), "SYNTAX", "ends before it begins"),
    "an unknown column": (lambda t: t.select(f.rank().over("h")), "UNKNOWN_COLUMN", "'h'"),
    "not a constant": (lambda t: t.select(f.lag("x", col("y")).over("g")), "UNSUPPORTED", "an offset that is not"),
    "not a type": (lambda t: t.select(f.lag("x", 1, lit("a")).over("g")), "INVALID_LITERAL", "'a'"),
}


@pytest.mark.parametrize("build, code, words", ERRORS.values(), ids=ERRORS)
def test_the_errors_of_sql(session, build, code, words):
    with pytest.raises(QEngineError, match=words) as raised:
        build(session.table("t"))
    assert raised.value.code == code

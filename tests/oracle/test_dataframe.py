"""The DataFrame API through the whole engine against DuckDB: every operator and expression beside the SQL that means the same."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import qengine
from qengine import DataFrame, col, lit, outer, when
from qengine import functions as f
from tpch.same_answer import same_answer

D = Decimal
DAY = datetime.date(2020, 2, 27)
TABLES = {
    "t": pa.table(
        {
            "id": pa.array(range(12), pa.int64()),
            "g": pa.array([0, 1, 1, None, 2, 2, 0, None, 3, 1, 2, 0], pa.int32()),
            "v": pa.array([None if i % 5 == 4 else D(i * 37 - 150) / 100 for i in range(12)], pa.decimal128(10, 2)),
            "x": pa.array([i / 4 - 1 if i % 7 else None for i in range(12)]),
            "name": ["a", "B", None, "a%b", "", "abc", "ä☃", "b", None, "a", "cab", "x"],
            "day": [DAY + datetime.timedelta(days=i) for i in range(12)],
            "flag": [None if i % 6 == 3 else i % 2 == 0 for i in range(12)],
        }
    ),
    "u": pa.table({"g": pa.array([0, 1, 1, None, 7], pa.int32()), "label": ["zero", "one", "uno", None, "seven"]}),
}


@pytest.fixture(scope="module")
def oracle():
    connection = duckdb.connect()
    for name, table in TABLES.items():
        connection.register(name, table)
    yield connection
    connection.close()


@pytest.fixture(scope="module", params=["off", "auto"])
def session(request):
    with qengine.Session(workers=2, inline=request.param) as opened:
        for name, table in TABLES.items():
            opened.register(name, table)
        yield opened


def late(t: DataFrame, u: DataFrame) -> DataFrame:
    return t.filter(col("g") == outer(u["g"]), col("id") > 3)


def self_join(t: DataFrame) -> DataFrame:
    a, b = t.alias("a"), t.alias("b")
    return a.join(b, a["id"] == b["g"]).select(a["id"], b["id"])


def above_average(t: DataFrame) -> DataFrame:
    b = t.alias("b")
    return t.filter(t["v"] > b.filter(b["g"] == outer(t["g"])).agg(f.avg("v")).scalar()).select("id")


Made = Callable[[DataFrame, DataFrame], DataFrame]

SAME: list[tuple[str, Made]] = [
    # filters and conditions
    ("SELECT * FROM t WHERE id > 3", lambda t, u: t.filter(col("id") > 3)),
    ("SELECT * FROM t WHERE id > 3 AND g = 1", lambda t, u: t.filter("id > 3", col("g") == 1)),
    ("SELECT * FROM t WHERE NOT (g = 1 OR v < 0)", lambda t, u: t.filter(~((t["g"] == 1) | (t["v"] < 0)))),
    ("SELECT * FROM t WHERE flag", lambda t, u: t.filter(col("flag"))),
    ("SELECT id FROM t WHERE 2 < id AND 5 >= id", lambda t, u: t.filter((2 < col("id")) & (5 >= col("id"))).select("id")),  # noqa: SIM300
    ("SELECT id FROM t WHERE name IS NULL", lambda t, u: t.filter(col("name").is_null()).select("id")),
    ("SELECT id FROM t WHERE name IS NOT NULL", lambda t, u: t.filter(t["name"].is_not_null()).select("id")),
    ("SELECT id FROM t WHERE name = NULL", lambda t, u: t.filter(t["name"] == None).select("id")),  # noqa: E711
    ("SELECT id FROM t WHERE g IN (1, 2)", lambda t, u: t.filter(col("g").is_in([1, 2])).select("id")),
    ("SELECT id FROM t WHERE g NOT IN (1, NULL)", lambda t, u: t.filter(~col("g").is_in((1, None))).select("id")),
    ("SELECT id FROM t WHERE false", lambda t, u: t.filter(col("g").is_in([])).select("id")),
    ("SELECT id FROM t WHERE v BETWEEN -0.5 AND 1", lambda t, u: t.filter(col("v").between(D("-0.5"), 1)).select("id")),
    ("SELECT id FROM t WHERE name LIKE 'a%'", lambda t, u: t.filter(col("name").like("a%")).select("id")),
    ("SELECT id FROM t WHERE name ILIKE 'b'", lambda t, u: t.filter(col("name").ilike("b")).select("id")),
    (
        "SELECT id FROM t WHERE day >= DATE '2020-03-01'",
        lambda t, u: t.filter(col("day") >= datetime.date(2020, 3, 1)).select("id"),
    ),
    ("SELECT id FROM t WHERE day = '2020-02-29'", lambda t, u: t.filter(col("day") == "2020-02-29").select("id")),
    ("SELECT id FROM t WHERE g IS DISTINCT FROM 1", lambda t, u: t.filter(col("g").is_distinct_from(1)).select("id")),
    (
        "SELECT id FROM t WHERE g IS NOT DISTINCT FROM NULL",
        lambda t, u: t.filter(col("g").is_not_distinct_from(None)).select("id"),
    ),
    # arithmetic
    (
        "SELECT id + 1, 1 + id, id - 2, 2 - id, id * 3, 3 * id, -id, abs(id - 5) FROM t",
        lambda t, u: t.select(
            t["id"] + 1, 1 + t["id"], t["id"] - 2, 2 - t["id"], t["id"] * 3, 3 * t["id"], -t["id"], abs(t["id"] - 5)
        ),
    ),
    (
        "SELECT id / 4, 4 / (id + 1), id // 4, 40 // (id + 1), id % 4, 40 % (id + 1), -7 // 2, -7 % 2 FROM t",
        lambda t, u: t.select(
            t["id"] / 4,
            4 / (t["id"] + 1),
            t["id"] // 4,
            40 // (t["id"] + 1),
            t["id"] % 4,
            40 % (t["id"] + 1),
            lit(-7) // 2,
            lit(-7) % 2,
        ),
    ),
    (
        "SELECT v * (1 - 0.05), v + 1, x * 2, v + 1.5e0 FROM t",
        lambda t, u: t.select(t["v"] * (1 - lit(D("0.05"))), t["v"] + 1, t["x"] * 2, t["v"] + 1.5),
    ),
    (
        "SELECT CAST(v AS INTEGER), TRY_CAST(name AS INTEGER), CAST(id AS VARCHAR), CAST(id AS DECIMAL(10, 3)) FROM t",
        lambda t, u: t.select(
            t["v"].cast("INTEGER"), t["name"].try_cast("int"), t["id"].cast("text"), t["id"].cast("decimal(10,3)")
        ),
    ),
    (
        "SELECT 1, 'text', NULL, DATE '2000-02-29', 1.50, TRUE, TIMESTAMP '2000-01-01 10:00:00', 12345678901",
        lambda t, u: t.select(
            lit(1),
            lit("text"),
            lit(None),
            lit(datetime.date(2000, 2, 29)),
            lit(D("1.50")),
            lit(True),
            lit(datetime.datetime(2000, 1, 1, 10)),
            lit(12345678901),
        ).limit(1),
    ),
    ("SELECT day + INTERVAL 3 DAY FROM t", lambda t, u: t.select(t["day"] + datetime.timedelta(days=3))),
    # conditional expressions and functions
    (
        "SELECT CASE WHEN id > 6 THEN 'big' WHEN id > 3 THEN name END FROM t",
        lambda t, u: t.select(when(col("id") > 6).then("big").when("id > 3").then(col("name"))),
    ),
    ("SELECT CASE WHEN id > 6 THEN 1 ELSE 0 END FROM t", lambda t, u: t.select(when(col("id") > 6).then(1).otherwise(0))),
    (
        "SELECT coalesce(name, 'none'), coalesce(g, id, 0), nullif(g, 2) FROM t",
        lambda t, u: t.select(t["name"].fill_null("none"), f.coalesce("g", "id", 0), f.nullif("g", 2)),
    ),
    (
        "SELECT upper(name), lower(name), length(name), trim(name), substring(name, 2), substring(name, 1, 1) FROM t",
        lambda t, u: t.select(
            f.upper("name"),
            f.lower(t["name"]),
            f.length("name"),
            f.trim("name"),
            t["name"].substring(2),
            f.substring("name", 1, 1),
        ),
    ),
    (
        "SELECT round(v, 1), floor(x), ceil(x), concat(name, '-', g), extract(month FROM day), year(day) FROM t",
        lambda t, u: t.select(
            f.round("v", 1),
            f.floor("x"),
            f.ceil("x"),
            f.concat("name", lit("-"), "g"),
            t["day"].extract("month"),
            f.year("day"),
        ),
    ),
    ("SELECT month(day), day(day) FROM t", lambda t, u: t.select(f.month("day"), f.day(col("day")))),
    # select, with_columns, drop, rename
    ("SELECT id, g + 1 AS h, upper(name) AS n FROM t", lambda t, u: t.select("id, g + 1 AS h", n="upper(name)")),
    ("SELECT *, id + 1 AS a, id + 2 AS b FROM t", lambda t, u: t.with_columns((col("id") + 1).alias("a"), b="a + 1")),
    ("SELECT id + 1 AS id, g, v, x, name, day, flag, id AS old FROM t", lambda t, u: t.with_columns(ID="id + 1", old="id")),
    ("SELECT id, v, name, day, flag FROM t", lambda t, u: t.drop("g", t["x"])),
    (
        "SELECT id AS key, g, v FROM t WHERE id > 2",
        lambda t, u: t.select("id", "g", "v").rename({"ID": "key"}).filter("key > 2"),
    ),
    ("SELECT g AS v, v AS g FROM t", lambda t, u: t.select("g", "v").rename({"g": "v", "v": "g"})),
    # aggregates
    (
        "SELECT count(*), count(g), sum(v), avg(v), min(name), max(day) FROM t",
        lambda t, u: t.agg(f.count(), f.count("g"), f.sum("v"), f.avg("v"), f.min("name"), f.max("day")),
    ),
    ("SELECT sum(v) / count(*) + 1 AS q FROM t", lambda t, u: t.select(q=f.sum("v") / f.count() + 1)),
    (
        "SELECT g, sum(v) AS s, count(*) AS n FROM t GROUP BY g",
        lambda t, u: t.group_by("g").agg(f.sum("v").alias("s"), n="count(*)"),
    ),
    (
        "SELECT g + 1 AS k, flag, count(DISTINCT name) FROM t GROUP BY k, flag",
        lambda t, u: t.group_by((col("g") + 1).alias("k"), "flag").agg(f.count_distinct("name")),
    ),
    ("SELECT DISTINCT g FROM t", lambda t, u: t.group_by("g").agg()),
    (
        "SELECT g, sum(id) FILTER (WHERE flag), sum(DISTINCT g) FROM t GROUP BY g",
        lambda t, u: t.group_by("g").agg(f.sum("id").filter("flag"), f.sum("g", distinct=True)),
    ),
    ("SELECT g FROM t GROUP BY g HAVING count(*) > 2", lambda t, u: t.group_by("g").agg(n=f.count()).filter("n > 2").drop("n")),
    (
        "SELECT bool_and(flag), bool_or(flag), stddev(id), var_samp(id) FROM t",
        lambda t, u: t.agg(f.bool_and("flag"), f.bool_or("flag"), f.stddev("id"), f.variance("id")),
    ),
    ("SELECT any_value(g) FROM t WHERE g = 1", lambda t, u: t.filter("g = 1").agg(f.any_value("g"))),
    # joins
    ("SELECT g, id, label FROM t JOIN u USING (g)", lambda t, u: t.join(u, "g").select("g", "id", "label")),
    ("SELECT * FROM t JOIN u USING (g)", lambda t, u: t.join(u, on=["g"])),
    (
        "SELECT * FROM t LEFT JOIN u ON t.g = u.g AND label <> 'one'",
        lambda t, u: t.join(u, (t["g"] == u["g"]) & (col("label") != "one"), how="left"),
    ),
    ("SELECT * FROM t RIGHT JOIN u USING (g)", lambda t, u: t.join(u, "g", how="right")),
    ("SELECT g, id, label FROM t FULL JOIN u USING (g)", lambda t, u: t.join(u, "g", how="full").select("g", "id", "label")),
    (
        "SELECT g + 1 FROM t FULL JOIN u USING (g) WHERE g > 0",
        lambda t, u: t.join(u, "g", how="full").filter("g > 0").select("g + 1"),
    ),
    ("SELECT * FROM t SEMI JOIN u USING (g)", lambda t, u: t.join(u, "g", how="semi")),
    ("SELECT * FROM t ANTI JOIN u ON t.g = u.g", lambda t, u: t.join(u, "t.g = u.g", how="anti")),
    ("SELECT * FROM t CROSS JOIN u", lambda t, u: t.join(u, how="cross")),
    (
        "SELECT t.id, u.label FROM t JOIN u ON t.g < u.g",
        lambda t, u: t.join(u, [col("t.g") < col("u.g")]).select("t.id", "u.label"),
    ),
    ("SELECT a.id, b.id FROM t a JOIN t b ON a.id = b.g", lambda t, u: self_join(t)),
    (
        "SELECT a.id, a.v FROM t a JOIN (SELECT * FROM t WHERE id > 5) b ON a.id = b.id",
        lambda t, u: t.join(t.filter("id > 5").select("id"), "id").select("id", "v"),
    ),
    # sort, limit, distinct, union
    ("SELECT DISTINCT g, flag FROM t", lambda t, u: t.select("g", "flag").distinct()),
    ("SELECT DISTINCT g FROM t FULL JOIN u USING (g)", lambda t, u: t.join(u, "g", how="full").select("g").distinct()),
    ("SELECT g FROM t UNION ALL SELECT g FROM u", lambda t, u: t.select("g").union(u.select("g"))),
    ("SELECT g FROM t UNION SELECT g FROM u", lambda t, u: t.select("g").union(u.select("g"), distinct=True)),
    ("SELECT * FROM t UNION ALL SELECT * FROM t WHERE id = 1", lambda t, u: t.union(t.filter(t["id"] == 1))),
    # subqueries
    (
        "SELECT * FROM t WHERE g IN (SELECT g FROM u WHERE label <> 'one')",
        lambda t, u: t.filter(col("g").is_in(u.filter("label <> 'one'").select("g"))),
    ),
    (
        "SELECT * FROM u WHERE g NOT IN (SELECT g FROM t WHERE g IS NOT NULL)",
        lambda t, u: u.filter(~col("g").is_in(t.select("g").filter("g IS NOT NULL"))),
    ),
    ("SELECT * FROM u WHERE EXISTS (SELECT * FROM t WHERE t.g = u.g AND id > 3)", lambda t, u: u.filter(late(t, u).exists())),
    (
        "SELECT * FROM u WHERE NOT EXISTS (SELECT * FROM t WHERE t.g = u.g AND id > 3)",
        lambda t, u: u.filter(~late(t, u).exists()),
    ),
    (
        "SELECT label, (SELECT sum(v) FROM t WHERE t.g = u.g AND id > 3) AS s FROM u",
        lambda t, u: u.select("label", late(t, u).agg(f.sum("v")).scalar().alias("s")),
    ),
    (
        "SELECT id FROM t WHERE v > (SELECT avg(v) FROM t)",
        lambda t, u: t.filter(t["v"] > t.agg(f.avg("v")).scalar()).select("id"),
    ),
    ("SELECT a.id FROM t a WHERE a.v > (SELECT avg(b.v) FROM t b WHERE b.g = a.g)", lambda t, u: above_average(t)),
    ("SELECT * FROM t WHERE g IN (SELECT g FROM u) AND id > 1", lambda t, u: t.filter("g IN (SELECT g FROM u)", "id > 1")),
]

ORDERED: list[tuple[str, Made]] = [
    ("SELECT id, g FROM t ORDER BY g, id DESC", lambda t, u: t.select("id", "g").sort("g", col("id").desc())),
    (
        "SELECT id, g FROM t ORDER BY g DESC NULLS FIRST, id",
        lambda t, u: t.select("id", "g").sort("g", "id", descending=[True, False], nulls_last=[False, True]),
    ),
    ("SELECT id FROM t ORDER BY g NULLS FIRST, id DESC", lambda t, u: t.sort("g NULLS FIRST, id DESC").select("id")),
    (
        "SELECT id FROM t ORDER BY id % 3, id DESC LIMIT 5 OFFSET 2",
        lambda t, u: t.sort(col("id") % 3, "id DESC").limit(5, offset=2).select("id"),
    ),
    ("SELECT id FROM t ORDER BY v DESC, id LIMIT 4", lambda t, u: t.sort(t["v"].desc(), t["id"]).select("id").head(4)),
    ("SELECT id FROM t LIMIT 3", lambda t, u: t.select("id").limit(3)),
    (
        "SELECT * FROM (SELECT id FROM t ORDER BY id DESC LIMIT 5) ORDER BY id",
        lambda t, u: t.select("id").sort("id", descending=True).limit(5).sort("id"),
    ),
]


@pytest.mark.parametrize(("text", "made"), SAME, ids=[text for text, _ in SAME])
def test_the_same_rows_as_duckdb(session, oracle, text, made):
    check(session, oracle, text, made, in_sequence=False)


@pytest.mark.parametrize(("text", "made"), ORDERED, ids=[text for text, _ in ORDERED])
def test_the_same_sequence_as_duckdb(session, oracle, text, made):
    check(session, oracle, text, made, in_sequence=True)


def check(session, oracle, text, made, in_sequence):
    frame = made(session.table("t"), session.table("u"))
    own = session.sql(text)
    assert [field.dtype for field in frame.schema] == [field.dtype for field in own.schema]
    actual = frame.collect()
    columns = []
    expected = oracle.sql(text).to_arrow_table()
    for index, column in enumerate(expected.columns):
        # DuckDB's sums of integers are HUGEINT, ours BIGINT by design.
        if pa.types.is_decimal(column.type) and pa.types.is_integer(actual.schema.field(index).type):
            column = column.cast(actual.schema.field(index).type)
        columns.append(column)
    difference = same_answer(actual, pa.table(columns, names=expected.column_names), in_sequence=in_sequence)
    assert difference is None, difference

"""The DataFrame API: laziness, names, views, deep chains, files that change, and errors."""

from __future__ import annotations

import datetime
import os
import threading
from decimal import Decimal

import numpy
import pandas
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from planner.dtypes import BIGINT, BLOB, BOOLEAN, DATE, DOUBLE, INTEGER, INTERVAL, NULL, TIME, TIMESTAMP, VARCHAR, decimal
from qengine import DataFrame, col, lit, outer, when
from qengine import functions as f
from qengine.errors import DataError, QEngineError

T = pa.table(
    {"id": pa.array([1, 2, 3, 4], pa.int64()), "g": pa.array([1, 1, 2, None], pa.int64()), "name": ["a", "b", None, "d"]}
)
U = pa.table({"g": pa.array([1, 2, 3], pa.int64()), "label": ["one", "two", "three"]})


@pytest.fixture(scope="module")
def session():
    with qengine.Session(workers=1) as opened:
        opened.register("t", T)
        opened.register("u", U)
        yield opened


@pytest.fixture
def t(session) -> DataFrame:
    return session.table("t")


@pytest.fixture
def u(session) -> DataFrame:
    return session.table("u")


def rows(frame: DataFrame) -> list[dict]:
    """The rows in the order of their text: joins and groups give them in any order."""
    return sorted(frame.collect().to_pylist(), key=str)


# ------------------------------------------------------------------------------------------------------- names and scopes


def test_a_frame_is_never_changed(t):
    before = t.columns
    t.filter("id > 1"), t.drop("g"), t.rename({"g": "h"}), t.with_columns(x=1)
    assert t.columns == before
    assert len(rows(t)) == 4


def test_a_column_of_a_frame_stays_that_column(t, u):
    joined = t.join(u, t["g"] == u["g"]).filter(u["g"] > 1).select(t["id"], u["g"])
    assert rows(joined) == [{"id": 3, "g": 2}]
    assert t.join(u, t["g"] == u["g"]).drop(u["g"]).columns == ("id", "g", "name", "label")


def test_names_ignore_case(t):
    assert rows(t.filter(col("ID") == 1).select("NaMe", t["Id"])) == [{"name": "a", "Id": 1}]


def test_aliases_qualify_names_through_every_operator(t, u):
    a = t.alias("a").filter("a.id > 1").with_columns(z="a.id * 2").drop("name").rename({"z": "y"}).sort("a.id").limit(3)
    assert rows(a.join(u.alias("b"), "a.g = b.g").select("a.y", col("b.label"))) == [
        {"y": 4, "label": "one"},
        {"y": 6, "label": "two"},
    ]


def test_a_frame_joins_itself_by_name_and_by_alias(t):
    assert t.join(t, "id").select("id").collect().num_rows == 4
    later = t.filter("id > 2")
    made = t.join(later, t["id"] + 1 == later["id"]).filter(later["id"] > 3)
    assert rows(made.select(t["id"], later["id"].alias("later"))) == [{"id": 3, "later": 4}]
    twice = t.select("id").join(made, how="cross")  # what was joined is copied, and its columns are still known
    assert set(map(str, rows(twice.select(t["id"], later["id"].alias("later"))))) == {"{'id': 3, 'later': 4}"}
    a, b = t.alias("a"), t.alias("b")
    assert rows(a.join(b, a["id"] == b["g"]).select(a["id"], b["id"].alias("b"))) == [
        {"id": 1, "b": 1},
        {"id": 1, "b": 2},
        {"id": 2, "b": 3},
    ]


def test_new_columns_see_the_old_ones_first(t):
    made = t.select("id").with_columns((col("id") + 1).alias("id"), twice=col("id") * 2, again="twice + 1")
    assert rows(made.limit(1)) == [{"id": 2, "twice": 2, "again": 3}]


def test_texts_are_sql_in_frames_and_functions_and_values_in_columns(t):
    assert rows(
        t.filter(col("name") == "b").select("upper(name) AS n", f.lower("name"), when("id = 2").then("id").alias("w"))
    ) == [{"n": "B", "lower(name)": "b", "w": "id"}]


def test_stars(t, u):
    assert t.select("*").columns == t.columns == t.select(col("*")).columns
    assert t.join(u, "t.g = u.g").select("u.*", col("t.*")).columns == ("g", "label", "id", "g", "name")


def test_functions_without_a_definition_are_found_by_their_names(t):
    assert f.month(col("day")) is not None
    assert {"sum", "upper", "month"} <= set(dir(f))
    with pytest.raises(AttributeError, match="did you mean 'upper'"):
        f.uper("name")


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, BOOLEAN), (1, INTEGER), (-(2**31), INTEGER), (2**31, BIGINT), (2**63, decimal(38, 0)), (1.5, DOUBLE),
        (10**40, DOUBLE), (Decimal("1.50"), decimal(3, 2)), (Decimal("-0.05"), decimal(3, 2)), (Decimal("1E+3"), decimal(4, 0)),
        ("x", VARCHAR),
        (b"x", BLOB), (datetime.date(2020, 1, 1), DATE), (datetime.datetime(2020, 1, 1), TIMESTAMP), (datetime.time(1), TIME),
        (datetime.timedelta(days=1), INTERVAL), (None, NULL), (numpy.int64(7), INTEGER), (numpy.float64(7), DOUBLE),
        (numpy.bool_(True), BOOLEAN),
    ],
    ids=repr,
)  # fmt: skip
def test_constants_have_the_types_of_sql(t, value, dtype):
    assert t.select(c=lit(value)).schema[0].dtype == dtype


@pytest.mark.parametrize("value", [[1], {1}, object(), Decimal("nan"), Decimal(1).scaleb(-40), Decimal("1e50")], ids=str)
def test_other_constants_are_refused(value):
    with pytest.raises(QEngineError) as caught:
        lit(value)
    assert caught.value.code == "INVALID_LITERAL"


def test_a_text_constant_is_never_sql(t):
    evil = "x'); DROP TABLE t; --"
    assert rows(t.select(c=lit(evil)).limit(1)) == [{"c": evil}]
    assert rows(t.filter(col("name") == evil)) == []


def test_columns_print_as_sql():
    assert repr((col("a") + 1) * 2 > col("t.b")) == "Column((((a + 1) * 2) > t.b))"
    assert repr(f.sum("x").alias("s")) == "Column(sum(x) AS s)"
    assert repr(col("a").desc()) == "Ordering(a desc)"


def test_python_precedence_and_truth():
    assert repr(col("a") + 2 * -col("b")) == "Column((a + (2 * -b)))"
    assert repr((col("a") == 1) & ~(col("b") > 2) | col("c")) == "Column((((a = 1) AND (NOT (b > 2))) OR c))"
    for wrong in (lambda: bool(col("a")), lambda: col("a") and col("b"), lambda: 1 < col("a") < 3, lambda: list(col("a")),
                  lambda: hash(col("a")), lambda: 3 in col("a")):  # fmt: skip
        with pytest.raises(TypeError):
            wrong()


# ------------------------------------------------------------------------------------------------------ import and export


@pytest.mark.parametrize(
    "table", [U, pl.from_arrow(U), U.to_pandas(), U.to_batches()[0]], ids=["arrow", "polars", "pandas", "batch"]
)
def test_arrow_goes_in_and_out(session, table):
    frame = session.from_arrow(table, "things").filter("g > 1")
    assert pa.table(frame).to_pylist() == [{"g": 2, "label": "two"}, {"g": 3, "label": "three"}]
    assert frame.to_polars()["label"].to_list() == ["two", "three"]
    assert isinstance(frame.to_pandas(), pandas.DataFrame)
    assert rows(session.from_arrow(frame).select("g")) == [{"g": 2}, {"g": 3}]
    assert rows(frame.join(session.table("t"), "things.g = t.g").select("t.id")) == [{"id": 3}]


# ------------------------------------------------------------------------------------------------------ mixing with SQL


def test_any_frame_becomes_a_view(session, t, u):
    session.register("big", t.filter("id > 1").join(u, "g").select("id", "label"))
    assert rows(session.sql("SELECT b.label, c.id FROM big b JOIN big c ON b.id = c.id ORDER BY 2")) == [
        {"label": "one", "id": 2},
        {"label": "two", "id": 3},
    ]
    assert rows(session.table("big").filter("big.id > 2")) == [{"id": 3, "label": "two"}]
    assert rows(t.filter("id IN (SELECT id FROM big)").select("id")) == [{"id": 2}, {"id": 3}]
    assert session.sql("SELECT * FROM big").union(session.table("big")).collect().num_rows == 4


def test_a_view_may_replace_what_it_is_made_of(session):
    session.register("again", pa.table({"a": [1, 2, 3]}))
    session.register("again", session.table("again").filter("a > 1"))
    session.register("again", session.sql("SELECT a * 10 AS a FROM again"))
    assert rows(session.table("again")) == [{"a": 20}, {"a": 30}]


def test_sql_results_are_frames(session):
    frame = session.sql("SELECT g, count(*) AS n FROM t GROUP BY g").filter(col("n") > 1).with_columns(m="n + 1")
    assert rows(frame) == [{"g": 1, "n": 2, "m": 3}]


def test_repeated_names_are_kept_and_cannot_be_meant(session):
    frame = session.sql("SELECT a.id, b.id FROM t a JOIN t b USING (id)")
    assert frame.columns == ("id", "id")
    with pytest.raises(QEngineError) as caught:
        frame.filter("id > 1")
    assert caught.value.code == "AMBIGUOUS_COLUMN"


def test_the_plan_of_a_frame_is_that_of_its_sql(session, t, u):
    made = t.filter(col("id") > 1).join(u, "g").group_by("label").agg(s=f.sum("id")).sort("label").limit(2)
    text = "SELECT label, sum(id) AS s FROM t JOIN u USING (g) WHERE id > 1 GROUP BY label ORDER BY label LIMIT 2"
    for level in ("optimized", "physical", "stages"):
        assert made.explain(level) == session.sql(text).explain(level)


def test_frames_of_two_sessions_do_not_meet(t):
    with qengine.Session(workers=1) as other:
        other.register("t", T)
        with pytest.raises(QEngineError, match="of the same session"):
            t.join(other.table("t"), "id")


# ------------------------------------------------------------------------------------------------------------- subqueries


def test_an_outer_column_needs_its_query(t, u):
    inner = t.filter(col("g") == outer(u["g"]))
    assert rows(u.filter(inner.exists()).select("g")) == [{"g": 1}, {"g": 2}]
    assert rows(u.filter("g > 1").filter(inner.exists()).select("g")) == [{"g": 2}]
    for wrong in (inner.collect, lambda: inner.schema, lambda: inner.explain()):
        with pytest.raises(QEngineError, match="outer column has a meaning only inside"):
            wrong()
    with pytest.raises(QEngineError) as caught:
        t.filter(col("g") == outer(t["g"]))
    assert caught.value.code == "AMBIGUOUS_COLUMN"
    with pytest.raises(QEngineError, match="must be a column of a DataFrame"):
        outer(col("g"))


def test_subqueries_nest(t, u):
    inner = t.alias("i").filter(col("i.g") == outer(u["g"]))
    middle = t.filter(col("g") == outer(u["g"]), inner.filter(col("i.id") != outer(t["id"])).exists())
    assert rows(u.filter(middle.exists()).select("g")) == [{"g": 1}]


def test_a_hidden_outer_column_is_missed(t, u):
    inner = t.filter(col("g") == outer(u["g"]))
    with pytest.raises(QEngineError) as caught:
        u.drop("g").filter(inner.exists())
    assert caught.value.code == "UNKNOWN_COLUMN"


# ------------------------------------------------------------------------------------------------------------ deep chains

DEEP = {
    "filter": lambda d, i: d.filter(col("id") > -i),
    "text": lambda d, i: d.filter(f"id > {-i}"),
    "with_columns": lambda d, i: d.with_columns(id=col("id") + 1),
    "select": lambda d, i: d.select("g", "id"),
    "sort": lambda d, i: d.sort("id"),
    "limit": lambda d, i: d.limit(5000 - i),
    "distinct": lambda d, i: d.distinct(),
    "rename": lambda d, i: d.rename({d.columns[-1]: f"n{i}"}),
    "alias": lambda d, i: d.alias("a") if i % 50 == 0 else d.filter("id > 0"),
}


@pytest.mark.parametrize("name", DEEP)
def test_two_thousand_calls(t, name):
    frame = t.select("g", "id")
    for number in range(2000):
        frame = DEEP[name](frame, number)
    assert frame.collect().num_rows == 4


def test_a_view_over_a_view_a_thousand_times(session):
    session.register("tower", T)
    for _ in range(1000):
        session.register("tower", session.table("tower").filter("id > 1"))
    assert session.sql("SELECT count(*) AS n FROM tower").collect()["n"].to_pylist() == [3]


def test_long_conditions(t):
    condition = col("id") == -1
    for number in range(10_000):
        condition = condition | (col("id") == number)
    assert t.filter(condition).collect().num_rows == 4


# ------------------------------------------------------------------------------------------------------- files that change


def write(path, **columns):
    pq.write_table(pa.table(columns), path)
    os.utime(path, ns=(1, os.stat(path).st_mtime_ns + 10**9))


def test_frames_and_views_read_files_as_they_are(session, tmp_path):
    path = tmp_path / "f.parquet"
    write(path, a=[1, 2], b=["x", "y"])
    frame = session.read_parquet(path).filter("a > 1").select("b", "f.a")
    session.register("over_file", frame)
    assert rows(frame) == [{"b": "y", "a": 2}]
    write(path, new=[0, 0, 0], b=["p", "q", "r"], a=[5, 1, 6])
    assert rows(frame) == rows(session.sql("SELECT * FROM over_file")) == [{"b": "p", "a": 5}, {"b": "r", "a": 6}]
    write(path, a=[1.5], b=["x"])
    for run in (frame.collect, lambda: session.table("over_file")):
        with pytest.raises(DataError) as caught:
            run()
        assert caught.value.code == "FILE_COLUMNS_CHANGED"
    write(path, a=[7], b=["z"])
    assert rows(frame) == [{"b": "z", "a": 7}]


def test_new_files_of_a_folder_are_seen_once_an_old_one_changes(session, tmp_path):
    write(tmp_path / "1.parquet", a=[1])
    frame = session.read_parquet(tmp_path).filter("a > 0")
    write(tmp_path / "1.parquet", a=[1])
    write(tmp_path / "2.parquet", a=[2])
    assert rows(frame) == [{"a": 1}, {"a": 2}]


def test_threads_build_frames_of_one_session(t, u):
    answers = []

    def build() -> None:
        answers.append(rows(t.join(u, "g").filter(col("id") > 1).group_by("label").agg(n=f.count()).sort("label")))

    threads = [threading.Thread(target=build) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[{"label": "one", "n": 1}, {"label": "two", "n": 1}]] * 8


# ----------------------------------------------------------------------------------------------------------------- errors

ERRORS = {
    "UNKNOWN_COLUMN name": (lambda t, u: t.filter(col("idd") > 1), "did you mean 'id'"),
    "UNKNOWN_COLUMN text": (lambda t, u: t.filter("1 < idd"), "did you mean 'id'?\nLINE 1: 1 < idd\n            ^^^"),
    "UNKNOWN_COLUMN getitem": (lambda t, u: t["nam"], "did you mean 'name'"),
    "UNKNOWN_COLUMN using": (lambda t, u: t.join(u, ["g", "nam"]), "did you mean 'name'"),
    "UNKNOWN_COLUMN drop": (lambda t, u: t.drop("labl"), "'labl'"),
    "UNKNOWN_COLUMN rename": (lambda t, u: t.rename({"nmae": "x"}), "did you mean 'name'"),
    "UNKNOWN_COLUMN foreign": (lambda t, u: t.select(u["g"]), "is no input"),
    "UNKNOWN_COLUMN dropped": (lambda t, u: t.drop("g").filter(t["g"] > 1), "'g'"),
    "UNKNOWN_TABLE": (lambda t, u: t._session.table("tt"), "did you mean 't'"),
    "UNKNOWN_TABLE alias": (lambda t, u: t.alias("x").filter("t.id > 1"), "'t'"),
    "UNKNOWN_FUNCTION": (lambda t, u: t.select("uper(name)"), "did you mean 'upper'?\nLINE 1: uper(name)"),
    "UNKNOWN_TYPE": (lambda t, u: t.select(col("id").cast("INTEGR")), "did you mean 'INTEGER'"),
    "AMBIGUOUS_COLUMN": (lambda t, u: t.join(u, "t.g = u.g").select("g"), "'t.g' or 'u.g'"),
    "AMBIGUOUS_COLUMN getitem": (lambda t, u: t.join(u, "t.g = u.g")["g"], "'t.g' or 'u.g'"),
    "AMBIGUOUS_COLUMN self": (lambda t, u: t.join(t, t["id"] == t["g"]), "alias()"),
    "AMBIGUOUS_COLUMN side": (lambda t, u: t.limit(3).join(t.limit(2), "g").select(t["id"]), "alias()"),
    "TYPE_MISMATCH": (lambda t, u: t.select(col("name") + 1), "VARCHAR"),
    "TYPE_MISMATCH text": (lambda t, u: t.filter("id", "name + 1 > 2"), "LINE 1: name + 1 > 2"),
    "NOT_GROUPED": (lambda t, u: t.group_by("g").agg("name"), "'name'"),
    "NOT_GROUPED all": (lambda t, u: t.agg(col("id")), "'id'"),
    "MISPLACED_AGGREGATE": (lambda t, u: t.filter(f.sum("id") > 1), "WHERE"),
    "MISPLACED_AGGREGATE key": (lambda t, u: t.group_by(f.sum("id")).agg(), "GROUP BY"),
    "MISPLACED_AGGREGATE sort": (lambda t, u: t.sort(f.sum("id")), "ORDER BY"),
    "SYNTAX": (lambda t, u: t.filter("id >"), "LINE 1: id >"),
    "SYNTAX empty": (lambda t, u: t.filter(""), ""),
    "SYNTAX clause": (lambda t, u: t.select("id FROM t"), "not a clause"),
    "SYNTAX alias": (lambda t, u: t.filter("id AS x"), "one expression"),
    "SYNTAX list": (lambda t, u: t.filter("id > 1, g > 2"), "one expression"),
    "SEVERAL_STATEMENTS": (lambda t, u: t.filter("id > 1; SELECT 2"), ""),
    "INVALID_LITERAL": (lambda t, u: t.filter(col("id") > "x"), "'x' is not a valid BIGINT"),
    "INVALID_LIMIT": (lambda t, u: t.limit(-1), "n"),
    "INVALID_LIMIT offset": (lambda t, u: t.limit(1, True), "offset"),
    "COLUMN_COUNT": (lambda t, u: u.filter(col("g").is_in(t)), "is 3, not 1"),
    "COLUMN_COUNT union": (lambda t, u: t.union(u), "is 2, not 3"),
    "COLUMN_COUNT drop": (lambda t, u: u.drop("g", "label"), "at least one"),
    "MISSING_PARAMETER": (lambda t, u: t.filter("id > ?"), "parameter $1 has no value"),
    "UNSUPPORTED star": (lambda t, u: t.group_by("*").agg(), "key of groups"),
    "TOO_DEEP": (lambda t, u: t.select(deep(col("id"))), ""),
    "WRONG_ARGUMENTS": (lambda t, u: f.month(), "month"),
    "WRONG_ARGUMENTS many": (lambda t, u: t.select("upper(name, name)"), "LINE 1"),
    "INVALID_SETTING how": (lambda t, u: t.join(u, "g", how="sideways"), "inner, left"),
    "INVALID_SETTING on": (lambda t, u: t.join(u), "names"),
    "INVALID_SETTING cross": (lambda t, u: t.join(u, "g", how="cross"), "left out"),
    "INVALID_SETTING other": (lambda t, u: t.union(U), "DataFrame"),
    "INVALID_SETTING condition": (lambda t, u: t.filter(3), "a Column or SQL text"),
    "INVALID_SETTING none": (lambda t, u: t.select(), "at least one"),
    "INVALID_SETTING sort": (lambda t, u: t.sort("id", descending=[True, False]), "a list of 1"),
    "INVALID_SETTING frame": (lambda t, u: t.filter(col("id") == u), "df.scalar()"),
    "INVALID_SETTING values": (lambda t, u: col("id").is_in("abc"), "a list"),
    "INVALID_SETTING rename": (lambda t, u: t.rename({"g": 3}), "dict"),
    "INVALID_SETTING index": (lambda t, u: t[0], "its name"),
    "INVALID_SETTING drop": (lambda t, u: t.drop(col("id") + 1), "a column"),
}


def deep(column):
    for _ in range(2000):
        column = -column
    return column


@pytest.mark.parametrize("case", ERRORS)
def test_errors_have_their_code_and_say_what_is_near(t, u, case):
    wrong, part = ERRORS[case]
    with pytest.raises(QEngineError) as caught:
        wrong(t, u)
    assert caught.value.code == case.split()[0]
    assert part in str(caught.value)
    assert len(rows(t)) == 4  # and the session goes on


def test_a_caret_stands_under_the_text_at_fault_only(t):
    with pytest.raises(QEngineError) as caught:
        t.filter(f.upper("name") == "A", "id > 1", (col("g") + 1) > f.abs("no_such"))
    assert str(caught.value).splitlines()[1:] == ["LINE 1: no_such", "        ^^^^^^^"]
    with pytest.raises(QEngineError) as caught:
        t.filter("id > 1", col("no_such") > f.abs("id"))
    assert caught.value.position is None


def test_long_intervals_in_text(t):
    assert rows(t.select(m="TIMESTAMP '2020-01-01 00:00:00' + INTERVAL '1 day 02:00:00'").limit(1)) == [
        {"m": datetime.datetime(2020, 1, 2, 2)}
    ]


def test_a_frame_is_no_sequence(t):
    with pytest.raises(TypeError, match="collect"):
        iter(t)

"""SQL through the whole engine against DuckDB, over small tables full of NULLs, duplicates and extreme values.

Every query runs in many tasks on worker processes, as planned for so few rows, and inside of the driver.
"""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from planner.physical.context import PhysicalOptions
from planner.physical.plan import plan_physical
from tpch.same_answer import same_answer

D = Decimal


def _tables() -> dict[str, pa.Table]:
    rows = range(40)
    names = ["green apple", "Green", "", "a%b_c", "ünïcode ☃", "x\ny"]
    first_day = datetime.date(1994, 1, 28)

    def nullable(kind, value, missing, of):
        """The values of all rows, NULL where the row number modulo `of` is `missing`."""
        return pa.array([None if i % of == missing else value(i) for i in rows], kind)

    numbers = pa.table(
        {
            "id": pa.array(range(1, 41), pa.int64()),
            "g": nullable(pa.int32(), lambda i: i % 4, 0, 11),
            "small": nullable(pa.int16(), lambda i: (i * 37) % 256 - 128, 3, 7),
            "price": nullable(pa.decimal128(15, 2), lambda i: D(i * 137 - 2000) / 100, 4, 9),
            "rate": pa.array([D(i % 11) / 100 for i in rows], pa.decimal128(15, 2)),
            "x": nullable(pa.float64(), lambda i: float("nan") if i % 13 == 0 else i / 4 - 3, 5, 8),
            "day": nullable(pa.date32(), lambda i: first_day + datetime.timedelta(days=i), 6, 10),
            "name": nullable(pa.string(), lambda i: names[i % 6], 2, 6),
            "flag": nullable(pa.bool_(), lambda i: i % 2 == 0, 1, 5),
        }
    )
    groups = pa.table(
        {
            "g": pa.array([0, 1, 1, 3, None, 7], pa.int32()),
            "label": pa.array(["zero", "one", "uno", "three", "null", None]),
            "bound": pa.array([D("1.5"), D("-3"), None, D("12.25"), D("0"), D("99.99")], pa.decimal128(10, 2)),
        }
    )
    return {"t": numbers, "s": groups, "empty": numbers.slice(0, 0)}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name, table in _tables().items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=7)
    return folder


@pytest.fixture(scope="module")
def oracle():
    """Over its own tables and not over the files, whose statistics make DuckDB lose sight of NaN."""
    connection = duckdb.connect()
    for name, table in _tables().items():
        connection.register("arrow", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
    yield connection
    connection.close()


@pytest.fixture(scope="module", params=["scattered", "off", "auto"])
def session(request, files):
    """Through workers in many tasks and buckets, through workers as planned for so few rows, and inside of this process."""
    with (
        pytest.MonkeyPatch.context() as patch,
        qengine.Session(workers=2, inline=request.param.replace("scattered", "off")) as opened,
    ):
        if request.param == "scattered":
            many = PhysicalOptions(workers=2, task_bytes=1, least_task_bytes=1, buckets=8)
            patch.setattr(
                "qengine.query.plan_physical", lambda root, allocator, _, **rest: plan_physical(root, allocator, many, **rest)
            )
        for name in _tables():
            opened.register(name, opened.read_parquet(str(files / f"{name}.parquet")))
        yield opened


SAME = [
    # scans, filters, projections
    "SELECT * FROM t",
    "SELECT id, price FROM t WHERE price > 0 AND g <> 2",
    "SELECT id FROM t WHERE NOT (g = 1 OR price < 0)",
    "SELECT id FROM t WHERE g IN (1, 3) AND name LIKE '%ree%'",
    "SELECT id FROM t WHERE g NOT IN (1, NULL)",
    "SELECT id FROM t WHERE name LIKE 'a\\%b\\_c' ESCAPE '\\'",
    "SELECT id, name FROM t WHERE name LIKE '%n%code%'",
    "SELECT id FROM t WHERE name NOT LIKE '%y'",
    "SELECT id FROM t WHERE flag",
    "SELECT id FROM t WHERE flag IS NULL OR NOT flag",
    "SELECT id, x FROM t WHERE x > 2",
    "SELECT id FROM t WHERE x = 'nan'::DOUBLE",
    "SELECT id FROM t WHERE day BETWEEN DATE '1994-02-01' AND DATE '1994-02-10'",
    "SELECT id FROM t WHERE day < DATE '1994-02-01' + INTERVAL '1' MONTH - INTERVAL '20' DAY",
    "SELECT id, extract(year FROM day), extract(month FROM day), extract(day FROM day) FROM t",
    "SELECT id, substring(name FROM 2 FOR 3), substring(name, 1, 1), upper(name), length(name) FROM t",
    "SELECT id, name || '-' || name FROM t",
    "SELECT CASE WHEN g = 1 THEN 'one' WHEN g > 1 THEN 'many' END, CASE g WHEN 0 THEN 10 ELSE -1 END FROM t",
    "SELECT coalesce(g, -1), nullif(g, 2), g IS NULL, g IS DISTINCT FROM 1 FROM t",
    "SELECT 1 AS one, 'text', NULL, DATE '2000-02-29', 1.50, TRUE",
    "SELECT id FROM empty WHERE id > 3",
    # exact arithmetic
    "SELECT id, price * (1 - rate), price * (1 - rate) * (1 + rate), price + rate, price - 1, -price FROM t",
    "SELECT id, small + 1, small * 2, small - id, id // 7, id % 7, -id % 7, -id // 7 FROM t",
    "SELECT id, price / 7, id / 4, x / 2, price / x FROM t WHERE x <> 0",
    "SELECT id, CAST(price AS INTEGER), CAST(x AS INTEGER), CAST(id AS DECIMAL(10, 3)) FROM t WHERE x < 5",
    "SELECT id, CAST(price AS DECIMAL(15, 1)), CAST(price AS DOUBLE), CAST(day AS VARCHAR) FROM t",
    "SELECT CAST('12.345' AS DECIMAL(5, 2)), CAST('1994-02-28' AS DATE), CAST(7 AS VARCHAR), TRY_CAST('x' AS INTEGER)",
    "SELECT round(price, 1), round(x), floor(x), ceil(x), abs(price), abs(small) FROM t WHERE x < 100",
    "SELECT 9223372036854775807 - 1, 0.1 + 0.2, 1e3 * 2, 2.5 * 2.5, 7 / 2, 7 // 2, 7 % 4",
    # aggregates
    "SELECT count(*), count(g), sum(small), sum(price), min(price), max(name), min(day), max(x) FROM t",
    "SELECT avg(price), avg(small), avg(x) FROM t WHERE x < 100",
    "SELECT count(*), sum(price), min(g), avg(price) FROM empty",
    "SELECT g, count(*), sum(price), avg(price), min(day), max(name) FROM t GROUP BY g",
    "SELECT g, sum(price) FROM empty GROUP BY g",
    "SELECT count(DISTINCT g), count(DISTINCT name), sum(DISTINCT small) FROM t",
    "SELECT flag, count(DISTINCT g), count(*) FROM t GROUP BY flag",
    "SELECT x, count(*) FROM t GROUP BY x",
    "SELECT g + 1 AS k, sum(id) FROM t GROUP BY k HAVING count(*) > 8",
    "SELECT extract(year FROM day) AS y, extract(month FROM day), sum(price) FROM t GROUP BY 1, 2",
    "SELECT sum(CASE WHEN g = 1 THEN price ELSE 0 END) / sum(price), 100.00 * sum(price) / sum(id) FROM t",
    "SELECT count(*) FILTER (WHERE g = 1), sum(price) FILTER (WHERE flag) FROM t",
    "SELECT count(*) FILTER (WHERE TRUE), count(*) FILTER (WHERE FALSE), count(*) FILTER (WHERE NULL), count(*) FROM t",
    "SELECT g, count(*) FILTER (WHERE 1 = 1), sum(price) FILTER (WHERE TRUE), count(*) FROM t GROUP BY g",
    "SELECT count(*) FILTER (WHERE TRUE), bool_or(flag) FROM t WHERE id > 1000",
    "SELECT count(*) FILTER (WHERE 1 // 0 > 0) FROM t WHERE id > 1000",
    "SELECT sum(id) FILTER (WHERE 1 // 0 > 0) FROM t WHERE id > 1000",
    "SELECT DISTINCT g, flag FROM t",
    "SELECT max(c) FROM (SELECT g, count(*) AS c FROM t GROUP BY g)",
    "SELECT bool_and(flag), bool_or(flag), stddev(small), var_samp(id) FROM t",
    # joins
    "SELECT t.id, s.label FROM t, s WHERE t.g = s.g",
    "SELECT t.id, s.label FROM t LEFT JOIN s ON t.g = s.g AND s.bound > 0",
    "SELECT t.id, s.label FROM t RIGHT JOIN s ON t.g = s.g",
    "SELECT t.id, s.label FROM t FULL JOIN s ON t.g = s.g AND t.price > s.bound",
    "SELECT count(*) FROM t CROSS JOIN s",
    "SELECT t.id, s.g FROM t JOIN s ON t.price < s.bound",
    "SELECT a.id, b.id FROM t a JOIN t b ON a.g = b.g AND a.small = b.small + 37",
    "SELECT a.id, c.label FROM t a JOIN t b ON a.id = b.id + 1 LEFT JOIN s c ON b.g = c.g WHERE c.label IS NULL OR a.id < 9",
    "SELECT s.g, sum(t.price) FROM s LEFT JOIN t USING (g) GROUP BY s.g",
    "SELECT t.id FROM t JOIN empty ON t.id = empty.id",
    "SELECT t.id, s.label FROM t JOIN s ON t.g = s.g AND s.g = t.g",
    "SELECT t.id, s.label FROM t LEFT JOIN s ON t.g = s.g AND s.g = t.g AND t.g = s.g",
    "SELECT t.id, s.label FROM t FULL JOIN s ON t.g = s.g AND s.g = t.g",
    "SELECT t.id, s.label FROM t LEFT JOIN s ON t.g = s.g AND t.id = s.g",
    "SELECT t.id, empty.g FROM t LEFT JOIN empty ON t.id = empty.id",
    # subqueries
    "SELECT id FROM t WHERE g IN (SELECT g FROM s WHERE bound > 0)",
    "SELECT id FROM t WHERE g NOT IN (SELECT g FROM s)",
    "SELECT id FROM t WHERE g NOT IN (SELECT g FROM s WHERE g IS NOT NULL)",
    "SELECT id FROM t WHERE g NOT IN (SELECT g FROM empty)",
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.g = t.g AND s.bound < t.price)",
    "SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM s WHERE s.g = t.g)",
    "SELECT id FROM t WHERE price > (SELECT avg(price) FROM t)",
    "SELECT id FROM t a WHERE price > (SELECT avg(b.price) FROM t b WHERE b.g = a.g)",
    "SELECT id, (SELECT count(*) FROM s WHERE s.g = t.g) FROM t",
    "SELECT 'x' FROM t, s WHERE (SELECT min(label) FROM s) BETWEEN 'a' AND 'nz'",
    "SELECT id FROM t WHERE (SELECT count(*) FROM s WHERE s.g = t.g) BETWEEN 1 AND 2",
    "SELECT id FROM t WHERE (SELECT max(bound) FROM s WHERE s.g < t.g) NOT BETWEEN 1 AND price",
    "SELECT id, (SELECT max(label) FROM s WHERE s.g = t.g AND s.bound < t.price) FROM t",
    "SELECT id FROM t WHERE g = 1 OR EXISTS (SELECT 1 FROM s WHERE s.g = t.g)",
    "SELECT id, g IN (SELECT g FROM s) FROM t",
    "SELECT id, g IN (SELECT s.g FROM s WHERE s.g = t.g) FROM t",
    "SELECT id, g IN (SELECT s.g FROM s WHERE s.g = k) FROM (SELECT id, g, abs(g) AS k FROM t) a",
    "SELECT id, (SELECT label FROM s WHERE s.g = a.g AND s.g = k) FROM (SELECT id, g, abs(g) AS k FROM t WHERE g <> 1) a",
    "SELECT s.g FROM s WHERE 5 < (SELECT count(*) FROM t WHERE t.g = s.g AND t.id > (SELECT min(u.id) FROM t u WHERE u.g = s.g))",
    "SELECT id FROM t WHERE price > 2 * (SELECT sum(bound) FROM s WHERE s.g <> t.g)",
    "SELECT id, (SELECT sum(price) FROM (SELECT u.price FROM t u WHERE u.g = t.g ORDER BY u.id DESC LIMIT 3)) FROM t",
    "SELECT id FROM t WHERE id IN (SELECT u.id FROM t u WHERE u.g = t.g ORDER BY u.id LIMIT 2 OFFSET 1)",
    "SELECT t.id, s.label FROM t LEFT JOIN s ON EXISTS (SELECT 1 FROM t u WHERE u.g = s.g AND u.small < t.small)",
    "SELECT t.id, s.label FROM t FULL JOIN s ON t.id > 35 AND (SELECT count(*) FROM t u WHERE u.g = s.g AND u.id > t.id) > 1",
    # common table expressions and derived tables
    "WITH r AS (SELECT g, sum(price) AS total FROM t GROUP BY g) SELECT g FROM r WHERE total = (SELECT max(total) FROM r)",
    "WITH r(a, b) AS (SELECT g, id FROM t), q AS (SELECT a, max(b) AS m FROM r GROUP BY a) SELECT * FROM q JOIN r ON r.b = q.m",
    "SELECT k, n FROM (SELECT g AS k, count(*) AS n FROM t GROUP BY g) AS d WHERE n > 5",
    # errors that must not happen: rows that SQL never evaluates
    "SELECT CASE WHEN g = 0 THEN -1 ELSE 12 // g END FROM t",
    "SELECT id FROM t WHERE g <> 0 AND 12 // g > 5",
    "SELECT id FROM t WHERE 1 // 0 > 0 AND FALSE",
    "SELECT coalesce(g, id // 0) FROM t WHERE g IS NOT NULL",
]

ORDERED = [
    "SELECT id, g FROM t ORDER BY g, id DESC",
    "SELECT id, price FROM t ORDER BY price DESC NULLS FIRST, id",
    "SELECT id, name FROM t ORDER BY name, id",
    "SELECT id, x FROM t ORDER BY x DESC, id LIMIT 12",
    "SELECT g, sum(price) AS p FROM t GROUP BY g ORDER BY p DESC LIMIT 3 OFFSET 1",
    "SELECT g, count(*) FROM t GROUP BY g ORDER BY 2 DESC, 1",
    "SELECT id FROM t LIMIT 5",
    "SELECT id FROM t WHERE price > 0 LIMIT 5 OFFSET 3",
    "SELECT id FROM t LIMIT 4294967295 OFFSET 1",
    "SELECT id FROM t ORDER BY id LIMIT 5000000000 OFFSET 2",
    "SELECT id FROM t ORDER BY id LIMIT 4611686018427387903 OFFSET 4611686018427387903",
    "SELECT id FROM t ORDER BY abs(small) + 1, id",
]


@pytest.mark.parametrize("text", SAME)
def test_the_same_rows_as_duckdb(session, oracle, text):
    expected = oracle.sql(text).to_arrow_table()
    actual = session.sql(text).collect()
    difference = same_answer(actual, _lenient(expected, actual))
    assert difference is None, difference


@pytest.mark.parametrize("text", ORDERED)
def test_the_same_sequence_as_duckdb(session, oracle, text):
    expected = oracle.sql(text).to_arrow_table()
    actual = session.sql(text).collect()
    difference = same_answer(actual, _lenient(expected, actual), in_sequence=True)
    assert difference is None, difference


def _lenient(expected: pa.Table, actual: pa.Table) -> pa.Table:
    """DuckDB's sums of integers are HUGEINT, ours BIGINT by design."""
    columns = []
    for index, column in enumerate(expected.columns):
        if pa.types.is_decimal(column.type) and pa.types.is_integer(actual.schema.field(index).type):
            column = column.cast(actual.schema.field(index).type)
        columns.append(column)
    return pa.table(columns, names=expected.column_names)

"""The binder against DuckDB: bound plans, run by the reference interpreter over small tables, give DuckDB's rows and names.

This is about meaning alone: no optimizer, no engine.
"""

from __future__ import annotations

from decimal import Decimal

import duckdb
import pytest

from planner.verify import check_plan
from tests.reference_interpreter import run
from tests.unit.sql.small_tables import FIELDS, ROWS, query

QUERIES = [
    # select lists, names, stars
    "SELECT * FROM t",
    "SELECT t.*, k FROM t JOIN u ON t.i = u.i",
    "SELECT I, T.B, t.i FROM T WHERE T.I = 1",
    'SELECT "I" FROM t WHERE "t"."i" = 1',
    "SELECT i, i, i + 1, sum(b) FROM t GROUP BY i",
    "SELECT i AS x, x + 1 AS y FROM t WHERE x > 1",
    "SELECT i + 1, -i, d * 2, v || 'x', i = 1, i > 1 AND bo, NOT bo, i IS NULL, i IN (1, 2), i // 2, i % 2 FROM t",
    "SELECT sum(i), count(*), count(i), count(DISTINCT i), max(t.i), sum(i) FILTER (WHERE b > 5) FROM t",
    "SELECT 1, 'a', NULL, 1.5, true",
    "FROM u",
    "FROM t SELECT i",
    "SELECT * EXCLUDE (i, B) FROM t",
    "SELECT * EXCLUDE i FROM t JOIN u USING (i)",
    "SELECT * EXCLUDE (u.i) FROM t JOIN u ON t.i = u.i",
    "SELECT * REPLACE (i * 2 AS I, upper(v) AS v) FROM t",
    "SELECT t.* EXCLUDE (b) REPLACE (-t.i AS i) RENAME (v AS text), x FROM t JOIN u ON t.i = u.i",
    "SELECT * RENAME (i AS j) FROM t ORDER BY j, b",
    "SELECT DISTINCT ON (i) i, b, v FROM t ORDER BY i, b DESC",
    "SELECT DISTINCT ON (i) b FROM t ORDER BY b",
    "SELECT DISTINCT ON (1, bo) i, b FROM t ORDER BY b DESC LIMIT 3",
    "SELECT DISTINCT ON (k) i % 2 AS k, b FROM t ORDER BY b",
    "SELECT DISTINCT ON (count(*)) i, count(*) AS n FROM t GROUP BY i ORDER BY n, i",
    "SELECT DISTINCT ON (r > 2) i, row_number() OVER (ORDER BY b, i) AS r FROM t ORDER BY r DESC",
    "SELECT i, b FROM t UNION ALL BY NAME SELECT b, i FROM t",
    "SELECT i FROM t UNION BY NAME SELECT x, I FROM u UNION ALL BY NAME SELECT 'q' AS y, 1 AS x",
    "SELECT i, b FROM t UNION BY NAME SELECT 5 AS z, 1.5 AS b",
    "SELECT count_if(i > 1), count_if(bo), count_if(i > 100), count_if(b > 5) FILTER (WHERE i = 1) AS f FROM t",
    "SELECT i, count_if(b > 5) OVER (PARTITION BY i) AS n FROM t",
    "SELECT (i, b) < (2, 20) AS a, (i, b) <= (1, 10) AS b, (b, i) > (i, b) AS c, (i, b) >= (1, NULL) AS d FROM t",
    "SELECT (i, d, v) < (1, 4.5, 'b') AS a, (NULL, 1) < (1, 2) AS b, (1, NULL) > (1, 2) AS c, (i, v) > (i, v) AS d FROM t",
    "SELECT b FROM t ORDER BY b LIMIT 1 + 1 OFFSET 2 * 1 - 1",
    "SELECT * FROM range(3), generate_series(5, 1, -2)",
    "SELECT n, r.n + i FROM range(1, 4) AS r(n) JOIN t ON n = i",
    "SELECT range.range, count(*) FROM range(2 * 2) GROUP BY range",
    "SELECT * FROM range(3, 1) UNION ALL SELECT * FROM range(NULL) UNION ALL SELECT * FROM generate_series(1, 1)",
    # names of what has none
    "SELECT i::INT, i::VARCHAR, CAST(v AS TEXT), TRY_CAST(v AS INTEGER), i::FLOAT, i::DECIMAL(10, 2), i::DOUBLE FROM t",
    "SELECT sum(i) OVER (PARTITION BY b ORDER BY i DESC), count(*) OVER (), min(i) OVER (ORDER BY b) FROM t",
    # words that are reserved, where DuckDB takes them for names
    'SELECT i AS order, b AS group, i AS /* all */ where, i "from" FROM t AS "where"',
    "SELECT i date, b value, i key, i first, i rows FROM t",
    # names that are an output column and a column of the input
    "SELECT i AS b FROM t WHERE b > 5",
    "SELECT b % 3 AS i, count(*) FROM t GROUP BY i, b",
    "SELECT i, max(b) AS b FROM t GROUP BY i HAVING b > 15",
    "SELECT i, count(*) AS v FROM t GROUP BY i HAVING v > 1",
    "SELECT count(*) AS b FROM t HAVING b > 3",
    "SELECT i, sum(b) AS b FROM t GROUP BY i HAVING sum(b) > 15 AND b > 1",
    "SELECT i AS x, length('qq') AS i FROM t GROUP BY t.i HAVING i = 1",
    "SELECT -i AS i FROM t GROUP BY 1 HAVING i < -1",
    "SELECT -i AS i FROM t GROUP BY 1 HAVING -i < 0",
    "SELECT i + 1 AS i FROM t GROUP BY i + 1 HAVING i + 1 > 3",
    "SELECT -i AS i, b FROM t ORDER BY i, b",
    "SELECT -i AS i, b FROM t ORDER BY i + 0, b",
    # arithmetic
    "SELECT i + b, s + 1, s * s, d + 1, 1 - d, d * i, d * 1.5, d + e, d * e, abs(d), f + d, i / 2, d % 2, f % 2 FROM t",
    "SELECT 7 // 2, -7 // 2, -7 % 3, 7 / 2, 2 - 3 - 4, 2 * 3 + 4, 1 + 2.5, 1e3 + 1",
    "SELECT i + i + b - s - 1 + d FROM t",
    # conditions
    "SELECT bo AND i > 1, bo OR i > 1, bo IS TRUE, bo IS NOT FALSE, i IS DISTINCT FROM 1 FROM t",
    "SELECT i FROM t WHERE d BETWEEN 4 AND 10.5",
    "SELECT i FROM t WHERE d NOT BETWEEN 4 AND 10.5",
    "SELECT i FROM t WHERE dt BETWEEN '2000-01-01' AND DATE '2020-12-31'",
    "SELECT i IN (1, 2.5, NULL), i IN ('1', 2), v IN ('ab', 'x'), i NOT IN (1, NULL) FROM t",
    "SELECT i = '1', d = '4.5', dt = '2020-01-01', ts > '2020-01-01', bo = 1 FROM t",
    "SELECT v FROM t WHERE v LIKE 'a%' OR v NOT LIKE '%b%'",
    "SELECT v FROM t WHERE v ILIKE 'AB%'",
    "SELECT i FROM t WHERE true AND 1",
    # functions
    "SELECT upper(v), lower(v), length(v), substring(v, 2), substring(v FROM 1 FOR 2), substr(v, 1, 1) FROM t",
    "SELECT coalesce(i, b), coalesce(d, 1), ifnull(i, 0), nullif(i, 2), nullif(i, 2.5) FROM t",
    "SELECT concat(v, NULL, i), v || NULL, 'a' || 1 FROM t",
    "SELECT CASE WHEN i = 1 THEN 'one' WHEN i = 2 THEN v END, CASE i WHEN 1 THEN 1.5 ELSE b END FROM t",
    "SELECT dt + INTERVAL 1 MONTH, dt - INTERVAL '1 day', dt + 1, dt - 1, dt - DATE '2020-01-01' FROM t",
    "SELECT i FROM t WHERE dt < DATE '2020-01-01' + INTERVAL '1' YEAR",
    "SELECT extract(year FROM dt), month(dt), date_part('day', ts), year(ts) FROM t",
    "SELECT CAST(d AS INTEGER), CAST(i AS VARCHAR), TRY_CAST('x' AS INTEGER), '5'::INTEGER, dt::TIMESTAMP, ts::DATE FROM t",
    # joins
    "SELECT * FROM u, w",
    "SELECT * FROM t LEFT JOIN u ON t.i = u.i AND u.x > 2",
    "SELECT * FROM t RIGHT JOIN u ON t.i = u.i",
    "SELECT * FROM t FULL JOIN u ON t.i = u.i",
    "SELECT * FROM u CROSS JOIN w",
    "SELECT * FROM u, w RIGHT JOIN t ON w.i = t.i WHERE u.x > 2",
    "SELECT * FROM t JOIN w USING (i)",
    "SELECT * FROM t LEFT JOIN w USING (i, b)",
    "SELECT i, b, y FROM t FULL JOIN w USING (i, b)",
    "SELECT i FROM t RIGHT JOIN w USING (i)",
    "SELECT t.i, w.i, i FROM t JOIN w USING (i) JOIN u USING (i)",
    "SELECT * FROM t NATURAL JOIN w",
    "SELECT k FROM u SEMI JOIN t ON u.i = t.i",
    "SELECT k FROM u ANTI JOIN t ON u.i = t.i",
    "SELECT * FROM (t JOIN u USING (i))",
    "SELECT t.i FROM t JOIN u ON t.i = u.i AND EXISTS (SELECT 1 FROM w WHERE w.i = t.i AND w.y > u.x)",
    # grouping
    "SELECT i, count(*), sum(b), min(v), max(dt), count(DISTINCT b), sum(DISTINCT s) FROM t GROUP BY i",
    "SELECT i AS k, count(*) FROM t GROUP BY k HAVING count(*) > 1 ORDER BY k",
    "SELECT i + 1, count(*) AS c FROM t GROUP BY 1 ORDER BY c DESC, 1",
    "SELECT i + 1 FROM t GROUP BY i + 1 HAVING sum(b) > 0 ORDER BY sum(b)",
    "SELECT t.i + 1 FROM t GROUP BY i + 1",
    "SELECT count(*), sum(b), min(b) FROM t WHERE false",
    "SELECT sum(i) * 2 + count(*), max(i) - min(i) FROM t",
    "SELECT 1 FROM t HAVING count(*) > 2",
    "SELECT sum(i) AS x FROM t HAVING x > 0",
    "SELECT i, count(*) FROM t GROUP BY ALL",
    "SELECT count(*) FROM t GROUP BY i, v HAVING min(b) > 1",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.i = t.i) THEN 1 ELSE 0 END AS c, count(*) FROM t GROUP BY c ORDER BY c",
    "SELECT bool_and(bo), bool_or(bo), count(NULL), sum(NULL) FROM t",
    # order, limit, distinct
    "SELECT i FROM t ORDER BY b NULLS FIRST, i DESC",
    "SELECT i FROM t ORDER BY i DESC",
    "SELECT -i AS i FROM t ORDER BY i",
    "SELECT -i AS i FROM t ORDER BY i + 0",
    "SELECT b FROM t ORDER BY -i NULLS FIRST, b",
    "SELECT DISTINCT i FROM t ORDER BY i DESC",
    "SELECT DISTINCT i, b FROM t ORDER BY 2, 1 LIMIT 3 OFFSET 1",
    "SELECT i, b FROM t ORDER BY ALL",
    "SELECT i FROM t LIMIT 0",
    "SELECT i FROM t LIMIT NULL",
    "SELECT i FROM t ORDER BY b FETCH FIRST 2 ROWS ONLY",
    "SELECT 'a''b', $$it's$$ AS raw",
    "(SELECT i FROM u ORDER BY i LIMIT 2) ORDER BY i DESC",
    # subqueries
    "SELECT i FROM t WHERE i IN (SELECT i FROM u)",
    "SELECT i FROM t WHERE i NOT IN (SELECT i FROM u)",
    "SELECT i FROM t WHERE i IN (VALUES (1), (3))",
    "SELECT sum((SELECT max(x) FROM u WHERE u.i = t.i)) AS s FROM t",
    "SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM u WHERE u.i = t.i)) AS c FROM t",
    "SELECT (SELECT max(u.x) FROM u WHERE u.i = q.i) AS z FROM (SELECT i, count(*) AS n FROM t GROUP BY i) AS q WHERE n > 1",
    "SELECT i FROM t WHERE i IN (SELECT w.i FROM w WHERE w.b IN (SELECT t2.b FROM t t2 WHERE t2.i = t.i))",
    "SELECT i FROM t WHERE b IN (SELECT i FROM u) OR i = ANY (SELECT i FROM w)",
    "SELECT i FROM t WHERE i <> ALL (SELECT i FROM u WHERE i > 1)",
    "SELECT i, (SELECT max(x) FROM u WHERE u.i = t.i) AS m, (SELECT count(*) FROM u WHERE u.i = t.i) AS c FROM t",
    "SELECT i, EXISTS (SELECT 1 FROM u WHERE u.i = t.i AND u.x > t.d) AS e FROM t",
    "SELECT i, sum(b), (SELECT max(x) FROM u WHERE u.i = t.i) AS m FROM t GROUP BY i",
    "SELECT i FROM t GROUP BY i HAVING EXISTS (SELECT 1 FROM u WHERE u.x < sum(t.d))",
    "SELECT (SELECT sum(t.i)) AS s FROM t",
    "SELECT i FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.i = t.i AND EXISTS (SELECT 1 FROM w WHERE w.i = u.i AND w.b = t.b))",
    "SELECT (SELECT (SELECT a.i + u.i FROM w LIMIT 1) FROM u ORDER BY k LIMIT 1) AS s FROM t a",
    "SELECT i FROM t WHERE d > (SELECT 0.2 * avg(d) FROM t t2 WHERE t2.i = t.i)",
    "SELECT i FROM t ORDER BY (SELECT max(x) FROM u WHERE u.i = t.i), b",
    # derived tables, CTEs, VALUES
    "SELECT * FROM (SELECT i, i FROM t) AS q",
    "SELECT x FROM (SELECT i, b FROM t) AS q(x)",
    "SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS q(n, s)",
    "VALUES (1, DATE '2020-01-01' + INTERVAL 1 DAY), (2, NULL)",
    "VALUES (3), (1), (2) ORDER BY 1 LIMIT 2",
    "WITH c AS (SELECT i, sum(b) AS sb FROM t GROUP BY i), d(x) AS (SELECT max(sb) FROM c) SELECT c.* FROM c, d WHERE sb = x",
    "WITH c(a, bb) AS (SELECT i, k FROM u) SELECT c1.a, c2.bb FROM c c1 JOIN c c2 ON c1.a = c2.a",
    "WITH t AS (SELECT i FROM t WHERE i = 1) SELECT * FROM t",
    "WITH a AS (SELECT 1 AS n) SELECT * FROM (WITH a AS (SELECT 2 AS n) SELECT n FROM a) q, a",
]


@pytest.fixture(scope="module")
def oracle():
    connection = duckdb.connect()
    for name, fields in FIELDS.items():
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} {dtype}' for column, dtype in fields)})")
        marks = ", ".join("?" for _ in fields)
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", ROWS[name])
    yield connection
    connection.close()


@pytest.mark.parametrize("text", QUERIES)
def test_same_rows_and_names(oracle, text):
    cursor = oracle.execute(text)
    names = tuple(column[0] for column in cursor.description)
    expected = cursor.fetchall()
    bound = query(text)
    check_plan(bound.plan, "binding")
    rows = run(bound.plan, ROWS)
    if "ORDER BY" not in text:
        rows, expected = sorted(rows, key=_key), sorted(expected, key=_key)
    assert [_row(row) for row in rows] == [_row(row) for row in expected]
    assert bound.names == names or any(word in "".join(names) for word in _UNLIKE)


# Names that DuckDB writes in its own internal spelling.
_UNLIKE = (
    "CASE",
    "CAST",
    "to_months",
    "nullif",
    "substring",
    "date_part",
    "concat",
    "IN (",
    "BETWEEN",
    "DISTINCT FROM",
    "year",
)


def _key(row):
    return [(value is not None, str(type(_plain(value))), _plain(value)) for value in row]


def _row(row):
    return [_plain(value) for value in row]


def _plain(value):
    """Numbers by value: DuckDB divides decimals as floats, and widens sums to its own types."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return round(float(value), 6)
    return value


@pytest.mark.parametrize(
    "text",
    [
        "SELECT strpos(v, 'a'), lpad(v, 5, '*'), split_part(v, 'b', 1), repeat(v, 2), translate(v, 'a', ')') FROM t",
        "SELECT date_trunc('month', dt), strftime(dt, '%Y (%m)'), make_date(2020, i, 1), greatest(dt, dt) FROM t",
        "SELECT lower(v) || lpad(  upper(v),\n 5, '('), contains(v, 'a') FROM t",
    ],
)
def test_names_of_functions(oracle, text):
    assert list(query(text).names) == [name for name, *_ in oracle.execute(text).description]

"""SQL that qengine does not do is refused by name; nothing that the parser accepts is ignored."""

from __future__ import annotations

import pytest

from planner.errors import NotSupported
from tests.unit.sql.small_tables import query

CASES = {
    "BY NAME": "SELECT i FROM t INTERSECT BY NAME SELECT 1 AS i",
    "a distance in a RANGE frame": "SELECT sum(i) OVER (ORDER BY b RANGE 1 PRECEDING) FROM t",
    "a distance in rows that is not a constant, positive integer or 0": "SELECT sum(i) OVER (ORDER BY b ROWS i PRECEDING) FROM t",
    "EXCLUDE of a window frame": "SELECT sum(i) OVER (ORDER BY b ROWS 1 PRECEDING EXCLUDE TIES) FROM t",
    "DISTINCT in count over a part of the partition": "SELECT count(DISTINCT i) OVER (ORDER BY b) FROM t",
    "row_number without OVER": "SELECT row_number() FROM t",
    "first without OVER": "SELECT first(v) FROM t",
    "a number of tiles that is not a constant integer": "SELECT ntile(i) OVER () FROM t",
    "WITH RECURSIVE": "WITH RECURSIVE c AS (SELECT 1) SELECT * FROM c",
    "PIVOT": "SELECT * FROM t PIVOT (sum(i) FOR b IN (1, 2))",
    "TABLESAMPLE": "SELECT * FROM t TABLESAMPLE 10%",
    "LATERAL in FROM": "SELECT * FROM t, LATERAL (SELECT t.i)",
    "range of more than 100000 numbers": "SELECT * FROM range(100001)",
    "an argument of range that is not a constant integer": "SELECT * FROM t, range(t.i)",
    "UNNEST in FROM": "SELECT * FROM unnest([1, 2])",
    "the function read_parquet in FROM": "SELECT * FROM read_parquet('x.parquet')",
    "ASOF JOIN": "SELECT * FROM t ASOF JOIN u ON t.i >= u.i",
    "POSITIONAL JOIN": "SELECT * FROM t POSITIONAL JOIN u",
    "a NATURAL JOIN of tables without common columns": "SELECT * FROM u NATURAL JOIN (SELECT 1 AS one)",
    "* EXCLUDE of one side of a column that both tables share": "SELECT * EXCLUDE (t.i) FROM t JOIN u USING (i)",
    "GROUPING without ROLLUP, CUBE or GROUPING SETS": "SELECT grouping(i) FROM t GROUP BY i",
    "GROUP BY with more than 4096 grouping sets": f"SELECT 1 FROM t GROUP BY CUBE ({', '.join(f'i + {n}' for n in range(13))})",
    "ORDER BY an expression that SELECT DISTINCT does not list": "SELECT DISTINCT i FROM t ORDER BY b",
    "LIMIT with a percentage": "SELECT i FROM t LIMIT 10%",
    "WITH TIES": "SELECT i FROM t ORDER BY i FETCH FIRST 3 ROWS WITH TIES",
    "FOR UPDATE": "SELECT i FROM t FOR UPDATE",
    "DISTINCT over several expressions": "SELECT count(DISTINCT i, b) FROM t",
    "ORDER BY inside of a function": "SELECT sum(i ORDER BY b) FROM t",
    "the function string_agg": "SELECT string_agg(v, ',') FROM t",
    "the function list": "SELECT list(v) FROM t",
    "this argument of the function min": "SELECT min(i, 2) FROM t",
    "a row value": "SELECT (i, b) FROM t",
    "ANY of something that is not a subquery": "SELECT 1 FROM t WHERE i > ANY ([1])",
    "BETWEEN SYMMETRIC": "SELECT 1 FROM t WHERE i BETWEEN SYMMETRIC 3 AND 1",
    "a list": "SELECT [1, 2]",
    "a struct": "SELECT {'a': 1}",
    "element access": "SELECT v[1] FROM t",
    "a column name with more than two parts": "SELECT s.t.i FROM t",
    "COLLATE": "SELECT v COLLATE nocase FROM t",
    "SIMILAR TO": "SELECT v SIMILAR TO 'a' FROM t",
    "a regular expression that is not constant": "SELECT regexp_matches(v, v) FROM t",
    "the date part 'EPOCH'": "SELECT date_trunc('epoch', dt) FROM t",
    "the function random": "SELECT random()",
    "the operator <<": "SELECT i << 2 FROM t",
    "the difference of two timestamps": "SELECT ts - ts FROM t",
    "adding a number of days that is not constant": "SELECT dt + i FROM t",
    "several INTERVAL constants that begin alike": "SELECT dt - INTERVAL 1 DAY, dt - INTERVAL '1 day 02:00:00' FROM t",
    "an INTERVAL that is not constant": "SELECT INTERVAL (i) DAY FROM t",
    "the date part 'TIMEZONE'": "SELECT extract(timezone FROM ts) FROM t",
    "the function soundex": "SELECT soundex(v) FROM t",
    "the format %Q": "SELECT strftime(dt, '%Q') FROM t",
    "a number of digits that is not a constant integer": "SELECT round(d, i) FROM t",
    "an ESCAPE that is not a constant character": "SELECT v LIKE 'a' ESCAPE 'ab' FROM t",
    "the type ARRAY": "SELECT CAST(v AS INTEGER[]) FROM t",
    "the type STRUCT": "SELECT CAST(v AS STRUCT(a INTEGER)) FROM t",
    "the type UUID": "SELECT CAST(v AS UUID) FROM t",
    "* in this place": "SELECT count(t.*) FROM t",
    "count(DISTINCT *)": "SELECT count(DISTINCT *) FROM t",
    "the statement INSERT": "INSERT INTO t VALUES (1)",
    "the statement CREATE": "CREATE TABLE x AS SELECT 1",
    "the statement EXPLAIN": "EXPLAIN SELECT 1",
    "the statement DROP": "DROP TABLE t",
    "the statement SET": "SET x = 1",
}


@pytest.mark.parametrize("what", CASES)
def test_refused_by_name(what):
    with pytest.raises(NotSupported) as raised:
        query(CASES[what])
    assert raised.value.code == "UNSUPPORTED"
    assert raised.value.message.startswith(f"{what} is not supported")
    assert raised.value.position is not None


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("postgres", "SELECT * FROM t FOR SHARE"),
        ("tsql", "SELECT TOP 3 PERCENT i FROM t"),
        ("tsql", "SELECT i INTO x FROM t"),
        ("mysql", "SELECT SQL_CALC_FOUND_ROWS i FROM t"),
        ("mysql", "SELECT STRAIGHT_JOIN i FROM t"),
        ("mysql", "SELECT i FROM t PARTITION (p0)"),
        ("spark", "SELECT i FROM t CLUSTER BY i"),
        ("spark", "SELECT i FROM t DISTRIBUTE BY i"),
        ("spark", "SELECT i FROM t SORT BY i"),
        ("spark", "SELECT i FROM t LATERAL VIEW explode(v) x AS y"),
        ("spark", "SELECT i FROM t VERSION AS OF 1"),
        ("bigquery", "SELECT AS STRUCT i FROM t"),
        ("bigquery", "SELECT i FROM t FOR SYSTEM_TIME AS OF ts"),
        ("snowflake", "SELECT i FROM t AT (TIMESTAMP => ts)"),
        ("oracle", "SELECT i FROM t START WITH i = 1 CONNECT BY PRIOR i = b"),
        ("clickhouse", "SELECT i FROM t PREWHERE i = 1"),
        ("clickhouse", "SELECT i FROM t FINAL"),
        ("clickhouse", "SELECT i FROM t LIMIT 1 BY i"),
        ("clickhouse", "SELECT i FROM t SETTINGS a = 1"),
    ],
)
def test_arguments_of_other_dialects_are_not_ignored(dialect, text):
    with pytest.raises(NotSupported):
        query(text, dialect)

"""Lowered expressions, aggregates and joins against DuckDB, one query at a time and on both engines of Polars.

No workers and no exchanges: what differs here is a kernel. `test_sql` runs whole sessions.
"""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from planner.errors import QEngineError
from tests.lowered import run, run_duckdb, snapshots
from tpch.same_answer import same_answer

D = Decimal
DT = datetime.datetime

TABLES = {
    "t": pa.table(
        {
            "i": pa.array([1, -7, None, 0, 2147483647], pa.int32()),
            "b": pa.array([10, 3, -5, None, 9223372036854775807], pa.int64()),
            "d": pa.array([D("1.25"), D("-2.50"), None, D("0.00"), D("12345678901.99")], pa.decimal128(15, 2)),
            "w": pa.array([D("1.250"), D("-" + "9" * 31 + ".125"), None, D("0"), D("9" * 34 + ".999")], pa.decimal128(38, 3)),
            "f": pa.array([1.5, float("nan"), None, -0.0, 1e300]),
            "s": pa.array(["hello", "", None, "äb%c_\n", "12"]),
            "dt": pa.array(
                [
                    datetime.date(2024, 1, 31),
                    datetime.date(1969, 12, 31),
                    None,
                    datetime.date(2000, 2, 29),
                    datetime.date(1996, 12, 1),
                ]
            ),
            "ts": pa.array(
                [
                    DT(2024, 1, 31, 10, 11, 12, 345678),
                    DT(1969, 12, 31, 23, 59, 59, 999999),
                    None,
                    DT(2000, 2, 29),
                    DT(1996, 12, 1, 1),
                ],
                pa.timestamp("us"),
            ),
            "o": pa.array([True, False, None, True, False]),
        }
    ),
    "l": pa.table(
        {
            "k": pa.array([1, 2, 2, None, 3, 0, 7], pa.int32()),
            "v": pa.array([1, 2, 9, 4, 5, None, 7], pa.int64()),
            "f": [1.0, float("nan"), 0.0, None, 5.0, 2.0, 2.0],
            "d": pa.array([D("1.00"), D("2.50"), D("2.50"), None, D("0"), D("7"), D("8")], pa.decimal128(15, 2)),
            "s": ["a", "b", "c", None, "", "x", "y"],
        }
    ),
    "r": pa.table(
        {
            "k": pa.array([1, 2, 2, None, 5, 2, 1], pa.int32()),
            "x": pa.array([5, 1, 6, 7, None, 8, 0], pa.int64()),
            "f": [float("nan"), -0.0, 2.0, None, 5.0, 5.0, 9.0],
            "d": pa.array([D("2.50"), D("0.00"), None, None, D("7"), D("7"), D("1")], pa.decimal128(15, 2)),
            "w": pa.array([D("2.500"), D("9" * 34 + ".5"), None, D("0"), D("7"), D("7.001"), D("1")], pa.decimal128(38, 3)),
            "s": ["b", "a", None, None, "", "c", "x"],
        }
    ),
}

EXPRESSIONS = [
    "SELECT i, b, d, w, f, s, dt, ts, o FROM t",
    "SELECT b-1 FROM t",
    "SELECT d/3 FROM t",
    "SELECT d/nullif(i,0) FROM t",
    "SELECT w+w FROM t",
    "SELECT w*2 FROM t",
    "SELECT b//2, b//-2 FROM t",
    "SELECT d%0.7 FROM t",
    "SELECT f+1, f*2, f/0, -f, abs(f), f-1 FROM t",
    "SELECT f%2 FROM t",
    "SELECT round(f), floor(f), ceil(f), round(f,1) FROM t",
    "SELECT round(w), floor(w), ceil(w) FROM t",
    "SELECT d>1, d=1.25, d<>0, i<b, f>1, f='nan'::DOUBLE, s<'i', dt>DATE '2000-01-01', o, NOT o FROM t",
    ("SELECT d IN (1.25,0,7), i IN (1,2,NULL), s IN ('hello','12'), s NOT IN ('12'), f IN (1.5,'nan'::DOUBLE,3) FROM t"),
    "SELECT i IS NULL, i IS NOT NULL, i IS DISTINCT FROM NULL, i IS NOT DISTINCT FROM 1 FROM t",
    "SELECT CASE WHEN i=0 THEN -1 ELSE 10//i END FROM t",
    "SELECT CASE WHEN i<>0 THEN d/i END FROM t",
    "SELECT coalesce(i, b, 5), coalesce(nullif(i,0), 1) FROM t",
    "SELECT coalesce(d, 1.5), nullif(d,1.25) FROM t",
    "SELECT s||'x', s||s||'y', upper(s), lower(s), length(s), trim(s) FROM t",
    ("SELECT substring(s,2), substring(s,2,2), substring(s,-2,1), substring(s,0,2), substring(s,i), substring(s,1,i) FROM t"),
    (
        "SELECT s LIKE 'h%', s LIKE '%l%', s LIKE '%o', s LIKE '_ello', s LIKE 'äb$%%' ESCAPE '$', s LIKE "
        "'%b%c%', s LIKE 'h%o', s LIKE '%', s LIKE '', s NOT LIKE '%1%' FROM t"
    ),
    (
        "SELECT extract(year from dt), extract(month from ts), extract(day from dt), extract(hour from ts), "
        "extract(second from ts), extract(dow from dt), extract(quarter from dt), extract(epoch from ts), "
        "extract(week from dt), extract(doy from dt) FROM t"
    ),
    (
        "SELECT dt + INTERVAL 1 MONTH, dt - INTERVAL '1' MONTH, dt + INTERVAL 5 DAY, ts - INTERVAL 13 MONTH, "
        "ts + INTERVAL 36 HOUR FROM t"
    ),
    "SELECT coalesce(dt, dt + INTERVAL 400000 YEAR), coalesce(ts, ts + INTERVAL 9223372036854000000 MICROSECOND) FROM t",
    "SELECT dt - DATE '2000-01-01' FROM t",
    "SELECT d::BIGINT, d::DOUBLE, d::VARCHAR, d::DECIMAL(18,1), d::DECIMAL(38,10) FROM t",
    "SELECT w::VARCHAR, w::DOUBLE FROM t",
    "SELECT i::VARCHAR, f::VARCHAR, dt::VARCHAR, ts::VARCHAR, o::VARCHAR FROM t",
    (
        "SELECT TRY_CAST(f AS INTEGER), TRY_CAST(s AS INTEGER), TRY_CAST(b AS INTEGER), TRY_CAST(d AS "
        "DECIMAL(5,2)), TRY_CAST(s AS DATE), TRY_CAST(f AS DECIMAL(10,2)), TRY_CAST(w AS DECIMAL(20,5)) FROM "
        "t"
    ),
    "SELECT dt::TIMESTAMP, ts::DATE, ts::TIME FROM t",
    "SELECT i::DOUBLE, i::DECIMAL(12,2), o::INTEGER, i::BOOLEAN, d::BOOLEAN, f::BOOLEAN FROM t",
    (
        "SELECT CAST(' 12 ' AS INTEGER), CAST('12.5' AS INTEGER), CAST('1e2' AS DECIMAL(5,2)), "
        "CAST('2020/1/2' AS DATE), CAST('2020-01-02 03:04' AS TIMESTAMP), CAST('tRUE' AS BOOLEAN), CAST(' 1.5 "
        "' AS DOUBLE)"
    ),
    "SELECT 1 FROM t",
    "SELECT count(*) FROM t",
    (
        "SELECT count(*), count(i), sum(i), min(i), max(i), avg(i), sum(d), avg(d), sum(f), min(f), max(f), "
        "min(s), max(s), sum(w) FROM t"
    ),
    (
        "SELECT count(*), count(i), sum(i), min(i), max(i), avg(i), sum(d), avg(d), sum(f), min(f), max(f), "
        "min(s), max(s), bool_and(o), bool_or(o) FROM t WHERE i < 5"
    ),
    (
        "SELECT count(*), count(i), sum(i), min(i), max(i), avg(i), sum(d), avg(d), sum(f), min(s), "
        "bool_and(o), any_value(i) FROM t WHERE i = 99"
    ),
    (
        "SELECT o, count(*), sum(i::BIGINT), avg(d), max(f), count(distinct s), sum(distinct d), avg(distinct "
        "d) FROM t GROUP BY o"
    ),
    "SELECT f, count(*) FROM t GROUP BY f",
    "SELECT stddev_samp(i), var_samp(d), stddev_samp(f) FROM t WHERE i<5",
    "SELECT DISTINCT o FROM t",
    "SELECT i FROM t WHERE i <> 0 AND 10//i > 1",
    "SELECT i FROM t WHERE 10//i > 1 AND i <> 0",
    "SELECT i FROM t WHERE i = 0 OR 10//i > 1",
    "SELECT i FROM t ORDER BY i",
    "SELECT i FROM t ORDER BY i DESC NULLS FIRST LIMIT 2",
    "SELECT f FROM t ORDER BY f DESC",
    "SELECT s FROM t ORDER BY s",
    "SELECT * FROM (VALUES (1,'a',1.5),(2,NULL,2.25)) t(a,b,c)",
    "SELECT count(*) FROM (VALUES (1),(2)) t(a) WHERE a > 1",
    "SELECT 1 WHERE 1//0 > 0 AND false",
    (
        "SELECT round(2.345::DOUBLE,2), round(2.675::DOUBLE,2), round(1.005::DOUBLE,2), "
        "round(0.285::DOUBLE,2), round(5.015::DOUBLE,2), round(1234.5::DOUBLE,-2), round(1250::DOUBLE,-2), "
        "round(-2.5::DOUBLE), round(1e300::DOUBLE,10), round(0.125::DOUBLE,2)"
    ),
    ("SELECT round(x::DOUBLE, 2) FROM (VALUES (2.345),(2.675),(1.005),(0.285),(5.015),(0.125),(1.115),(1.325),(8.325)) t(x)"),
    "SELECT round(x::REAL, 2) FROM (VALUES (2.345),(2.675),(1.005),(0.285),(5.015),(0.125)) t(x)",
    (
        "SELECT x::DECIMAL(10,2), x::DECIMAL(18,4), x::DECIMAL(38,20) FROM (VALUES "
        "(2.345::DOUBLE),(2.355::DOUBLE),(2.675::DOUBLE),(1.005::DOUBLE),(-0.125::DOUBLE),(1e7::DOUBLE),(0.1::DOUBLE)) "
        "t(x)"
    ),
    "SELECT 1e30::DOUBLE::DECIMAL(38,2), 0.1::REAL::DECIMAL(38,20)",
    ("SELECT x::INTEGER, x::BIGINT, x::TINYINT FROM (VALUES (2.5::DOUBLE),(3.5::DOUBLE),(-2.5::DOUBLE),(0.5::DOUBLE)) t(x)"),
    ("SELECT upper(x), lower(x), length(x), trim(x) FROM (VALUES ('straße'),('ΑΣ'),('İ'),(' a '),('ŉ'),('ﬁ'),('éa')) t(x)"),
    (
        "SELECT x::VARCHAR FROM (VALUES "
        "(1.0::DOUBLE),(1e20::DOUBLE),(0.1::DOUBLE),(1e-7::DOUBLE),(1e15::DOUBLE),(1e16::DOUBLE),"
        "(123456789.125::DOUBLE),(1.5e300::DOUBLE),(1e-5::DOUBLE),('inf'::DOUBLE),('-inf'::DOUBLE)) "
        "t(x)"
    ),
    (
        "SELECT x::VARCHAR FROM (VALUES "
        "(1.0::REAL),(1e20::REAL),(0.1::REAL),(1e-7::REAL),(1e15::REAL),(123456.7::REAL),(1e10::REAL),(16777217::REAL)) "
        "t(x)"
    ),
    "SELECT x::VARCHAR FROM (VALUES (0.5::DECIMAL(1,1)),(-0.5::DECIMAL(1,1)),(0::DECIMAL(1,1))) t(x)",
    ("SELECT x::VARCHAR FROM (VALUES (0.05::DECIMAL(5,2)),(-0.05::DECIMAL(5,2)),(123.4::DECIMAL(5,2)),(0::DECIMAL(5,2))) t(x)"),
    (
        "SELECT x::VARCHAR FROM (VALUES (TIMESTAMP '2020-01-02 03:04:05.120'),(TIMESTAMP '0001-01-02 "
        "00:00:00'),(TIMESTAMP '1960-01-01 00:00:00.000001')) t(x)"
    ),
    (
        "SELECT TRY_CAST(x AS INTEGER), TRY_CAST(x AS BIGINT), TRY_CAST(x AS DECIMAL(10,2)), TRY_CAST(x AS "
        "DOUBLE), TRY_CAST(x AS DECIMAL(38,5)) FROM (VALUES ('12'),(' 12 "
        "'),('12.5'),('-13.5'),('1e2'),('+7'),('1_000'),('abc'),(''),('3000000000'),('.5'),('5.'),('.'),('1__0'),"
        "('-0.005'),('9.995'),('99999999.995'),('1e400'),('nan'),('inf'),('-Infinity'),('1e-3'),"
        "('99999999999999999999999999999999.123456')) "
        "t(x)"
    ),
    (
        "SELECT TRY_CAST(x AS DATE) FROM (VALUES ('2020-01-02'),('2020-1-2'),(' 2020-01-02 "
        "'),('2020/01/02'),('2020-01-02 "
        "10:00:00'),('20200102'),('2020-02-30'),('2020-13-01'),('20-01-02'),('2020-01-02x'),('')) t(x)"
    ),
    (
        "SELECT TRY_CAST(x AS TIMESTAMP) FROM (VALUES ('2020-01-02'),('2020-01-02T03:04:05'),('2020-01-02 "
        "03:04'),('2020-01-02 03:04:05.123456'),('2020-01-02 03:04:05.1234567'),('2020-01-02 "
        "3:4:5'),('2020-01-02 03:04:60'),('2020-01-02 24:00:00'),('x'),('2020-01-02 03:04:05Z'),('2020-01-02 "
        "03:04:05+02')) t(x)"
    ),
    "SELECT TRY_CAST(x AS TIME) FROM (VALUES ('03:04:05'),('3:4:5.5'),('25:00:00'),('x')) t(x)",
    ("SELECT TRY_CAST(x AS BOOLEAN) FROM (VALUES ('true'),('T'),('yes'),('no'),('1'),('0'),('f'),('2'),(' true'),('on')) t(x)"),
    "SELECT x // y, x % y FROM (VALUES (-7,2),(7,-2),(-7,-2),(7,2),(NULL,0),(5,NULL)) t(x,y)",
    "SELECT x::DOUBLE % y::DOUBLE FROM (VALUES (-7.5,2),(7.5,-2),(-7,-2.5),(7,2),(0,3)) t(x,y)",
    "SELECT x % y FROM (VALUES (-7.55,2.1),(7.5,-2.0),(-7.0,-2.5)) t(x,y)",
    "SELECT (-2147483648)::INTEGER % (-1)::INTEGER",
    "SELECT 200::UTINYINT + 55::UTINYINT",
    "SELECT 9223372036854775807::BIGINT + 0::BIGINT, (-9223372036854775808)::BIGINT // 1::BIGINT",
    "SELECT x * y FROM (VALUES (3037000500::BIGINT, 3037000499::BIGINT)) t(x,y)",
    ("SELECT a.x * b.x FROM (VALUES (99999999999999999999.99::DECIMAL(22,2))) a(x), (VALUES (-5.5::DECIMAL(10,1))) b(x)"),
    "SELECT x + 1::DECIMAL(1,0) FROM (VALUES (99999999999999999999999999999999999998::DECIMAL(38,0))) a(x)",
    "SELECT sum(x) FROM (VALUES (99999999999999999999999999999999999998::DECIMAL(38,0)),(1::DECIMAL(38,0))) a(x)",
    "SELECT CASE WHEN x > 0 THEN 1 WHEN 1//x < 0 THEN 2 ELSE 3 END FROM (VALUES (1),(-1),(2)) t(x)",
    "SELECT CASE WHEN x IS NULL OR x = 0 THEN NULL ELSE 5 % x END FROM (VALUES (1),(0),(NULL)) t(x)",
    "SELECT coalesce(x, 1//0) FROM (VALUES (1),(2)) t(x)",
    "SELECT coalesce(x, 1//y) FROM (VALUES (1,0),(NULL,1)) t(x,y)",
    "SELECT CASE WHEN false THEN 1//0 ELSE 2 END",
    "SELECT CASE x WHEN 1 THEN 'a' WHEN 2 THEN 'b' END FROM (VALUES (1),(2),(3),(NULL)) t(x)",
    "SELECT 1//0 FROM t WHERE false",
    "SELECT sum(1//0) FROM t WHERE false",
    (
        "SELECT x LIKE y FROM (VALUES "
        "('abc','a%'),('abc','_b_'),('a.c','a.c'),('abc','a.c'),(NULL,'a'),('a',NULL),('a\\b','a\\b'),('ab','a%b%')) "
        "t(x,y)"
    ),
    "SELECT x LIKE 'a#%' ESCAPE '#', x LIKE '##' ESCAPE '#' FROM (VALUES ('a%'),('ab'),('#')) t(x)",
    "SELECT x ILIKE 'A%' FROM (VALUES ('abc')) t(x)",
    (
        "SELECT substring(x, 0, -1), substring(x, 7, -3), substring(x, -1, -2), substring(x,1,-1), "
        "substring(x,0,0), substring(x, 6, -2), substring(x, -10, 6), substring(x,-10,5), substring(x,-10) "
        "FROM (VALUES ('hello'),(''),('日本語です')) t(x)"
    ),
    (
        "SELECT substring(x FROM y FOR z) FROM (VALUES "
        "('hello',2,3),('hello',-2,1),('hello',0,NULL),('hello',NULL,1),('hello',3,-1)) t(x,y,z)"
    ),
    "SELECT x IN (1,2,3,4), x NOT IN (1,2,3,NULL), x IN (NULL) FROM (VALUES (1),(9),(NULL)) t(x)",
    "SELECT x IN (1.5, 2.25, 3), x IN (y, 2) FROM (VALUES (1.5,1.50),(2.25,3),(NULL,1)) t(x,y)",
    "SELECT x IS DISTINCT FROM y, x IS NOT DISTINCT FROM y FROM (VALUES (1,1),(1,2),(NULL,1),(NULL,NULL)) t(x,y)",
    "SELECT count(DISTINCT f), max(f), min(f), sum(DISTINCT f) FROM t",
    (
        "SELECT count(DISTINCT x), min(x), max(x) FROM (VALUES "
        "('nan'::DOUBLE),(-0.0::DOUBLE),(0.0::DOUBLE),('nan'::DOUBLE)) t(x)"
    ),
    ("SELECT x, count(*) FROM (VALUES ('nan'::DOUBLE),('-0.0'::DOUBLE),(0.0::DOUBLE),('nan'::DOUBLE)) t(x) GROUP BY x"),
    "SELECT sum(i), sum(d), avg(d), count(d) FROM (SELECT i, d FROM t WHERE i IS NULL)",
    (
        "SELECT o, sum(f) FILTER (WHERE f > 0), bool_and(i > 0), bool_or(i > 0), count(*) FILTER (WHERE i > "
        "0), max(d) FILTER (WHERE false) FROM t GROUP BY o"
    ),
    "SELECT avg(x) FROM (VALUES (99999999999999999999999999999.99::DECIMAL(31,2)),(1::DECIMAL(31,2))) t(x)",
    "SELECT x / y FROM (VALUES (1.00,3),(2.00,3),(-2.00,3),(0.05,0.1),(10000000000.00,7)) t(x,y)",
    (
        "SELECT (x > 1 AND y) OR NOT (x < 5), x > 1 AND y, x > 1 OR y FROM (VALUES "
        "(1,NULL),(NULL,true),(7,false),(NULL,false)) t(x,y)"
    ),
    "SELECT nullif(x,y), nullif(x, NULL) FROM (VALUES (1,1),(1,2),(NULL,1)) t(x,y)",
    "SELECT NULL, NULL = NULL, NULL IS NULL, coalesce(NULL, 1), NULL + 1",
    "SELECT x FROM (VALUES (NULL),(NULL)) t(x)",
    "SELECT true < false, true > false, x = true, x <> false FROM (VALUES (true),(false),(NULL)) t(x)",
    "SELECT 'é' < 'z', 'a' < 'B', 'Z' < 'a', max(x), min(x) FROM (VALUES ('é'),('z'),('B'),('')) t(x)",
    "SELECT x FROM (VALUES ('é'),('z'),('B'),(''),(NULL)) t(x) ORDER BY x DESC NULLS LAST",
    "SELECT x, y FROM (VALUES (1,2.5),(NULL,1.5),(1,NULL),(2,0.5)) t(x,y) ORDER BY x DESC, y NULLS FIRST",
    (
        "SELECT x::DATE, x::TIME, x::TIMESTAMPTZ::VARCHAR, x::TIMESTAMPTZ::DATE FROM (VALUES (TIMESTAMP "
        "'1960-01-02 03:04:05.5'),(TIMESTAMP '2024-01-01 00:00:00')) t(x)"
    ),
    "SELECT x || y || 'z' FROM (VALUES ('a','b'),(NULL,'b')) t(x,y)",
    "SELECT d * 1.5 + i * 2 - d / 4 FROM t WHERE i < 5",
    "SELECT 1.5 * 2.25, 1.5 + 2.25, 7 / 2, 7 // 2, 7 % 2.5, 2.0 / 3",
    "SELECT stddev_samp(x), var_samp(x) FROM (VALUES (1)) t(x)",
    (
        "SELECT x LIKE 'a.c', x LIKE '%(b)%', x LIKE '[a]%', x LIKE '%a%b', x LIKE 'a%b%c', x LIKE '__', x "
        "LIKE '%_', x LIKE '^a$', x LIKE '_\\_', x LIKE '%b_%', x LIKE '%_b%', x LIKE 'a-b', x LIKE '%~%', x "
        "LIKE '%#%&%' FROM (VALUES "
        "('abc'),('a.c'),('x(b)y'),('[a]z'),('ab'),('aab'),(''),('^a$'),('é☃'),('a\\'),('a-b'),('~'),('x#&y')) "
        "t(x)"
    ),
    "SELECT s LIKE '%_', s LIKE '%c_', s LIKE '%c%', s LIKE '%c__', s LIKE '%\\_%' ESCAPE '\\' FROM t",
]

RELATIONS = [
    "SELECT a.k, a.v, c.k, c.x FROM l a JOIN r c ON a.k=c.k",
    "SELECT a.k, a.v, c.k, c.x FROM l a LEFT JOIN r c ON a.k=c.k",
    "SELECT a.k, a.v, c.k, c.x FROM l a RIGHT JOIN r c ON a.k=c.k",
    "SELECT a.k, a.v, c.k, c.x FROM l a FULL JOIN r c ON a.k=c.k",
    "SELECT a.k, a.v, c.k, c.x FROM l a LEFT JOIN r c ON a.k=c.k AND a.v < c.x",
    "SELECT a.k, a.v, c.k, c.x FROM l a FULL JOIN r c ON a.k=c.k AND a.v < c.x",
    "SELECT a.k, a.v, c.k, c.x FROM l a JOIN r c ON a.k=c.k AND a.v < c.x",
    "SELECT a.k, a.v, c.k, c.x FROM l a JOIN r c ON a.v < c.x",
    "SELECT a.k, a.v, c.k, c.x FROM l a LEFT JOIN r c ON a.v < c.x",
    "SELECT a.k, a.v, c.k, c.x FROM l a FULL JOIN r c ON a.v < c.x",
    "SELECT a.k, a.v, c.k, c.x FROM l a CROSS JOIN r c",
    "SELECT count(*) FROM l a CROSS JOIN r c",
    "SELECT count(*) FROM l, r, l l2",
    "SELECT a.k FROM l a WHERE EXISTS (SELECT 1 FROM r c WHERE c.k=a.k)",
    "SELECT a.k FROM l a WHERE NOT EXISTS (SELECT 1 FROM r c WHERE c.k=a.k)",
    "SELECT a.k, a.v FROM l a WHERE EXISTS (SELECT 1 FROM r c WHERE c.k=a.k AND c.x > a.v)",
    "SELECT a.k, a.v FROM l a WHERE NOT EXISTS (SELECT 1 FROM r c WHERE c.k=a.k AND c.x <> a.v)",
    "SELECT a.k, a.v FROM l a WHERE NOT EXISTS (SELECT 1 FROM r c WHERE c.x < a.v)",
    "SELECT a.k, a.v FROM l a WHERE EXISTS (SELECT 1 FROM r c WHERE c.x < a.v)",
    "SELECT a.k FROM l a WHERE a.k IN (SELECT k FROM r)",
    "SELECT a.k FROM l a WHERE a.k NOT IN (SELECT k FROM r)",
    "SELECT a.k FROM l a WHERE a.k NOT IN (SELECT k FROM r WHERE k IS NOT NULL)",
    (
        "SELECT a.k, a.k IN (SELECT k FROM r), EXISTS (SELECT 1 FROM r WHERE r.k = a.k), EXISTS (SELECT 1 "
        "FROM r WHERE r.k = a.k AND r.x>a.v) FROM l a"
    ),
    "SELECT a.k, (SELECT max(x) FROM r) FROM l a",
    "SELECT a.k, (SELECT max(x) FROM r WHERE r.k=a.k) FROM l a",
    "SELECT a.k, (SELECT x FROM r WHERE r.k=a.k AND r.x=5) FROM l a",
    "SELECT a.k, (SELECT x FROM r WHERE r.x=5) FROM l a",
    "SELECT a.k, (SELECT x FROM r WHERE r.x=500) FROM l a",
    "SELECT a.k, (SELECT x FROM r WHERE r.k = a.k AND r.x > a.v + 4) FROM l a WHERE k=2",
    "SELECT a.f, c.f FROM l a JOIN r c ON a.f=c.f",
    "SELECT a.d, c.d FROM l a JOIN r c ON a.d=c.d",
    "SELECT a.d, c.w FROM l a JOIN r c ON a.d=c.w",
    "SELECT a.d, c.w FROM l a LEFT JOIN r c ON a.d=c.w",
    "SELECT a.s, c.s FROM l a JOIN r c ON a.s=c.s AND a.k=c.k",
    "SELECT a.k, c.k, e.k FROM l a JOIN r c ON a.k=c.k JOIN l e ON e.k=a.k AND e.v=c.x",
    "SELECT a.k, c.x FROM l a LEFT JOIN (SELECT * FROM r WHERE false) c ON a.k=c.k",
    "SELECT a.k FROM l a WHERE EXISTS (SELECT 1 FROM r WHERE false)",
    "SELECT a.k FROM l a WHERE NOT EXISTS (SELECT 1 FROM r)",
    "SELECT v FROM l a WHERE v > (SELECT avg(x) FROM r)",
    "SELECT k, count(*), count(distinct v) FROM l GROUP BY k HAVING count(*)>1 ORDER BY k",
    "SELECT k, v FROM l ORDER BY k NULLS FIRST, v DESC",
    "SELECT k, v FROM l ORDER BY k DESC, v LIMIT 3 OFFSET 1",
    "SELECT x.k FROM (SELECT k FROM l LIMIT 2) x",
    "SELECT DISTINCT k, s FROM l",
    "SELECT sum(k), sum(d), sum(w) FROM r",
    "SELECT max(k)+1 FROM l HAVING count(*)>100",
]


FAILING = [
    ("SELECT i + 1 FROM t", "OVERFLOW"),
    ("SELECT i * 2 FROM t", "OVERFLOW"),
    ("SELECT b + 1 FROM t", "OVERFLOW"),
    ("SELECT b * b FROM t", "OVERFLOW"),
    ("SELECT i // 0 FROM t", "DIVISION_BY_ZERO"),
    ("SELECT i % 0 FROM t", "DIVISION_BY_ZERO"),
    ("SELECT dt + INTERVAL 400000 YEAR FROM t", "OVERFLOW"),
    ("SELECT ts + INTERVAL 9223372036854000000 MICROSECOND FROM t", "OVERFLOW"),
    ("SELECT ts - INTERVAL 110000000 DAY FROM t", "OVERFLOW"),
    ("SELECT 1 // 0", "DIVISION_BY_ZERO"),
    ("SELECT i::SMALLINT FROM t", "OVERFLOW"),
    ("SELECT d::INTEGER FROM t", "OVERFLOW"),
    ("SELECT b::DECIMAL(10,0) FROM t", "OVERFLOW"),
    ("SELECT s::INTEGER FROM t", "CAST_FAILED"),
    ("SELECT s::DATE FROM t", "CAST_FAILED"),
    ("SELECT f::INTEGER FROM t", "CAST_FAILED"),
    ("SELECT f::REAL FROM t", "CAST_FAILED"),
    ("SELECT x::DECIMAL(5,2) FROM (VALUES (1000::DOUBLE)) t(x)", "CAST_FAILED"),
    ("SELECT (-128)::TINYINT // (-1)::TINYINT", "OVERFLOW"),
    ("SELECT abs((-128)::TINYINT)", "OVERFLOW"),
    ("SELECT 5::UTINYINT - 6::UTINYINT", "OVERFLOW"),
    ("SELECT sum(x) FROM (VALUES ((9e37)::DECIMAL(38,0)), ((9e37)::DECIMAL(38,0))) a(x)", "OVERFLOW"),
    ("SELECT x + x FROM (VALUES (99999999999999999999999999999999999999::DECIMAL(38,0))) a(x)", "OVERFLOW"),
    ("SELECT a.k, (SELECT x FROM r WHERE r.k = a.k) FROM l a", "SCALAR_SUBQUERY_ROWS"),
    ("SELECT a.k, (SELECT x FROM r) FROM l a", "SCALAR_SUBQUERY_ROWS"),
    ("SELECT (SELECT x FROM r WHERE r.k = a.k AND r.x > a.v) FROM l a", "SCALAR_SUBQUERY_ROWS"),
]

ON_PURPOSE = [
    # Decimals divide exactly, and then zero is no divisor.
    ("SELECT d / i FROM t", "DIVISION_BY_ZERO"),
    ("SELECT w / 7 FROM t", "OVERFLOW"),
    ("SELECT 2.00 / 3 AS q", D("0.66666667")),
    ("SELECT max(d * d) FROM t", D("152415787551041012025.9601")),
    # The sum of integers is a BIGINT.
    ("SELECT sum(b) FROM t", "OVERFLOW"),
    # A condition is evaluated before what it guards.
    ("SELECT sum(10 // i) FILTER (WHERE i <> 0) FROM t", 9),
    ("SELECT count(*) FROM t WHERE CASE WHEN i = 0 THEN false ELSE 10 // i > 5 END", 1),
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return snapshots(TABLES, str(tmp_path_factory.mktemp("memory")))


@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
@pytest.mark.parametrize("sql", EXPRESSIONS + RELATIONS)
def test_same_as_duckdb(sql, engine, tables):
    expected = run_duckdb(sql, TABLES)
    assert same_answer(run(sql, tables, optimized=engine == "streaming", engine=engine), expected) is None


@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
@pytest.mark.parametrize(("sql", "code"), FAILING)
def test_errors_have_codes(sql, code, engine, tables):
    with pytest.raises(QEngineError) as failure:
        run(sql, tables, engine=engine)
    assert failure.value.code == code
    with pytest.raises(duckdb.Error):
        run_duckdb(sql, TABLES)


@pytest.mark.parametrize(("sql", "expected"), ON_PURPOSE)
def test_differs_from_duckdb_on_purpose(sql, expected, tables):
    if isinstance(expected, str):
        with pytest.raises(QEngineError) as failure:
            run(sql, tables)
        assert failure.value.code == expected
    else:
        assert run(sql, tables).column(0).to_pylist() == [expected]


@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_division_by_a_constant_is_right_to_the_last_bit(rows, tmp_path):
    """Polars' in-memory engine multiplies by the reciprocal: 1005.0 / 1000.0 would not be 1.005."""
    table = pa.table(
        {"x": [1005.0 + n for n in range(rows)], "c": pa.array([D(n) / 1000 for n in range(rows)], pa.decimal128(9, 3))}
    )
    found = run(
        "SELECT x / 1000::DOUBLE AS q, c::DOUBLE AS c FROM t", snapshots({"t": table}, str(tmp_path)), engine="in-memory"
    )
    assert found["q"].to_pylist() == [(1005.0 + n) / 1000.0 for n in range(rows)]
    assert found["c"].to_pylist() == [n / 1000 for n in range(rows)]

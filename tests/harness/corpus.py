"""Queries over the tables of world 0 that every configuration has to answer alike."""

from __future__ import annotations

EVERY_CONSTRUCT = (
    "SELECT * FROM t0",
    "SELECT id, i + 1, d * (1 - 0.05), x / 2, v || '!', dt + INTERVAL 1 MONTH FROM t0 WHERE i > 3 OR o",
    "SELECT id FROM t1 WHERE x > 2 AND v LIKE '%a%' AND dt BETWEEN DATE '2020-02-01' AND DATE '2021-06-30'",
    "SELECT id, y, y > 1, y = 'nan'::DOUBLE FROM t1 WHERE y >= 'inf'::DOUBLE OR y < 0",
    "SELECT g, count(*), count(i), sum(d), avg(x), min(v), max(ed), min(w), max(u8) FROM t1 GROUP BY g",
    "SELECT g, o, count(DISTINCT v), sum(DISTINCT i), count(*) FILTER (WHERE x > 0) FROM t1 GROUP BY g, o HAVING count(*) > 2",
    "SELECT count(*), sum(b), min(y), max(y), bool_and(o), stddev(m) FROM t1",
    "SELECT count(*), sum(b), max(v) FROM t3",
    "SELECT y, count(*) FROM t1 GROUP BY y",
    "SELECT w, count(*), max(h) FROM t1 GROUP BY w",
    "SELECT DISTINCT v, o FROM t1",
    "SELECT a.id, b.id FROM t1 a JOIN s1 b ON a.g = b.g AND a.i < b.i",
    "SELECT a.id, b.id FROM t1 a LEFT JOIN s1 b ON a.v = b.v AND b.x > 0",
    "SELECT a.id, b.id FROM t1 a RIGHT JOIN s1 b ON a.e8 = b.e8",
    "SELECT a.id, b.id FROM t1 a FULL JOIN s1 b ON a.u8 = b.e8",
    "SELECT a.id, b.id FROM t0 a FULL JOIN s0 b ON a.d > b.d AND a.g = 1",
    "SELECT a.id FROM t1 a SEMI JOIN s1 b ON a.y = b.y",
    "SELECT a.id FROM t1 a ANTI JOIN s1 b ON a.c = b.c AND a.id > b.id",
    "SELECT a.id, b.id FROM t1 a JOIN s1 b ON a.w = b.w AND a.ed = b.ed",
    "SELECT a.id, b.id, c.id FROM t0 a, s0 b, u0 c WHERE a.g = b.g AND b.i = c.i",
    "SELECT id FROM t1 WHERE g IN (SELECT i FROM s1) AND v NOT IN (SELECT v FROM u1 WHERE v IS NOT NULL)",
    "SELECT id FROM t1 WHERE i NOT IN (SELECT i FROM s1)",
    "SELECT id, EXISTS (SELECT 1 FROM s1 WHERE s1.g = t1.g AND s1.x > t1.x) FROM t1",
    "SELECT id, (SELECT max(s1.d) FROM s1 WHERE s1.g = t1.g), (SELECT count(*) FROM s1 WHERE s1.i < t1.i) FROM t1",
    "SELECT id FROM t0 WHERE d > (SELECT min(d) FROM s0 WHERE g = t0.g AND id > (SELECT min(id) FROM u0 WHERE u0.g = s0.g))",
    "SELECT id FROM t1 WHERE (SELECT max(i) FROM s1 WHERE s1.g = t1.g) BETWEEN 2 AND 9",
    "SELECT id, nullif((SELECT max(i) FROM s1 WHERE s1.g = t1.g), 2.0) FROM t1",
    "WITH a AS (SELECT g, sum(d) AS p FROM t1 GROUP BY g) SELECT x.g, x.p, y.g FROM a x JOIN a y ON x.p < y.p",
    "SELECT k, count(*) FROM (SELECT CASE WHEN i > 5 THEN 'many' WHEN i > 0 THEN 'few' END AS k FROM t1) q GROUP BY k",
)
"""Answers without a certain order."""

IN_SEQUENCE = (
    "SELECT id, g FROM t1 ORDER BY g NULLS FIRST, id DESC",
    "SELECT id, y FROM t1 ORDER BY y DESC, id LIMIT 20 OFFSET 3",
    "SELECT id, c, w FROM t1 ORDER BY c, w DESC NULLS LAST, id",
    "SELECT id FROM t1 WHERE x > 0 LIMIT 7 OFFSET 2",
    "SELECT g, sum(d) AS p FROM t1 GROUP BY g ORDER BY p DESC, g LIMIT 3",
)
"""Answers of one certain sequence."""

FOUND = (
    # A lenient cast gives NULL for what does not fit, so it cannot be left out of a comparison.
    "SELECT id FROM t0 WHERE TRY_CAST(i AS UTINYINT) <> 0 OR TRY_CAST(b AS TINYINT) NOT IN (5) OR TRY_CAST(u8 AS INTEGER) < 9",
    # A number is never a constant of its own and part of one in another place.
    "SELECT k, k + 1 FROM (SELECT TRY_CAST(1e300 AS INTEGER) AS k FROM t0) q WHERE CAST(k AS BIGINT) IS NULL",
    # UBIGINT and a signed type meet in whole numbers that are wider than both.
    "SELECT id, u8 // e8, u8 // -7 FROM t0 WHERE e8 <> 0",
    "SELECT (u8 - b) // 10, (u8 - e1) // -7, 18446744073709551615 // 7 FROM t1",
    # Decimals beyond 2^53 as doubles are rounded once.
    "SELECT CAST(CAST(d - 1234567890123456.123 AS DOUBLE) AS VARCHAR), CAST(CAST(w AS DOUBLE) AS VARCHAR) FROM t1",
    # Zero and NULL have an opposite in unsigned types.
    "SELECT -u1, -u8 FROM t0 WHERE u1 = 0 AND u8 = 0 OR u1 IS NULL AND u8 IS NULL",
    # The remainder of floats is that of C, and decimals have no negative zero.
    "SELECT r % y, y % r, CAST(x % 2 AS VARCHAR), y % 0.7e0, 5e0 % y, r % x FROM t1",
    "SELECT v || CAST(-0.005 AS DECIMAL(18, 1)), v || -0.00 FROM t0",
    "SELECT dt - INTERVAL 1 DAY, dt - INTERVAL '1 Day', ts + INTERVAL '2 day 02:00:00', ts - INTERVAL 36 HOUR FROM t0",
    # TRY_CAST from decimals to integers
    "SELECT TRY_CAST(d AS UBIGINT), TRY_CAST(d AS BIGINT), TRY_CAST(d AS UTINYINT) FROM s1",
    "SELECT TRY_CAST(n AS UTINYINT), TRY_CAST(w AS BIGINT), TRY_CAST(d AS TINYINT), TRY_CAST(h AS UBIGINT) FROM t0",
    # Unsigned types take no text with a minus, unless it is that of a whole zero.
    "SELECT TRY_CAST(p AS UBIGINT), TRY_CAST(p AS UTINYINT) FROM (VALUES ('-0'), ('-0.0'), ('-0.4'), ('-1'), ('+1')) q(p)",
    "SELECT TRY_CAST('-0.0' AS UBIGINT), TRY_CAST('-0' AS UTINYINT), TRY_CAST('-1' AS UTINYINT), TRY_CAST(' 7 ' AS UTINYINT)",
    # Years before 1 and after 9999 as text
    "SELECT CAST(ed - 31 AS VARCHAR), CAST(ed + 31 AS VARCHAR), CAST(et - INTERVAL 1 YEAR AS VARCHAR) FROM t0",
    "SELECT CAST(et + INTERVAL 1 DAY AS VARCHAR), CAST(z AS VARCHAR), ed || '', et || '' FROM t0",
    # CROSS JOIN of a derived table that does not begin with a column is no comma.
    "SELECT a.id FROM t0 a CROSS JOIN (SELECT CASE WHEN g > 1 THEN id END AS k FROM s0) b JOIN u0 c ON a.g = c.g",
    # What a pushed filter says about NULL is still known above it.
    "SELECT k FROM (SELECT nullif(i, g) AS k FROM t0) q WHERE k NOT BETWEEN 2 AND -7",
    "SELECT k FROM (SELECT TRY_CAST(v AS TINYINT) AS k FROM t0) q WHERE k IN (12, 7)",
    "SELECT k, n FROM (SELECT TRY_CAST(d AS UBIGINT) AS k, count(*) AS n FROM s0 GROUP BY TRY_CAST(d AS UBIGINT)) q WHERE k = 1",
    # A pattern that is constant and not known when the query is planned
    "SELECT id FROM t0 WHERE v ILIKE 'A%'",
)
"""Reduced queries that random seeds found to be wrong at some time."""

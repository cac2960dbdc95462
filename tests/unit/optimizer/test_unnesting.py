"""Every shape of subquery, run by the reference interpreter before and after the optimizer; with NULLs and duplicates."""

from __future__ import annotations

import pytest

from planner.expr.nodes import Exists, InSubquery, ScalarSubquery
from planner.logical.nodes import DependentJoin, Scan
from planner.optimizer import optimize
from planner.rule import OptimizerContext
from planner.tree import kind_mask, walk
from planner.verify import plan_problem
from tests.plans import SMALL_CATALOG, SMALL_TABLES, bound, outcome, verifying

QUERIES = {
    # EXISTS and NOT EXISTS
    "exists": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.a)",
    "not exists": "SELECT * FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.a = o.a)",
    "exists inequality": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.a AND i.c <> o.b)",
    "not exists inequality": "SELECT * FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.a < o.a)",
    "exists uncorrelated": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = 1)",
    "not exists uncorrelated": "SELECT * FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.a = 1)",
    "exists empty": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM e)",
    "not exists empty": "SELECT * FROM o WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.a = o.a)",
    "exists aggregate": "SELECT * FROM o WHERE EXISTS (SELECT count(*) FROM i WHERE i.a = o.a)",
    "not exists aggregate": "SELECT * FROM o WHERE NOT EXISTS (SELECT count(*) FROM i WHERE i.a = o.a)",
    "exists having": "SELECT * FROM o WHERE EXISTS (SELECT count(*) FROM i WHERE i.a = o.a HAVING count(*) > 1)",
    "exists grouped having": "SELECT * FROM o WHERE EXISTS (SELECT c FROM i WHERE i.a = o.a GROUP BY c HAVING count(*) > 1)",
    "exists limit": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.a ORDER BY i.c LIMIT 3)",
    "exists limit 0": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.a LIMIT 0)",
    "exists distinct": "SELECT * FROM o WHERE EXISTS (SELECT DISTINCT i.c FROM i WHERE i.a = o.a)",
    "exists join": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i, j WHERE i.c = j.c AND i.a = o.a AND j.d = o.b)",
    "exists join on": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i JOIN j ON i.c = j.c AND i.a = o.a)",
    "exists left join": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i LEFT JOIN j ON i.c = j.c WHERE i.a = o.a"
    " AND j.d IS NULL)",
    "exists left join on": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i LEFT JOIN j ON j.c = o.a"
    " WHERE i.a = o.b AND j.d = 1)",
    "exists full join on": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i FULL JOIN j ON i.c = j.c"
    " AND i.a = o.a WHERE j.d = o.b)",
    "exists of outer only": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE o.a = 1)",
    "exists in or": "SELECT * FROM o WHERE b = 1 OR EXISTS (SELECT 1 FROM i WHERE i.a = o.a)",
    "not exists in or": "SELECT * FROM o WHERE b = 1 OR NOT EXISTS (SELECT 1 FROM i WHERE i.a = o.a AND i.c = o.b)",
    "exists in select": "SELECT k, EXISTS (SELECT 1 FROM i WHERE i.a = o.a) AS m FROM o",
    "exists in case": "SELECT CASE WHEN EXISTS (SELECT 1 FROM i WHERE i.a = o.a) THEN 'yes' ELSE s END AS m FROM o",
    # LIMIT for every outer row
    "in limit": "SELECT * FROM o WHERE a IN (SELECT c FROM i WHERE i.a = o.b ORDER BY c, k LIMIT 2)",
    "not in limit offset": "SELECT * FROM o WHERE a NOT IN (SELECT c FROM i WHERE i.a = o.b ORDER BY c, k LIMIT 2 OFFSET 1)",
    "count of limit": "SELECT k, (SELECT count(*) FROM (SELECT c FROM i WHERE i.a < o.a LIMIT 3) AS x) AS n FROM o",
    "sum of offset": "SELECT k, (SELECT sum(c) FROM (SELECT c FROM i WHERE i.a <> o.a ORDER BY c DESC, k OFFSET 2) AS x)"
    " AS n FROM o",
    "exists offset": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.a LIMIT 5 OFFSET 1)",
    "scalar nulls first": "SELECT k, (SELECT c FROM i WHERE i.a = o.a ORDER BY c NULLS FIRST, k LIMIT 1) AS m FROM o",
    "scalar second": "SELECT k, (SELECT c FROM i WHERE i.a = o.a ORDER BY c DESC, k LIMIT 1 OFFSET 1) AS m FROM o",
    "scalar order by expression": "SELECT k, (SELECT c FROM i WHERE i.a >= o.a ORDER BY abs(c - o.b), c, k LIMIT 1) AS m FROM o",
    # ON of joins, with subqueries that use both sides
    "left join on both": "SELECT o.k, i.k FROM o LEFT JOIN i ON EXISTS (SELECT 1 FROM j WHERE j.c = o.a AND j.d > i.c)",
    "left join on both count": "SELECT o.k, i.k FROM o LEFT JOIN i ON o.a = i.a AND"
    " (SELECT count(*) FROM j WHERE j.c = o.b OR j.d = i.c) > 0",
    "left join on both not in": "SELECT o.k, i.k FROM o LEFT JOIN i"
    " ON o.b NOT IN (SELECT d FROM j WHERE j.c = i.c AND j.d < o.k)",
    "full join on both": "SELECT o.k, i.k FROM o FULL JOIN i ON EXISTS (SELECT 1 FROM j WHERE j.c = o.a AND j.d > i.c)",
    "exists left join on both": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i LEFT JOIN j ON EXISTS"
    " (SELECT 1 FROM j x WHERE x.c = o.a AND x.d = i.c AND x.d <> j.d) WHERE i.a = o.a AND j.d IS NULL)",
    # IN and NOT IN
    "in": "SELECT * FROM o WHERE a IN (SELECT c FROM i)",
    "in not null": "SELECT * FROM o WHERE k IN (SELECT k FROM i)",
    "not in": "SELECT * FROM o WHERE a NOT IN (SELECT c FROM i)",
    "not in not null": "SELECT * FROM o WHERE k NOT IN (SELECT k FROM i)",
    "not in empty": "SELECT * FROM o WHERE a NOT IN (SELECT a FROM e)",
    "not in filtered": "SELECT * FROM o WHERE a NOT IN (SELECT c FROM i WHERE c IS NOT NULL)",
    "in correlated": "SELECT * FROM o WHERE b IN (SELECT c FROM i WHERE i.a = o.a)",
    "not in correlated": "SELECT * FROM o WHERE b NOT IN (SELECT c FROM i WHERE i.a = o.a)",
    "not in correlated inequality": "SELECT * FROM o WHERE b NOT IN (SELECT c FROM i WHERE i.a > o.a)",
    "in aggregate": "SELECT * FROM o WHERE b IN (SELECT max(c) FROM i WHERE i.a = o.a)",
    "not in aggregate": "SELECT * FROM o WHERE b NOT IN (SELECT max(c) FROM i WHERE i.a = o.a)",
    "in grouped": "SELECT * FROM o WHERE a IN (SELECT a FROM i GROUP BY a HAVING count(*) > 1)",
    "in grouped correlated": "SELECT * FROM o WHERE a IN (SELECT a FROM i WHERE i.c = o.b GROUP BY a HAVING count(*) > 0)",
    "in or": "SELECT * FROM o WHERE b = 2 OR a IN (SELECT c FROM i)",
    "not in or": "SELECT * FROM o WHERE b = 2 OR a NOT IN (SELECT c FROM i WHERE i.k = o.k)",
    "in select": "SELECT k, a IN (SELECT c FROM i) AS m FROM o",
    "not in select": "SELECT k, a NOT IN (SELECT c FROM i WHERE i.a = o.b) AS m FROM o",
    "in select not null": "SELECT k, k IN (SELECT k FROM i) AS m FROM o",
    "in is null": "SELECT * FROM o WHERE (a IN (SELECT c FROM i WHERE i.k = o.k)) IS NULL",
    "in case": "SELECT CASE WHEN a IN (SELECT c FROM i) THEN 1 WHEN b IN (SELECT d FROM j) THEN 2 ELSE 3 END AS m FROM o",
    "in expression": "SELECT * FROM o WHERE a + b IN (SELECT c + 1 FROM i WHERE i.k >= o.k)",
    "in of outer": "SELECT * FROM o WHERE a IN (SELECT o.b FROM i)",
    "in distinct": "SELECT * FROM o WHERE a IN (SELECT DISTINCT c FROM i WHERE i.a = o.b)",
    # scalar subqueries
    "scalar max": "SELECT k, (SELECT max(c) FROM i WHERE i.a = o.a) AS m FROM o",
    "scalar count": "SELECT k, (SELECT count(*) FROM i WHERE i.a = o.a) AS m FROM o",
    "scalar count column": "SELECT k, (SELECT count(c) FROM i WHERE i.a = o.a) AS m FROM o",
    "scalar count plus": "SELECT k, (SELECT count(*) + coalesce(max(c), 7) FROM i WHERE i.a = o.a) AS m FROM o",
    "scalar sum": "SELECT k, (SELECT sum(c) FROM i WHERE i.a = o.a) AS m FROM o",
    "scalar uncorrelated": "SELECT k, (SELECT max(c) FROM i) AS m FROM o",
    "scalar uncorrelated empty": "SELECT k, (SELECT a FROM e) AS m FROM o",
    "scalar where": "SELECT * FROM o WHERE b < (SELECT max(c) FROM i WHERE i.a = o.a)",
    "scalar where count": "SELECT * FROM o WHERE 0 = (SELECT count(*) FROM i WHERE i.a = o.a)",
    "scalar where uncorrelated": "SELECT * FROM o WHERE b < (SELECT avg(c) FROM i)",
    "scalar inequality": "SELECT k, (SELECT count(*) FROM i WHERE i.a < o.a) AS m FROM o",
    "scalar inequality sum": "SELECT k, (SELECT sum(c) FROM i WHERE i.a <> o.a AND i.k = o.k) AS m FROM o",
    "scalar two keys": "SELECT k, (SELECT min(c) FROM i WHERE i.a = o.a AND i.k = o.k) AS m FROM o",
    "scalar expression key": "SELECT k, (SELECT count(*) FROM i WHERE i.a + 1 = o.a) AS m FROM o",
    "scalar cast key": "SELECT k, (SELECT count(*) FROM i WHERE CAST(i.a AS BIGINT) = CAST(o.a AS BIGINT)) AS m FROM o",
    "scalar outer in select": "SELECT k, (SELECT o.b + max(c) FROM i WHERE i.a = o.a) AS m FROM o",
    "scalar outer only": "SELECT k, (SELECT o.b) AS m FROM o",
    "scalar having": "SELECT k, (SELECT max(c) FROM i WHERE i.a = o.a HAVING count(*) > 1) AS m FROM o",
    "scalar having count": "SELECT k, (SELECT count(*) FROM i WHERE i.a = o.a HAVING count(*) < 2) AS m FROM o",
    "scalar distinct": "SELECT k, (SELECT DISTINCT i.a FROM i WHERE i.a = o.a) AS m FROM o",
    "scalar count distinct": "SELECT k, (SELECT count(DISTINCT c) FROM i WHERE i.a = o.a) AS m FROM o",
    "scalar filter": "SELECT k, (SELECT count(*) FILTER (WHERE c = 1) FROM i WHERE i.a = o.a) AS m FROM o",
    "scalar limit": "SELECT k, (SELECT c FROM i WHERE i.a = o.a ORDER BY c LIMIT 1) AS m FROM o",
    "scalar limit descending": "SELECT k, (SELECT k FROM i WHERE i.a = o.a ORDER BY k DESC LIMIT 1) AS m FROM o",
    "scalar limit other key": "SELECT k, (SELECT k * 10 FROM i WHERE i.a = o.a ORDER BY k DESC, c LIMIT 1) AS m FROM o",
    "scalar limit aggregate": "SELECT k, (SELECT count(*) FROM i WHERE i.a = o.a LIMIT 1) AS m FROM o",
    "scalar in or": "SELECT * FROM o WHERE b = 3 OR a = (SELECT max(c) FROM i WHERE i.k = o.k)",
    "scalar in case": "SELECT CASE WHEN b = 1 THEN (SELECT count(*) FROM i WHERE i.a = o.a) ELSE -1 END AS m FROM o",
    "scalar guarded": "SELECT CASE WHEN (SELECT count(*) FROM i WHERE i.a = o.a) = 1"
    " THEN (SELECT c FROM i WHERE i.a = o.a) END AS m FROM o",
    "scalar several rows": "SELECT k, (SELECT c FROM i WHERE i.a = o.a) AS m FROM o",
    "scalar guarded by column": "SELECT CASE WHEN b IS NULL AND b = 1 THEN (SELECT c FROM i) ELSE 0 END AS m FROM o",
    "scalar in order by": "SELECT k FROM o ORDER BY (SELECT count(*) FROM i WHERE i.a = o.a), k",
    "scalar in aggregate": "SELECT sum((SELECT count(*) FROM i WHERE i.a = o.a)) AS m FROM o",
    "scalar in group by": "SELECT (SELECT count(*) FROM i WHERE i.a = o.a) AS g, count(*) FROM o GROUP BY 1",
    "scalar in having": "SELECT a, count(*) FROM o GROUP BY a HAVING count(*) > (SELECT count(*) FROM i WHERE i.a = o.a)",
    "scalar of join": "SELECT k, (SELECT max(j.d) FROM i, j WHERE i.c = j.c AND i.a = o.a) AS m FROM o",
    "scalar of left join": "SELECT k, (SELECT count(j.d) FROM i LEFT JOIN j ON i.c = j.c AND j.d = o.b"
    " WHERE i.a = o.a) AS m FROM o",
    "scalar of derived": "SELECT k, (SELECT max(n) FROM (SELECT c, count(*) AS n FROM i"
    " WHERE i.a = o.a GROUP BY c) AS t) AS m FROM o",
    "scalar of derived inequality": "SELECT k, (SELECT max(n) FROM (SELECT c, count(*) AS n FROM i"
    " WHERE i.a < o.a GROUP BY c) AS t) AS m FROM o",
    "scalar of scalar": "SELECT k, (SELECT count(*) FROM (SELECT count(*) AS n FROM i WHERE i.a = o.a) AS t"
    " WHERE t.n > 1) AS m FROM o",
    "two scalars": "SELECT * FROM o WHERE (SELECT count(*) FROM i WHERE i.a = o.a) > (SELECT count(*) FROM j WHERE j.c = o.a)",
    # several levels
    "nested exists": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.a AND EXISTS (SELECT 1 FROM j"
    " WHERE j.c = i.c))",
    "nested skip": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.a"
    " AND EXISTS (SELECT 1 FROM j WHERE j.c = i.c AND j.d = o.b))",
    "nested not exists": "SELECT * FROM o WHERE NOT EXISTS (SELECT 1 FROM i WHERE i.a = o.a"
    " AND NOT EXISTS (SELECT 1 FROM j WHERE j.c = i.c AND j.d = o.b))",
    "nested scalar": "SELECT k, (SELECT max(c) FROM i WHERE i.a = o.a AND i.c < (SELECT max(d) FROM j"
    " WHERE j.c = i.c)) AS m FROM o",
    "nested scalar skip": "SELECT k, (SELECT count(*) FROM i WHERE i.c >= (SELECT count(*) FROM j WHERE j.c = o.a"
    " AND j.d = i.a)) AS m FROM o",
    "nested in": "SELECT * FROM o WHERE a IN (SELECT a FROM i WHERE i.c IN (SELECT d FROM j WHERE j.k = o.k))",
    "nested not in": "SELECT * FROM o WHERE a NOT IN (SELECT a FROM i WHERE i.c NOT IN (SELECT d FROM j WHERE j.k = i.k))",
    "nested outermost only": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE EXISTS (SELECT 1 FROM j WHERE j.c = o.a))",
    "three levels": "SELECT * FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.k = (SELECT max(j.k) FROM j WHERE j.c = i.a"
    " AND EXISTS (SELECT 1 FROM i AS z WHERE z.a = o.a AND z.c = j.d)))",
    # ON
    "on inner": "SELECT * FROM o JOIN i ON o.a = i.a AND EXISTS (SELECT 1 FROM j WHERE j.c = i.c AND j.d = o.b)",
    "on left of left": "SELECT o.k, i.c FROM o LEFT JOIN i ON o.a = i.a AND EXISTS (SELECT 1 FROM j WHERE j.c = o.b)",
    "on left of right": "SELECT o.k, i.c FROM o LEFT JOIN i ON o.a = i.a AND i.c IN (SELECT d FROM j WHERE j.c = i.c)",
    # below other operators
    "under distinct": "SELECT DISTINCT a FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.a = o.a)",
    "derived table": "SELECT * FROM (SELECT a, (SELECT count(*) FROM i WHERE i.a = o.a) AS n FROM o) AS t WHERE n > 0",
    "left side joined": "SELECT * FROM o, j WHERE o.k = j.k AND j.d > (SELECT count(*) FROM i WHERE i.a = o.a AND i.c < j.c)",
}
LEFT_OVER = kind_mask(ScalarSubquery, Exists, InSubquery, DependentJoin)


@pytest.mark.parametrize("name", QUERIES)
def test_unnested_query_gives_the_same_rows(name: str) -> None:
    plan, allocator = bound(QUERIES[name], SMALL_CATALOG)
    optimized = optimize(plan, verifying(allocator))
    assert not optimized.kinds & LEFT_OVER
    for tables in SMALL_TABLES:
        assert outcome(optimized, tables) == outcome(plan, tables)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM o WHERE (SELECT max(c) FROM i WHERE i.a = o.a) BETWEEN 1 AND 2",
        "SELECT o.k FROM o, j WHERE (SELECT max(c) FROM i) BETWEEN 1 AND 2",
        "SELECT k, (SELECT max(c) FROM i) NOT BETWEEN a AND b AS m FROM o",
        "SELECT k, CASE (SELECT max(c) FROM i WHERE i.a = o.a) WHEN 1 THEN 'a' WHEN 2 THEN s END AS m FROM o",
    ],
)
def test_an_operand_that_is_used_twice_is_joined_once(sql: str) -> None:
    plan, allocator = bound(sql, SMALL_CATALOG)
    optimized = optimize(plan, OptimizerContext(allocator=allocator))
    assert plan_problem(optimized) is None
    assert sum(isinstance(node, Scan) and node.table.name == "i" for node in walk(optimized, kind_mask(Scan))) == 1
    for tables in SMALL_TABLES:
        assert outcome(optimized, tables) == outcome(plan, tables)

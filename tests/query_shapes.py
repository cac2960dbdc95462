"""Shapes of queries beside the 22 of TPC-H, over its tables: their plans are golden, and their answers are those of DuckDB.

Each is there for what its name says. Where rows can be cut, the order is total.
"""

from __future__ import annotations

SHAPES = {
    # ---------------------------------------------------------------------------------------------------- scans and filters
    "filter_on_clustering_key": "SELECT l_orderkey, l_tax FROM lineitem WHERE l_orderkey BETWEEN 1000 AND 1100",
    "filter_by_or_of_ranges": """
        SELECT count(*) AS n FROM orders WHERE o_totalprice < 1000 OR o_totalprice > 400000 OR o_custkey = 7""",
    "filter_by_prefix": """
        SELECT p_partkey, p_name FROM part WHERE p_type LIKE 'PROMO%' AND p_size = 1 AND p_name LIKE '%green%'""",
    "filter_that_is_never_true": """
        SELECT o_orderkey FROM orders WHERE o_orderkey < 0 AND o_custkey IN (SELECT c_custkey FROM customer)""",
    "filter_on_expression": """
        SELECT count(*) AS n FROM lineitem WHERE l_extendedprice * (1 - l_discount) > 50000 AND l_tax + 1 > 1.05""",
    "in_list": "SELECT count(*) AS n FROM lineitem WHERE l_shipmode IN ('AIR', 'RAIL', 'FOB') AND l_suppkey NOT IN (1, 2, 3)",
    "negated_conditions": """
        SELECT count(*) AS n FROM part WHERE NOT (p_size > 10 OR p_brand <> 'Brand#11' OR p_container IS NULL)""",
    "case_in_filter": """
        SELECT count(*) AS n FROM orders WHERE CASE WHEN o_orderstatus = 'F' THEN o_totalprice ELSE 0 END > 100000 AND
        o_clerk < 'Clerk#000000100'""",
    "limit_without_order": "SELECT n_nationkey, n_name FROM nation WHERE n_regionkey = 1 LIMIT 3",
    # ----------------------------------------------------------------------------------------------------------- aggregates
    "aggregate_of_everything": """
        SELECT count(*) AS n, sum(l_quantity) AS q, min(l_shipdate) AS a, max(l_shipdate) AS b FROM lineitem""",
    "group_by_clustering_key": """
        SELECT l_orderkey, sum(l_quantity) AS q FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300""",
    "group_by_many_values": """
        SELECT l_suppkey, avg(l_discount) AS a FROM lineitem GROUP BY l_suppkey ORDER BY a DESC, l_suppkey LIMIT 5""",
    "group_by_few_values": "SELECT o_orderpriority, o_orderstatus, count(*) AS n FROM orders GROUP BY ALL ORDER BY ALL",
    "group_by_dependent_columns": """
        SELECT c_custkey, c_name, c_address, count(*) AS n FROM customer JOIN orders ON c_custkey = o_custkey GROUP BY
        c_custkey, c_name, c_address ORDER BY n DESC, c_custkey LIMIT 10""",
    "count_distinct": """
        SELECT p_brand, count(DISTINCT p_type) AS types, count(*) AS n FROM part GROUP BY p_brand ORDER BY p_brand""",
    "count_distinct_of_two_columns": "SELECT count(DISTINCT l_suppkey) AS s, count(DISTINCT l_shipmode) AS m FROM lineitem",
    "count_distinct_of_everything": """
        SELECT count(DISTINCT l_suppkey) AS s, sum(l_quantity) AS q, count(*) AS n, min(l_shipdate) AS d FROM lineitem""",
    "count_distinct_of_nearly_all": "SELECT count(DISTINCT o_clerk || o_orderkey) AS n, avg(o_totalprice) AS a FROM orders",
    "count_distinct_of_clustering_key": """
        SELECT count(DISTINCT l_orderkey) AS n, avg(DISTINCT l_orderkey) AS a FROM lineitem WHERE l_quantity > 45""",
    "count_distinct_in_few_groups": """
        SELECT l_shipmode, count(DISTINCT l_partkey) AS p, sum(DISTINCT l_partkey) AS s, max(l_tax) AS t, avg(l_discount) AS d
        FROM lineitem GROUP BY l_shipmode ORDER BY l_shipmode""",
    "count_distinct_in_many_groups": """
        SELECT o_custkey, count(DISTINCT o_orderpriority) AS p, count(*) FILTER (WHERE o_orderstatus = 'F') AS f FROM orders
        GROUP BY o_custkey ORDER BY p DESC, f DESC, o_custkey LIMIT 10""",
    "distinct_of_key": "SELECT DISTINCT c_custkey, c_nationkey FROM customer WHERE c_acctbal > 9990",
    "distinct_of_few": "SELECT DISTINCT l_returnflag, l_linestatus FROM lineitem ORDER BY 1, 2",
    "rollup": """
        SELECT r_name, n_name, count(*) AS n FROM supplier JOIN nation ON s_nationkey = n_nationkey JOIN region ON
        n_regionkey = r_regionkey GROUP BY ROLLUP (r_name, n_name) ORDER BY ALL""",
    "aggregate_of_aggregate": """
        SELECT n, count(*) AS customers FROM (SELECT o_custkey, count(*) AS n FROM orders GROUP BY o_custkey) q GROUP
        BY n ORDER BY n""",
    "aggregate_with_filters": """
        SELECT l_shipmode, sum(l_tax) FILTER (WHERE l_returnflag = 'R') AS r, count(*) FILTER (WHERE l_linenumber = 1)
        AS f FROM lineitem GROUP BY l_shipmode ORDER BY l_shipmode""",
    # ---------------------------------------------------------------------------------------------------------------- joins
    "join_of_clustered_keys": """
        SELECT count(*) AS n FROM orders JOIN lineitem ON o_orderkey = l_orderkey WHERE o_totalprice > l_extendedprice""",
    "join_by_equivalent_columns": """
        SELECT count(*) AS n FROM partsupp, part, lineitem WHERE ps_partkey = p_partkey AND p_partkey = l_partkey AND
        l_suppkey = ps_suppkey AND p_size = 15""",
    "join_with_constant_of_other_side": """
        SELECT count(*) AS n FROM orders JOIN lineitem ON l_orderkey = o_orderkey WHERE o_orderkey = 32""",
    "join_of_seven": """
        SELECT n_name, sum(l_quantity) AS q FROM region, nation, customer, orders, lineitem, part, supplier WHERE
        r_regionkey = n_regionkey AND n_nationkey = c_nationkey AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        AND p_partkey = l_partkey AND s_suppkey = l_suppkey AND r_name = 'ASIA' AND p_type LIKE '%BRASS' AND s_acctbal
        > 0 GROUP BY n_name ORDER BY n_name""",
    "join_cycle": """
        SELECT count(*) AS n FROM customer, supplier, nation, orders, lineitem WHERE c_nationkey = n_nationkey AND
        s_nationkey = n_nationkey AND c_custkey = o_custkey AND o_orderkey = l_orderkey AND l_suppkey = s_suppkey AND
        n_name = 'PERU'""",
    "join_with_itself": """
        SELECT count(*) AS n FROM supplier a JOIN supplier b ON a.s_nationkey = b.s_nationkey AND a.s_suppkey <
        b.s_suppkey""",
    "join_by_inequality": """
        SELECT count(*) AS n FROM (SELECT * FROM orders WHERE o_totalprice > 450000) a JOIN (SELECT * FROM supplier
        WHERE s_acctbal > 9900) b ON a.o_totalprice > b.s_acctbal * 46""",
    "join_by_range": """
        SELECT count(*) AS n FROM nation a JOIN nation b ON b.n_nationkey BETWEEN a.n_nationkey - 2 AND a.n_nationkey
        + 2""",
    "cross_join_of_small": """
        SELECT count(*) AS n FROM region, nation, (SELECT max(s_acctbal) AS m FROM supplier) q WHERE m > n_nationkey""",
    "join_on_or": """
        SELECT count(*) AS n FROM nation JOIN region ON n_regionkey = r_regionkey AND r_name = 'ASIA' OR n_regionkey =
        r_regionkey AND n_name = 'PERU'""",
    "join_on_expression": "SELECT count(*) AS n FROM customer JOIN nation ON c_nationkey + 1 = n_nationkey WHERE n_name < 'C'",
    "left_join_counted": """
        SELECT c_custkey, count(o_orderkey) AS n FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND
        o_orderpriority = '1-URGENT' GROUP BY c_custkey ORDER BY n DESC, c_custkey LIMIT 10""",
    "left_join_that_is_inner": """
        SELECT count(*) AS n FROM customer LEFT JOIN orders ON c_custkey = o_custkey WHERE o_totalprice > 300000""",
    "left_join_that_is_anti": """
        SELECT count(*) AS n FROM customer LEFT JOIN orders ON c_custkey = o_custkey WHERE o_orderkey IS NULL""",
    "left_join_of_unused_key_side": """
        SELECT o_orderkey FROM orders LEFT JOIN customer ON o_custkey = c_custkey WHERE o_totalprice > 500000""",
    "left_join_below_inner": """
        SELECT count(*) AS n, count(s_suppkey) AS s FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey AND
        s_acctbal > 9000 JOIN region ON n_regionkey = r_regionkey WHERE r_name = 'AFRICA'""",
    "full_join": """
        SELECT count(*) AS n, count(a.c_custkey) AS l, count(b.s_suppkey) AS r FROM (SELECT * FROM customer WHERE
        c_acctbal > 9000) a FULL JOIN (SELECT * FROM supplier WHERE s_acctbal > 5000) b ON a.c_nationkey =
        b.s_nationkey""",
    "join_of_aggregates": """
        SELECT count(*) AS n FROM (SELECT l_orderkey, sum(l_extendedprice) AS p FROM lineitem GROUP BY l_orderkey) a
        JOIN (SELECT o_orderkey, max(o_totalprice) AS t FROM orders GROUP BY o_orderkey) b ON l_orderkey = o_orderkey
        WHERE p > t""",
    # ------------------------------------------------------------------------------------------------------------ subqueries
    "exists": """
        SELECT count(*) AS n FROM customer WHERE EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey AND
        o_totalprice > 300000)""",
    "not_exists": "SELECT count(*) AS n FROM customer WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)",
    "exists_of_another_row": """
        SELECT count(*) AS n FROM lineitem a WHERE a.l_shipdate > a.l_receiptdate - 2 AND EXISTS ( SELECT 1 FROM
        lineitem b WHERE b.l_orderkey = a.l_orderkey AND b.l_suppkey <> a.l_suppkey)""",
    "in_subquery": """
        SELECT count(*) AS n FROM partsupp WHERE ps_suppkey IN (SELECT s_suppkey FROM supplier WHERE s_nationkey = 3)""",
    "not_in_subquery": """
        SELECT count(*) AS n FROM partsupp WHERE ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_acctbal <
        0)""",
    "in_subquery_of_aggregate": """
        SELECT o_orderkey FROM orders WHERE o_orderkey IN ( SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING
        sum(l_quantity) > 310)""",
    "scalar_subquery": """
        SELECT count(*) AS n FROM customer WHERE c_acctbal > (SELECT avg(c_acctbal) FROM customer WHERE c_acctbal > 0)""",
    "scalar_subqueries_of_one_table": """
        SELECT (SELECT count(*) FROM part WHERE p_size = 1) AS a, (SELECT count(*) FROM part WHERE p_size = 2) AS b,
        (SELECT max(p_retailprice) FROM part) AS c""",
    "correlated_scalar": """
        SELECT p_partkey, (SELECT min(ps_supplycost) FROM partsupp WHERE ps_partkey = p_partkey) AS cheapest FROM part
        WHERE p_size = 15 AND p_type LIKE '%TIN'""",
    "correlated_count": """
        SELECT c_custkey, (SELECT count(*) FROM orders WHERE o_custkey = c_custkey AND o_totalprice > c_acctbal * 40)
        AS n FROM customer WHERE c_custkey <= 20""",
    "correlated_twice": """
        SELECT count(*) AS n FROM customer WHERE EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey AND NOT
        EXISTS ( SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_tax > c_acctbal))""",
    "quantified": """
        SELECT count(*) AS n FROM supplier WHERE s_acctbal >= ALL (SELECT c_acctbal FROM customer WHERE c_nationkey =
        s_nationkey)""",
    # ------------------------------------------------------------------------------------------- common parts, set operations
    "cte_used_twice": """
        WITH r AS (SELECT l_suppkey AS s, sum(l_extendedprice) AS v FROM lineitem WHERE l_shipdate < DATE '1992-06-01'
        GROUP BY l_suppkey) SELECT s, v FROM r WHERE v = (SELECT max(v) FROM r)""",
    "cte_joined_with_itself": """
        WITH t AS (SELECT o_custkey AS c, sum(o_totalprice) AS v FROM orders GROUP BY o_custkey) SELECT count(*) AS n
        FROM t a JOIN t b ON a.c = b.c + 1 WHERE a.v > b.v""",
    "union_all_grouped": """
        SELECT k, count(*) AS n FROM (SELECT c_nationkey AS k FROM customer UNION ALL SELECT s_nationkey FROM
        supplier) q GROUP BY k ORDER BY k""",
    "union_filtered": """
        SELECT * FROM (SELECT c_name AS name, c_acctbal AS bal FROM customer UNION ALL SELECT s_name, s_acctbal FROM
        supplier) q WHERE bal > 9990""",
    "union_distinct": "SELECT n_regionkey FROM nation UNION SELECT r_regionkey + 3 FROM region",
    "intersect": """
        SELECT c_nationkey FROM customer WHERE c_acctbal > 9900 INTERSECT SELECT s_nationkey FROM supplier WHERE
        s_acctbal > 5000""",
    "except_all": "SELECT n_regionkey FROM nation EXCEPT ALL SELECT r_regionkey FROM region",
    # ------------------------------------------------------------------------------------------------- windows, order, limits
    "row_number_per_group": """
        SELECT * FROM (SELECT o_custkey, o_orderkey, row_number() OVER (PARTITION BY o_custkey ORDER BY o_totalprice
        DESC, o_orderkey) AS r FROM orders) q WHERE r <= 2 AND o_custkey < 50""",
    "rank_filtered_to_first": """
        SELECT n_regionkey, n_name FROM (SELECT *, rank() OVER (PARTITION BY n_regionkey ORDER BY n_name) AS r FROM
        nation) q WHERE r = 1""",
    "share_of_group": """
        SELECT l_orderkey, l_linenumber, l_quantity / sum(l_quantity) OVER (PARTITION BY l_orderkey) AS share FROM
        lineitem WHERE l_orderkey < 100""",
    "window_over_aggregate": """
        SELECT o_orderdate, sum(sum(o_totalprice)) OVER (ORDER BY o_orderdate) AS running FROM orders WHERE
        o_orderdate < DATE '1992-02-01' GROUP BY o_orderdate ORDER BY o_orderdate""",
    "top_n_of_join": """
        SELECT o_orderkey, c_name FROM orders JOIN customer ON o_custkey = c_custkey ORDER BY o_totalprice DESC,
        o_orderkey LIMIT 10""",
    "top_n_per_aggregate": """
        SELECT l_partkey, sum(l_quantity) AS q FROM lineitem GROUP BY l_partkey ORDER BY q DESC, l_partkey LIMIT 10""",
    "sort_that_nobody_sees": "SELECT count(*) AS n FROM (SELECT * FROM orders ORDER BY o_totalprice) q",
    "limit_of_union": """
        SELECT * FROM (SELECT o_orderkey AS k FROM orders UNION ALL SELECT c_custkey FROM customer) q ORDER BY k DESC
        LIMIT 5""",
    "nested_limits": """
        SELECT o_orderkey FROM (SELECT * FROM orders ORDER BY o_orderkey LIMIT 100) q ORDER BY o_orderkey LIMIT 10
        OFFSET 5""",
    "values_joined": """
        SELECT n_name, label FROM nation JOIN (VALUES (0, 'a'), (1, 'b'), (NULL, 'c')) AS v(k, label) ON n_nationkey =
        k""",
    "distinct_on": """
        SELECT DISTINCT ON (o_custkey) o_custkey, o_orderkey FROM orders WHERE o_custkey < 30 ORDER BY o_custkey,
        o_orderdate, o_orderkey""",
}

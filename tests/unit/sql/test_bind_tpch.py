"""The 22 TPC-H queries bind in several dialects, to valid plans of the expected types."""

from __future__ import annotations

import re

import pytest

from planner.explain import logical_text
from planner.sql import bind
from planner.verify import check_plan
from tests.tpch_schema import tpch_catalog
from tpch.queries import query

CATALOG = tpch_catalog()

OUTPUTS = {
    1: "l_returnflag VARCHAR, l_linestatus VARCHAR, sum_qty DECIMAL(38,2), sum_base_price DECIMAL(38,2), "
    "sum_disc_price DECIMAL(38,4), sum_charge DECIMAL(38,6), avg_qty DECIMAL(38,8), avg_price DECIMAL(38,8), "
    "avg_disc DECIMAL(38,8), count_order BIGINT",
    2: "s_acctbal DECIMAL(15,2), s_name VARCHAR, n_name VARCHAR, p_partkey BIGINT, p_mfgr VARCHAR, s_address VARCHAR, "
    "s_phone VARCHAR, s_comment VARCHAR",
    3: "l_orderkey BIGINT, revenue DECIMAL(38,4), o_orderdate DATE, o_shippriority INTEGER",
    4: "o_orderpriority VARCHAR, order_count BIGINT",
    5: "n_name VARCHAR, revenue DECIMAL(38,4)",
    6: "revenue DECIMAL(38,4)",
    7: "supp_nation VARCHAR, cust_nation VARCHAR, l_year BIGINT, revenue DECIMAL(38,4)",
    8: "o_year BIGINT, mkt_share DECIMAL(38,10)",
    9: "nation VARCHAR, o_year BIGINT, sum_profit DECIMAL(38,4)",
    10: "c_custkey BIGINT, c_name VARCHAR, revenue DECIMAL(38,4), c_acctbal DECIMAL(15,2), n_name VARCHAR, "
    "c_address VARCHAR, c_phone VARCHAR, c_comment VARCHAR",
    11: "ps_partkey BIGINT, value DECIMAL(38,2)",
    12: "l_shipmode VARCHAR, high_line_count BIGINT, low_line_count BIGINT",
    13: "c_count BIGINT, custdist BIGINT",
    14: "promo_revenue DECIMAL(38,12)",
    15: "s_suppkey BIGINT, s_name VARCHAR, s_address VARCHAR, s_phone VARCHAR, total_revenue DECIMAL(38,4)",
    16: "p_brand VARCHAR, p_type VARCHAR, p_size INTEGER, supplier_cnt BIGINT",
    17: "avg_yearly DECIMAL(38,8)",
    18: "c_name VARCHAR, c_custkey BIGINT, o_orderkey BIGINT, o_orderdate DATE, o_totalprice DECIMAL(15,2), "
    "sum(l_quantity) DECIMAL(38,2)",
    19: "revenue DECIMAL(38,4)",
    20: "s_name VARCHAR, s_address VARCHAR",
    21: "s_name VARCHAR, numwait BIGINT",
    22: "cntrycode VARCHAR, numcust BIGINT, totacctbal DECIMAL(38,2)",
}


@pytest.mark.parametrize("number", OUTPUTS)
def test_output(number):
    bound = bind(query(number).text, CATALOG)
    columns = zip(bound.names, bound.plan.columns, strict=True)
    assert ", ".join(f"{name} {column.dtype}" for name, column in columns) == OUTPUTS[number]
    check_plan(bound.plan, f"binding query {number}")


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "spark", "snowflake", "bigquery"])
@pytest.mark.parametrize("number", OUTPUTS)
def test_dialects_agree(number, dialect):
    """Apart from the order of NULLs, the escape character, and NULL for division by zero, the text means the same."""
    ours = bind(query(number).text, CATALOG)
    theirs = bind(query(number).text, CATALOG, dialect)
    check_plan(theirs.plan, f"binding query {number} as {dialect}")
    assert [column.dtype for column in ours.plan.columns] == [column.dtype for column in theirs.plan.columns]
    assert _normalized(logical_text(ours.plan)) == _normalized(logical_text(theirs.plan))


def _normalized(text: str) -> str:
    text = text.replace(" nulls first", "").replace(r" ESCAPE '\'", "")
    return re.sub(r"nullif\((.*), 0\.0+\)", r"\1", text)

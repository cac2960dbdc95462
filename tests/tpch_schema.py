"""The tables of TPC-H without data, with the row counts of scale factor 1."""

from __future__ import annotations

from planner.dtypes import BIGINT, DATE, INTEGER, VARCHAR, DType, decimal
from tests.plans import TestCatalog, snapshot

_TYPES: dict[str, DType] = {"id": BIGINT, "int": INTEGER, "text": VARCHAR, "money": decimal(15, 2), "date": DATE}

_TABLES = {
    "region": (5, "r_regionkey:id r_name:text r_comment:text"),
    "nation": (25, "n_nationkey:id n_name:text n_regionkey:id n_comment:text"),
    "supplier": (
        10_000,
        "s_suppkey:id s_name:text s_address:text s_nationkey:id s_phone:text s_acctbal:money s_comment:text",
    ),
    "customer": (
        150_000,
        "c_custkey:id c_name:text c_address:text c_nationkey:id c_phone:text c_acctbal:money c_mktsegment:text c_comment:text",
    ),
    "part": (
        200_000,
        "p_partkey:id p_name:text p_mfgr:text p_brand:text p_type:text p_size:int p_container:text p_retailprice:money "
        "p_comment:text",
    ),
    "partsupp": (800_000, "ps_partkey:id ps_suppkey:id ps_availqty:int ps_supplycost:money ps_comment:text"),
    "orders": (
        1_500_000,
        "o_orderkey:id o_custkey:id o_orderstatus:text o_totalprice:money o_orderdate:date o_orderpriority:text o_clerk:text "
        "o_shippriority:int o_comment:text",
    ),
    "lineitem": (
        6_001_215,
        "l_orderkey:id l_partkey:id l_suppkey:id l_linenumber:int l_quantity:money l_extendedprice:money l_discount:money "
        "l_tax:money l_returnflag:text l_linestatus:text l_shipdate:date l_commitdate:date l_receiptdate:date "
        "l_shipinstruct:text l_shipmode:text l_comment:text",
    ),
}


def tpch_catalog() -> TestCatalog:
    """A catalog of the eight tables; no column has NULLs."""
    return TestCatalog(
        {
            name: snapshot(name, [(column, _TYPES[kind], False) for column, kind in _pairs(columns)], rows)
            for name, (rows, columns) in _TABLES.items()
        }
    )


def _pairs(columns: str) -> list[tuple[str, str]]:
    return [(column, kind) for column, kind in (part.split(":") for part in columns.split())]

"""The 22 queries as Polars LazyFrames, written out from the specification (clause 2.4) with its parameters.

Each takes the tables and the parameters (names as in `tpch/queries/*.sql`) and gives the columns of the SQL text in its order.
Filters stand where they read best and joins in the order of the specification's sentence, because Polars moves both.

Products of decimals are computed in Float64: Polars rounds them to the scale of their operands otherwise. Plain sums stay decimal
and exact, and so do comparisons with decimal parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from types import MappingProxyType

import polars as pl
from polars import LazyFrame, col

Tables = Mapping[str, LazyFrame]
Parameters = Mapping[str, str]


def _float(column: str) -> pl.Expr:
    return col(column).cast(pl.Float64)


VOLUME = _float("l_extendedprice") * (1 - _float("l_discount"))


def _months_after(day: date, months: int) -> date:
    """For first days of months."""
    years, month = divmod(day.month - 1 + months, 12)
    return day.replace(year=day.year + years, month=month + 1)


def _within(column: str, first: str, months: int) -> pl.Expr:
    """The dates of a number of months from `first` on."""
    day = date.fromisoformat(first)
    return col(column).is_between(day, _months_after(day, months), closed="left")


def _if_any(aggregate: pl.Expr) -> pl.Expr:
    """NULL for no rows at all, as in SQL; Polars has 0 for their sum."""
    return pl.when(pl.len() > 0).then(aggregate)


def q01(tables: Tables, parameters: Parameters) -> LazyFrame:
    last = date(1998, 12, 1) - timedelta(days=int(parameters["delta"]))
    return (
        tables["lineitem"]
        .filter(col("l_shipdate") <= last)
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            sum_qty=col("l_quantity").sum(),
            sum_base_price=col("l_extendedprice").sum(),
            sum_disc_price=VOLUME.sum(),
            sum_charge=(VOLUME * (1 + _float("l_tax"))).sum(),
            avg_qty=col("l_quantity").mean(),
            avg_price=col("l_extendedprice").mean(),
            avg_disc=col("l_discount").mean(),
            count_order=pl.len(),
        )
        .sort("l_returnflag", "l_linestatus")
    )


def q02(tables: Tables, parameters: Parameters) -> LazyFrame:
    offers = (
        tables["part"]
        .filter(col("p_size") == int(parameters["size"]), col("p_type").str.ends_with(parameters["type"]))
        .join(tables["partsupp"], left_on="p_partkey", right_on="ps_partkey")
        .join(tables["supplier"], left_on="ps_suppkey", right_on="s_suppkey")
        .join(tables["nation"], left_on="s_nationkey", right_on="n_nationkey")
        .join(tables["region"].filter(col("r_name") == parameters["region"]), left_on="n_regionkey", right_on="r_regionkey")
    )
    cheapest = offers.group_by("p_partkey").agg(col("ps_supplycost").min())
    return (
        offers.join(cheapest, on=["p_partkey", "ps_supplycost"])
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .sort("s_acctbal", "n_name", "s_name", "p_partkey", descending=[True, False, False, False])
        .head(100)
    )


def q03(tables: Tables, parameters: Parameters) -> LazyFrame:
    day = date.fromisoformat(parameters["date"])
    return (
        tables["customer"]
        .filter(col("c_mktsegment") == parameters["segment"])
        .join(tables["orders"].filter(col("o_orderdate") < day), left_on="c_custkey", right_on="o_custkey")
        .join(tables["lineitem"].filter(col("l_shipdate") > day), left_on="o_orderkey", right_on="l_orderkey")
        .group_by("o_orderkey", "o_orderdate", "o_shippriority")
        .agg(revenue=VOLUME.sum())
        .select("o_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .sort("revenue", "o_orderdate", descending=[True, False])
        .head(10)
    )


def q04(tables: Tables, parameters: Parameters) -> LazyFrame:
    late = tables["lineitem"].filter(col("l_commitdate") < col("l_receiptdate"))
    return (
        tables["orders"]
        .filter(_within("o_orderdate", parameters["date"], 3))
        .join(late, left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .group_by("o_orderpriority")
        .agg(order_count=pl.len())
        .sort("o_orderpriority")
    )


def q05(tables: Tables, parameters: Parameters) -> LazyFrame:
    return (
        tables["region"]
        .filter(col("r_name") == parameters["region"])
        .join(tables["nation"], left_on="r_regionkey", right_on="n_regionkey")
        .join(tables["customer"], left_on="n_nationkey", right_on="c_nationkey")
        .join(
            tables["orders"].filter(_within("o_orderdate", parameters["date"], 12)), left_on="c_custkey", right_on="o_custkey"
        )
        .join(tables["lineitem"], left_on="o_orderkey", right_on="l_orderkey")
        .join(tables["supplier"], left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
        .group_by("n_name")
        .agg(revenue=VOLUME.sum())
        .sort("revenue", descending=True)
    )


def q06(tables: Tables, parameters: Parameters) -> LazyFrame:
    discount, hundredth = Decimal(parameters["discount"]), Decimal("0.01")
    return (
        tables["lineitem"]
        .filter(
            _within("l_shipdate", parameters["date"], 12),
            col("l_discount").is_between(pl.lit(discount - hundredth), pl.lit(discount + hundredth)),
            col("l_quantity") < int(parameters["quantity"]),
        )
        .select(revenue=_if_any((_float("l_extendedprice") * _float("l_discount")).sum()))
    )


def q07(tables: Tables, parameters: Parameters) -> LazyFrame:
    pair = [parameters["nation1"], parameters["nation2"]]
    nations = tables["nation"].filter(col("n_name").is_in(pair)).select("n_nationkey", "n_name")
    return (
        tables["supplier"]
        .join(nations.rename({"n_name": "supp_nation"}), left_on="s_nationkey", right_on="n_nationkey")
        .join(
            tables["lineitem"].filter(col("l_shipdate").is_between(date(1995, 1, 1), date(1996, 12, 31))),
            left_on="s_suppkey",
            right_on="l_suppkey",
        )
        .join(tables["orders"], left_on="l_orderkey", right_on="o_orderkey")
        .join(tables["customer"], left_on="o_custkey", right_on="c_custkey")
        .join(nations.rename({"n_name": "cust_nation"}), left_on="c_nationkey", right_on="n_nationkey")
        .filter(col("supp_nation") != col("cust_nation"))
        .group_by("supp_nation", "cust_nation", l_year=col("l_shipdate").dt.year())
        .agg(revenue=VOLUME.sum())
        .sort("supp_nation", "cust_nation", "l_year")
    )


def q08(tables: Tables, parameters: Parameters) -> LazyFrame:
    nation = tables["nation"]
    suppliers = tables["supplier"].join(nation, left_on="s_nationkey", right_on="n_nationkey").select("s_suppkey", "n_name")
    customers = (
        tables["region"]
        .filter(col("r_name") == parameters["region"])
        .join(nation, left_on="r_regionkey", right_on="n_regionkey")
        .join(tables["customer"], left_on="n_nationkey", right_on="c_nationkey")
        .select("c_custkey")
    )
    orders = tables["orders"].filter(col("o_orderdate").is_between(date(1995, 1, 1), date(1996, 12, 31)))
    of_nation = pl.when(col("n_name") == parameters["nation"]).then(VOLUME).otherwise(0.0)
    return (
        tables["part"]
        .filter(col("p_type") == parameters["type"])
        .join(tables["lineitem"], left_on="p_partkey", right_on="l_partkey")
        .join(suppliers, left_on="l_suppkey", right_on="s_suppkey")
        .join(orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(customers, left_on="o_custkey", right_on="c_custkey")
        .group_by(o_year=col("o_orderdate").dt.year())
        .agg(mkt_share=of_nation.sum() / VOLUME.sum())
        .sort("o_year")
    )


def q09(tables: Tables, parameters: Parameters) -> LazyFrame:
    return (
        tables["part"]
        .filter(col("p_name").str.contains(parameters["color"], literal=True))
        .join(tables["lineitem"], left_on="p_partkey", right_on="l_partkey")
        .join(tables["supplier"], left_on="l_suppkey", right_on="s_suppkey")
        .join(tables["partsupp"], left_on=["l_suppkey", "p_partkey"], right_on=["ps_suppkey", "ps_partkey"])
        .join(tables["orders"], left_on="l_orderkey", right_on="o_orderkey")
        .join(tables["nation"], left_on="s_nationkey", right_on="n_nationkey")
        .group_by(nation=col("n_name"), o_year=col("o_orderdate").dt.year())
        .agg(sum_profit=(VOLUME - _float("ps_supplycost") * _float("l_quantity")).sum())
        .sort("nation", "o_year", descending=[False, True])
    )


def q10(tables: Tables, parameters: Parameters) -> LazyFrame:
    keys = ["c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"]
    return (
        tables["customer"]
        .join(tables["orders"].filter(_within("o_orderdate", parameters["date"], 3)), left_on="c_custkey", right_on="o_custkey")
        .join(tables["lineitem"].filter(col("l_returnflag") == "R"), left_on="o_orderkey", right_on="l_orderkey")
        .join(tables["nation"], left_on="c_nationkey", right_on="n_nationkey")
        .group_by(keys)
        .agg(revenue=VOLUME.sum())
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
        .sort("revenue", descending=True)
        .head(20)
    )


def q11(tables: Tables, parameters: Parameters) -> LazyFrame:
    value = (_float("ps_supplycost") * _float("ps_availqty")).sum()
    stock = (
        tables["partsupp"]
        .join(tables["supplier"], left_on="ps_suppkey", right_on="s_suppkey")
        .join(tables["nation"].filter(col("n_name") == parameters["nation"]), left_on="s_nationkey", right_on="n_nationkey")
    )
    threshold = stock.select(threshold=value * float(parameters["fraction"]))
    return (
        stock.group_by("ps_partkey")
        .agg(value=value)
        .join(threshold, how="cross")
        .filter(col("value") > col("threshold"))
        .select("ps_partkey", "value")
        .sort("value", descending=True)
    )


def q12(tables: Tables, parameters: Parameters) -> LazyFrame:
    high = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        tables["orders"]
        .join(
            tables["lineitem"].filter(
                col("l_shipmode").is_in([parameters["shipmode1"], parameters["shipmode2"]]),
                col("l_commitdate") < col("l_receiptdate"),
                col("l_shipdate") < col("l_commitdate"),
                _within("l_receiptdate", parameters["date"], 12),
            ),
            left_on="o_orderkey",
            right_on="l_orderkey",
        )
        .group_by("l_shipmode")
        .agg(high_line_count=high.sum(), low_line_count=(~high).sum())
        .sort("l_shipmode")
    )


def q13(tables: Tables, parameters: Parameters) -> LazyFrame:
    special = col("o_comment").str.contains(f"{parameters['word1']}.*{parameters['word2']}")
    return (
        tables["customer"]
        .join(tables["orders"].filter(~special), left_on="c_custkey", right_on="o_custkey", how="left")
        .group_by("c_custkey")
        .agg(c_count=col("o_orderkey").count())
        .group_by("c_count")
        .agg(custdist=pl.len())
        .sort("custdist", "c_count", descending=True)
    )


def q14(tables: Tables, parameters: Parameters) -> LazyFrame:
    promoted = pl.when(col("p_type").str.starts_with("PROMO")).then(VOLUME).otherwise(0.0)
    return (
        tables["lineitem"]
        .filter(_within("l_shipdate", parameters["date"], 1))
        .join(tables["part"], left_on="l_partkey", right_on="p_partkey")
        .select(promo_revenue=_if_any(100.0 * promoted.sum() / VOLUME.sum()))
    )


def q15(tables: Tables, parameters: Parameters) -> LazyFrame:
    revenue = (
        tables["lineitem"]
        .filter(_within("l_shipdate", parameters["date"], 3))
        .group_by("l_suppkey")
        .agg(total_revenue=VOLUME.sum())
    )
    return (
        tables["supplier"]
        .join(revenue.filter(col("total_revenue") == col("total_revenue").max()), left_on="s_suppkey", right_on="l_suppkey")
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .sort("s_suppkey")
    )


def q16(tables: Tables, parameters: Parameters) -> LazyFrame:
    complaints = tables["supplier"].filter(col("s_comment").str.contains("Customer.*Complaints"))
    return (
        tables["part"]
        .filter(
            col("p_brand") != parameters["brand"],
            ~col("p_type").str.starts_with(parameters["type"]),
            col("p_size").is_in([int(parameters[f"size{place}"]) for place in range(1, 9)]),
        )
        .join(tables["partsupp"], left_on="p_partkey", right_on="ps_partkey")
        .join(complaints, left_on="ps_suppkey", right_on="s_suppkey", how="anti")
        .group_by("p_brand", "p_type", "p_size")
        .agg(supplier_cnt=col("ps_suppkey").n_unique())
        .sort("supplier_cnt", "p_brand", "p_type", "p_size", descending=[True, False, False, False])
    )


def q17(tables: Tables, parameters: Parameters) -> LazyFrame:
    lines = (
        tables["part"]
        .filter(col("p_brand") == parameters["brand"], col("p_container") == parameters["container"])
        .join(tables["lineitem"], left_on="p_partkey", right_on="l_partkey")
        .select("p_partkey", "l_extendedprice", l_quantity=_float("l_quantity"))
    )
    # A division by 5 is exact where 0.2 times the mean, in binary, is not.
    few = lines.group_by("p_partkey").agg(few=col("l_quantity").mean() / 5)
    return (
        lines.join(few, on="p_partkey")
        .filter(col("l_quantity") < col("few"))
        .select(avg_yearly=_if_any(_float("l_extendedprice").sum() / 7.0))
    )


def q18(tables: Tables, parameters: Parameters) -> LazyFrame:
    large = (
        tables["lineitem"]
        .group_by("l_orderkey")
        .agg(quantity=col("l_quantity").sum())
        .filter(col("quantity") > int(parameters["quantity"]))
    )
    # The lines of an order are joined to it by that order alone, so their sum in the end is the one known here.
    return (
        tables["orders"]
        .join(large, left_on="o_orderkey", right_on="l_orderkey")
        .join(tables["customer"], left_on="o_custkey", right_on="c_custkey")
        .select("c_name", "o_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "quantity")
        .sort("o_totalprice", "o_orderdate", descending=[True, False])
        .head(100)
    )


def q19(tables: Tables, parameters: Parameters) -> LazyFrame:
    cases = (
        ("1", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 5),
        ("2", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10),
        ("3", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 15),
    )
    wanted = pl.any_horizontal(
        (col("p_brand") == parameters[f"brand{place}"])
        & col("p_container").is_in(containers)
        & col("l_quantity").is_between(int(parameters[f"quantity{place}"]), int(parameters[f"quantity{place}"]) + 10)
        & col("p_size").is_between(1, size)
        for place, containers, size in cases
    )
    return (
        tables["part"]
        .join(
            tables["lineitem"].filter(
                col("l_shipmode").is_in(["AIR", "AIR REG"]), col("l_shipinstruct") == "DELIVER IN PERSON"
            ),
            left_on="p_partkey",
            right_on="l_partkey",
        )
        .filter(wanted)
        .select(revenue=_if_any(VOLUME.sum()))
    )


def q20(tables: Tables, parameters: Parameters) -> LazyFrame:
    shipped = (
        tables["lineitem"]
        .filter(_within("l_shipdate", parameters["date"], 12))
        .group_by("l_partkey", "l_suppkey")
        .agg(half=_float("l_quantity").sum() / 2)
    )
    surplus = (
        tables["part"]
        .filter(col("p_name").str.starts_with(parameters["color"]))
        .join(tables["partsupp"], left_on="p_partkey", right_on="ps_partkey")
        .join(shipped, left_on=["p_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
        .filter(col("ps_availqty") > col("half"))
    )
    return (
        tables["supplier"]
        .join(tables["nation"].filter(col("n_name") == parameters["nation"]), left_on="s_nationkey", right_on="n_nationkey")
        .join(surplus, left_on="s_suppkey", right_on="ps_suppkey", how="semi")
        .select("s_name", "s_address")
        .sort("s_name")
    )


def q21(tables: Tables, parameters: Parameters) -> LazyFrame:
    lineitem = tables["lineitem"]
    late = lineitem.filter(col("l_receiptdate") > col("l_commitdate"))
    several = (col("l_suppkey").min() != col("l_suppkey").max()).alias("several")
    of_several = lineitem.group_by("l_orderkey").agg(several).filter("several")
    of_one_late = late.group_by("l_orderkey").agg(several).filter(~col("several"))
    return (
        tables["supplier"]
        .join(tables["nation"].filter(col("n_name") == parameters["nation"]), left_on="s_nationkey", right_on="n_nationkey")
        .join(late, left_on="s_suppkey", right_on="l_suppkey")
        .join(tables["orders"].filter(col("o_orderstatus") == "F"), left_on="l_orderkey", right_on="o_orderkey")
        .join(of_several, on="l_orderkey", how="semi")
        .join(of_one_late, on="l_orderkey", how="semi")
        .group_by("s_name")
        .agg(numwait=pl.len())
        .sort("numwait", "s_name", descending=[True, False])
        .head(100)
    )


def q22(tables: Tables, parameters: Parameters) -> LazyFrame:
    code = col("c_phone").str.slice(0, 2)
    customers = (
        tables["customer"]
        .select("c_custkey", "c_acctbal", cntrycode=code)
        .filter(col("cntrycode").is_in([parameters[f"i{place}"] for place in range(1, 8)]))
    )
    mean = customers.filter(col("c_acctbal") > 0).select(mean=col("c_acctbal").mean())
    return (
        customers.join(mean, how="cross")
        .filter(col("c_acctbal") > col("mean"))
        .join(tables["orders"], left_on="c_custkey", right_on="o_custkey", how="anti")
        .group_by("cntrycode")
        .agg(numcust=pl.len(), totacctbal=col("c_acctbal").sum())
        .sort("cntrycode")
    )


_IN_ORDER = (
    *(q01, q02, q03, q04, q05, q06, q07, q08, q09, q10, q11),
    *(q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22),
)
QUERIES: Mapping[int, Callable[[Tables, Parameters], LazyFrame]] = MappingProxyType(dict(enumerate(_IN_ORDER, start=1)))

"""The 22 queries of TPC-H with the DataFrame API, as one would write them with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import qengine
from qengine import Column, DataFrame, col, outer, when
from qengine import functions as f

VOLUME = col("l_extendedprice") * (1 - col("l_discount"))


def year_from(column: str, first: date) -> Column:
    """The dates of a column that are within a year of the first."""
    return (col(column) >= first) & (col(column) < first.replace(year=first.year + 1))


def q01(session: qengine.Session) -> DataFrame:
    return (
        session.table("lineitem")
        .filter(col("l_shipdate") <= date(1998, 9, 2))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            sum_qty=f.sum("l_quantity"),
            sum_base_price=f.sum("l_extendedprice"),
            sum_disc_price=f.sum(VOLUME),
            sum_charge=f.sum(VOLUME * (1 + col("l_tax"))),
            avg_qty=f.avg("l_quantity"),
            avg_price=f.avg("l_extendedprice"),
            avg_disc=f.avg("l_discount"),
            count_order=f.count(),
        )
        .sort("l_returnflag", "l_linestatus")
    )


def q02(session: qengine.Session) -> DataFrame:
    part, supplier, partsupp = session.table("part"), session.table("supplier"), session.table("partsupp")
    europe = session.table("nation").join(
        session.table("region").filter(col("r_name") == "EUROPE"), col("n_regionkey") == col("r_regionkey")
    )
    offers = partsupp.join(supplier, col("s_suppkey") == col("ps_suppkey")).join(
        europe, col("s_nationkey") == col("n_nationkey")
    )
    cheapest = offers.filter(col("ps_partkey") == outer(part["p_partkey"])).agg(f.min("ps_supplycost")).scalar()
    return (
        part.filter(col("p_size") == 15, col("p_type").like("%BRASS"))
        .join(offers, col("p_partkey") == col("ps_partkey"))
        .filter(col("ps_supplycost") == cheapest)
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .sort(col("s_acctbal").desc(), "n_name", "s_name", "p_partkey")
        .limit(100)
    )


def q03(session: qengine.Session) -> DataFrame:
    day = date(1995, 3, 15)
    return (
        session.table("customer")
        .filter(col("c_mktsegment") == "BUILDING")
        .join(session.table("orders").filter(col("o_orderdate") < day), col("c_custkey") == col("o_custkey"))
        .join(session.table("lineitem").filter(col("l_shipdate") > day), col("l_orderkey") == col("o_orderkey"))
        .group_by("l_orderkey", "o_orderdate", "o_shippriority")
        .agg(revenue=f.sum(VOLUME))
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .sort(col("revenue").desc(), "o_orderdate")
        .limit(10)
    )


def q04(session: qengine.Session) -> DataFrame:
    orders = session.table("orders")
    late = session.table("lineitem").filter(
        col("l_orderkey") == outer(orders["o_orderkey"]), col("l_commitdate") < col("l_receiptdate")
    )
    return (
        orders.filter(
            col("o_orderdate") >= date(1993, 7, 1), "o_orderdate < DATE '1993-07-01' + INTERVAL 3 MONTH", late.exists()
        )
        .group_by("o_orderpriority")
        .agg(order_count=f.count())
        .sort("o_orderpriority")
    )


def q05(session: qengine.Session) -> DataFrame:
    return (
        session.table("customer")
        .join(session.table("orders"), col("c_custkey") == col("o_custkey"))
        .join(session.table("lineitem"), col("l_orderkey") == col("o_orderkey"))
        .join(
            session.table("supplier"),
            (col("l_suppkey") == col("s_suppkey")) & (col("c_nationkey") == col("s_nationkey")),
        )
        .join(session.table("nation"), col("s_nationkey") == col("n_nationkey"))
        .join(session.table("region"), col("n_regionkey") == col("r_regionkey"))
        .filter(col("r_name") == "ASIA", year_from("o_orderdate", date(1994, 1, 1)))
        .group_by("n_name")
        .agg(revenue=f.sum(VOLUME))
        .sort(col("revenue").desc())
    )


def q06(session: qengine.Session) -> DataFrame:
    return (
        session.table("lineitem")
        .filter(
            year_from("l_shipdate", date(1994, 1, 1)),
            col("l_discount").between(Decimal("0.05"), Decimal("0.07")),
            col("l_quantity") < 24,
        )
        .agg(revenue=f.sum(col("l_extendedprice") * col("l_discount")))
    )


def q07(session: qengine.Session) -> DataFrame:
    n1, n2 = session.table("nation").alias("n1"), session.table("nation").alias("n2")
    there = (n1["n_name"] == "FRANCE") & (n2["n_name"] == "GERMANY")
    back = (n1["n_name"] == "GERMANY") & (n2["n_name"] == "FRANCE")
    return (
        session.table("supplier")
        .join(session.table("lineitem"), col("s_suppkey") == col("l_suppkey"))
        .join(session.table("orders"), col("o_orderkey") == col("l_orderkey"))
        .join(session.table("customer"), col("c_custkey") == col("o_custkey"))
        .join(n1, col("s_nationkey") == n1["n_nationkey"])
        .join(n2, col("c_nationkey") == n2["n_nationkey"])
        .filter(there | back, col("l_shipdate").between(date(1995, 1, 1), date(1996, 12, 31)))
        .select(supp_nation=n1["n_name"], cust_nation=n2["n_name"], l_year=f.year("l_shipdate"), volume=VOLUME)
        .group_by("supp_nation", "cust_nation", "l_year")
        .agg(revenue=f.sum("volume"))
        .sort("supp_nation", "cust_nation", "l_year")
    )


def q08(session: qengine.Session) -> DataFrame:
    n1, n2 = session.table("nation").alias("n1"), session.table("nation").alias("n2")
    brazil = f.sum(when(col("nation") == "BRAZIL").then(col("volume")).otherwise(0))
    return (
        session.table("part")
        .filter(col("p_type") == "ECONOMY ANODIZED STEEL")
        .join(session.table("lineitem"), col("p_partkey") == col("l_partkey"))
        .join(session.table("supplier"), col("s_suppkey") == col("l_suppkey"))
        .join(session.table("orders"), col("l_orderkey") == col("o_orderkey"))
        .join(session.table("customer"), col("o_custkey") == col("c_custkey"))
        .join(n1, col("c_nationkey") == n1["n_nationkey"])
        .join(n2, col("s_nationkey") == n2["n_nationkey"])
        .join(session.table("region"), n1["n_regionkey"] == col("r_regionkey"))
        .filter(col("r_name") == "AMERICA", col("o_orderdate").between(date(1995, 1, 1), date(1996, 12, 31)))
        .select(o_year=f.year("o_orderdate"), volume=VOLUME, nation=n2["n_name"])
        .group_by("o_year")
        .agg(mkt_share=brazil / f.sum("volume"))
        .sort("o_year")
    )


def q09(session: qengine.Session) -> DataFrame:
    profit = VOLUME - col("ps_supplycost") * col("l_quantity")
    return (
        session.table("part")
        .filter(col("p_name").like("%green%"))
        .join(session.table("lineitem"), col("p_partkey") == col("l_partkey"))
        .join(session.table("supplier"), col("s_suppkey") == col("l_suppkey"))
        .join(
            session.table("partsupp"),
            (col("ps_suppkey") == col("l_suppkey")) & (col("ps_partkey") == col("l_partkey")),
        )
        .join(session.table("orders"), col("o_orderkey") == col("l_orderkey"))
        .join(session.table("nation"), col("s_nationkey") == col("n_nationkey"))
        .select(nation="n_name", o_year=f.year("o_orderdate"), amount=profit)
        .group_by("nation", "o_year")
        .agg(sum_profit=f.sum("amount"))
        .sort("nation", col("o_year").desc())
    )


def q10(session: qengine.Session) -> DataFrame:
    first = date(1993, 10, 1)
    return (
        session.table("customer")
        .join(session.table("orders"), col("c_custkey") == col("o_custkey"))
        .join(session.table("lineitem"), col("l_orderkey") == col("o_orderkey"))
        .join(session.table("nation"), col("c_nationkey") == col("n_nationkey"))
        .filter(col("o_orderdate") >= first, col("o_orderdate") < date(1994, 1, 1), col("l_returnflag") == "R")
        .group_by("c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment")
        .agg(revenue=f.sum(VOLUME))
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
        .sort(col("revenue").desc())
        .limit(20)
    )


def q11(session: qengine.Session, fraction: Decimal = Decimal("0.0001")) -> DataFrame:
    value = f.sum(col("ps_supplycost") * col("ps_availqty"))
    german = (
        session.table("partsupp")
        .join(session.table("supplier"), col("ps_suppkey") == col("s_suppkey"))
        .join(session.table("nation"), col("s_nationkey") == col("n_nationkey"))
        .filter(col("n_name") == "GERMANY")
    )
    return (
        german.group_by("ps_partkey")
        .agg(value=value)
        .filter(col("value") > german.agg(value * fraction).scalar())
        .sort(col("value").desc())
    )


def q12(session: qengine.Session) -> DataFrame:
    priority = col("o_orderpriority")
    high = when((priority == "1-URGENT") | (priority == "2-HIGH")).then(1).otherwise(0)
    low = when((priority != "1-URGENT") & (priority != "2-HIGH")).then(1).otherwise(0)
    return (
        session.table("orders")
        .join(session.table("lineitem"), col("o_orderkey") == col("l_orderkey"))
        .filter(
            col("l_shipmode").is_in(["MAIL", "SHIP"]),
            "l_commitdate < l_receiptdate AND l_shipdate < l_commitdate",
            year_from("l_receiptdate", date(1994, 1, 1)),
        )
        .group_by("l_shipmode")
        .agg(high_line_count=f.sum(high), low_line_count=f.sum(low))
        .sort("l_shipmode")
    )


def q13(session: qengine.Session) -> DataFrame:
    ordinary = ~col("o_comment").like("%special%requests%")
    return (
        session.table("customer")
        .join(session.table("orders"), (col("c_custkey") == col("o_custkey")) & ordinary, how="left")
        .group_by("c_custkey")
        .agg(c_count=f.count("o_orderkey"))
        .group_by("c_count")
        .agg(custdist=f.count())
        .sort("custdist", "c_count", descending=True)
    )


def q14(session: qengine.Session) -> DataFrame:
    promotion = f.sum(when(col("p_type").like("PROMO%")).then(VOLUME).otherwise(0))
    return (
        session.table("lineitem")
        .join(session.table("part"), col("l_partkey") == col("p_partkey"))
        .filter(col("l_shipdate") >= date(1995, 9, 1), col("l_shipdate") < date(1995, 10, 1))
        .agg(promo_revenue=Decimal("100.00") * promotion / f.sum(VOLUME))
    )


def q15(session: qengine.Session) -> DataFrame:
    revenue = (
        session.table("lineitem")
        .filter(col("l_shipdate") >= date(1996, 1, 1), col("l_shipdate") < date(1996, 4, 1))
        .group_by(supplier_no="l_suppkey")
        .agg(total_revenue=f.sum(VOLUME))
    )
    return (
        session.table("supplier")
        .join(revenue, col("s_suppkey") == col("supplier_no"))
        .filter(col("total_revenue") == revenue.agg(f.max("total_revenue")).scalar())
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .sort("s_suppkey")
    )


def q16(session: qengine.Session) -> DataFrame:
    complaints = session.table("supplier").filter(col("s_comment").like("%Customer%Complaints%")).select("s_suppkey")
    return (
        session.table("partsupp")
        .join(session.table("part"), col("p_partkey") == col("ps_partkey"))
        .filter(
            col("p_brand") != "Brand#45",
            ~col("p_type").like("MEDIUM POLISHED%"),
            col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9]),
            ~col("ps_suppkey").is_in(complaints),
        )
        .group_by("p_brand", "p_type", "p_size")
        .agg(supplier_cnt=f.count_distinct("ps_suppkey"))
        .sort(col("supplier_cnt").desc(), "p_brand", "p_type", "p_size")
    )


def q17(session: qengine.Session) -> DataFrame:
    lineitem, part = session.table("lineitem"), session.table("part")
    usual = lineitem.filter(col("l_partkey") == outer(part["p_partkey"])).agg(Decimal("0.2") * f.avg("l_quantity"))
    return (
        lineitem.join(part, col("p_partkey") == col("l_partkey"))
        .filter(col("p_brand") == "Brand#23", col("p_container") == "MED BOX", col("l_quantity") < usual.scalar())
        .agg(avg_yearly=f.sum("l_extendedprice") / Decimal("7.0"))
    )


def q18(session: qengine.Session) -> DataFrame:
    lineitem = session.table("lineitem")
    large = lineitem.group_by("l_orderkey").agg(quantity=f.sum("l_quantity")).filter("quantity > 300").select("l_orderkey")
    return (
        session.table("customer")
        .join(session.table("orders"), col("c_custkey") == col("o_custkey"))
        .join(lineitem, col("o_orderkey") == col("l_orderkey"))
        .filter(col("o_orderkey").is_in(large))
        .group_by("c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice")
        .agg(f.sum("l_quantity"))
        .sort(col("o_totalprice").desc(), "o_orderdate")
        .limit(100)
    )


def q19(session: qengine.Session) -> DataFrame:
    def kind(brand: str, containers: list[str], quantity: int, size: int) -> Column:
        return (
            (col("p_brand") == brand)
            & col("p_container").is_in(containers)
            & (col("l_quantity") >= quantity)
            & (col("l_quantity") <= quantity + 10)
            & col("p_size").between(1, size)
            & col("l_shipmode").is_in(["AIR", "AIR REG"])
            & (col("l_shipinstruct") == "DELIVER IN PERSON")
        )

    return (
        session.table("lineitem")
        .join(session.table("part"), col("p_partkey") == col("l_partkey"))
        .filter(
            kind("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5)
            | kind("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10)
            | kind("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15)
        )
        .agg(revenue=f.sum(VOLUME))
    )


def q20(session: qengine.Session) -> DataFrame:
    partsupp = session.table("partsupp")
    forest = session.table("part").filter(col("p_name").like("forest%")).select("p_partkey")
    shipped = (
        session.table("lineitem")
        .filter(
            col("l_partkey") == outer(partsupp["ps_partkey"]),
            col("l_suppkey") == outer(partsupp["ps_suppkey"]),
            year_from("l_shipdate", date(1994, 1, 1)),
        )
        .agg(Decimal("0.5") * f.sum("l_quantity"))
    )
    excess = partsupp.filter(col("ps_partkey").is_in(forest), col("ps_availqty") > shipped.scalar()).select("ps_suppkey")
    return (
        session.table("supplier")
        .filter(col("s_suppkey").is_in(excess))
        .join(session.table("nation").filter(col("n_name") == "CANADA"), col("s_nationkey") == col("n_nationkey"))
        .select("s_name", "s_address")
        .sort("s_name")
    )


def q21(session: qengine.Session) -> DataFrame:
    l1, l2, l3 = (session.table("lineitem").alias(name) for name in ("l1", "l2", "l3"))
    others = l2.filter(l2["l_orderkey"] == outer(l1["l_orderkey"]), l2["l_suppkey"] != outer(l1["l_suppkey"]))
    others_late = l3.filter(
        l3["l_orderkey"] == outer(l1["l_orderkey"]),
        l3["l_suppkey"] != outer(l1["l_suppkey"]),
        col("l_receiptdate") > col("l_commitdate"),
    )
    return (
        session.table("supplier")
        .join(l1, col("s_suppkey") == col("l_suppkey"))
        .join(session.table("orders"), col("o_orderkey") == col("l_orderkey"))
        .join(session.table("nation"), col("s_nationkey") == col("n_nationkey"))
        .filter(
            col("o_orderstatus") == "F",
            col("l_receiptdate") > col("l_commitdate"),
            others.exists(),
            ~others_late.exists(),
            col("n_name") == "SAUDI ARABIA",
        )
        .group_by("s_name")
        .agg(numwait=f.count())
        .sort(col("numwait").desc(), "s_name")
        .limit(100)
    )


def q22(session: qengine.Session) -> DataFrame:
    customer, orders = session.table("customer"), session.table("orders")
    code = f.substring("c_phone", 1, 2)
    chosen = code.is_in(["13", "31", "23", "29", "30", "18", "17"])
    average = customer.filter(col("c_acctbal") > Decimal("0.00"), chosen).agg(f.avg("c_acctbal"))
    own = orders.filter(col("o_custkey") == outer(customer["c_custkey"]))
    return (
        customer.filter(chosen, col("c_acctbal") > average.scalar(), ~own.exists())
        .select(code.alias("cntrycode"), "c_acctbal")
        .group_by("cntrycode")
        .agg(numcust=f.count(), totacctbal=f.sum("c_acctbal"))
        .sort("cntrycode")
    )


QUERIES: dict[int, Callable[[qengine.Session], DataFrame]] = {number: globals()[f"q{number:02}"] for number in range(1, 23)}

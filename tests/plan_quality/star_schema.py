"""The Star Schema Benchmark (O'Neil, O'Neil, Chen, revision 3, 2009): one table of facts, four dimensions, 13 queries.

The tables have the columns that its queries use, with the values and the shares of rows that the specification gives, at a tenth
of its scale factor 1: 600,000 line orders.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

from tests.plan_quality.workloads import kept_tables

VERSION = 1
"""Of the data: another number is another folder."""

_LINES, _CUSTOMERS, _SUPPLIERS, _PARTS = 600_000, 3_000, 200, 20_000

_NATIONS = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"),
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_FLIGHT_1 = """
SELECT sum(lo_extendedprice * lo_discount) AS revenue
FROM lineorder, dates
WHERE lo_orderdate = d_datekey AND {when} AND lo_discount BETWEEN {discount} AND {quantity}
"""
_FLIGHT_2 = """
SELECT sum(lo_revenue) AS revenue, d_year, p_brand1
FROM lineorder, dates, part, supplier
WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey AND {what} AND s_region = '{region}'
GROUP BY d_year, p_brand1
ORDER BY d_year, p_brand1
"""
_FLIGHT_3 = """
SELECT c_{place}, s_{place}, d_year, sum(lo_revenue) AS revenue
FROM customer, lineorder, supplier, dates
WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_orderdate = d_datekey AND {where} AND {when}
GROUP BY c_{place}, s_{place}, d_year
ORDER BY d_year, revenue DESC
"""
_FLIGHT_4 = """
SELECT d_year, {by}, sum(lo_revenue - lo_supplycost) AS profit
FROM dates, customer, supplier, part, lineorder
WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_partkey = p_partkey AND lo_orderdate = d_datekey
  AND {where} AND c_region = 'AMERICA'
GROUP BY d_year, {by}
ORDER BY d_year, {by}
"""
_YEARS = "d_year BETWEEN 1992 AND 1997"
_CITIES = "c_city IN ('UNITED KI1', 'UNITED KI5') AND s_city IN ('UNITED KI1', 'UNITED KI5')"
_LATE = "d_year IN (1997, 1998)"

QUERIES = {
    "1.1": _FLIGHT_1.format(when="d_year = 1993", discount=1, quantity="3 AND lo_quantity < 25"),
    "1.2": _FLIGHT_1.format(when="d_yearmonthnum = 199401", discount=4, quantity="6 AND lo_quantity BETWEEN 26 AND 35"),
    "1.3": _FLIGHT_1.format(
        when="d_weeknuminyear = 6 AND d_year = 1994", discount=5, quantity="7 AND lo_quantity BETWEEN 26 AND 35"
    ),
    "2.1": _FLIGHT_2.format(what="p_category = 'MFGR#12'", region="AMERICA"),
    "2.2": _FLIGHT_2.format(what="p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228'", region="ASIA"),
    "2.3": _FLIGHT_2.format(what="p_brand1 = 'MFGR#2221'", region="EUROPE"),
    "3.1": _FLIGHT_3.format(place="nation", where="c_region = 'ASIA' AND s_region = 'ASIA'", when=_YEARS),
    "3.2": _FLIGHT_3.format(place="city", where="c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES'", when=_YEARS),
    "3.3": _FLIGHT_3.format(place="city", where=_CITIES, when=_YEARS),
    "3.4": _FLIGHT_3.format(place="city", where=_CITIES, when="d_yearmonth = 'Dec1997'"),
    "4.1": _FLIGHT_4.format(by="c_nation", where="s_region = 'AMERICA' AND p_mfgr IN ('MFGR#1', 'MFGR#2')"),
    "4.2": _FLIGHT_4.format(
        by="s_nation, p_category", where=f"s_region = 'AMERICA' AND p_mfgr IN ('MFGR#1', 'MFGR#2') AND {_LATE}"
    ),
    "4.3": _FLIGHT_4.format(by="s_city, p_brand1", where=f"s_nation = 'UNITED STATES' AND p_category = 'MFGR#14' AND {_LATE}"),
}


def star_tables() -> dict[str, Path]:
    """The files of all tables, generated if they are not there."""
    return kept_tables(f"star-{VERSION}", generate)


def generate(seed: int = 5) -> dict[str, pa.Table]:
    """All tables by name; the same for the same seed."""
    random = np.random.default_rng(seed)
    first = datetime.date(1992, 1, 1)
    days = [first + datetime.timedelta(day) for day in range((datetime.date(1998, 12, 31) - first).days + 1)]
    keys = np.array([day.year * 10_000 + day.month * 100 + day.day for day in days])
    price = random.integers(90_000, 1_100_000, _LINES)
    quantity, discount = random.integers(1, 51, _LINES), random.integers(0, 11, _LINES)
    return {
        "dates": pa.table(
            {
                "d_datekey": keys,
                "d_year": [day.year for day in days],
                "d_yearmonthnum": [day.year * 100 + day.month for day in days],
                "d_yearmonth": [f"{_MONTHS[day.month - 1]}{day.year}" for day in days],
                "d_weeknuminyear": [(day.timetuple().tm_yday - 1) // 7 + 1 for day in days],
            }
        ),
        "customer": _places("c", _CUSTOMERS, random),
        "supplier": _places("s", _SUPPLIERS, random),
        "part": _parts(random),
        "lineorder": pa.table(
            {
                "lo_orderkey": np.arange(_LINES) // 4 + 1,
                "lo_custkey": random.integers(1, _CUSTOMERS + 1, _LINES),
                "lo_partkey": random.integers(1, _PARTS + 1, _LINES),
                "lo_suppkey": random.integers(1, _SUPPLIERS + 1, _LINES),
                "lo_orderdate": keys[random.integers(0, len(keys) - 151, _LINES)],
                "lo_quantity": quantity,
                "lo_extendedprice": price * quantity,
                "lo_discount": discount,
                "lo_revenue": price * quantity * (100 - discount) // 100,
                "lo_supplycost": price * 6 // 10,
            }
        ),
    }


def _places(prefix: str, rows: int, random: np.random.Generator) -> pa.Table:
    """Customers (prefix c) or suppliers (s): a city is the first nine letters of its nation and a digit."""
    nations = [(region, nation) for region, names in _NATIONS.items() for nation in names]
    drawn = [nations[i] for i in random.integers(0, len(nations), rows)]
    cities = [f"{nation[:9]:<9}{digit}" for (_, nation), digit in zip(drawn, random.integers(0, 10, rows), strict=True)]
    return pa.table(
        {
            {"c": "c_custkey", "s": "s_suppkey"}[prefix]: np.arange(1, rows + 1),
            f"{prefix}_city": cities,
            f"{prefix}_nation": [nation for _, nation in drawn],
            f"{prefix}_region": [region for region, _ in drawn],
        }
    )


def _parts(random: np.random.Generator) -> pa.Table:
    """Five manufacturers with five categories each, with 40 brands each."""
    maker, category, brand = random.integers(1, 6, _PARTS), random.integers(1, 6, _PARTS), random.integers(1, 41, _PARTS)
    categories = [f"MFGR#{m}{c}" for m, c in zip(maker, category, strict=True)]
    return pa.table(
        {
            "p_partkey": np.arange(1, _PARTS + 1),
            "p_mfgr": [f"MFGR#{m}" for m in maker],
            "p_category": categories,
            "p_brand1": [f"{c}{b}" for c, b in zip(categories, brand, strict=True)],
        }
    )

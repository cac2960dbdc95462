"""Parameters drawn by seed: the ranges of clauses 2.4.x.3, all of them reached, the same for ever, and known to the data."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from importlib.resources import files
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tpch import parameters as module
from tpch.generate import table_files
from tpch.parameters import parameters, q11_fraction
from tpch.queries import NUMBERS, query

SEEDS = range(3000)
ONE = Decimal(1)

JANUARIES = {f"{year}-01-01" for year in range(1993, 1998)}
MONTHS = [f"{year}-{month:02}-01" for year in range(1993, 1998) for month in range(1, 13)]
BRANDS = {f"Brand#{m}{n}" for m in range(1, 6) for n in range(1, 6)}


def numbers(low: int, high: int) -> set[str]:
    return {str(number) for number in range(low, high + 1)}


def phrases(*syllables: tuple[str, ...]) -> set[str]:
    return {" ".join(words) for words in product(*syllables)}


RANGES: dict[int, dict[str, set[str]]] = {
    1: {"delta": numbers(60, 120)},
    2: {"size": numbers(1, 50), "type": set(module.TYPE_SYLLABLES[2]), "region": set(module.REGIONS)},
    3: {"segment": set(module.SEGMENTS), "date": {f"1995-03-{day:02}" for day in range(1, 32)}},
    4: {"date": set(MONTHS[:-2])},
    5: {"region": set(module.REGIONS), "date": JANUARIES},
    6: {"date": JANUARIES, "discount": {f"0.0{cent}" for cent in range(2, 10)}, "quantity": {"24", "25"}},
    7: {"nation1": set(module.NATIONS), "nation2": set(module.NATIONS)},
    8: {"nation": set(module.NATIONS), "region": set(module.REGIONS), "type": phrases(*module.TYPE_SYLLABLES)},
    9: {"color": set(module.COLORS)},
    10: {"date": set(MONTHS[1:25])},
    11: {"nation": set(module.NATIONS), "fraction": {"0.0001"}},
    12: {"shipmode1": set(module.SHIP_MODES), "shipmode2": set(module.SHIP_MODES), "date": JANUARIES},
    13: {
        "word1": {"special", "pending", "unusual", "express"},
        "word2": {"packages", "requests", "accounts", "deposits"},
    },
    14: {"date": set(MONTHS)},
    15: {"date": set(MONTHS[:-2])},
    16: {"brand": BRANDS, "type": phrases(*module.TYPE_SYLLABLES[:2])}
    | {f"size{place}": numbers(1, 50) for place in range(1, 9)},
    17: {"brand": BRANDS, "container": phrases(*module.CONTAINER_SYLLABLES)},
    18: {"quantity": numbers(312, 315)},
    19: {"quantity1": numbers(1, 10), "quantity2": numbers(10, 20), "quantity3": numbers(20, 30)}
    | {f"brand{place}": BRANDS for place in (1, 2, 3)},
    20: {"color": set(module.COLORS), "date": JANUARIES, "nation": set(module.NATIONS)},
    21: {"nation": set(module.NATIONS)},
    22: {f"i{place}": numbers(10, 34) for place in range(1, 8)},
}


@pytest.mark.parametrize("number", NUMBERS)
def test_the_whole_range_is_drawn_and_nothing_else(number: int) -> None:
    reached: dict[str, set[str]] = {}
    for seed in SEEDS:
        for name, value in parameters(number, ONE, seed).items():
            reached.setdefault(name, set()).add(value)
    assert reached == RANGES[number]


@pytest.mark.parametrize("number", NUMBERS)
def test_each_parameter_has_its_place_in_the_text(number: int) -> None:
    template = (files("tpch") / "queries" / f"q{number:02}.sql").read_text(encoding="utf-8")
    assert set(re.findall(r":(\w+)", template)) == set(parameters(number, ONE)) == set(parameters(number, ONE, 0))
    for seed in (None, 0, 1):
        assert ":" not in query(number, ONE, seed).text


def test_draws_are_uniform() -> None:
    counts = Counter(parameters(9, ONE, seed)["color"] for seed in range(9200))
    expected = 9200 / len(module.COLORS)
    chi_square = sum((counts[color] - expected) ** 2 / expected for color in module.COLORS)
    assert 50 < chi_square < 146  # 91 degrees of freedom: outside of it once in 10,000 generators


def test_parameters_that_must_differ_do() -> None:
    for seed in SEEDS:
        for number, prefix in ((7, "nation"), (12, "shipmode"), (16, "size"), (22, "i")):
            values = [value for name, value in parameters(number, ONE, seed).items() if re.fullmatch(rf"{prefix}\d", name)]
            assert len(set(values)) == len(values) > 1
        drawn = parameters(8, ONE, seed)
        assert module.REGION_OF_NATION[drawn["nation"]] == drawn["region"]


def test_a_seed_means_the_same_for_ever() -> None:
    assert parameters(3, ONE, 1) == {"segment": "MACHINERY", "date": "1995-03-24"}
    assert parameters(7, ONE, 20261130) == {"nation1": "INDONESIA", "nation2": "MOROCCO"}
    assert list(parameters(22, ONE, 0).values()) == ["34", "24", "29", "16", "18", "17", "20"]
    assert parameters(5, ONE, 1) != parameters(5, ONE, 2)


def test_the_validation_values_are_the_default() -> None:
    assert parameters(2, ONE) == {"size": "15", "type": "BRASS", "region": "EUROPE"}
    assert parameters(18, ONE) == {"quantity": "300"}
    parameters(2, ONE)["size"] = "changed by a caller"
    assert parameters(2, ONE)["size"] == "15"
    with pytest.raises(ValueError, match="no query 0"):
        parameters(0, ONE)


def test_the_threshold_of_q11_follows_the_scale_factor() -> None:
    assert parameters(11, Decimal(10))["fraction"] == parameters(11, Decimal(10), 3)["fraction"] == "0.00001"
    assert q11_fraction(Decimal("0.1")) == "0.001"
    assert q11_fraction(Decimal(3)) == "0.0000333333"
    assert q11_fraction(Decimal("0.01")) == "0.01"


def test_the_lists_are_those_of_the_data(small_data: Path) -> None:
    def values(table: str, column: str) -> list:
        return [value for path in table_files(small_data, table) for value in pq.read_table(path)[column].to_pylist()]

    assert {color for name in values("part", "p_name") for color in name.split()} == set(module.COLORS)
    assert set(values("part", "p_type")) == phrases(*module.TYPE_SYLLABLES)
    assert set(values("part", "p_container")) == phrases(*module.CONTAINER_SYLLABLES)
    assert set(values("part", "p_brand")) == BRANDS
    assert set(values("customer", "c_mktsegment")) == set(module.SEGMENTS)
    assert set(values("lineitem", "l_shipmode")) == set(module.SHIP_MODES)
    assert {phone[:2] for phone in values("customer", "c_phone")} == set(module.COUNTRY_CODES)
    regions = values("region", "r_name")
    assert regions == list(module.REGIONS)
    nations = zip(values("nation", "n_name"), values("nation", "n_regionkey"), strict=True)
    assert {nation: regions[int(region)] for nation, region in nations} == dict(module.REGION_OF_NATION)

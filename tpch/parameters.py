"""The substitution parameters of the 22 queries: the validation values, or values drawn by seed.

The validation values and the ranges are those of the specification (clauses 2.4.1 to 2.4.22, lists of values in 4.2.2.13
and 4.2.3). Every drawn value is uniform over its range and independent of the others, except where the clause demands
different values, or the region of a nation.

The generator is SHA-256 in counter mode: number i of a query is the first eight bytes, big-endian, of the digest of the
text `seed/query/i`, taken modulo the size of the range unless that would favour its beginning. So a seed gives the same
parameters in every version of Python and on every machine, and for a query whichever others are drawn beside it. They
are not those of qgen, whose generator is another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import count
from types import MappingProxyType

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")

REGION_OF_NATION: Mapping[str, str] = MappingProxyType(
    {
        "ALGERIA": "AFRICA",
        "ARGENTINA": "AMERICA",
        "BRAZIL": "AMERICA",
        "CANADA": "AMERICA",
        "EGYPT": "MIDDLE EAST",
        "ETHIOPIA": "AFRICA",
        "FRANCE": "EUROPE",
        "GERMANY": "EUROPE",
        "INDIA": "ASIA",
        "INDONESIA": "ASIA",
        "IRAN": "MIDDLE EAST",
        "IRAQ": "MIDDLE EAST",
        "JAPAN": "ASIA",
        "JORDAN": "MIDDLE EAST",
        "KENYA": "AFRICA",
        "MOROCCO": "AFRICA",
        "MOZAMBIQUE": "AFRICA",
        "PERU": "AMERICA",
        "CHINA": "ASIA",
        "ROMANIA": "EUROPE",
        "SAUDI ARABIA": "MIDDLE EAST",
        "VIETNAM": "ASIA",
        "RUSSIA": "EUROPE",
        "UNITED KINGDOM": "EUROPE",
        "UNITED STATES": "AMERICA",
    }
)
NATIONS = tuple(REGION_OF_NATION)

SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")

SHIP_MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")

TYPE_SYLLABLES = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)

CONTAINER_SYLLABLES = (
    ("SM", "LG", "MED", "JUMBO", "WRAP"),
    ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
)

# The first two digits of a phone number: ten plus the key of the nation (clause 4.2.2.9).
COUNTRY_CODES = tuple(str(10 + key) for key in range(len(NATIONS)))

_WORDS_OF_PART_NAMES = """
almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse chiffon
chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted gainsboro ghost
goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium
metallic midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder puff
purple red rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle tomato
turquoise violet wheat white yellow
"""
COLORS = tuple(_WORDS_OF_PART_NAMES.split())

_VALIDATION: dict[int, dict[str, str]] = {
    1: {"delta": "90"},
    2: {"size": "15", "type": "BRASS", "region": "EUROPE"},
    3: {"segment": "BUILDING", "date": "1995-03-15"},
    4: {"date": "1993-07-01"},
    5: {"region": "ASIA", "date": "1994-01-01"},
    6: {"date": "1994-01-01", "discount": "0.06", "quantity": "24"},
    7: {"nation1": "FRANCE", "nation2": "GERMANY"},
    8: {"nation": "BRAZIL", "region": "AMERICA", "type": "ECONOMY ANODIZED STEEL"},
    9: {"color": "green"},
    10: {"date": "1993-10-01"},
    11: {"nation": "GERMANY"},
    12: {"shipmode1": "MAIL", "shipmode2": "SHIP", "date": "1994-01-01"},
    13: {"word1": "special", "word2": "requests"},
    14: {"date": "1995-09-01"},
    15: {"date": "1996-01-01"},
    16: {"brand": "Brand#45", "type": "MEDIUM POLISHED"}
    | {f"size{place}": size for place, size in enumerate(("49", "14", "23", "45", "19", "3", "36", "9"), start=1)},
    17: {"brand": "Brand#23", "container": "MED BOX"},
    18: {"quantity": "300"},
    19: {"quantity1": "1", "quantity2": "10", "quantity3": "20"}
    | {"brand1": "Brand#12", "brand2": "Brand#23", "brand3": "Brand#34"},
    20: {"color": "forest", "date": "1994-01-01", "nation": "CANADA"},
    21: {"nation": "SAUDI ARABIA"},
    22: {f"i{place}": code for place, code in enumerate(("13", "31", "23", "29", "30", "18", "17"), start=1)},
}


def parameters(number: int, scale_factor: Decimal, seed: int | None = None) -> dict[str, str]:
    """The parameters of query `number` by their names in its text: drawn by `seed`, or the validation values for None.

    Raises ValueError: there is no such query.
    """
    if number not in _VALIDATION:
        raise ValueError(f"there is no query {number}: TPC-H has queries 1 to 22")
    values = dict(_VALIDATION[number]) if seed is None else _RULES[number](_Random(seed, number))
    if number == 11:
        values["fraction"] = q11_fraction(scale_factor)
    return values


def q11_fraction(scale_factor: Decimal) -> str:
    """0.0001 / scale factor (clause 2.4.11.3), as a decimal literal of at most ten places."""
    fraction = (Decimal("0.0001") / scale_factor).quantize(Decimal("1e-10"), ROUND_HALF_EVEN)
    return f"{fraction.normalize():f}"


class _Random:
    """The random choices of one query under one seed, each as the text that goes into the query."""

    def __init__(self, seed: int, query: int):
        self._digests = (hashlib.sha256(f"{seed}/{query}/{place}".encode()).digest() for place in count())

    def number(self, low: int, high: int) -> str:
        """An integer from `low` to `high`, both included."""
        return str(low + self._below(high - low + 1))

    def one_of(self, values: Sequence[str]) -> str:
        return values[self._below(len(values))]

    def different(self, values: Sequence[str], size: int) -> list[str]:
        """`size` values, none of them twice, in random order."""
        left = list(values)
        return [left.pop(self._below(len(left))) for _ in range(size)]

    def brand(self) -> str:
        return f"Brand#{self.number(1, 5)}{self.number(1, 5)}"

    def phrase(self, syllables: Sequence[Sequence[str]]) -> str:
        return " ".join(self.one_of(values) for values in syllables)

    def january(self) -> str:
        """The first day of a year from 1993 to 1997."""
        return f"{self.number(1993, 1997)}-01-01"

    def month(self, first: tuple[int, int], last: tuple[int, int]) -> str:
        """The first day of a month from `first` to `last`, both (year, month) and included."""
        months = range(12 * first[0] + first[1] - 1, 12 * last[0] + last[1])
        year, month = divmod(months[self._below(len(months))], 12)
        return f"{year}-{month + 1:02}-01"

    def _below(self, size: int) -> int:
        fair = 2**64 - 2**64 % size
        for digest in self._digests:
            value = int.from_bytes(digest[:8], "big")
            if value < fair:
                return value % size
        raise AssertionError("the generator has no end")


def _q08(random: _Random) -> dict[str, str]:
    nation = random.one_of(NATIONS)
    return {"nation": nation, "region": REGION_OF_NATION[nation], "type": random.phrase(TYPE_SYLLABLES)}


def _numbered(name: str, values: Sequence[str]) -> dict[str, str]:
    return {f"{name}{place}": value for place, value in enumerate(values, start=1)}


_RULES: dict[int, Callable[[_Random], dict[str, str]]] = {
    1: lambda random: {"delta": random.number(60, 120)},
    2: lambda random: {
        "size": random.number(1, 50),
        "type": random.one_of(TYPE_SYLLABLES[2]),
        "region": random.one_of(REGIONS),
    },
    3: lambda random: {"segment": random.one_of(SEGMENTS), "date": f"1995-03-{int(random.number(1, 31)):02}"},
    4: lambda random: {"date": random.month((1993, 1), (1997, 10))},
    5: lambda random: {"region": random.one_of(REGIONS), "date": random.january()},
    6: lambda random: {
        "date": random.january(),
        "discount": f"0.0{random.number(2, 9)}",
        "quantity": random.number(24, 25),
    },
    7: lambda random: _numbered("nation", random.different(NATIONS, 2)),
    8: _q08,
    9: lambda random: {"color": random.one_of(COLORS)},
    10: lambda random: {"date": random.month((1993, 2), (1995, 1))},
    11: lambda random: {"nation": random.one_of(NATIONS)},
    12: lambda random: _numbered("shipmode", random.different(SHIP_MODES, 2)) | {"date": random.january()},
    13: lambda random: {
        "word1": random.one_of(("special", "pending", "unusual", "express")),
        "word2": random.one_of(("packages", "requests", "accounts", "deposits")),
    },
    14: lambda random: {"date": random.month((1993, 1), (1997, 12))},
    15: lambda random: {"date": random.month((1993, 1), (1997, 10))},
    16: lambda random: (
        {"brand": random.brand(), "type": random.phrase(TYPE_SYLLABLES[:2])}
        | _numbered("size", random.different([str(size) for size in range(1, 51)], 8))
    ),
    17: lambda random: {"brand": random.brand(), "container": random.phrase(CONTAINER_SYLLABLES)},
    18: lambda random: {"quantity": random.number(312, 315)},
    19: lambda random: (
        _numbered("quantity", [random.number(low, high) for low, high in ((1, 10), (10, 20), (20, 30))])
        | _numbered("brand", [random.brand() for _ in range(3)])
    ),
    20: lambda random: {
        "color": random.one_of(COLORS),
        "date": random.january(),
        "nation": random.one_of(NATIONS),
    },
    21: lambda random: {"nation": random.one_of(NATIONS)},
    22: lambda random: _numbered("i", random.different(COUNTRY_CODES, 7)),
}

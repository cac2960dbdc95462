"""The 22 queries: their texts, and what their ORDER BY and LIMIT mean for an answer.

The texts are written out from the specification (clause 2.4), one file each below `queries/`, with a place such as `:date`
for each parameter. Two things differ from its letter: Q15 has its view as a common table expression, as in the approved
variant A of Appendix B, and "first n rows" is LIMIT n.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files

from tpch.parameters import parameters
from tpch.same_answer import SortKey

NUMBERS = tuple(range(1, 23))

# The sort keys by position in the output, as (column, descending); no query states an order of NULLs.
_ORDER_BY: dict[int, tuple[tuple[int, bool], ...]] = {
    1: ((0, False), (1, False)),
    2: ((0, True), (2, False), (1, False), (3, False)),
    3: ((1, True), (2, False)),
    4: ((0, False),),
    5: ((1, True),),
    6: (),
    7: ((0, False), (1, False), (2, False)),
    8: ((0, False),),
    9: ((0, False), (1, True)),
    10: ((2, True),),
    11: ((1, True),),
    12: ((0, False),),
    13: ((1, True), (0, True)),
    14: (),
    15: ((0, False),),
    16: ((3, True), (0, False), (1, False), (2, False)),
    17: (),
    18: ((4, True), (3, False)),
    19: (),
    20: ((0, False),),
    21: ((1, True), (0, False)),
    22: ((0, False),),
}

_LIMITS = {2: 100, 3: 10, 10: 20, 18: 100, 21: 100}


@dataclass(frozen=True, slots=True)
class Query:
    """One query with its parameters. `text` ends in LIMIT where `limit` is not None; `uncut_text` never does."""

    number: int
    text: str
    uncut_text: str
    order_by: tuple[SortKey, ...]
    limit: int | None

    @property
    def name(self) -> str:
        """`Q1` to `Q22`."""
        return f"Q{self.number}"


@cache
def query(number: int, scale_factor: Decimal = Decimal(1), seed: int | None = None) -> Query:
    """The query of that number (1 to 22) for `scale_factor`, with parameters drawn by `seed`, or the validation values.

    Raises ValueError: there is no such query.
    """
    values = parameters(number, scale_factor, seed)
    template = (files("tpch") / "queries" / f"q{number:02}.sql").read_text(encoding="utf-8").strip()
    text = re.sub(r":([a-z]+[0-9]?)", lambda place: values[place[1]], template)
    limit = _LIMITS.get(number)
    uncut = text if limit is None else re.sub(rf"\s+limit {limit}$", "", text)
    keys = tuple((column, descending, True) for column, descending in _ORDER_BY[number])
    return Query(number, text, uncut, keys, limit)


def parse_numbers(text: str) -> tuple[int, ...]:
    """Query numbers from text such as `1,3,18` or `1-6,18`, in the order given, without repetitions.

    Raises ValueError: not a list of numbers from 1 to 22.
    """
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*[qQ]?(\d{1,2})(?:-(\d{1,2}))?\s*", part)
        if match is None:
            raise ValueError(f"queries are given as 1,3,18 or 1-6, not as {text!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise ValueError(f"a range of queries begins with the smaller number, unlike {part.strip()}")
        if first not in NUMBERS or last not in NUMBERS:
            raise ValueError(f"there is no query {part.strip()}: TPC-H has queries 1 to 22")
        numbers.extend(range(first, last + 1))
    return tuple(dict.fromkeys(numbers))

"""SQL text that is nearly right: seeded mutations of queries that are."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

from tests.harness.corpus import EVERY_CONSTRUCT, IN_SEQUENCE
from tests.harness.random_queries import random_query
from tpch.queries import NUMBERS, query

BINDER = Path(__file__).resolve().parents[1] / "golden" / "binder.txt"

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\s+|[<>|:=!]{2}|.", re.S)
_KEYWORDS = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET JOIN LEFT RIGHT FULL CROSS NATURAL SEMI ANTI ON USING UNION ALL INTERSECT
EXCEPT DISTINCT AS WITH RECURSIVE CASE WHEN THEN ELSE END AND OR NOT NULL IS IN EXISTS BETWEEN LIKE ILIKE ESCAPE CAST TRY_CAST
INTERVAL DATE TIMESTAMP EXTRACT YEAR DAY OVER PARTITION ROWS RANGE UNBOUNDED PRECEDING CURRENT ROW FILTER QUALIFY WINDOW
VALUES LATERAL UNNEST PIVOT ARRAY STRUCT MAP ANY SOME TRUE FALSE DECIMAL VARCHAR INTEGER DOUBLE BOOLEAN ASC DESC NULLS
"""
_FUNCTIONS = """
count sum avg min max coalesce nullif substring upper round floor lag row_number date_trunc greatest concat strftime abs
"""
_PUNCTUATION = "( ) [ ] { } , . ; : ? @ # $ ~ ! :: -> ->> := => .. -- /* */ ' \" `"
_WORDS, _CALLED, _SIGNS = (tuple(text.split()) for text in (_KEYWORDS, _FUNCTIONS, _PUNCTUATION))
_OPERATORS = ("+", "-", "*", "/", "//", "%", "=", "<>", "<", ">=", "||", "^", "&", "|", "**")
_VALUES = (
    "0", "1", "-1", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e308", "1e400",
    "0.1", "1.", ".5", "9" * 38, "9" * 39, "9" * 400, "0x1F", "1_000", "'nan'::DOUBLE", "'inf'::DOUBLE", "NULL", "''", "'%'",
    "'1994-02-30'", "'294247-01-10'", "'0001-01-01 BC'", "'1 day'", "'(a*)*b'", "'\\'", "DATE '2000-01-01'", "x'ff'", "e'\\n'",
    "$1", "?", ":name", "$$text$$", "t.*", "*", "0.1e-400", "²", "x" * 5000,
)  # fmt: skip
_CHARACTERS = (
    "\0\x01\x1b\x7f\x85\xa0\xad\r\n\t\u200b\u200d\u200f\u202e\u2028\u2029\ufeff\ufffd\uffff\ud800\udfff"
    "\U0001f600\U0001f1e9\u0301éßİıſΣ漢字אب٣²½"
)


@cache
def corpus() -> tuple[str, ...]:
    """The queries of TPC-H, of the binder's golden file, and of the harness; all are right."""
    blocks = BINDER.read_text(encoding="utf-8").split("\n\n")
    golden = [block.partition("\n----\n")[0].strip() for block in blocks if block.strip()]
    return (*(query(number).text for number in NUMBERS), *golden, *EVERY_CONSTRUCT, *IN_SEQUENCE)


def mutated(seed: int) -> str:
    """A query with one to five mutations of tokens or characters."""
    dice = random.Random(seed)
    text = dice.choice(corpus()) if dice.random() < 0.6 else random_query(seed).text
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 5))):
        change = dice.choices((_exchange, _of_tokens, _of_characters), (6, 2, 1))[0]
        text = change(text, dice)
    return text


def _kind(token: str) -> str:
    if token[0].isdigit() or token[0] == "'":
        return "value"
    if token.upper() in _WORDS:
        return "keyword"
    return "name" if token[0].isalpha() else "operator" if token in _OPERATORS else "sign"


def _exchange(text: str, dice: random.Random) -> str:
    """One token replaced by another one of its kind, so that the text often remains SQL."""
    tokens = _TOKEN.findall(text)
    places = [at for at, token in enumerate(tokens) if not token.isspace() and _kind(token) not in ("sign", "keyword")]
    if not places:
        return text
    at = dice.choice(places)
    kind = _kind(tokens[at])
    others = {"operator": _OPERATORS, "value": _VALUES, "name": _CALLED}[kind]
    same = [token for token in tokens if not token.isspace() and _kind(token) == kind]
    tokens[at] = dice.choice(same) if dice.random() < 0.6 else dice.choice(others)
    return "".join(tokens)


def _of_tokens(text: str, dice: random.Random) -> str:
    tokens = _TOKEN.findall(text) or [""]
    words = [at for at, token in enumerate(tokens) if not token.isspace()] or [0]
    at, other = dice.choice(words), dice.choice(words)
    low, high = min(at, other), min(max(at, other), min(at, other) + 12)
    match dice.randrange(11):
        case 0:
            del tokens[at]
        case 1:
            tokens[at:at] = [tokens[at], " "]
        case 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 3:
            tokens[at] = _any_token(dice)
        case 4:
            tokens[at:at] = [_any_token(dice), " "]
        case 5:
            del tokens[low:high]
        case 6:
            tokens[low:high] = [*tokens[low:high], " "] * dice.choice((2, 3, 40))
        case 7:
            tokens[at] = tokens[other]
        case 8:
            donor = _TOKEN.findall(dice.choice(corpus()))
            start = dice.randrange(len(donor))
            tokens[at:at] = [" ", *donor[start : start + dice.randrange(1, 30)], " "]
        case 9:
            tokens[at] = f"({tokens[at]})" if dice.random() < 0.5 else f"{dice.choice(_WORDS)}({tokens[at]})"
        case _:
            tokens = tokens[:at] if dice.random() < 0.5 else tokens[at:]
    return "".join(tokens)


def _any_token(dice: random.Random) -> str:
    return dice.choice(dice.choice((_WORDS, _CALLED, _OPERATORS, _SIGNS, _VALUES)))


def _of_characters(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    match dice.randrange(4):
        case 0:
            return text[:at] + dice.choice(_CHARACTERS) * dice.choice((1, 1, 3, 1000)) + text[at:]
        case 1:
            return text[:at] + text[at + 1 :]
        case 2:
            return text[:at] + dice.choice(_CHARACTERS) + text[at + 1 :]
        case _:
            data = bytearray(text, "utf-8", "surrogatepass") or bytearray(b" ")
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            return data.decode("utf-8", dice.choice(("replace", "surrogateescape")))

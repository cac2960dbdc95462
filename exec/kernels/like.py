"""LIKE: patterns to the cheapest test that decides them."""

from __future__ import annotations

import re
from functools import lru_cache

import polars as pl

from exec.kernels.aligned import aligned
from exec.kernels.failure import failure

ANY = "%"
ONE = "_"


@lru_cache(maxsize=256)
def tokens(pattern: str, escape: str) -> tuple[tuple[str, bool], ...]:
    """The pattern as (text, is_wildcard) parts: runs of plain text, and single wildcards; several % in a row are one.

    Raises CAST_FAILED for a pattern that ends with its escape character.
    """
    parts: list[tuple[str, bool]] = []
    plain: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        position += 1
        if escape and character == escape:
            if position == len(pattern):
                raise failure(
                    "CAST_FAILED", value=f"{pattern!r}, which ends with its escape character,", dtype="a LIKE pattern"
                )
            plain.append(pattern[position])
            position += 1
        elif character in (ANY, ONE):
            if plain:
                parts.append(("".join(plain), False))
                plain = []
            if character == ONE or parts[-1:] != [(ANY, True)]:
                parts.append((character, True))
        else:
            plain.append(character)
    if plain:
        parts.append(("".join(plain), False))
    return tuple(parts)


def like(text: pl.Expr, pattern: str, escape: str) -> pl.Expr:
    """Whether the whole text matches a constant pattern."""
    parts = tokens(pattern, escape)
    if not parts:
        return text == pl.lit("")
    if (ONE, True) not in parts:
        kinds = "".join(ANY if wild else "x" for _, wild in parts)
        literals = [part for part, wild in parts if not wild]
        match kinds:
            case "x":
                return text == pl.lit(literals[0])
            case "%":
                return text.is_not_null() | pl.lit(None, dtype=pl.Boolean())
            case "x%":
                return text.str.starts_with(literals[0])
            case "%x":
                return text.str.ends_with(literals[0])
            case "%x%":
                return text.str.contains(literals[0], literal=True)
            case "x%x":
                # The two ends must not overlap.
                least = len((literals[0] + literals[1]).encode())
                ends = text.str.starts_with(literals[0]) & text.str.ends_with(literals[1])
                return ends & (text.str.len_bytes() >= least)
    return text.str.contains(regex(pattern, escape))


def regex(pattern: str, escape: str) -> str:
    """The pattern as an anchored regular expression in which a wildcard matches line ends as well."""
    pieces = []
    for part, wild in tokens(pattern, escape):
        pieces.append((".*" if part == ANY else ".") if wild else _quoted(part))
    # A leading or trailing .* only costs time in a search.
    body = "".join(pieces)
    start = "" if body.startswith(".*") else r"\A"
    end = "" if body.endswith(".*") else r"\z"
    body = body.removeprefix(".*") if not start else body
    return f"(?s){start}{body.removesuffix('.*') if not end else body}{end}"


def _quoted(text: str) -> str:
    """Every character that has a meaning in a regular expression, with a backslash."""
    return re.sub(r"([\\.+*?()|\[\]{}^$#&\-~])", r"\\\1", text)


def like_columns(texts: pl.Series, patterns: pl.Series, escape: str) -> pl.Series:
    """Row by row, for patterns that are not known when the query is planned; either operand may be a single value."""
    results: list[bool | None] = []
    compiled: dict[str, re.Pattern[str]] = {}
    texts, patterns = aligned(texts, patterns)
    for text, pattern in zip(texts, patterns, strict=True):
        if text is None or pattern is None:
            results.append(None)
            continue
        if pattern not in compiled:
            pieces = [(".*" if part == ANY else ".") if wild else re.escape(part) for part, wild in tokens(pattern, escape)]
            compiled[pattern] = re.compile("".join(pieces), re.DOTALL)
        results.append(compiled[pattern].fullmatch(text) is not None)
    return pl.Series(texts.name, results, dtype=pl.Boolean)

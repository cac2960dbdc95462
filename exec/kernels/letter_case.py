"""Upper and lower case, one character for one character as DuckDB maps them (no ß to SS, no final sigma)."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

_UPPER = {"ß": "ẞ"}
_LOWER = {"İ": "i"}


def upper(texts: pl.Series) -> pl.Series:
    return _mapped(texts, texts.str.to_uppercase(), _upper_text)


def lower(texts: pl.Series) -> pl.Series:
    return _mapped(texts, texts.str.to_lowercase(), _lower_text)


def _mapped(texts: pl.Series, simple: pl.Series, function: Callable[[str], str]) -> pl.Series:
    """Polars' mapping, corrected where there are characters beyond ASCII."""
    foreign = texts.str.contains(r"[^\x00-\x7F]").fill_null(False)
    if not foreign.any():
        return simple
    found = texts.filter(foreign).unique()
    replaced = pl.Series([function(text) for text in found], dtype=pl.String)
    return texts.set(~foreign, None).replace_strict(found, replaced, default=None).fill_null(simple)


def _upper_text(text: str) -> str:
    return "".join(_UPPER.get(letter) or _single(letter, letter.upper()) for letter in text)


def _lower_text(text: str) -> str:
    return "".join(_LOWER.get(letter) or _single(letter, letter.lower()) for letter in text)


def _single(letter: str, mapped: str) -> str:
    return mapped if len(mapped) == 1 else letter

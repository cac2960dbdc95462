"""Functions of regular expressions. Pattern and options are literals."""

from __future__ import annotations

from typing import Any

import polars as pl

from exec.kernels.regular_expressions import replacement, translated, whole
from exec.lower.expressions import Guard, Lowering
from planner.errors import error
from planner.expr.nodes import Call, Literal


def regexp_matches(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    values = _constants(call)
    if values is None:
        return pl.lit(None, dtype=pl.Boolean())
    return low.lower(call.arguments[0], guard).str.contains(_compiled(translated(*values)))


def regexp_full_match(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    values = _constants(call)
    if values is None:
        return pl.lit(None, dtype=pl.Boolean())
    options = values[1] if len(values) > 1 else ""
    flags_apart = translated(values[0], options)
    return low.lower(call.arguments[0], guard).str.contains(_compiled(whole(flags_apart)))


def regexp_replace(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """The first match, or with the option g all of them."""
    values = _constants(call)
    if values is None:
        return pl.lit(None, dtype=pl.String())
    options = values[2] if len(values) > 2 else ""
    pattern, new = _compiled(translated(values[0], options)), replacement(values[1])
    text = low.lower(call.arguments[0], guard)
    return text.str.replace_all(pattern, new) if "g" in options else text.str.replace(pattern, new)


def regexp_extract(low: Lowering, call: Call, guard: Guard) -> pl.Expr:
    """A group of the first match; nothing, but not NULL, where there is none."""
    values = _constants(call)
    if values is None:
        return pl.lit(None, dtype=pl.String())
    group = values[1] if len(values) > 1 else 0
    options = values[2] if len(values) > 2 else ""
    text = low.lower(call.arguments[0], guard)
    found = text.str.extract(_compiled(translated(values[0], options)), int(group)).fill_null("")
    return pl.when(text.is_not_null()).then(found)


def _constants(call: Call) -> list[Any] | None:
    """The values of all arguments but the first; None if one is NULL."""
    values = [argument.value for argument in call.arguments[1:] if isinstance(argument, Literal)]
    if len(values) < len(call.arguments) - 1:
        raise error("UNSUPPORTED", what="a regular expression that is not constant")
    return None if None in values else values


def _compiled(pattern: str) -> str:
    """The pattern, tried out. Raises INVALID_ARGUMENT for one that is none."""
    try:
        pl.select(pl.lit("").str.contains(pattern))
    except pl.exceptions.PolarsError:
        raise error("INVALID_ARGUMENT", name="a regular expression", value=repr(pattern)) from None
    return pattern

"""Parameters of a statement: `?` (the next number), `$1`, and names, `$name` or, in dialects that have it, `:name`.

Decision: a parameter is bound as a constant of its value, so the plan is the best one for it, and nothing after the binder knows
parameters. A plan for all values would save the 4 ms of planning and pay with estimates that know no value; the plan cache
saves them where values repeat.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlglot import exp

from planner.errors import Position, error, nearest
from planner.expr.nodes import Literal
from planner.sql.placeholders import constant, content_of

Parameters = Sequence[Any] | Mapping[str, Any]
"""Values by place or by name."""


def parameter_names(statement: exp.Expr) -> tuple[str, ...]:
    """The parameters of a statement, each once, numbers first."""
    found = {name for node in statement.find_all(exp.Placeholder, exp.Parameter) if (name := parameter_name(node)) is not None}
    return tuple(sorted(found, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name)))


def parameter_key(given: Parameters) -> tuple[tuple[str, object, object], ...]:
    """What tells apart parameters that are bound apart: 1, 1.0 and True are not the same, nor are 0.0 and -0.0.

    Raises what `parameter_values` raises for a value.
    """
    constants = ((str(name), constant(value)) for name, value in parameter_items(given))
    return tuple((name, c.dtype, c.value.hex() if isinstance(c.value, float) else c.value) for name, c in constants)


def parameter_values(statement: exp.Expr, given: Parameters) -> dict[str, Literal]:
    """The given values as constants, by the names of the statement's parameters.

    Raises UNKNOWN_PARAMETER for a value that no parameter of the statement has, MISSING_PARAMETER for one without a value,
    INVALID_LITERAL for a value of a type that no constant has.
    """
    names = parameter_names(statement)
    values = {str(name): value for name, value in parameter_items(given)}
    for name in values:
        if name not in names:
            raise error("UNKNOWN_PARAMETER", name=written(name), nearest=nearest(name, names))
    for name in names:
        if name not in values:
            raise error("MISSING_PARAMETER", name=written(name))
    return {name: constant(value) for name, value in values.items()}


def parameter_items(given: Parameters) -> Iterable[tuple[Any, Any]]:
    """Names or places with values. Raises INVALID_SETTING for what is neither a list nor a dict."""
    if isinstance(given, Mapping):
        return given.items()
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return enumerate(given, start=1)
    raise error("INVALID_SETTING", name="parameters", expected="a list of values, or a dict of values by name", given=given)


def parameter_name(node: exp.Expr) -> str | None:
    """The name of a parameter; None for a placeholder that holds something."""
    return None if content_of(node) is not None else node.name


def parameter_position(text: str, name: str) -> Position | None:
    """Where a parameter is in the text, which the syntax tree does not tell; for a number that may be the sign in its place."""
    found = re.search(rf"[$:@]{re.escape(name)}\b", text)
    if found is None and name.isdigit():
        found = next(islice(re.finditer(r"\?", text), int(name) - 1, None), None)
    return Position(text, *found.span()) if found is not None else None


def written(name: str) -> str:
    return f"${name}" if name else "?"

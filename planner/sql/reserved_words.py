"""Words that cannot be a name without quotes. sqlglot takes many of them for aliases: the tables of `FROM orders GROUP` too."""

from __future__ import annotations

import re

from sqlglot import exp

from planner.sql.context import BindContext
from planner.sql.positions import text_of

# Begin a clause or join queries, in every dialect.
_CLAUSES = frozenset((
    "and", "as", "case", "else", "end", "except", "from", "group", "having", "in", "intersect", "into", "join", "not",
    "null", "on", "or", "order", "select", "then", "union", "using", "when", "where", "with",
))  # fmt: skip

# DuckDB's and PostgreSQL's reserved words, and those that only a function, a type or a join may begin with.
_RESERVED = _CLAUSES | frozenset((
    "all", "analyse", "analyze", "any", "array", "asc", "asymmetric", "both", "cast", "check", "collate", "column",
    "constraint", "create", "cross", "default", "deferrable", "desc", "describe", "distinct", "do", "false", "fetch", "for",
    "foreign", "full", "grant", "initially", "inner", "is", "lambda", "lateral", "leading", "left", "limit", "natural",
    "offset", "only", "outer", "pivot", "placing", "primary", "qualify", "references", "returning", "right", "show", "some",
    "summarize", "symmetric", "table", "to", "trailing", "true", "unique", "unpivot", "variadic", "window",
))  # fmt: skip

_AFTER_AS = re.compile(r"\bas\s*(?:/\*.*?\*/\s*)*$", re.IGNORECASE | re.DOTALL)


def refuse_reserved_alias(context: BindContext, alias: exp.Expr | None, *, even_after_as: bool) -> None:
    """Refuse a reserved word in the place of an alias. Raises SYNTAX.

    A column's alias may be any word after AS, a table's may not (`even_after_as`).
    """
    if not isinstance(alias, exp.Identifier) or alias.args.get("quoted"):
        return
    words = _RESERVED if context.dialect in ("duckdb", "postgres") else _CLAUSES
    start = alias.meta.get("start")
    if start is None or alias.name.lower() not in words:
        return
    text = text_of(context.text, alias)
    if even_after_as or not _AFTER_AS.search(text[:start]):
        detail = f"unexpected {alias.name!r}"
        if not text[alias.meta["end"] + 1 :].strip(" \t\r\n;"):
            detail = f"something is missing after {alias.name!r}"
        raise context.error("SYNTAX", alias, detail=detail)

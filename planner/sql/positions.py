"""Where a syntax node stands in the query's text.

sqlglot marks identifiers, literals, stars and function names only. The span of any other node is the hull of what it holds; a
node that holds nothing with a mark (NULL, TRUE) takes the span of the node around it.
"""

from __future__ import annotations

import re

from sqlglot import exp

from planner.errors import Position

_SIGNS: dict[type[exp.Expr], str] = {
    exp.Placeholder: r"\?|[$:]\w+", exp.Parameter: r"[$@]\w+", exp.Abs: r"@|\babs\b", exp.PositionalColumn: r"#\d+"
}  # fmt: skip
"""How nodes look that are no words."""

_CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(\s*(?:DISTINCT\s+)?$", re.IGNORECASE)


def position_of(text: str, *nodes: exp.Expr) -> Position | None:
    """The hull of some nodes. Without any mark it is the keyword of the first node if the text has that word once, else None.

    Nodes of SQL fragments have texts of their own; the first one decides in which text the position is.
    """
    if not nodes:
        return None
    text = text_of(text, nodes[0])
    start, end = len(text) + 1, -1
    for node in nodes:
        span = _span(node) if text and text_of(text, node) == text else None
        if span is not None:
            start, end = min(start, _name_start(text, node, span[0])), max(end, span[1])
    if end < 0 or end > len(text):
        return _keyword(text, nodes[0])
    return Position(text, start, _close_parentheses(text, start, end))


def text_of(text: str, node: exp.Expr) -> str:
    """The text that a node comes from: `text`, the query's, unless the node is part of an SQL fragment."""
    return str(node.meta.get("text", text))


def _span(node: exp.Expr) -> tuple[int, int] | None:
    current: exp.Expr | None = node
    text = node.meta.get("text")
    while current is not None and current.meta.get("text") == text:
        start, end = -1, -1
        for part in current.walk():
            meta = part.meta
            if "start" in meta:
                start = meta["start"] if start < 0 else min(start, meta["start"])
                end = max(end, meta["end"] + 1)
        if end >= 0:
            return start, end
        current = current.parent
    return None


def _keyword(text: str, node: exp.Expr) -> Position | None:
    words = {node.key, node.sql_name().lower()} if isinstance(node, exp.Func) else {node.key}
    pattern = _SIGNS.get(type(node)) or rf"\b({'|'.join(map(re.escape, words))})\b"
    found = list(re.finditer(pattern, text, re.IGNORECASE))
    return Position(text, found[0].start(), found[0].end()) if len(found) == 1 else None


def _close_parentheses(text: str, start: int, end: int) -> int:
    """The end of a span after the parentheses that it opens: `sum(x` becomes `sum(x)`."""
    inside = text[start:end]
    missing = inside.count("(") - inside.count(")")
    at = end
    while missing > 0 and at < len(text) and (text[at] == ")" or text[at].isspace()):
        if text[at] == ")":
            missing -= 1
            end = at + 1
        at += 1
    return end


def _name_start(text: str, node: exp.Expr, start: int) -> int:
    """Some functions carry no mark: their name is the word before the parenthesis of the first argument."""
    if not isinstance(node, exp.AggFunc) or "start" in node.meta:
        return start
    before = _CALLED.search(text, 0, start)
    return before.start() if before else start


def function_name(text: str, node: exp.Expr) -> str:
    """The name of a function as the query spells it, else sqlglot's name of it, in lower case."""
    meta, text = node.meta, text_of(text, node)
    if "start" in meta and "end" in meta:
        written = text[meta["start"] : meta["end"] + 1]
        if written.isidentifier():
            return written.lower()
    elif text and (span := _span(node)):
        before = _CALLED.search(text, 0, span[0])
        if before:
            return before.group(1).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else node.key


def written_arguments(text: str, node: exp.Expr) -> str | None:
    """What the query has between the parentheses of a function, with single spaces; None if its place is not known."""
    text = text_of(text, node)
    if not text or (span := _span(node)) is None:
        return None
    meta = node.meta
    opening = text.find("(", meta["end"]) if "start" in meta else text.rfind("(", 0, span[0])
    if opening < 0 or ("start" in meta and text[meta["end"] + 1 : opening].strip()):
        return None
    depth, quote = 0, ""
    for at in range(opening, len(text)):
        character = text[at]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += {"(": 1, ")": -1}.get(character, 0)
            if depth == 0:
                return " ".join(text[opening + 1 : at].split())
    return None

"""Smaller queries that are still wrong, by cutting at the syntax tree.

Each step drops an optional part (a join, a condition, a select item) or puts an operand in place of its operator or a constant
in place of an expression. A step is kept if the verdict stays the same kind of wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import sqlglot
from sqlglot import exp

from tests.harness.random_queries import RandomQuery
from tests.harness.verdict import Kind, Oracle, Run, judge

_DROPPED = ("where", "having", "order", "limit", "offset", "group", "distinct", "joins", "with_")


def reduced(query: RandomQuery, run: Run, oracle: Oracle, attempts: int = 3000) -> RandomQuery:
    """A query that is wrong in the same way and from which nothing more can be cut, within a number of attempts.

    Without ORDER BY in the result if it is not needed; LIMIT goes with it.
    """
    complaint = _complaint(judge(query, run, oracle).detail)
    best = query
    tried: set[str] = set()
    progress = True
    while progress and attempts > 0:
        progress = False
        for text in _smaller(best.text):
            if text in tried or attempts <= 0:
                continue
            tried.add(text)
            attempts -= 1
            candidate = _comparable(best, text)
            if candidate is None:
                continue
            try:
                verdict = judge(candidate, run, oracle)
            except Exception:  # the candidate breaks what its comparison relies on, such as the order of its rows
                continue
            if verdict.kind is Kind.WRONG and _complaint(verdict.detail) == complaint:
                best, progress = candidate, True
                break
    return best


def _complaint(detail: str) -> str:
    """What a detail is about, without values and names."""
    for word in ("internal error", "refused", "the oracle raises", "we raise", "rows, got", "expected type"):
        if word in detail:
            return word
    return re.sub(r"\W.*", "", detail, flags=re.DOTALL) if not detail.startswith("row") else "row"


def _comparable(query: RandomQuery, text: str) -> RandomQuery | None:
    """The candidate with what is known of its order. A query whose ORDER BY changed is compared without one."""
    cut = re.search(r" ORDER BY [^()]*$", text)
    tail = cut.group(0) if cut else ""
    if tail and query.text.endswith(tail) and query.order_by:
        return replace(query, text=text, uncut=re.sub(r" LIMIT .*$", "", text) if query.uncut else None)
    if cut and "LIMIT" in tail:
        return None
    return RandomQuery(text[: cut.start()] if cut else text, flat=False)


def _smaller(text: str) -> Iterator[str]:
    tree = sqlglot.parse_one(text, dialect="duckdb")
    nodes = list(tree.walk())
    for index, node in enumerate(nodes):
        for change in _changes(node):
            copy = tree.copy()
            target = list(copy.walk())[index]
            change_text = change(target)
            if change_text is not None:
                try:
                    found = copy.sql(dialect="duckdb")
                except (TypeError, ValueError, AttributeError):
                    continue  # what is left is no tree that could be written
                if len(found) < len(text):
                    yield found


def _changes(node: exp.Expr):
    if isinstance(node, exp.Select):
        for key in _DROPPED:
            if node.args.get(key):
                yield lambda target, key=key: target.set(key, None) or True
        for key in ("expressions", "joins"):
            for at in range(len(node.args.get(key) or ())):
                if key == "joins" or len(node.expressions) > 1:
                    yield lambda target, key=key, at=at: _without(target, key, at)
    if isinstance(node, exp.With):
        for at in range(len(node.expressions)):
            if len(node.expressions) > 1:
                yield lambda target, at=at: _without(target, "expressions", at)
    if isinstance(node, (exp.Values, exp.In, exp.Coalesce, exp.Concat, exp.Case, exp.Group)):
        for key in ("expressions", "ifs"):
            for at in range(len(node.args.get(key) or ())):
                if len(node.args[key]) > 1 or isinstance(node, exp.Coalesce):
                    yield lambda target, key=key, at=at: _without(target, key, at)
    if isinstance(node, exp.Case) and node.args.get("default"):
        yield lambda target: target.set("default", None) or True
    if isinstance(node, exp.Subquery) and isinstance(node.parent, (exp.From, exp.Join)):
        return
    if (
        isinstance(node, exp.Condition)
        and not isinstance(node, (exp.Literal, exp.Boolean, exp.Null))
        and node.parent is not None
    ):
        if isinstance(node.parent, (exp.Column, exp.Table, exp.TableAlias)):
            return
        if isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Paren):
            yield lambda target: target.replace(exp.true())
        for child in node.iter_expressions():
            if isinstance(child, exp.Condition) and not isinstance(child, (exp.Identifier, exp.Select)):
                at = [id(c) for c in node.iter_expressions()].index(id(child))
                yield lambda target, at=at: target.replace(list(target.iter_expressions())[at].copy())
        if not isinstance(node, exp.Column):
            yield lambda target: target.replace(exp.null())
            yield lambda target: target.replace(exp.Literal.number(1))


def _without(target: exp.Expr, key: str, at: int) -> bool:
    values = list(target.args[key])
    del values[at]
    target.set(key, values)
    return True

"""Small questions about predicates, and ways to build them, that many rules share."""

from __future__ import annotations

from collections.abc import Iterable

from planner.expr.nodes import Expr, Literal, conjunction, conjuncts


def is_trivial(expr: Expr) -> bool:
    """Whether the predicate is the constant TRUE."""
    return isinstance(expr, Literal) and expr.value is True


def is_never_true(expr: Expr) -> bool:
    """Whether the predicate is the constant FALSE or NULL."""
    return isinstance(expr, Literal) and expr.value is not True


def all_of(*predicates: Expr | Iterable[Expr]) -> Expr:
    """The conjunction of predicates and of iterables of them, without the constant TRUE."""
    terms: list[Expr] = []
    for predicate in predicates:
        for whole in (predicate,) if isinstance(predicate, Expr) else predicate:
            terms.extend(term for term in conjuncts(whole) if not is_trivial(term))
    return conjunction(terms)

"""Rule: the algebra of AND, OR and NOT."""

from __future__ import annotations

from planner.dtypes import BOOLEAN
from planner.expr.fingerprint import Fingerprints
from planner.expr.nodes import (
    FALSE,
    NEGATED,
    TRUE,
    And,
    ColumnRef,
    Compare,
    CompareOp,
    Expr,
    InList,
    Literal,
    Not,
    Or,
    conjunction,
    disjunction,
)
from planner.rule import OptimizerContext, rule


@rule(And, Or, Not)
def simplify_booleans(expr: Expr, context: OptimizerContext) -> Expr | None:
    """Constants are absorbed, repetitions go, NOT moves inward.

        a AND TRUE             ⇒   a
        a AND FALSE            ⇒   FALSE
        NOT (a AND b)          ⇒   NOT a OR NOT b
        NOT a < b              ⇒   a >= b
        c = 1 OR c = 2         ⇒   c IN (1, 2)

    All of it holds in three-valued logic. A term that can raise may vanish, but none is evaluated where it was not before.
    """
    match expr:
        case And():
            return _simplify_terms(expr, True, context)
        case Or():
            return _simplify_terms(expr, False, context)
        case Not(operand=operand):
            return _negate(operand)
    return None


def _simplify_terms(expr: And | Or, neutral: bool, context: OptimizerContext) -> Expr | None:
    cls = type(expr)
    terms: list[Expr] = []
    changed = False
    for term in expr.terms:
        if isinstance(term, cls):
            terms.extend(term.terms)
            changed = True
        elif isinstance(term, Literal) and term.value is neutral:
            changed = True
        elif isinstance(term, Literal) and term.value is (not neutral):
            return FALSE if neutral else TRUE
        else:
            terms.append(term)
    fingerprints = context.fingerprints
    distinct = list({fingerprints.of(term): term for term in reversed(terms)}.values())[::-1]
    if not neutral:
        distinct = _collect_equalities(distinct, fingerprints)
    if not changed and len(distinct) == len(terms):
        return None
    return conjunction(distinct) if neutral else disjunction(distinct)


def _collect_equalities(terms: list[Expr], fingerprints: Fingerprints) -> list[Expr]:
    """`c = 1 OR c IN (2, 3)` is one IN; it stands where the first of its terms stood."""
    options: dict[int, list[Literal]] = {}
    place: dict[int, int] = {}
    result: list[Expr | None] = []
    for term in terms:
        needle, values = _equality(term)
        if needle is None:
            result.append(term)
            continue
        key = fingerprints.of(needle)
        if key in options:
            options[key].extend(values)
        else:
            options[key] = list(values)
            place[key] = len(result)
            result.append(term)
    if len(result) == len(terms):
        return terms
    for key, found in options.items():
        first = result[place[key]]
        assert first is not None
        needle, own = _equality(first)
        if needle is not None and len(found) > len(own):
            known = {fingerprints.of(value): value for value in reversed(found)}
            result[place[key]] = InList(BOOLEAN, needle, tuple(reversed(known.values())))
    return [term for term in result if term is not None]


def _equality(term: Expr) -> tuple[Expr | None, tuple[Literal, ...]]:
    """The column and the literals that it is compared with, if that is all the term does."""
    if isinstance(term, Compare) and term.op is CompareOp.EQ:
        if isinstance(term.left, ColumnRef) and isinstance(term.right, Literal):
            return term.left, (term.right,)
    elif isinstance(term, InList) and isinstance(term.needle, ColumnRef):
        literals = tuple(option for option in term.options if isinstance(option, Literal))
        if len(literals) == len(term.options):
            return term.needle, literals
    return None, ()


def _negate(operand: Expr) -> Expr | None:
    match operand:
        case Not():
            return operand.operand
        case Compare():
            return Compare(BOOLEAN, NEGATED[operand.op], operand.left, operand.right)
        case And():
            return disjunction([Not(BOOLEAN, term) for term in operand.terms])
        case Or():
            return conjunction([Not(BOOLEAN, term) for term in operand.terms])
    return None

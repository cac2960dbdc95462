"""Rule: what consists of constants is a constant."""

from __future__ import annotations

from typing import cast

from planner.expr.constants import evaluate_literals
from planner.expr.functions import FUNCTIONS
from planner.expr.nodes import Call, Case, Cast, Compare, CompareOp, Expr, InList, IsNull, Literal, Not
from planner.rule import OptimizerContext, rule


@rule(Call, Cast, Compare, IsNull, InList, Case, Not)
def fold_constants(expr: Expr, context: OptimizerContext) -> Expr | None:
    """An expression over literals is its value.

        1 + 2                         ⇒   3
        DATE '1994-01-01' + 1 year    ⇒   TIMESTAMP '1995-01-01'
        a + NULL                      ⇒   NULL

    Whatever would be an error stays as it is: it must be raised when a row is evaluated, or never.
    """
    if isinstance(expr, Case):
        return _fold_case(expr)
    operands = cast("tuple[Expr, ...]", expr.children)
    literals = [operand for operand in operands if isinstance(operand, Literal)]
    if not literals:
        return None
    if any(literal.value is None for literal in literals) and _null_in_null_out(expr):
        return Literal(expr.dtype, None)
    if len(literals) < len(operands):
        return None
    return evaluate_literals(expr, [literal.value for literal in literals])


def _null_in_null_out(expr: Expr) -> bool:
    match expr:
        case Call():
            return FUNCTIONS[expr.function].strict
        case Compare():
            return expr.op not in (CompareOp.DISTINCT, CompareOp.NOT_DISTINCT)
        case InList():
            return isinstance(expr.needle, Literal) and expr.needle.value is None
        case Cast() | Not():
            return True
    return False


def _fold_case(case: Case) -> Expr | None:
    """Arms whose condition is never true go; a condition that is always true ends the CASE."""
    if not any(isinstance(condition, Literal) for condition in case.conditions):
        return None
    conditions: list[Expr] = []
    results: list[Expr] = []
    otherwise = case.otherwise
    for condition, result in zip(case.conditions, case.results, strict=True):
        if not isinstance(condition, Literal):
            conditions.append(condition)
            results.append(result)
        elif condition.value is True:
            otherwise = result
            break
    if conditions:
        return Case(case.dtype, tuple(conditions), tuple(results), otherwise)
    return otherwise if otherwise.dtype == case.dtype else Cast(case.dtype, otherwise)

"""Rule: what every branch of an OR demands is demanded by the OR."""

from __future__ import annotations

from planner.analysis.can_raise import can_raise
from planner.expr.nodes import And, Expr, Or, conjunction, conjuncts, disjunction
from planner.rule import OptimizerContext, rule


@rule(Or)
def factor_common_conjuncts(expr: Or, context: OptimizerContext) -> Expr | None:
    """Common conjuncts leave the branches, so that they can become join keys or be pushed down.

        (k = l AND a) OR (k = l AND b)   ⇒   k = l AND (a OR b)

    A branch that consists of the common conjuncts alone makes the rest redundant. Conjuncts that can raise stay: outside of
    their branch they would see rows that another conjunct of it keeps away.
    """
    if not all(isinstance(term, And) for term in expr.terms[:2]):
        return None
    fingerprints = context.fingerprints
    branches = [{fingerprints.of(part): part for part in conjuncts(term)} for term in expr.terms]
    common = set(branches[0])
    for branch in branches[1:]:
        common &= branch.keys()
        if not common:
            return None
    kept = [part for key, part in branches[0].items() if key in common and not can_raise(part)]
    if not kept:
        return None
    moved = {fingerprints.of(part) for part in kept}
    rests = [[part for key, part in branch.items() if key not in moved] for branch in branches]
    if not all(rests):
        return conjunction(kept)
    return conjunction([*kept, disjunction([conjunction(rest) for rest in rests])])

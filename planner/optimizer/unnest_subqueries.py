"""Rule: subqueries in expressions become dependent joins."""

from __future__ import annotations

from typing import cast

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.errors import error
from planner.expr.nodes import (
    Exists,
    Expr,
    InSubquery,
    Not,
    ScalarSubquery,
    SortKey,
    conjunction,
    conjuncts,
)
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Filter, Join, LogicalPlan, Project, Sort, TopN, pass_through
from planner.optimizer.unnesting.attach import SUBQUERIES, Attachment
from planner.rule import OptimizerContext, rule
from planner.tree import Node


@rule(Filter, Project, Join, Aggregate, Sort, TopN, mandatory=True)
def unnest_subqueries(plan: LogicalPlan, context: OptimizerContext) -> LogicalPlan | None:
    """A subquery in an expression is a dependent join below the operator.

        Filter EXISTS (subquery 1)              DependentJoin semi
          L                               ⇒       L
                                                  subquery 1

    A conjunct of a filter that is EXISTS or IN is a semi join, its negation an anti join. In any other place EXISTS and IN give a
    mark column and a scalar subquery a single join, and the expression uses the columns. Conjuncts that can raise stay above
    all joins; those that cannot and have no subquery go below.
    """
    if not any(expr.kinds & SUBQUERIES for expr in plan.expressions):
        return None
    match plan:
        case Filter():
            return _unnest_filter(plan, context)
        case Project():
            attachment = Attachment(plan.input, context)
            assigns = attachment.replace_all(plan.assigns)
            return Project(attachment.plan, assigns)
        case Aggregate():
            attachment = Attachment(plan.input, context)
            keys, aggregates = attachment.replace_all(plan.keys), attachment.replace_all(plan.aggregates)
            return Aggregate(attachment.plan, keys, aggregates)
        case Sort() | TopN():
            attachment = Attachment(plan.input, context)
            sort_keys = cast(tuple[SortKey, ...], attachment.replace_all(plan.keys))
            return Project(plan.replace(input=attachment.plan, keys=sort_keys), pass_through(plan.columns))
        case Join():
            return _unnest_join(plan, context)
    return None


def _unnest_filter(plan: Filter, context: OptimizerContext) -> LogicalPlan:
    below: list[Expr] = []
    tests: list[Expr] = []
    above: list[Expr] = []
    for term in conjuncts(plan.predicate):
        if not term.kinds & SUBQUERIES:
            (above if can_raise(term) else below).append(term)
        elif isinstance(_without_not(term), (Exists, InSubquery)):
            tests.append(term)
        else:
            above.append(term)
    attachment = Attachment(Filter(plan.input, conjunction(below)) if below else plan.input, context)
    for term in tests:
        rest = attachment.filter_by(term)
        if rest is not None:
            above.append(rest)
    above = [attachment.replace(term) for term in above]
    result = Filter(attachment.plan, conjunction(above)) if above else attachment.plan
    return result if result.columns == plan.columns else Project(result, pass_through(plan.columns))


def _without_not(term: Expr) -> Expr:
    return term.operand if isinstance(term, Not) else term


def _unnest_join(join: Join, context: OptimizerContext) -> LogicalPlan:
    """An inner join filters above itself; any other join gets the values of the subquery from the side that it depends on."""
    plain = [term for term in conjuncts(join.condition) if not term.kinds & SUBQUERIES]
    nested = [term for term in conjuncts(join.condition) if term.kinds & SUBQUERIES]
    if join.kind is JoinKind.INNER:
        return Filter(join.replace(condition=conjunction(plain)), conjunction(nested))
    left, right = Attachment(join.left, context), Attachment(join.right, context)
    for term in nested:
        used = _columns_of_subqueries(term)
        if not used & output_ids(join.right):
            plain.append(left.replace(term))
        elif not used & output_ids(join.left):
            plain.append(right.replace(term))
        else:
            raise error("UNSUPPORTED", what="a subquery in ON that uses both sides of an outer join")
    joined = join.replace(left=left.plan, right=right.plan, condition=conjunction(plain))
    return joined if joined.columns == join.columns else Project(joined, pass_through(join.columns))


def _columns_of_subqueries(term: Node) -> frozenset[int]:
    """The columns that must be at hand where the subqueries of an expression are evaluated."""
    used: frozenset[int] = frozenset()
    stack = [term]
    while stack:
        current = stack.pop()
        if isinstance(current, (ScalarSubquery, Exists, InSubquery)):
            used |= free_columns(current)
        else:
            stack.extend(current.children)
    return used

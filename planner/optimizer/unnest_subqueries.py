"""Rule: subqueries in expressions become dependent joins."""

from __future__ import annotations

from typing import cast

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.dtypes import BOOLEAN
from planner.expr.nodes import (
    TRUE,
    Assign,
    Compare,
    CompareOp,
    Exists,
    Expr,
    InSubquery,
    Literal,
    Not,
    ScalarSubquery,
    SortKey,
    conjunction,
    conjuncts,
)
from planner.expr.substitute import reference, rename
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Filter, Join, LogicalPlan, Project, Sort, TopN, Union, pass_through
from planner.logical.reallocate import fresh_copy
from planner.optimizer.unnesting.attach import SUBQUERIES, Attachment
from planner.rule import OptimizerContext, rule
from planner.schema import Column
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
    both: list[Expr] = []
    for term in nested:
        used = _columns_of_subqueries(term)
        if not used & output_ids(join.right):
            plain.append(left.replace(term))
        elif not used & output_ids(join.left):
            plain.append(right.replace(term))
        elif join.kind is JoinKind.FULL:
            return _as_union(join, context)
        else:
            both.append(term)
    inner = right.plan
    if both:
        inner, conditions = _by_pairs(join, inner, both, context)
        plain += conditions
    joined = join.replace(left=left.plan, right=inner, condition=conjunction(plain))
    return joined if joined.columns == join.columns else Project(joined, pass_through(join.columns))


def _by_pairs(join: Join, right: LogicalPlan, terms: list[Expr], context: OptimizerContext) -> tuple[LogicalPlan, list[Expr]]:
    """Subqueries that use both sides, evaluated for every pair of distinct values that the sides have of what is used.

    The pairs are joined to the right side: each of its rows is there once for every value of the left side, and the join's
    condition chooses that of the left row, so for every left row each right row is still there once.
    """
    used = frozenset().union(*(_columns_of_subqueries(term) for term in terms))
    stand_ins: dict[int, Column] = {}
    domains = []
    for side in (join.left, join.right):
        copy, fresh = fresh_copy(side, context.allocator)
        columns = [column for column in side.columns if column.id in used]
        keys = []
        for column in columns:
            stand_ins[column.id] = context.allocator.copy_of(column)
            keys.append(Assign(stand_ins[column.id], reference(fresh[column.id])))
        domains.append(Aggregate(copy, tuple(keys), ()))
    attachment = Attachment(Join(domains[0], domains[1], JoinKind.INNER, TRUE), context)
    conditions = [attachment.replace(rename(term, stand_ins)) for term in terms]

    def same(side: LogicalPlan) -> list[Expr]:
        return [
            Compare(BOOLEAN, CompareOp.NOT_DISTINCT, reference(column), reference(stand_ins[column.id]))
            for column in side.columns
            if column.id in stand_ins
        ]

    paired = Join(right, attachment.plan, JoinKind.INNER, conjunction(same(join.right)))
    return paired, same(join.left) + conditions


def _as_union(join: Join, context: OptimizerContext) -> LogicalPlan:
    """A full join as a left join and, below it, the right rows without a match."""
    first, fresh = fresh_copy(join.replace(kind=JoinKind.LEFT), context.allocator)
    second, others = fresh_copy(join, context.allocator)
    unmatched = Join(second.right, second.left, JoinKind.ANTI, second.condition)
    right = output_ids(join.right)
    filled = tuple(
        Assign(
            context.allocator.copy_of(column),
            reference(others[column.id]) if column.id in right else Literal(column.dtype, None),
        )
        for column in join.columns
    )
    assert first.columns == tuple(fresh[column.id] for column in join.columns)
    return Union((first, Project(unmatched, filled)), join.columns)


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

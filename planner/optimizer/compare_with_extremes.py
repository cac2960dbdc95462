"""Rule: one inequality with any of many rows is a comparison with the least or the greatest of them."""

from __future__ import annotations

from dataclasses import dataclass

from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns, output_ids
from planner.analysis.keys import equal_columns, is_unique_on
from planner.dtypes import BOOLEAN, VARCHAR, is_numeric, is_temporal
from planner.expr.nodes import MIRRORED, AggregateCall, Assign, Compare, CompareOp, Expr, conjuncts, disjunction
from planner.expr.predicates import all_of
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Join, LogicalPlan, Project, pass_through
from planner.rule import OptimizerContext, rule
from planner.schema import Column

GROUP_ROW = 1.5
"""What grouping a row costs, if looking at a pair of rows costs 1."""
WORTHWHILE = 0.75
"""The new plan may have at most this share of the old one's cost."""

_EXTREMES = {
    CompareOp.LT: ("max",), CompareOp.LE: ("max",), CompareOp.GT: ("min",), CompareOp.GE: ("min",), CompareOp.NE: ("min", "max"),
}  # fmt: skip
"""With which extremes of the right side the left one is compared instead."""


@rule(Join)
def compare_with_extremes(join: Join, context: OptimizerContext) -> LogicalPlan | None:
    """Some right value differs from a left one exactly if the least or the greatest does.

        Join semi on a.k = b.k AND a.x <> b.y        Join inner on a.k = b.k AND (a.x <> low OR a.x <> high)
          a                                     ⇒      a
          b                                            Aggregate by b.k: min(b.y) AS low, max(b.y) AS high
                                                         b

    Likewise a.x < b.y with the greatest alone, without keys as well, and for anti and mark joins, which stay what they are.
    NULLs are no match before and no extreme after; a group of nothing else has NULL extremes and matches nothing. Needs
    one inequality, besides equalities of columns and terms over the left side, that cannot raise.

    Done where the pairs of rows with equal keys are many more than the right rows: they may be of quadratic number, as in
    the tests for another row of the same group. Where they are few (TPC-H 21: at most seven rows of an order, and few
    orders left), grouping all right rows costs more than it saves: 1.75 CPU seconds became 2.3 at scale factor 10.
    """
    if join.kind not in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK):
        return None
    parts = _parts(join)
    if parts is None or not _pays(join, parts, context):
        return None
    extremes: list[Assign] = []
    tests: list[Expr] = []
    for function in _EXTREMES[parts.op]:
        column = context.allocator.new(function, parts.value.dtype)
        extremes.append(Assign(column, AggregateCall(column.dtype, function, (parts.value,))))
        tests.append(Compare(BOOLEAN, parts.op, parts.compared, reference(column)))
    groups = Aggregate(join.right, pass_through(parts.keys), tuple(extremes))
    condition = all_of(parts.others, disjunction(tests))
    if join.kind is not JoinKind.SEMI:
        return join.replace(right=groups, condition=condition)
    return Project(Join(join.left, groups, JoinKind.INNER, condition), pass_through(join.columns))


@dataclass(frozen=True, slots=True)
class _Parts:
    """A condition: `compared` (over the left side) `op` `value` (over the right one), and all other terms."""

    keys: tuple[Column, ...]
    others: tuple[Expr, ...]
    compared: Expr
    op: CompareOp
    value: Expr


def _parts(join: Join) -> _Parts | None:
    left, right = output_ids(join.left), output_ids(join.right)
    equal = equal_columns(join.condition, join.left, join.right)
    keys = tuple(dict.fromkeys(b.column for _, b in equal))
    found: tuple[Expr, CompareOp, Expr] | None = None
    others: list[Expr] = []
    for term in conjuncts(join.condition):
        used = free_columns(term)
        if used <= left or equal_columns(term, join.left, join.right):
            others.append(term)
            continue
        if found is not None or not isinstance(term, Compare) or term.op not in _EXTREMES or can_raise(term):
            return None
        a, b = free_columns(term.left), free_columns(term.right)
        if a <= left and b and b <= right:
            found = term.left, term.op, term.right
        elif b <= left and a and a <= right:
            found = term.right, MIRRORED[term.op], term.left
        else:
            return None
    if found is None or is_unique_on(join.right, frozenset(key.id for key in keys)):
        return None
    compared, op, value = found
    dtype = value.dtype
    if not (is_numeric(dtype) or is_temporal(dtype) or dtype == VARCHAR):
        return None
    return _Parts(keys, tuple(others), compared, op, value)


def _pays(join: Join, parts: _Parts, context: OptimizerContext) -> bool:
    cardinality = context.cardinality
    equalities = [term for term in parts.others if equal_columns(term, join.left, join.right)]
    pairs = cardinality.rows(Join(join.left, join.right, JoinKind.INNER, all_of(equalities)))
    rows, tested = cardinality.rows(join.right), cardinality.rows(join.left)
    return GROUP_ROW * rows + 2 * tested <= WORTHWHILE * (rows + tested + pairs)

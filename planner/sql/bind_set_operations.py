"""UNION, INTERSECT and EXCEPT.

UNION ALL is a Union of its inputs, and UNION the groups of one; BY NAME puts the columns of both sides into one order before.
INTERSECT and EXCEPT keep the left rows that have, or lack, an equal row on the right: a semi or anti join by null-safe equality
of all columns. With ALL both sides are first numbered among their equal rows, so that each row is matched with one other only.
"""

from __future__ import annotations

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import Assign, Cast, Compare, CompareOp, Expr, Frame, Literal, WindowCall, conjunction
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Join, LogicalPlan, Project, Union, Window, pass_through
from planner.sql.coercion import common_type
from planner.sql.context import BindContext
from planner.sql.dispatch import describe, refuse_arguments
from planner.sql.scope import BoundRelation, Scope

_OUTER_CLAUSES = ("with_", "order", "limit", "offset")


def bind_set_operation(context: BindContext, scope: Scope, node: exp.Expr) -> BoundRelation:
    """A chain of set operations, without the ORDER BY and LIMIT of the whole. Names are those of the first input.

    INTERSECT binds more tightly in the syntax tree already. Raises COLUMN_COUNT and TYPE_MISMATCH.
    """
    from planner.sql.bind_query import bind_query

    chain = [node]
    while isinstance(chain[-1].this, exp.SetOperation) and not any(chain[-1].this.args.get(key) for key in _OUTER_CLAUSES):
        chain.append(chain[-1].this)
    first = bind_query(context, chain[-1].this, scope)
    names = first.names
    arms, distinct = [first.plan], False  # a union that is not built yet, of distinct rows or of all
    for operation in reversed(chain):
        known = ("by_name",) if isinstance(operation, exp.Union) else ()
        refuse_arguments(context, operation, ("this", "expression", "distinct", *known, *_OUTER_CLAUSES))
        bound = bind_query(context, operation.args["expression"], scope)
        right = bound.plan
        if operation.args.get("by_name"):
            left = BoundRelation(_union(context, arms, distinct, operation), names)
            names = _names_of_both(context, left.names, bound.names, operation)
            arms = [_by_name(context, side, names) for side in (left, bound)]
            distinct = bool(operation.args.get("distinct"))
            continue
        if len(right.columns) != len(names):
            what = f"the right side of {describe(context, operation)}"
            given, expected = len(right.columns), len(names)
            raise context.error("COLUMN_COUNT", operation.args["expression"], what=what, given=given, expected=expected)
        if isinstance(operation, exp.Union) and operation.args.get("distinct"):
            distinct = True  # of what is distinct already, too: the rows of a chain are made distinct once
        elif distinct:
            arms, distinct = [_union(context, arms, True, operation)], False
        if isinstance(operation, exp.Union):
            arms.append(right)
        else:
            arms = [_matched(context, _union(context, arms, False, operation), right, operation)]
    return BoundRelation(_union(context, arms, distinct, node), names)


def _names_of_both(context: BindContext, left: tuple[str, ...], right: tuple[str, ...], operation: exp.Expr) -> tuple[str, ...]:
    """The columns of UNION BY NAME: those of the left side, then what only the right one has. Raises AMBIGUOUS_COLUMN."""
    for names in (left, right):
        folded = [name.lower() for name in names]
        repeated = next((name for name in names if folded.count(name.lower()) > 1), None)
        if repeated is not None:
            candidates = "several columns of one side of BY NAME"
            raise context.error("AMBIGUOUS_COLUMN", operation, name=repeated, candidates=candidates)
    known = {name.lower() for name in left}
    return (*left, *(name for name in right if name.lower() not in known))


def _by_name(context: BindContext, side: BoundRelation, names: tuple[str, ...]) -> LogicalPlan:
    """One side of UNION BY NAME: its columns in the common order, NULL for those that it lacks."""
    columns = dict(zip([name.lower() for name in side.names], side.plan.columns, strict=True))
    assigns = []
    for name in names:
        column = columns.get(name.lower())
        if column is not None:
            assigns.append(Assign(column, reference(column)))
        else:
            assigns.append(Assign(context.allocator.new(name, t.NULL), Literal(t.NULL, None)))
    return Project(side.plan, tuple(assigns))


def _distinct(plan: LogicalPlan) -> LogicalPlan:
    return Aggregate(plan, pass_through(plan.columns), ())


def _union(context: BindContext, arms: list[LogicalPlan], distinct: bool, node: exp.Expr) -> LogicalPlan:
    if len(arms) == 1:
        return arms[0]
    arms = _unified(context, arms, node)
    union = Union(tuple(arms), tuple(context.allocator.copy_of(column) for column in arms[0].columns))
    return _distinct(union) if distinct else union


def _unified(context: BindContext, plans: list[LogicalPlan], node: exp.Expr) -> list[LogicalPlan]:
    """The plans with equal types of columns. No column belongs to two of them."""
    types = [_column_type(context, [plan.columns[at].dtype for plan in plans], node) for at in range(len(plans[0].columns))]
    unified = []
    for plan in plans:
        if all(column.dtype == dtype for column, dtype in zip(plan.columns, types, strict=True)):
            unified.append(plan)
            continue
        assigns = []
        for column, dtype in zip(plan.columns, types, strict=True):
            value = reference(column)
            if column.dtype == dtype:
                assigns.append(Assign(column, value))
            else:
                assigns.append(Assign(context.allocator.new(column.name, dtype), Cast(dtype, value)))
        unified.append(Project(plan, tuple(assigns)))
    return unified


def _column_type(context: BindContext, types: list[t.DType], node: exp.Expr) -> t.DType:
    """The common type of one column; what meets text becomes text, as in DuckDB."""
    target = t.NULL
    for dtype in types:
        merged = common_type(target, dtype)
        if merged is None and t.VARCHAR in (target, dtype) and t.INTERVAL not in (target, dtype):
            merged = t.VARCHAR
        if merged is None:
            named = " and ".join(dict.fromkeys(str(dtype) for dtype in types))
            raise context.error("TYPE_MISMATCH", node, what=describe(context, node), types=named)
        target = merged
    return target


def _matched(context: BindContext, left: LogicalPlan, right: LogicalPlan, node: exp.Expr) -> LogicalPlan:
    """INTERSECT or EXCEPT of two plans."""
    left, right = _unified(context, [left, right], node)
    columns, distinct = left.columns, bool(node.args.get("distinct"))
    if not distinct:
        left, right = _numbered(context, left), _numbered(context, right)
    kind = JoinKind.SEMI if isinstance(node, exp.Intersect) else JoinKind.ANTI
    equal: list[Expr] = [
        Compare(t.BOOLEAN, CompareOp.NOT_DISTINCT, reference(a), reference(b))
        for a, b in zip(left.columns, right.columns, strict=True)
    ]
    joined = Join(left, right, kind, conjunction(equal))
    return _distinct(joined) if distinct else Project(joined, pass_through(columns))


def _numbered(context: BindContext, plan: LogicalPlan) -> Window:
    """Every row with its number among the rows that are equal to it."""
    equal = tuple(reference(column) for column in plan.columns)
    number = WindowCall(t.BIGINT, "row_number", (), equal, (), Frame.WHOLE)
    return Window(plan, (Assign(context.allocator.new("number", t.BIGINT), number),))

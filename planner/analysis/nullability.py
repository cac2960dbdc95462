"""Which columns and expressions cannot be NULL, from types and structure.

Of a table only the schema counts (a column declared without NULLs stores no way to have one); null counts of footers are claims.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.analysis.per_node import bottom_up
from planner.expr.fingerprint import Fingerprints
from planner.expr.functions import AGGREGATES, FUNCTIONS, WINDOW_FUNCTIONS
from planner.expr.nodes import (
    AggregateCall,
    And,
    Assign,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    CompareOp,
    Exists,
    Expr,
    InList,
    IsNull,
    Literal,
    Not,
    Or,
    WindowCall,
)
from planner.join_kind import JoinKind
from planner.logical.nodes import (
    Aggregate,
    DependentJoin,
    Filter,
    Join,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    TopN,
    Union,
    Values,
    Window,
)

Columns = frozenset[int]

_EMPTY: Columns = frozenset()
_NULL_SAFE = (CompareOp.DISTINCT, CompareOp.NOT_DISTINCT)
_DEEP = 60
"""Below this depth of nesting nothing is derived any more, so that recursion stays bounded."""


@bottom_up
def non_null_columns(plan: LogicalPlan) -> Columns:
    """The ids of the output columns that are never NULL."""
    match plan:
        case Scan():
            return frozenset(column.id for column, position in plan.output if not plan.table.fields[position].nullable)
        case Values():
            return frozenset(
                column.id for index, column in enumerate(plan.schema) if all(row[index] is not None for row in plan.rows)
            )
        case Filter():
            rejected = null_rejected_columns(plan.predicate)
            return non_null_columns(plan.input) | rejected.intersection(column.id for column in plan.columns)
        case Project():
            known = non_null_columns(plan.input)
            found = {assign.column.id for assign in plan.assigns if never_null(assign.expr, known)}
            return frozenset(found | _kept_by_filter(plan.input, plan.assigns) if len(found) < len(plan.assigns) else found)
        case Join() | DependentJoin():
            return _join_columns(plan)
        case Aggregate():
            known = non_null_columns(plan.input)
            groups = [key.column.id for key in plan.keys if never_null(key.expr, known)]
            groups += _kept_by_filter(plan.input, plan.keys) if len(groups) < len(plan.keys) else ()
            for assign in plan.aggregates:
                if isinstance(assign.expr, AggregateCall) and _aggregate_never_null(assign.expr, bool(plan.keys), known):
                    groups.append(assign.column.id)
            return frozenset(groups)
        case Window():
            calls = ((assign.column.id, assign.expr) for assign in plan.calls)
            return non_null_columns(plan.input) | {
                column for column, call in calls if isinstance(call, WindowCall) and _window_never_null(call)
            }
        case Union():
            known_by_arm = [non_null_columns(arm) for arm in plan.arms]
            return frozenset(
                column.id
                for at, column in enumerate(plan.schema)
                if all(arm.columns[at].id in known for arm, known in zip(plan.arms, known_by_arm, strict=True))
            )
        case Sort() | Limit() | TopN():
            return non_null_columns(plan.input)
    return _EMPTY


def _kept_by_filter(input: LogicalPlan, assigns: Sequence[Assign]) -> set[int]:
    """Computed columns whose very expression the filter below needs not to be NULL: where it is, the row is gone."""
    if not isinstance(input, Filter):
        return set()
    fingerprints = Fingerprints()
    rejected = _null_rejected(input.predicate, lambda expr: frozenset((fingerprints.of(expr),)), 0)
    return {assign.column.id for assign in assigns if fingerprints.of(assign.expr) in rejected}


def _join_columns(join: Join | DependentJoin) -> Columns:
    left, right = non_null_columns(join.left), non_null_columns(join.right)
    match join.kind:
        case JoinKind.INNER:
            outputs = frozenset(column.id for column in join.columns)
            return left | right | (null_rejected_columns(join.condition) & outputs)
        case JoinKind.SEMI:
            return left | null_rejected_columns(join.condition).intersection(column.id for column in join.left.columns)
        case JoinKind.FULL:
            return _EMPTY
        case JoinKind.MARK:
            assert join.mark is not None
            return left | {join.mark.id}
    return left


def _aggregate_never_null(call: AggregateCall, grouped: bool, known: Columns) -> bool:
    if not AGGREGATES[call.function].empty_is_null:
        return True
    if call.function in ("stddev_samp", "var_samp"):
        return False
    return grouped and call.condition is None and all(never_null(argument, known) for argument in call.arguments)


def _window_never_null(call: WindowCall) -> bool:
    if call.function in WINDOW_FUNCTIONS:
        return WINDOW_FUNCTIONS[call.function].never_null
    return not AGGREGATES[call.function].empty_is_null


def never_null(expr: Expr, known: Columns, depth: int = 0) -> bool:
    """Whether the expression cannot be NULL, given columns that cannot."""
    if depth > _DEEP:
        return False
    depth += 1
    match expr:
        case Literal():
            return expr.value is not None
        case ColumnRef():
            return expr.column.id in known
        case Call():
            if FUNCTIONS[expr.function].strict:
                return all(never_null(argument, known, depth) for argument in expr.arguments)
            if expr.function == "concat_ws":
                return never_null(expr.arguments[0], known, depth)
            return expr.function in ("coalesce", "greatest", "least") and any(
                never_null(argument, known, depth) for argument in expr.arguments
            )
        case Compare():
            if expr.op in _NULL_SAFE:
                return True
            return never_null(expr.left, known, depth) and never_null(expr.right, known, depth)
        case And() | Or():
            return all(never_null(term, known, depth) for term in expr.terms)
        case Not():
            return never_null(expr.operand, known, depth)
        case IsNull() | Exists():
            return True
        case InList():
            return all(never_null(item, known, depth) for item in (expr.needle, *expr.options))
        case Case():
            return all(never_null(result, known, depth) for result in (*expr.results, expr.otherwise))
        case Cast():
            return not expr.lenient and never_null(expr.operand, known, depth)
    return False


def strict_columns(expr: Expr, depth: int = 0) -> Columns:
    """Columns of which each one alone makes the expression NULL when it is NULL."""
    return _strict(expr, _column_id, depth)


def null_rejected_columns(predicate: Expr, depth: int = 0) -> Columns:
    """Columns of which each one alone keeps the predicate from being true when it is NULL."""
    return _null_rejected(predicate, _column_id, depth)


_Number = Callable[[Expr], frozenset[int]]
"""What stands for a part of an expression in a set of such parts; nothing for a part that is not of interest."""


def _column_id(expr: Expr) -> frozenset[int]:
    return frozenset((expr.column.id,)) if isinstance(expr, ColumnRef) else _EMPTY


def _strict(expr: Expr, number: _Number, depth: int) -> frozenset[int]:
    """The parts of an expression, itself included, of which each one alone makes it NULL when it is NULL."""
    if depth > _DEEP:
        return _EMPTY
    depth += 1
    parts: tuple[Expr, ...] = ()
    match expr:
        case Cast() | Not():
            parts = (expr.operand,)
        case Call() if FUNCTIONS[expr.function].strict:
            parts = expr.arguments
        case Compare() if expr.op not in _NULL_SAFE:
            parts = (expr.left, expr.right)
        case InList():
            parts = (expr.needle,)
    return number(expr).union(*(_strict(part, number, depth) for part in parts))


def _null_rejected(predicate: Expr, number: _Number, depth: int) -> frozenset[int]:
    """The parts of a predicate of which each one alone keeps it from being true when it is NULL."""
    if depth > _DEEP:
        return _EMPTY
    depth += 1
    match predicate:
        case And():
            return _EMPTY.union(*(_null_rejected(term, number, depth) for term in predicate.terms))
        case Or():
            found = _null_rejected(predicate.terms[0], number, depth)
            for term in predicate.terms[1:]:
                if not found:
                    return _EMPTY
                found &= _null_rejected(term, number, depth)
            return found
        case Not(operand=IsNull(operand=operand)):
            return _strict(operand, number, depth)
    return _strict(predicate, number, depth)

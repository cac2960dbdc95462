"""Rule: an outer join of which only the rows without a match are kept is an anti join."""

from __future__ import annotations

from planner.analysis.free_columns import output_ids
from planner.analysis.nullability import non_null_columns, null_rejected_columns
from planner.expr.nodes import Assign, ColumnRef, Expr, IsNull, Literal, conjuncts
from planner.expr.predicates import all_of
from planner.expr.substitute import rename, substitute
from planner.join_kind import JoinKind
from planner.logical.nodes import Filter, Join, LogicalPlan, Project, pass_through
from planner.logical.reallocate import fresh_copy
from planner.rule import OptimizerContext, rule


@rule(Filter)
def turn_outer_into_anti_join(filter: Filter, context: OptimizerContext) -> LogicalPlan | None:
    """A column of the right side that no match leaves NULL tells which rows have none.

        Filter b.x IS NULL AND a.z > 1            Project a.*, NULL AS b.x, NULL AS b.y
          Join left on a.x = b.x          ⇒         Filter a.z > 1
            a                                         Join anti on a.x = b.x
            b [x, y]                                    a
                                                        b

    Such a column is never NULL in its input, or the join's condition is not true where it is.
    """
    join = filter.input
    if not isinstance(join, Join) or join.kind is not JoinKind.LEFT:
        return None
    right = output_ids(join.right)
    of_right = [
        (term, term.operand.column.id)
        for term in conjuncts(filter.predicate)
        if isinstance(term, IsNull) and isinstance(term.operand, ColumnRef) and term.operand.column.id in right
    ]
    if not of_right:
        return None
    never = non_null_columns(join.right) | (null_rejected_columns(join.condition) & right)
    told = [term for term, column in of_right if column in never]
    if not told:
        return None
    missing = {column.id: Literal(column.dtype, None) for column in join.right.columns}
    rest: list[Expr] = [substitute(term, missing) for term in conjuncts(filter.predicate) if term not in told]
    matches, fresh = fresh_copy(join.right, context.allocator)  # the ids of the old columns are those of the NULLs now
    anti: LogicalPlan = Join(join.left, matches, JoinKind.ANTI, rename(join.condition, fresh))
    if rest:
        anti = Filter(anti, all_of(rest))
    assigns = (Assign(column, missing[column.id]) for column in join.right.columns)
    return Project(anti, (*pass_through(join.left.columns), *assigns))

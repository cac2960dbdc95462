"""Rule: several aggregates over the same rows, each joined on its own, become one."""

from __future__ import annotations

from dataclasses import dataclass

from planner.analysis.free_columns import free_columns, output_ids
from planner.analysis.nullability import non_null_columns
from planner.expr.equality import same_expression
from planner.expr.nodes import Assign, Expr
from planner.expr.predicates import is_trivial
from planner.expr.substitute import rename
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Filter, Join, LogicalPlan, Project, Scan, Values, pass_through
from planner.logical.same_plan import same_plan
from planner.optimizer.row_paths import paths_down, rebuilt
from planner.rule import OptimizerContext, rule
from planner.tree import kind_mask, walk

_PLANS = kind_mask(LogicalPlan)
_REPEATABLE = (Scan, Values, Filter, Project, Join)


@rule(Join)
def merge_scalar_subqueries(join: Join, context: OptimizerContext) -> LogicalPlan | None:
    """An aggregate that is joined like one further below gives its columns there.

        Join cross                    Join cross
          Join cross                    x
            x                    ⇒      Aggregate: max(a), min(b)
            Aggregate: max(a)             t
              t
          Aggregate: min(b)
            t

    This is what scalar subqueries become. Without keys both joins are cross joins with exactly one row; with keys both are inner
    or left joins on equal conditions, so that the same left row meets the same group. Between the joins every left row is
    passed on as it is. The inputs are the same plan and hold no limit, which may give other rows to each.

    Rejected: the same table under different filters, which would become the FILTER of the calls. That took half as much time
    again as filtering twice over columns in memory, and as much over Parquet files.
    """
    upper = _aggregate_of(join)
    if upper is None:
        return None
    needed = free_columns(join.condition) & output_ids(join.left)
    for path in paths_down(join.left, needed):
        below = path[-1]
        lower = _aggregate_of(below) if isinstance(below, Join) and below.kind is join.kind else None
        if lower is None:
            continue
        assert isinstance(below, Join)
        merged = _merged(lower, upper, below.condition, join.condition)
        if merged is not None:
            plan = Project(rebuilt(path, below.replace(right=merged), join.right.columns), pass_through(join.columns))
            if non_null_columns(join) <= non_null_columns(plan):
                return plan
    return None


@dataclass(frozen=True, slots=True)
class _Joined:
    """The right side of a join: expressions over an aggregate."""

    assigns: tuple[Assign, ...]
    aggregate: Aggregate


def _aggregate_of(join: Join) -> _Joined | None:
    if join.kind not in (JoinKind.INNER, JoinKind.LEFT):
        return None
    plan, assigns = join.right, pass_through(join.right.columns)
    if isinstance(plan, Project):
        assigns, plan = plan.assigns, plan.input
    if not isinstance(plan, Aggregate) or not (plan.keys or is_trivial(join.condition)):
        return None
    return _Joined(assigns, plan)


def _merged(lower: _Joined, upper: _Joined, lower_condition: Expr, upper_condition: Expr) -> LogicalPlan | None:
    """The right side of the lower join that also has the columns of the upper one's."""
    if not same_plan(lower.aggregate.input, upper.aggregate.input) or not _is_repeatable(lower.aggregate.input):
        return None
    twin = dict(zip((column.id for column in upper.aggregate.input.columns), lower.aggregate.input.columns, strict=True))
    keys = {
        b.column.id: a.column
        for a, b in zip(lower.aggregate.keys, upper.aggregate.keys, strict=False)
        if same_expression(a.expr, rename(b.expr, twin))
    }
    if not len(keys) == len(lower.aggregate.keys) == len(upper.aggregate.keys):
        return None
    if not same_expression(lower_condition, rename(upper_condition, keys)):
        return None
    calls = tuple(rename(assign, twin) for assign in upper.aggregate.aggregates)
    aggregate = lower.aggregate.replace(aggregates=lower.aggregate.aggregates + calls)
    return Project(aggregate, lower.assigns + tuple(rename(assign, keys) for assign in upper.assigns))


def _is_repeatable(plan: LogicalPlan) -> bool:
    return all(isinstance(node, _REPEATABLE) for node in walk(plan, _PLANS))

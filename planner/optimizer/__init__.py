"""The optimizer: batches of rules over logical plans. One rule, one file; the order is here, with its reasons.

`optimize` is the only entry. Mandatory rules bring a plan into the form that the physical planner understands (no subquery
expressions, no dependent joins); every other rule can be switched off by its name and only makes the plan faster.

    unnesting/    the ways to remove a dependent join
    join_order/   the graph of a region of inner joins, and the search for an order
    row_paths     ways down a plan along which rows are passed on, for rules that act on two distant operators
"""

from __future__ import annotations

from planner.logical.nodes import LogicalPlan
from planner.optimizer.combine_sort_limit import combine_sort_limit
from planner.optimizer.compare_with_extremes import compare_with_extremes
from planner.optimizer.derive_predicates_from_or import derive_predicates_from_or
from planner.optimizer.eliminate_dependent_join import eliminate_dependent_join
from planner.optimizer.factor_common_conjuncts import factor_common_conjuncts
from planner.optimizer.fold_constants import fold_constants
from planner.optimizer.fold_with_evaluator import fold_with_evaluator
from planner.optimizer.merge_filters import merge_filters
from planner.optimizer.merge_limits import merge_limits
from planner.optimizer.merge_projects import merge_projects
from planner.optimizer.merge_scalar_subqueries import merge_scalar_subqueries
from planner.optimizer.merge_unions import merge_unions
from planner.optimizer.order_joins import order_joins
from planner.optimizer.propagate_empty_relation import propagate_empty_relation
from planner.optimizer.prune_columns import prune_columns
from planner.optimizer.push_aggregate_through_join import push_aggregate_through_join
from planner.optimizer.push_condition_into_inputs import push_condition_into_inputs
from planner.optimizer.push_filter_through_aggregate import push_filter_through_aggregate
from planner.optimizer.push_filter_through_join import push_filter_through_join
from planner.optimizer.push_filter_through_project import push_filter_through_project
from planner.optimizer.push_filter_through_sort import push_filter_through_sort
from planner.optimizer.push_filter_through_union import push_filter_through_union
from planner.optimizer.push_filter_through_window import push_filter_through_window
from planner.optimizer.push_limit_through_project import push_limit_through_project
from planner.optimizer.push_limit_through_union import push_limit_through_union
from planner.optimizer.push_semi_join_through_join import push_semi_join_through_join
from planner.optimizer.push_semi_join_through_project import push_semi_join_through_project
from planner.optimizer.reduce_aggregate_input import reduce_aggregate_input
from planner.optimizer.reduce_anti_join_input import reduce_anti_join_input
from planner.optimizer.remove_needless_grouping import remove_needless_grouping
from planner.optimizer.remove_trivial_project import remove_trivial_project
from planner.optimizer.remove_unseen_sort import remove_unseen_sort
from planner.optimizer.reuse_groups_of_semi_join import reuse_groups_of_semi_join
from planner.optimizer.simplify_booleans import simplify_booleans
from planner.optimizer.simplify_outer_join import simplify_outer_join
from planner.optimizer.turn_outer_into_anti_join import turn_outer_into_anti_join
from planner.optimizer.unnest_subqueries import unnest_subqueries
from planner.optimizer.unwrap_cast_in_comparison import unwrap_cast_in_comparison
from planner.rule import Batch, OptimizerContext, check_switches, fixed_point, once, run_batches

_EXPRESSIONS = (fold_constants, simplify_booleans, factor_common_conjuncts, unwrap_cast_in_comparison)

BATCHES: tuple[Batch, ...] = (
    # First, because unnesting looks at conjuncts: NOT has to be inside, and common parts outside, before it splits filters.
    fixed_point("expressions", *_EXPRESSIONS),
    # Before everything that looks at operators: no other rule has to know subqueries or dependent joins.
    fixed_point("unnest", unnest_subqueries, eliminate_dependent_join),
    # While equal subqueries still look alike: later each gets filters and loses columns of its own.
    fixed_point("scalar subqueries", merge_scalar_subqueries),
    # While the filters still lie over whole join trees; it must not run twice, see there.
    once("derive", derive_predicates_from_or),
    # Together, because each of these makes room for the others: a filter that sinks meets the next projection, join or
    # filter, a join that becomes an inner one lets filters pass, and a merged filter has new expressions to simplify.
    fixed_point(
        "push down",
        *_EXPRESSIONS,
        merge_filters,
        simplify_outer_join,
        turn_outer_into_anti_join,
        push_filter_through_project,
        push_filter_through_join,
        push_filter_through_aggregate,
        push_filter_through_sort,
        push_filter_through_union,
        push_filter_through_window,
        push_condition_into_inputs,
        push_semi_join_through_project,
        propagate_empty_relation,
        remove_needless_grouping,
        merge_projects,
        merge_unions,
        remove_trivial_project,
        merge_limits,
        push_limit_through_project,
        push_limit_through_union,
        combine_sort_limit,
        remove_unseen_sort,
    ),
    # After the cheap folding has left little to evaluate.
    once("evaluate", fold_with_evaluator),
    # Needs estimates over filtered inputs; comes before join order, where a semi join is part of a relation.
    fixed_point("semi joins", push_semi_join_through_join),
    # Needs all filters and join conditions in their places.
    once("join order", order_joins),
    # An outer join that has moved lets filters pass that it did not let pass where it was.
    fixed_point(
        "filters of ordered joins",
        turn_outer_into_anti_join,
        push_filter_through_project,
        push_filter_through_join,
        merge_filters,
    ),
    # Needs to know which relation an aggregate is joined with; the new semi join then sinks as far as it is worth it. Before it
    # aggregates appear that may be reduced so.
    fixed_point(
        "aggregate inputs",
        compare_with_extremes,
        reduce_aggregate_input,
        reduce_anti_join_input,
        push_semi_join_through_project,
        push_semi_join_through_join,
    ),
    # Needs joins in their order, since both look below the uppermost one only, and then below the next.
    fixed_point("eager aggregation", reuse_groups_of_semi_join, push_aggregate_through_join),
    # Last of the large moves: it depends on which operator uses a column where.
    once("columns", prune_columns),
    # Ordering and pruning leave projections behind.
    fixed_point("clean up", merge_projects, remove_trivial_project),
)


def optimize(plan: LogicalPlan, context: OptimizerContext) -> LogicalPlan:
    """An equivalent plan without subqueries that is cheaper to run, with the same output columns in the same order.

    Raises INVALID_SETTING for a switch that does not exist, UNSUPPORTED for the few correlated subqueries that cannot be
    unnested, and RuleFault (a bug of ours) in verify mode.
    """
    if context.disabled:
        check_switches(context.disabled, BATCHES)
    if context.verify:
        from planner.verify import check_plan

        check_plan(plan, "the binder")
    return run_batches(plan, BATCHES, context)

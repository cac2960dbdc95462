"""From the optimized logical plan to the physical plan: strategies bottom-up, exchanges shared, then operator numbers."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

from planner.analysis.can_raise import can_raise
from planner.analysis.cardinality import CardinalityAnalysis
from planner.errors import error
from planner.expr.nodes import AggregateCall, Call, Cast, ColumnRef, Expr, WindowCall, conjunction, conjuncts
from planner.logical.nodes import Aggregate, Filter, Join, Limit, LogicalPlan, Project, Scan, Sort, TopN, Union, Values, Window
from planner.physical.context import PhysicalContext, PhysicalOptions, Planned
from planner.physical.nodes import FilterExec, Origin, PhysicalPlan, ProjectExec, ValuesScan
from planner.physical.properties import SINGLE
from planner.physical.reuse_exchanges import reuse_exchanges
from planner.physical.runtime_filters import add_runtime_filters
from planner.physical.stage_outputs import StartedStage, as_written
from planner.physical.strategies.aggregate import merge_aggregate, plan_aggregate
from planner.physical.strategies.join import plan_join
from planner.physical.strategies.scan import plan_scan
from planner.physical.strategies.sort_and_limit import plan_limit, plan_sort, plan_top_n
from planner.physical.strategies.union import plan_union
from planner.physical.strategies.window import plan_window
from planner.schema import ColumnAllocator
from planner.tree import Node, kind_mask, rewrite, walk


def plan_physical(
    root: LogicalPlan,
    allocator: ColumnAllocator,
    options: PhysicalOptions,
    started: Mapping[int, StartedStage] | None = None,
    first_number: int = 1,
    cardinality: CardinalityAnalysis | None = None,
) -> PhysicalPlan:
    """The cheapest physical plan known to the strategies, its operators numbered from `first_number`, inputs before consumers.

    It may hold exchanges, unless `options.single`, and several of them may have the same node as their input. `started` has, by
    the id of a logical operator, the stage that delivers its rows already: nothing below it is planned. `cardinality` is
    whose estimates are used, by default one of this call's own. Raises InternalError for operators that the optimizer should have
    removed.
    """
    started = started or {}
    cardinality = cardinality or CardinalityAnalysis()
    buckets = _bucket_count(root, options, started)
    context = PhysicalContext(allocator, options, cardinality.rows, buckets, _arithmetic_columns(root))
    planned: dict[int, Planned] = {}
    order = operators(root, started)
    for current in order:
        stage = started.get(id(current))
        if stage is not None and stage.known:
            cardinality.observe(current, _observed_rows(current, stage, cardinality))
    for context.operator, current in enumerate(order):
        stage = started.get(id(current))
        if stage is not None:
            found = _plan_started(current, stage, context)
        else:
            found = _plan_one(current, [planned[id(child)] for child in current.inputs], context)
        planned[id(current)] = replace(found, plan=_estimated(found.plan, found.rows), origin=Origin(context.operator))
    plan = planned[id(root)].plan
    if "reuse_exchanges" not in options.disabled:
        plan = reuse_exchanges(plan)
    if "runtime_filters" not in options.disabled:
        plan = add_runtime_filters(plan, options.force_runtime_filters)
    return number_operators(plan, first_number)


def operators(root: LogicalPlan, leaves: Container[int] = ()) -> list[LogicalPlan]:
    """The operators of a plan in the order of planning, each object once; nothing below those of `leaves`, by id."""
    order: dict[int, LogicalPlan] = {}
    stack: list[LogicalPlan] = [root]
    while stack:
        current = stack[-1]
        pending = [] if id(current) in leaves else [child for child in current.inputs if id(child) not in order]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        order[id(current)] = current
    return list(order.values())


def number_operators(root: PhysicalPlan, first: int = 1) -> PhysicalPlan:
    counter = iter(range(first, first + (1 << 30)))

    def number(plan: Node) -> Node:
        return plan.replace(number=next(counter))

    numbered = rewrite(root, number, kind_mask(PhysicalPlan))
    assert isinstance(numbered, PhysicalPlan)
    return numbered


def _estimated(plan: PhysicalPlan, rows: float) -> PhysicalPlan:
    """The plan of a logical operator with its estimate; a projection has the rows of what it reads."""
    if isinstance(plan, ProjectExec):
        input = _estimated(plan.input, rows)
        return plan if input is plan.input else plan.replace(input=input)
    known = getattr(plan, "estimated_rows", rows)
    return plan.replace(estimated_rows=rows) if known is None else plan


def _plan_one(plan: LogicalPlan, inputs: list[Planned], context: PhysicalContext) -> Planned:
    match plan:
        case Scan():
            return plan_scan(plan, None, context.estimate(plan), context)
        case Values():
            return Planned(ValuesScan(plan.schema, plan.rows), SINGLE, float(len(plan.rows)))
        case Filter():
            return _plan_filter(plan, inputs[0], context)
        case Project():
            project = ProjectExec(inputs[0].plan, plan.assigns)
            return Planned(project, inputs[0].offered.rename(project.passed), inputs[0].rows)
        case Join():
            return plan_join(plan, inputs[0], inputs[1], context)
        case Aggregate():
            return plan_aggregate(plan, inputs[0], context)
        case Window():
            return plan_window(plan, inputs[0], context)
        case Union():
            return plan_union(plan, inputs, context)
        case Sort():
            return plan_sort(plan, inputs[0], context)
        case TopN():
            return plan_top_n(plan, inputs[0], context)
        case Limit():
            return plan_limit(plan, inputs[0], context)
    raise error("INTERNAL", detail=f"{type(plan).__name__} reached the physical planner")


def _plan_started(plan: LogicalPlan, stage: StartedStage, context: PhysicalContext) -> Planned:
    reading, offered = as_written(stage.output, stage.lie, context.buckets)
    origin = Origin(context.operator, stage.partial, stage.lie)
    reading = reading.replace(estimated_rows=stage.rows, origin=origin)
    planned = Planned(reading, offered, stage.rows, origin)
    if not stage.partial:
        return planned
    assert isinstance(plan, Aggregate)
    return merge_aggregate(plan, planned, context)


def _observed_rows(plan: LogicalPlan, stage: StartedStage, cardinality: CardinalityAnalysis) -> float:
    """Of an aggregate's partial states there are as many as groups, or more, if tasks have groups in common."""
    return min(cardinality.rows(plan), stage.rows) if stage.partial else stage.rows


def _plan_filter(plan: Filter, input: Planned, context: PhysicalContext) -> Planned:
    """Into the scan goes what cannot raise; what can sees only the rows that the rest has kept."""
    rows = context.estimate(plan)
    if not isinstance(plan.input, Scan):
        return Planned(FilterExec(input.plan, plan.predicate), input.offered, rows)
    safe: list[Expr] = []
    raising: list[Expr] = []
    for term in conjuncts(plan.predicate):
        (raising if can_raise(term) else safe).append(term)
    scan = plan_scan(plan.input, conjunction(safe) if safe else None, rows, context)
    if not raising:
        return scan
    return Planned(FilterExec(scan.plan, conjunction(raising)), scan.offered, rows)


def _bucket_count(root: LogicalPlan, options: PhysicalOptions, started: Mapping[int, StartedStage]) -> int:
    """One number for all hash exchanges of a query, so that any two by the same keys match."""
    if options.buckets:
        return options.buckets
    scans = [plan.table.bytes for plan in operators(root, started) if isinstance(plan, Scan)]
    largest = max(
        [*scans, *(int(started[id(plan)].bytes) for plan in operators(root, started) if id(plan) in started)], default=0
    )
    wanted = max(options.workers, largest // options.task_bytes)
    return 1 << min(8, (wanted - 1).bit_length()) if wanted > 1 else 1


def _arithmetic_columns(root: LogicalPlan) -> frozenset[int]:
    """Columns used inside of calls, casts or aggregates: those whose bounds decide how arithmetic is done."""
    found: set[int] = set()
    for expr in walk(root, kind_mask(Call, AggregateCall, WindowCall, Cast)):
        found.update(ref.column.id for ref in walk(expr, kind_mask(ColumnRef)) if isinstance(ref, ColumnRef))
    return frozenset(found)

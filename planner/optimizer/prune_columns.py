"""Rule: nobody reads, carries or computes a column that is not used."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.analysis.free_columns import free_columns, output_ids, used_by_operator
from planner.analysis.keys import exactly_one_row, matches_at_most_one
from planner.dtypes import BLOB, INTEGER_BITS, VARCHAR, DType
from planner.expr.nodes import Assign
from planner.expr.predicates import is_trivial
from planner.join_kind import JoinKind
from planner.logical.nodes import (
    Aggregate,
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
    pass_through,
)
from planner.rule import OptimizerContext, rule

Needed = frozenset[int]


@rule(whole_plan=True)
def prune_columns(plan: LogicalPlan, context: OptimizerContext) -> LogicalPlan | None:
    """From the root down, every operator gives only what the one above it uses.

        Project a                 Project a
          Filter b > 1      ⇒       Filter b > 1
            Scan t [a, b, c]          Scan t [a, b]

    Scans read fewer columns; unused expressions and aggregates go (and with them their errors); joins, sorts and limits
    get narrowed inputs. A join that no row depends on goes altogether: a mark that is not looked at, a left join with at most one
    match whose right columns are unused. An operator keeps one column even if only its rows are counted.
    """
    visits = [_Visit(plan, output_ids(plan))]
    for visit in visits:  # grows while it is walked: parents come before their inputs
        for child, needed in _inputs(visit):
            visit.inputs.append(len(visits))
            visits.append(_Visit(child, needed))
    results: list[LogicalPlan] = [plan] * len(visits)
    for index in range(len(visits) - 1, -1, -1):
        visit = visits[index]
        inputs = [results[i] for i in visit.inputs]
        needs = [visits[i].needed for i in visit.inputs]
        results[index] = _rebuilt(visit, inputs, needs)
    result = results[0]
    if result.columns != plan.columns:
        result = Project(result, pass_through(plan.columns))
    return None if result is plan else result


@dataclass(slots=True)
class _Visit:
    """An operator, the columns that are needed of it, and the places of its inputs in the list of visits."""

    plan: LogicalPlan
    needed: Needed
    inputs: list[int] = field(default_factory=list)


def _inputs(visit: _Visit) -> list[tuple[LogicalPlan, Needed]]:
    plan, needed = visit.plan, visit.needed
    match plan:
        case Scan() | Values():
            return []
        case Project():
            used: Needed = frozenset().union(*(free_columns(a.expr) for a in plan.assigns if a.column.id in needed))
            return [(plan.input, used)]
        case Aggregate():
            kept = [*plan.keys, *_kept_aggregates(plan, needed)]
            return [(plan.input, frozenset().union(*(free_columns(a.expr) for a in kept)))]
        case Join():
            unneeded = _unneeded_input(plan, needed)
            wanted = needed | free_columns(plan.condition) if unneeded is None else needed
            sides = [(side, wanted & output_ids(side)) for side in (plan.left, plan.right)]
            return [side for side in sides if side[0] is not unneeded]
        case Window():
            calls = _kept_calls(plan, needed)
            used = frozenset().union(*(free_columns(assign.expr) for assign in calls))
            return [(plan.input, (needed | used) & output_ids(plan.input))]
        case Union():
            places = _kept_places(plan, needed)
            return [(arm, frozenset(arm.columns[at].id for at in places)) for arm in plan.arms]
    inner = plan.inputs[0]
    return [(inner, (needed | used_by_operator(plan)) & output_ids(inner))]


def _unneeded_input(join: Join, needed: Needed) -> LogicalPlan | None:
    """The input without which the join has the same rows, as far as they are looked at."""
    match join.kind:
        case JoinKind.MARK:
            return join.right if join.mark is not None and join.mark.id not in needed else None
        case JoinKind.LEFT:
            unused = not needed & output_ids(join.right)
            return join.right if unused and matches_at_most_one(join) else None
        case JoinKind.INNER if is_trivial(join.condition):
            for side in (join.right, join.left):
                if not needed & output_ids(side) and exactly_one_row(side):
                    return side
    return None


def _kept_aggregates(plan: Aggregate, needed: Needed) -> tuple[Assign, ...]:
    kept = tuple(assign for assign in plan.aggregates if assign.column.id in needed)
    return kept if kept or plan.keys else plan.aggregates[:1]


def _rebuilt(visit: _Visit, inputs: list[LogicalPlan], needs: list[Needed]) -> LogicalPlan:
    plan, needed = visit.plan, visit.needed
    match plan:
        case Scan():
            kept = tuple(pair for pair in plan.output if pair[0].id in needed)
            kept = kept or (min(plan.output, key=lambda pair: _width(pair[0].dtype)),) if plan.output else ()
            return plan if len(kept) == len(plan.output) else plan.replace(output=kept)
        case Values():
            return _narrow_values(plan, needed)
        case Project():
            assigns = tuple(assign for assign in plan.assigns if assign.column.id in needed)
            if not assigns:
                return inputs[0]
            return plan.replace(input=inputs[0], assigns=assigns if len(assigns) < len(plan.assigns) else plan.assigns)
        case Aggregate():
            aggregates = _kept_aggregates(plan, needed)
            same = len(aggregates) == len(plan.aggregates)
            return plan.replace(input=inputs[0], aggregates=plan.aggregates if same else aggregates)
        case Join():
            if len(inputs) == 1:
                return inputs[0]
            left, right = (_narrowed(side, need) for side, need in zip(inputs, needs, strict=True))
            return plan.replace(left=left, right=right)
        case Window():
            calls = _kept_calls(plan, needed)
            if not calls:
                return inputs[0]
            same_calls = len(calls) == len(plan.calls)
            return plan.replace(input=_narrowed(inputs[0], needs[0]), calls=plan.calls if same_calls else calls)
        case Union():
            return _rebuilt_union(plan, needed, inputs)
        case Sort() | TopN() | Limit():
            return plan.replace(input=_narrowed(inputs[0], needs[0]))
    return plan.replace(input=inputs[0])


def _kept_calls(plan: Window, needed: Needed) -> tuple[Assign, ...]:
    return tuple(assign for assign in plan.calls if assign.column.id in needed)


def _kept_places(plan: Union, needed: Needed) -> list[int]:
    return [at for at, column in enumerate(plan.schema) if column.id in needed] or [0]


def _rebuilt_union(plan: Union, needed: Needed, inputs: list[LogicalPlan]) -> LogicalPlan:
    """Arms that give exactly the kept columns, in their order."""
    places = _kept_places(plan, needed)
    arms = []
    for before, after in zip(plan.arms, inputs, strict=True):
        wanted = tuple(before.columns[at] for at in places)
        arms.append(after if after.columns == wanted else Project(after, pass_through(wanted)))
    schema = plan.schema if len(places) == len(plan.schema) else tuple(plan.schema[at] for at in places)
    if schema is plan.schema and all(a is b for a, b in zip(arms, plan.arms, strict=True)):
        return plan
    return Union(tuple(arms), schema)


def _narrowed(plan: LogicalPlan, needed: Needed) -> LogicalPlan:
    """The plan with a projection to what is needed, where it gives more and cannot be made to give less."""
    if not isinstance(plan, (Filter, Join)) or not needed:
        return plan
    columns = tuple(column for column in plan.columns if column.id in needed)
    return plan if len(columns) == len(plan.columns) else Project(plan, pass_through(columns))


def _narrow_values(plan: Values, needed: Needed) -> LogicalPlan:
    places = [index for index, column in enumerate(plan.schema) if column.id in needed] or [0]
    if len(places) >= len(plan.schema):
        return plan
    return Values(tuple(plan.schema[i] for i in places), tuple(tuple(row[i] for i in places) for row in plan.rows))


def _width(dtype: DType) -> int:
    if dtype in (VARCHAR, BLOB):
        return 1000
    return INTEGER_BITS.get(dtype, 64)

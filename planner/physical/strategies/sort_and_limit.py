"""Sort, TopN and Limit: a local part that bounds what travels, a gather, and the final part."""

from __future__ import annotations

from planner.dir import OrderKey
from planner.expr.nodes import ColumnRef, SortKey
from planner.logical.nodes import Limit, Sort, TopN
from planner.physical.context import PhysicalContext, Planned
from planner.physical.nodes import LimitExec, SortExec, TopNExec
from planner.physical.properties import Offered, SingleDistribution, satisfies


def plan_sort(sort: Sort, input: Planned, context: PhysicalContext) -> Planned:
    gathered = context.enforce(input, SingleDistribution())
    return Planned(SortExec(gathered.plan, sort.keys), _ordered(gathered.offered, sort.keys), input.rows)


def plan_top_n(top: TopN, input: Planned, context: PhysicalContext) -> Planned:
    """Every part keeps its own first `offset + limit` rows; the first of all are among them."""
    rows = float(min(input.rows, top.limit))
    if not satisfies(input.offered, SingleDistribution()):
        kept = top.limit + top.offset
        local = TopNExec(input.plan, top.keys, kept)
        input = Planned(local, input.offered.without_order(), min(input.rows, kept * input.offered.count))
    gathered = context.enforce(input, SingleDistribution())
    plan = TopNExec(gathered.plan, top.keys, top.limit, top.offset)
    return Planned(plan, _ordered(gathered.offered, top.keys), rows)


def plan_limit(limit: Limit, input: Planned, context: PhysicalContext) -> Planned:
    """Partitions are gathered in order, so a limit over a scan gives the first rows of the table."""
    if limit.limit is not None and not satisfies(input.offered, SingleDistribution()):
        kept = limit.limit + limit.offset
        rows = min(input.rows, float(kept * input.offered.count))
        input = Planned(LimitExec(input.plan, kept), input.offered, rows)
    gathered = context.enforce(input, SingleDistribution())
    rows = max(0.0, gathered.rows - limit.offset)
    if limit.limit is not None:
        rows = min(rows, float(limit.limit))
    offered = Offered(gathered.offered.partitionings, gathered.offered.ordering)
    return Planned(LimitExec(gathered.plan, limit.limit, limit.offset), offered, rows)


def _ordered(offered: Offered, keys: tuple[SortKey, ...]) -> Offered:
    ordering = []
    for key in keys:
        if not isinstance(key.expr, ColumnRef):
            break
        ordering.append(OrderKey(key.expr.column.id, key.descending, key.nulls_first))
    return Offered(offered.partitionings, tuple(ordering))

"""Join: which columns are keys, and whether rows meet by hash, by broadcast, or in one task; the cheapest wins.

`a IS NOT DISTINCT FROM b`, which dependent-join elimination produces, becomes two pairs of keys that are never NULL:
`a IS NULL` and `coalesce(a, constant)`. So kernels need only joins in which NULL matches nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from planner.analysis.can_raise import can_raise
from planner.dir import Hash, Range, Spread
from planner.dtypes import BLOB, BOOLEAN, DATE, TIMESTAMP, TIMESTAMPTZ, VARCHAR, DType, is_numeric
from planner.expr.nodes import (
    Assign,
    Call,
    ColumnRef,
    Compare,
    CompareOp,
    Expr,
    IsNull,
    Literal,
    conjunction,
    conjuncts,
)
from planner.join_kind import JoinKind
from planner.logical.nodes import Join, LogicalPlan, pass_through
from planner.physical.clustering import choose_boundaries
from planner.physical.context import PhysicalContext, Planned, placements_of
from planner.physical.cost import BUILD_ROW, PROBE_ROW, task_cost
from planner.physical.nodes import ExchangePlan, JoinEstimates, JoinExec, PhysicalPlan, ProjectExec
from planner.physical.properties import (
    AnyDistribution,
    HashDistribution,
    Offered,
    RangeDistribution,
    ReplicatedDistribution,
    SingleDistribution,
    hash_by,
)
from planner.schema import Column
from planner.tree import kind_mask, walk

_REFS = kind_mask(ColumnRef)


@dataclass(frozen=True, slots=True)
class _Keys:
    left: tuple[Expr, ...]
    right: tuple[Expr, ...]
    residual: Expr | None


@dataclass(frozen=True, slots=True)
class _Alternative:
    """Both inputs as they would be enforced, what the join then offers, and its cost."""

    cost: float
    left: Planned
    right: Planned
    offered: Offered


def plan_join(join: Join, left: Planned, right: Planned, context: PhysicalContext) -> Planned:
    keys = split_condition(join)
    left, left_keys = _with_key_columns(left, keys.left, context)
    right, right_keys = _with_key_columns(right, keys.right, context)
    best = min(_alternatives(join.kind, left, right, left_keys, right_keys, context), key=lambda a: a.cost)
    build = "left" if best.left.rows < best.right.rows else "right"
    plan: PhysicalPlan = JoinExec(
        best.left.plan,
        best.right.plan,
        join.kind,
        left_keys,
        right_keys,
        keys.residual,
        join.mark,
        build,
        _estimates(join, left_keys, right_keys, left.rows, right.rows, context),
        placements=placements_of(best.left, best.right),
    )
    if len(plan.columns) > len(join.columns):
        plan = ProjectExec(plan, pass_through(join.columns))
    offered = best.offered.rename({column.id: (column.id,) for column in join.columns})
    return Planned(plan, offered, context.estimate(join))


def _estimates(
    join: Join,
    left: tuple[Column, ...],
    right: tuple[Column, ...],
    left_rows: float,
    right_rows: float,
    context: PhysicalContext,
) -> JoinEstimates:
    def share(a: LogicalPlan, b: LogicalPlan, key: Column, other: Column) -> float:
        equal = Compare(BOOLEAN, CompareOp.EQ, ColumnRef(key.dtype, key), ColumnRef(other.dtype, other))
        return context.estimate(Join(a, b, JoinKind.SEMI, equal)) / max(1.0, context.estimate(a))

    pairs = list(zip(left, right, strict=True))
    return JoinEstimates(
        left_rows,
        right_rows,
        tuple(share(join.left, join.right, a, b) for a, b in pairs),
        tuple(share(join.right, join.left, b, a) for a, b in pairs),
    )


def split_condition(join: Join) -> _Keys:
    """Equalities between the two sides become keys, all else the residual.

    An equality that can raise becomes a key only if there is no other: it is then evaluated once for every row of either side,
    as the nested loop would do, and not for pairs that the other keys never bring together.
    """
    left_ids, right_ids = _ids(join.left), _ids(join.right)
    lefts: list[Expr] = []
    rights: list[Expr] = []
    residual: list[Expr] = []
    terms = conjuncts(join.condition)
    pairs = [_pair(term, left_ids, right_ids) for term in terms]
    safe = any(pair is not None and not can_raise(term) for term, pair in zip(terms, pairs, strict=True))
    for term, pair in zip(terms, pairs, strict=True):
        if pair is None or (safe and can_raise(term)):
            residual.append(term)
            continue
        null_safe, a, b = pair
        if null_safe:
            for x, keys in ((a, lefts), (b, rights)):
                keys.append(IsNull(BOOLEAN, x))
                keys.append(Call(x.dtype, "coalesce", (x, _some_value(x.dtype))))
        else:
            lefts.append(a)
            rights.append(b)
    whole = conjunction(residual)
    trivial = isinstance(whole, Literal) and whole.value is True
    return _Keys(tuple(lefts), tuple(rights), None if trivial else whole)


def _ids(plan: LogicalPlan) -> frozenset[int]:
    return frozenset(column.id for column in plan.columns)


def _pair(term: Expr, left: frozenset[int], right: frozenset[int]) -> tuple[bool, Expr, Expr] | None:
    """An equality as (is it null-safe, left operand, right operand)."""
    if not isinstance(term, Compare) or term.op not in (CompareOp.EQ, CompareOp.NOT_DISTINCT):
        return None
    null_safe = term.op is CompareOp.NOT_DISTINCT
    a, b = _used(term.left), _used(term.right)
    if not a or not b or (null_safe and _some_value_or_none(term.left.dtype) is None):
        return None
    if a <= left and b <= right:
        return null_safe, term.left, term.right
    if a <= right and b <= left:
        return null_safe, term.right, term.left
    return None


def _used(expr: Expr) -> frozenset[int]:
    return frozenset(ref.column.id for ref in walk(expr, _REFS) if isinstance(ref, ColumnRef))


_SOME_VALUES: dict[DType, Any] = {
    BOOLEAN: False,
    VARCHAR: "",
    BLOB: b"",
    DATE: datetime.date(1970, 1, 1),
    TIMESTAMP: datetime.datetime(1970, 1, 1),
    TIMESTAMPTZ: datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC),
}


def _some_value_or_none(dtype: DType) -> Literal | None:
    if is_numeric(dtype):
        return Literal(dtype, 0)
    return Literal(dtype, _SOME_VALUES[dtype]) if dtype in _SOME_VALUES else None


def _some_value(dtype: DType) -> Literal:
    literal = _some_value_or_none(dtype)
    assert literal is not None
    return literal


def _with_key_columns(planned: Planned, keys: tuple[Expr, ...], context: PhysicalContext) -> tuple[Planned, tuple[Column, ...]]:
    """Keys that are not columns yet are projected."""
    columns: list[Column] = []
    computed: list[Assign] = []
    for key in keys:
        if isinstance(key, ColumnRef):
            columns.append(key.column)
        else:
            column = context.allocator.new("key", key.dtype)
            computed.append(Assign(column, key))
            columns.append(column)
    if computed:
        plan = ProjectExec(planned.plan, pass_through(planned.columns) + tuple(computed))
        planned = replace(planned, plan=plan)
    return planned, tuple(columns)


def _alternatives(
    kind: JoinKind,
    left: Planned,
    right: Planned,
    left_keys: tuple[Column, ...],
    right_keys: tuple[Column, ...],
    context: PhysicalContext,
) -> Iterator[_Alternative]:
    single_left, single_right = (context.enforce(side, SingleDistribution()) for side in (left, right))
    yield _alternative(left, right, single_left, single_right, Offered(single_left.offered.partitionings), 1, context)
    if context.options.single:
        return
    if kind is not JoinKind.FULL and left.offered.count > 1:
        replicated = context.enforce(right, ReplicatedDistribution())
        in_place = context.enforce(left, AnyDistribution())
        yield _alternative(left, right, in_place, replicated, left.offered.without_order(), left.offered.count, context)
    if kind is JoinKind.INNER and right.offered.count > 1:
        replicated = context.enforce(left, ReplicatedDistribution())
        in_place = context.enforce(right, AnyDistribution())
        yield _alternative(left, right, replicated, in_place, right.offered.without_order(), right.offered.count, context)
    if left_keys:
        for a, b in _range_partitionings(left, right, left_keys, right_keys, context):
            yield _alternative(left, right, a, b, _range_partitioned_offer(kind, a, b), a.offered.count, context)
        for wanted_left, wanted_right in _co_partitionings(left, right, left_keys, right_keys, context):
            a = context.enforce(left, HashDistribution(wanted_left))
            b = context.enforce(right, HashDistribution(wanted_right))
            offered = _co_partitioned_offer(kind, a, b, wanted_left.buckets)
            yield _alternative(left, right, a, b, offered, wanted_left.buckets, context)


def _alternative(
    left: Planned, right: Planned, a: Planned, b: Planned, offered: Offered, tasks: int, context: PhysicalContext
) -> _Alternative:
    """The join of `left` and `right` as they would be enforced to `a` and `b`, with its price.

    A side that every task reads whole is hashed by every task; otherwise the smaller side is hashed once. What runs in fewer
    tasks than there are workers takes as much longer.
    """
    moved = context.cost_of_moving(left, a) + context.cost_of_moving(right, b)
    built = min(left.rows, right.rows)
    for side in (a, b):
        if tasks > 1 and side.offered.count == 1:
            built = side.rows * tasks
    work = built * BUILD_ROW + (left.rows + right.rows) * PROBE_ROW
    if isinstance(a.plan, ExchangePlan) and isinstance(b.plan, ExchangePlan):
        moved += task_cost(tasks)  # of a stage of its own
    workers = context.options.workers
    return _Alternative(moved + work * workers / min(tasks, workers), a, b, offered)


def _range_partitionings(
    left: Planned, right: Planned, left_keys: tuple[Column, ...], right_keys: tuple[Column, ...], context: PhysicalContext
) -> Iterator[tuple[Planned, Planned]]:
    """Both sides cut at the same boundaries of one pair of keys, where at least one side is clustered by it.

    If both are, nothing moves, and the side with fewer row groups says where to cut: the other one has the finer grain. If only
    one is, the rows of the other side are sent to where its row groups are.
    """
    for a, b in zip(left_keys, right_keys, strict=True):
        sources = left.offered.clustering(a.id), right.offered.clustering(b.id)
        found = [context.clusterings[source] for source in sources if source is not None]
        if not found or a.dtype != b.dtype:
            continue
        coarsest = min(found, key=lambda clustering: len(clustering.groups))
        parts = max(side.offered.count for side, source in zip((left, right), sources, strict=True) if source is not None)
        boundaries = choose_boundaries(coarsest, parts)
        if not boundaries:
            continue
        cut_left = _ranged(left, a, sources[0], boundaries, context)
        cut_right = _ranged(right, b, sources[1], boundaries, context)
        if cut_left is not None and cut_right is not None:
            yield cut_left, cut_right


def _ranged(
    side: Planned, key: Column, source: int | None, boundaries: tuple[int, ...], context: PhysicalContext
) -> Planned | None:
    if source is not None:
        return context.cut_by_range(side, key, boundaries)
    return context.enforce(side, RangeDistribution(Range(key.id, key.dtype, boundaries)))


def _range_partitioned_offer(kind: JoinKind, left: Planned, right: Planned) -> Offered:
    if kind is JoinKind.FULL:
        return Offered((Spread(left.offered.count),))
    both = kind is JoinKind.INNER
    ranges = left.offered.ranges + (right.offered.ranges if both else ())
    return Offered(ranges, clusterings=left.offered.clusterings + (right.offered.clusterings if both else ()))


def _co_partitionings(
    left: Planned,
    right: Planned,
    left_keys: tuple[Column, ...],
    right_keys: tuple[Column, ...],
    context: PhysicalContext,
) -> Iterator[tuple[Hash, Hash]]:
    """Pairs of matching partitionings: those that one side offers already, then by all keys."""
    for side, own, other in ((left, left_keys, right_keys), (right, right_keys, left_keys)):
        partner = {a.id: b for a, b in zip(own, other, strict=True)}
        types = {a.id: a.dtype for a in own}
        for offer in side.offered.hashes:
            if not all(key in partner and types[key] == dtype for key, dtype in zip(offer.keys, offer.key_types, strict=True)):
                continue
            mirrored = Hash(tuple(partner[key].id for key in offer.keys), offer.key_types, offer.buckets, offer.version)
            yield (offer, mirrored) if side is left else (mirrored, offer)
    yield hash_by(left_keys, context.buckets), hash_by(right_keys, context.buckets)


def _co_partitioned_offer(kind: JoinKind, left: Planned, right: Planned, buckets: int) -> Offered:
    """Where rows lie after the join: NULLs of an outer side do not lie where their hash says."""
    match kind:
        case JoinKind.INNER:
            return Offered(left.offered.hashes + right.offered.hashes)
        case JoinKind.FULL:
            return Offered((Spread(buckets),))
        case _:
            return Offered(left.offered.hashes)

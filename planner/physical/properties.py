"""Physical properties: what an operator *requires* of an input, and what a plan *offers*.

A requirement is a `Distribution`; an offer is a set of partitionings that all hold at once (after an inner join rows are
spread by the keys of either side). `satisfies` is the only place that compares the two, and `enforce` the only one that
inserts exchanges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.dir import Hash, OrderKey, Partitioning, Range, Replicated, SampledRange, Single, Spread, partition_count
from planner.schema import Column, Schema


@dataclass(frozen=True, slots=True)
class AnyDistribution:
    """The operator works on any part of the rows."""


@dataclass(frozen=True, slots=True)
class SingleDistribution:
    """All rows in one partition."""


@dataclass(frozen=True, slots=True)
class ReplicatedDistribution:
    """Every task sees all rows."""


@dataclass(frozen=True, slots=True)
class ClusteredDistribution:
    """Rows that are equal in all `columns` lie in the same partition."""

    columns: Schema


@dataclass(frozen=True, slots=True)
class HashDistribution:
    """Exactly this hash partitioning: what one side of a co-partitioned join asks of the other."""

    partitioning: Hash


@dataclass(frozen=True, slots=True)
class RangeDistribution:
    """Exactly this range partitioning."""

    partitioning: Range


@dataclass(frozen=True, slots=True)
class OrderedDistribution:
    """Sorted runs cut into ranges of their order, each range in one partition, or all in one."""

    partitioning: SampledRange


Distribution = (
    AnyDistribution
    | SingleDistribution
    | ReplicatedDistribution
    | ClusteredDistribution
    | HashDistribution
    | RangeDistribution
    | OrderedDistribution
)


@dataclass(frozen=True, slots=True)
class Offered:
    """What a plan offers: partitionings that hold at once (the first one says the number of partitions), and an order.

    `replicable`: the plan is one partition that any task may compute for itself at next to no cost.

    `clusterings` pairs output columns with columns of scans whose row groups are ranged by them: the plan can be cut into
    partitions by ranges of such a column without moving a row, at any boundaries (`planner.physical.clustering`).
    """

    partitionings: tuple[Partitioning, ...]
    ordering: tuple[OrderKey, ...] = ()
    replicable: bool = False
    clusterings: tuple[tuple[int, int], ...] = ()

    @property
    def count(self) -> int:
        return partition_count(self.partitionings[0])

    @property
    def hashes(self) -> tuple[Hash, ...]:
        return tuple(partitioning for partitioning in self.partitionings if isinstance(partitioning, Hash))

    @property
    def ranges(self) -> tuple[Range, ...]:
        return tuple(partitioning for partitioning in self.partitionings if isinstance(partitioning, Range))

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """Of every partitioning by hash or range the keys: rows that are equal in them lie in the same partition."""
        return tuple(p.keys for p in self.partitionings if isinstance(p, (Hash, Range)))

    def clustering(self, column: int) -> int | None:
        """The scan's column by which the plan can be cut into ranges of one of its own columns."""
        return next((source for visible, source in self.clusterings if visible == column), None)

    def rename(self, kept: Mapping[int, tuple[int, ...]]) -> Offered:
        """The offer after a projection: `kept` maps the id of each input column to the output columns that equal it."""
        partitionings: list[Partitioning] = []
        for partitioning in self.partitionings:
            if isinstance(partitioning, (Single, Spread, Replicated)):
                partitionings.append(partitioning)
            elif all(kept.get(key) for key in partitioning.keys):
                keys = tuple(kept[key][0] for key in partitioning.keys)
                if isinstance(partitioning, Range):
                    partitionings.append(replace(partitioning, key=keys[0]))
                elif isinstance(partitioning, SampledRange):
                    renamed = tuple(replace(key, column=kept[key.column][0]) for key in partitioning.order)
                    partitionings.append(replace(partitioning, order=renamed))
                else:
                    partitionings.append(replace(partitioning, keys=keys))
        ordering: list[OrderKey] = []
        for order in self.ordering:
            if not kept.get(order.column):
                break
            ordering.append(OrderKey(kept[order.column][0], order.descending, order.nulls_first))
        if not partitionings:
            partitionings.append(Spread(self.count))
        clusterings = tuple((new, source) for old, source in self.clusterings for new in kept.get(old, ())[:1])
        return Offered(tuple(partitionings), tuple(ordering), self.replicable, clusterings)

    def without_order(self) -> Offered:
        return replace(self, ordering=())


@dataclass(frozen=True, slots=True)
class Placement:
    """Why the rows of an input are moved, or need not be: what its consumer requires, and how they lay before.

    `met_by` is the partitioning that has what is required, None if rows are moved; `is_cut`: scans were cut by its ranges for
    that. `columns` are those that ids in it mean.
    """

    required: Distribution
    offered: tuple[Partitioning, ...]
    met_by: Partitioning | None
    columns: Schema
    is_cut: bool = False


def satisfies(offered: Offered, required: Distribution) -> bool:
    """Whether rows that lie as offered need no exchange to lie as required."""
    return satisfying(offered, required) is not None


def satisfying(offered: Offered, required: Distribution) -> Partitioning | None:
    """The offered partitioning that makes an exchange unnecessary, None if there is none."""
    first = offered.partitionings[0]
    single = first if isinstance(first, Single) else None
    match required:
        case AnyDistribution():
            return first
        case SingleDistribution() | OrderedDistribution():
            return single
        case ReplicatedDistribution():
            return single if offered.replicable else None
        case ClusteredDistribution(columns):
            wanted = {column.id for column in columns}
            keyed = (p for p in offered.partitionings if isinstance(p, (Hash, Range)) and wanted.issuperset(p.keys))
            return single or next(keyed, None)
        case HashDistribution(partitioning) | RangeDistribution(partitioning):
            return partitioning if partitioning in offered.partitionings else None


def hash_by(columns: tuple[Column, ...], buckets: int) -> Hash:
    """Hash partitioning by columns in their own logical types. `buckets` is a power of two."""
    return Hash(tuple(column.id for column in columns), tuple(column.dtype for column in columns), buckets)


SINGLE = Offered((Single(),))

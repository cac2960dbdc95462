"""Physical properties: what an operator *requires* of an input, and what a plan *offers*.

A requirement is a `Distribution`; an offer is a set of partitionings that all hold at once (after an inner join rows are
spread by the keys of either side). `satisfies` is the only place that compares the two, and `enforce` the only one that
inserts exchanges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.dir import Hash, OrderKey, Partitioning, Replicated, Single, Spread, partition_count
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


Distribution = AnyDistribution | SingleDistribution | ReplicatedDistribution | ClusteredDistribution | HashDistribution


@dataclass(frozen=True, slots=True)
class Offered:
    """What a plan offers: partitionings that hold at once (the first one says the number of partitions), and an order.

    `replicable`: the plan is one partition that any task may compute for itself at next to no cost.
    """

    partitionings: tuple[Partitioning, ...]
    ordering: tuple[OrderKey, ...] = ()
    replicable: bool = False

    @property
    def count(self) -> int:
        return partition_count(self.partitionings[0])

    @property
    def hashes(self) -> tuple[Hash, ...]:
        return tuple(partitioning for partitioning in self.partitionings if isinstance(partitioning, Hash))

    def rename(self, kept: Mapping[int, tuple[int, ...]]) -> Offered:
        """The offer after a projection: `kept` maps the id of each input column to the output columns that equal it."""
        partitionings: list[Partitioning] = []
        for partitioning in self.partitionings:
            if not isinstance(partitioning, Hash):
                partitionings.append(partitioning)
            elif all(kept.get(key) for key in partitioning.keys):
                keys = tuple(kept[key][0] for key in partitioning.keys)
                partitionings.append(Hash(keys, partitioning.key_types, partitioning.buckets, partitioning.version))
        ordering: list[OrderKey] = []
        for order in self.ordering:
            if not kept.get(order.column):
                break
            ordering.append(OrderKey(kept[order.column][0], order.descending, order.nulls_first))
        if not partitionings:
            partitionings.append(Spread(self.count))
        return Offered(tuple(partitionings), tuple(ordering), self.replicable)

    def without_order(self) -> Offered:
        return Offered(self.partitionings, (), self.replicable)


def satisfies(offered: Offered, required: Distribution) -> bool:
    """Whether rows that lie as offered need no exchange to lie as required."""
    single = isinstance(offered.partitionings[0], Single)
    match required:
        case AnyDistribution():
            return True
        case SingleDistribution():
            return single
        case ReplicatedDistribution():
            return single and offered.replicable
        case ClusteredDistribution(columns):
            wanted = {column.id for column in columns}
            return single or any(wanted.issuperset(partitioning.keys) for partitioning in offered.hashes)
        case HashDistribution(partitioning):
            return partitioning in offered.partitionings


def hash_by(columns: tuple[Column, ...], buckets: int) -> Hash:
    """Hash partitioning by columns in their own logical types. `buckets` is a power of two."""
    return Hash(tuple(column.id for column in columns), tuple(column.dtype for column in columns), buckets)


SINGLE = Offered((Single(),))
REPLICATED = Replicated()

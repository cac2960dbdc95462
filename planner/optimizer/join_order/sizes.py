"""Estimated sizes of joins of sets of relations: one estimate per set, in whatever order it is joined.

The estimate of a set is that of the tree as it was written, restricted to the set: the operands of neighbouring inner joins are
multiplied with the shares of the conjuncts between them (independence and containment, as in Selinger et al., SIGMOD 1979), a
left join keeps at least its left rows, a semi join a share of them. Equalities between the same two relations are one
composite key, not independent ones. Equalities of one class count only as far as they connect columns that are not equal yet:
composite keys first, then those with few values, which estimates no fewer rows than another order would.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.analysis.cardinality import CardinalityAnalysis
from planner.analysis.estimates import ColumnEstimate
from planner.analysis.join_size import equality_share, pair_share, semi_share
from planner.analysis.selectivity import Predicates
from planner.join_kind import JoinKind
from planner.optimizer.join_order.conflicts import Edge
from planner.optimizer.join_order.graph import JoinGraph, Operator, bits

_LEAST_ANTI = 0.1
"""Of the rows of an anti join's left input at least this share is expected to stay."""


@dataclass(slots=True)
class _Key:
    """The equalities between two relations: their columns, the class of each (a number of its own if it has none)."""

    relations: int
    columns: list[tuple[int, int]] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)
    share: float = 1.0


class Sizes:
    """`rows` of sets of relations (as bits). `factors` are (relations, share): what holds whatever else holds."""

    def __init__(self, graph: JoinGraph, edges: Sequence[Edge], cardinality: CardinalityAnalysis) -> None:
        self._graph = graph
        estimates = [cardinality.estimate(relation) for relation in graph.relations]
        self._known: dict[int, float] = {1 << index: estimate.rows for index, estimate in enumerate(estimates)}
        self._base = [estimate.rows for estimate in estimates]
        self._columns: dict[int, ColumnEstimate] = {}
        for estimate in estimates:
            self._columns.update(estimate.columns)
        self.factors: list[tuple[int, float]] = []
        self._keys: list[_Key] = []
        self._shares: dict[tuple[tuple[int, int], ...], float] = {}
        self._describe(edges)
        self._only_inner = graph.only_inner
        self._independent = self._only_inner and not self._keys
        self._raw = dict(self._known)  # without the lower limit of a row: products of these do not depend on an order
        self._touching: dict[int, list[int]] = {bit: [] for bit in self._known}
        for number, (relations, _) in enumerate(self.factors):
            for bit in bits(relations):
                self._touching[bit].append(number)
        self._operators: dict[int, float] = {}
        for operator in graph.operators:
            if operator.kind is not JoinKind.INNER:
                left, right = (cardinality.estimate(side) for side in operator.join.inputs)
                shared = semi_share if operator.kind in (JoinKind.SEMI, JoinKind.ANTI) else pair_share
                self._operators[id(operator)] = shared(operator.join, left, right)
        self._tes = {id(edge.operator): edge.tes for edge in edges if edge.kind is not JoinKind.INNER}

    def rows(self, relations: int) -> float:
        """The estimated rows of the join of a set of relations, at least 1 unless one of them is empty."""
        found = self._known.get(relations)
        if found is None:
            raw = self._raw[relations] = self._inner(relations) if self._only_inner else self._restricted(relations)
            found = self._known[relations] = max(raw, 1.0) if raw else raw
        return found

    def joined(self, a: int, b: int) -> float:
        """`rows` of the union of two disjoint sets whose rows are known."""
        union = a | b
        if union in self._known or not self._independent:
            return self.rows(union)
        few, other = (a, b) if a.bit_count() <= b.bit_count() else (b, a)
        raw = self._raw[a] * self._raw[b]
        for bit in bits(few):
            for number in self._touching[bit]:
                mask, share = self.factors[number]
                inside = mask & few
                if mask & other and not mask & ~union and inside & -inside == bit:
                    raw *= share
        self._raw[union] = raw
        found = self._known[union] = max(raw, 1.0) if raw else raw
        return found

    def _describe(self, edges: Sequence[Edge]) -> None:
        """Split what relates relations into factors, which always hold, and keys that may follow from each other."""
        predicates = Predicates(self._columns)
        keys: dict[int, _Key] = {}
        members: dict[int, int] = {}
        count: dict[int, int] = {}
        for number, edge in enumerate(edges):
            if edge.kind is not JoinKind.INNER or not edge.terms:
                continue
            if edge.columns is None or edge.keys is None or edge.tes.bit_count() != 2:
                self.factors.append((edge.tes, max(predicates.selectivity_of_all(edge.terms), self._one_row_of(edge.tes))))
                continue
            a, b = edge.columns
            relations = edge.keys[0] | edge.keys[1]
            key = keys.setdefault(relations, _Key(relations))
            low_first = edge.keys[0] < edge.keys[1]
            key.columns.append((a.id, b.id) if low_first else (b.id, a.id))
            same = edge.same if edge.same >= 0 else -1 - number
            key.classes.append(same)
            members[same] = members.get(same, 0) | relations
            count[same] = count.get(same, 0) + 1
        for key in keys.values():
            key.share = self._share(key.relations, key.columns)
            # A class whose equalities are a tree has no equality that follows from others.
            if all(count[same] < members[same].bit_count() for same in key.classes):
                self.factors.append((key.relations, key.share))
            else:
                self._keys.append(key)
        self._keys.sort(key=lambda key: (len(key.columns) < 2, -key.share, key.relations))

    def _one_row_of(self, relations: int) -> float:
        """The share that leaves one row: filters of the relations may follow from a conjunct, which then selects little more."""
        rows = 1.0
        for bit in bits(relations):
            rows *= max(self._known[bit], 1.0)
        return 1.0 / rows

    def _share(self, relations: int, columns: Sequence[tuple[int, int]]) -> float:
        known = self._shares.get(tuple(columns))
        if known is None:
            low, high = (self._base[bit.bit_length() - 1] for bit in bits(relations))
            described = [(self._columns.get(a), self._columns.get(b)) for a, b in columns]
            known = self._shares[tuple(columns)] = equality_share(described, low, high)
        return known

    def _inner(self, relations: int) -> float:
        rows = self._conjuncts(relations)
        for bit in bits(relations):
            rows *= self._known[bit]
        return rows

    def _conjuncts(self, relations: int) -> float:
        """The share of combinations of rows that satisfies all conjuncts within a set of relations."""
        share = 1.0
        for mask, factor in self.factors:
            if not mask & ~relations:
                share *= factor
        connected: dict[int, list[int]] = {}
        for key in self._keys:
            mask = key.relations
            if mask & ~relations:
                continue
            new = [at for at, same in enumerate(key.classes) if not _connects(connected.setdefault(same, []), mask)]
            if len(new) == len(key.classes):
                share *= key.share
            elif new:
                share *= self._share(mask, [key.columns[at] for at in new])
        return share

    def _restricted(self, relations: int) -> float:
        """The estimate of the written tree of which only some relations are left."""
        results: dict[int, float] = {}
        for operator in self._graph.operators:
            left, right = (self._operand(side, relations, results) for side in (operator.left, operator.right))
            if left < 0 or right < 0:
                results[id(operator)] = max(left, right)
            elif operator.kind is JoinKind.INNER or self._tes[id(operator)] & ~relations:
                results[id(operator)] = left * right
            else:
                results[id(operator)] = _joined(operator.kind, left, right, self._operators[id(operator)])
        return results[id(self._graph.root)] * self._conjuncts(relations)

    def _operand(self, operand: Operator | int, relations: int, results: dict[int, float]) -> float:
        """The size of an operand, -1 if none of its relations is in the set."""
        if isinstance(operand, Operator):
            return results[id(operand)]
        return self._known[1 << operand] if 1 << operand & relations else -1.0


def _joined(kind: JoinKind, left: float, right: float, share: float) -> float:
    match kind:
        case JoinKind.SEMI:
            return left * share
        case JoinKind.ANTI:
            return left * max(_LEAST_ANTI, 1.0 - share)
        case JoinKind.LEFT:
            return max(left, left * right * share)
    return max(left, right, left * right * share)


def _connects(components: list[int], pair: int) -> bool:
    """Whether both relations of a pair lie in one component; joins their components."""
    touched = [component for component in components if component & pair]
    if len(touched) == 1 and not pair & ~touched[0]:
        return True
    for component in touched:
        components.remove(component)
        pair |= component
    components.append(pair)
    return False

"""Enumeration of the pairs of connected sets of a hypergraph that an edge connects, each pair once.

DPhyp, Moerkotte and Neumann, Dynamic programming strikes back, SIGMOD 2008. Pairs come in an order in which all pairs
that a set is made of precede those in which it takes part, so that dynamic programming can use them as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


class BudgetExceeded(Exception):
    """There are more pairs than were to be looked at."""


class Enumerator:
    """`edges` are pairs of disjoint sets of relations (as bits) out of `count`.

    `emit` is called with both sets of each pair and tells whether the union can be built from them; a set that never could is not
    extended. Raises BudgetExceeded when more than `budget` pairs were found, or many more sets were looked at in vain.
    """

    def __init__(
        self, count: int, edges: Sequence[tuple[int, int]], emit: Callable[[int, int], bool], budget: int = 1 << 60
    ) -> None:
        self._count = count
        self._emit = emit
        self._neighbours: dict[int, int] = {0: 0}
        for index in range(count):
            self._neighbours[1 << index] = 0
        self._complex: list[tuple[int, int]] = []
        for left, right in edges:
            if left & (left - 1) or right & (right - 1):
                self._complex += ((left, right), (right, left))
            else:
                self._neighbours[left] |= right
                self._neighbours[right] |= left
        self._built = {1 << index for index in range(count)}
        self._budget = budget
        self._patience = 4 * budget
        self.pairs = 0

    def run(self) -> None:
        for index in reversed(range(self._count)):
            start = 1 << index
            self._pairs_of(start)
            self._grow(start, start | (start - 1))

    def _adjacent(self, relations: int) -> int:
        """All relations with a simple edge to the set, itself perhaps included."""
        found = self._neighbours.get(relations)
        if found is None:
            low = relations & -relations
            found = self._neighbours[relations] = self._neighbours[low] | self._adjacent(relations ^ low)
        return found

    def _neighbourhood(self, relations: int, excluded: int) -> int:
        """Relations outside of `excluded` that the set has edges to; of a hyperedge's other side only the lowest one."""
        excluded |= relations
        found = self._adjacent(relations) & ~excluded
        for left, right in self._complex:
            if not left & ~relations and not right & excluded and not right & found:
                found |= right & -right
        return found

    def _connected(self, a: int, b: int) -> bool:
        if self._adjacent(a) & b:
            return True
        return any(not left & ~a and not right & ~b for left, right in self._complex)

    def _grow(self, relations: int, excluded: int) -> None:
        """Extend a connected set by its neighbours; emit the pairs of every set that results."""
        neighbours = self._neighbourhood(relations, excluded)
        if not neighbours:
            return
        subset = neighbours & -neighbours
        while subset:
            self._tick()
            if relations | subset in self._built:
                self._pairs_of(relations | subset)
            subset = (subset - neighbours) & neighbours
        subset = neighbours & -neighbours
        while subset:
            self._grow(relations | subset, excluded | neighbours)
            subset = (subset - neighbours) & neighbours

    def _pairs_of(self, first: int) -> None:
        low = first & -first
        excluded = first | (low - 1)
        neighbours = self._neighbourhood(first, excluded)
        rest = neighbours
        while rest:
            second = 1 << (rest.bit_length() - 1)
            rest ^= second
            if self._connected(first, second):
                self._found(first, second)
            self._grow_second(first, second, excluded | (neighbours & (second - 1)))

    def _grow_second(self, first: int, second: int, excluded: int) -> None:
        neighbours = self._neighbourhood(second, excluded)
        if not neighbours:
            return
        subset = neighbours & -neighbours
        while subset:
            self._tick()
            if second | subset in self._built and self._connected(first, second | subset):
                self._found(first, second | subset)
            subset = (subset - neighbours) & neighbours
        subset = neighbours & -neighbours
        while subset:
            self._grow_second(first, second | subset, excluded | neighbours)
            subset = (subset - neighbours) & neighbours

    def _found(self, first: int, second: int) -> None:
        self.pairs += 1
        if self.pairs > self._budget:
            raise BudgetExceeded
        if self._emit(first, second):
            self._built.add(first | second)

    def _tick(self) -> None:
        self._patience -= 1
        if self._patience < 0:
            raise BudgetExceeded

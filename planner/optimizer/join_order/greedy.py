"""Greedy operator ordering (Fegaras, DEXA 1998): of all pairs that an edge relates, the one with the smallest result is next."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from planner.optimizer.join_order.graph import bits

if TYPE_CHECKING:
    from planner.optimizer.join_order.search import Search


def greedy_pairs(search: Search) -> Iterator[tuple[int, int]]:
    """Pairs of sets (as bits) of relations in the order in which they are joined, until nothing can be joined any more.

    Pairs without a key come last, the smallest first, unless one side is a single row. Ties are decided by the smaller inputs,
    then by the numbers of the relations.
    """
    edges = search.edges
    sizes = search.sizes
    touching: dict[int, set[int]] = {1 << index: set() for index in range(len(search.graph.relations))}
    part_of = {bit: bit for bit in touching}
    for number, edge in enumerate(edges):
        for bit in bits(edge.tes):
            touching[bit].add(number)
    heap: list[tuple[bool, float, float, int, int]] = []
    rated: set[tuple[int, int]] = set()

    def rate(part: int) -> None:
        for number in touching[part]:
            rest = edges[number].tes & ~part
            other = part_of[rest & -rest]
            if rest & ~other:
                continue  # needs more than two parts
            a, b = (part, other) if (part & -part) < (other & -other) else (other, part)
            if (a, b) not in rated:
                rated.add((a, b))
                left, right = sizes.rows(a), sizes.rows(b)
                poor = not search.has_key(a, b) and left > 1.0 and right > 1.0
                heappush(heap, (poor, sizes.joined(a, b), left + right, a, b))

    for bit in tuple(touching):
        rate(bit)
    while heap:
        _, _, _, a, b = heappop(heap)
        if a not in touching or b not in touching or not search.can_join(a, b):
            continue
        union = a | b
        first, second = touching.pop(a), touching.pop(b)
        inside = {number for number in first & second if not edges[number].tes & ~union}
        touching[union] = (first | second) - inside
        for bit in part_of:
            if bit & union:
                part_of[bit] = union
        yield a, b
        rate(union)

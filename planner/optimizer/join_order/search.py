"""The search for the cheapest tree: dynamic programming over DPhyp's pairs, or greedy where there are too many of them.

The cost of a tree is the sum over its joins of

    the rows that it gives                          C_out of Cluet and Moerkotte, ICDT 1995: what all later operators work on
    a part of the rows of its smaller input         they are hashed, kept in memory, and usually what is sent to other tasks
    the pairs that it compares, without a key       a nested loop

in rows, all estimated. Which of both inputs is hashed follows from the same sizes: the smaller one is put on the right.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from planner.analysis.cardinality import CardinalityAnalysis
from planner.join_kind import JoinKind
from planner.optimizer.join_order.conflicts import Edge, find_edges, operands
from planner.optimizer.join_order.dphyp import BudgetExceeded, Enumerator
from planner.optimizer.join_order.graph import JoinGraph, bits
from planner.optimizer.join_order.greedy import greedy_pairs
from planner.optimizer.join_order.sizes import Sizes
from planner.rule import JoinSearch

BUDGET = 12_000
"""Pairs of sets that dynamic programming looks at: a clique of 9 relations has 9,330, a star of 12 has 11,264."""
BUILD = 0.3
"""What a row of the smaller input costs, in result rows."""
COMPARE = 0.1
"""What a pair of rows costs that a nested loop compares."""
TINY = 30
"""Relations of at most this many rows are multiplied where that wins."""
_MOST_TINY = 4
BETTER = 0.999
"""A tree is replaced by one that costs at most this share of it: equal costs keep what was written."""

_INNER = JoinKind.INNER


@dataclass(slots=True)
class Tree:
    """The cheapest known tree of a set of relations: made of two sets by an operator, by inner conjuncts where it is None."""

    cost: float
    rows: float
    left: int = 0
    right: int = 0
    operator: Edge | None = None


class Search:
    """`trees` are the best trees found by their sets of relations; they are made of each other."""

    def __init__(self, graph: JoinGraph, cardinality: CardinalityAnalysis) -> None:
        self.graph = graph
        self.edges: list[Edge] = find_edges(graph)
        self.sizes = Sizes(graph, self.edges, cardinality)
        self._free = graph.only_inner  # any connected pair can be joined
        count = len(graph.relations)
        self.all = (1 << count) - 1
        self._leaves = {1 << index: Tree(0.0, self.sizes.rows(1 << index)) for index in range(count)}
        self.trees = dict(self._leaves)
        self._key_neighbours: dict[int, int] = {0: 0}
        self._wide_keys: list[tuple[int, int]] = []
        self._index_keys(count)
        self._add_products_of_tiny()

    def _index_keys(self, count: int) -> None:
        for index in range(count):
            self._key_neighbours[1 << index] = 0
        for edge in self.edges:
            if edge.keys is not None:
                a, b = edge.keys
                if a & (a - 1) or b & (b - 1):
                    self._wide_keys.append((a, b))
                else:
                    self._key_neighbours[a] |= b
                    self._key_neighbours[b] |= a

    def _add_products_of_tiny(self) -> None:
        """Let tiny relations that are joined with the same relation be multiplied with each other first."""
        partners: dict[int, int] = {}
        for edge in self.edges:
            if edge.kind is _INNER:
                for bit in bits(edge.tes):
                    partners[bit] = partners.get(bit, 0) | (edge.tes ^ bit)
        for island in {operator.island: operator for operator in self.graph.operators if operator.kind is _INNER}.values():
            tiny = [bit for bit in operands(island) if bit in self._leaves and self._leaves[bit].rows <= TINY]
            for at, a in enumerate(tiny[:_MOST_TINY]):
                for b in tiny[at + 1 : _MOST_TINY]:
                    if partners.get(a, 0) & partners.get(b, 0) and not partners[a] & b:
                        self.edges.append(Edge(_INNER, island, (), a, b))

    def run(self) -> JoinSearch:
        """Fill `trees` with the best tree that can be found for all relations, the written one where none is better."""
        started = perf_counter()
        written = self._written()
        self.trees = dict(self._leaves)
        edges = [(edge.left, edge.right) for edge in self.edges]
        enumerator = Enumerator(len(self.graph.relations), edges, self._consider, BUDGET)
        method = "dphyp"
        try:
            enumerator.run()
        except BudgetExceeded:
            method = "greedy"
            self.trees = dict(self._leaves)
            for a, b in greedy_pairs(self):
                self._consider(a, b)
        best = self.trees.get(self.all)
        changed = best is not None and best.cost < written[self.all].cost * BETTER
        if not changed:
            self.trees = written
        cost = self.trees[self.all].cost
        seconds = perf_counter() - started
        return JoinSearch(len(self.graph.relations), method, enumerator.pairs, changed, written[self.all].cost, cost, seconds)

    def _written(self) -> dict[int, Tree]:
        """The tree of the query as it is written."""
        self.trees = dict(self._leaves)
        by_operator = {id(edge.operator): edge for edge in self.edges if edge.kind is not _INNER}
        for operator in self.graph.operators:
            self._join(operator.left_set, operator.right_set, by_operator.get(id(operator)))
        return self.trees

    def _consider(self, a: int, b: int) -> bool:
        """Keep the join of two sets if it is the cheapest for its union. Tells whether the union has a tree."""
        if self._free:
            self._join(a, b, None)
            return True
        found = self.applicable(a, b)
        if found is None:
            return a | b in self.trees
        left, right, operator = found
        self._join(left, right, operator)
        return True

    def applicable(self, a: int, b: int) -> tuple[int, int, Edge | None] | None:
        """How two sets can be joined: (left set, right set, operator, None for inner), or None if they must not be.

        All that becomes applicable in the union is applied: one operator, or any number of inner conjuncts.
        """
        union = a | b
        operator: Edge | None = None
        inner = False
        for edge in self.edges:
            tes = edge.tes
            if tes & ~union or not tes & ~a or not tes & ~b:
                continue
            for trigger, needed in edge.rules:
                if trigger & union and needed & ~union:
                    return None
            if edge.kind is _INNER:
                inner = True
            elif operator is not None:
                return None
            else:
                operator = edge
        if operator is None:
            return (a, b, None) if inner else None
        if inner:
            return None
        if not operator.left & ~a and not operator.right & ~b:
            return a, b, operator
        if not operator.left & ~b and not operator.right & ~a:
            return b, a, operator
        return None

    def can_join(self, a: int, b: int) -> bool:
        return self._free or self.applicable(a, b) is not None

    def has_key(self, a: int, b: int) -> bool:
        """Whether an equality relates two sets that have trees."""
        if self._key_neighbours[a] & b:
            return True
        return any((not x & ~a and not y & ~b) or (not x & ~b and not y & ~a) for x, y in self._wide_keys)

    def _join(self, a: int, b: int, operator: Edge | None) -> None:
        union = a | b
        left, right = self.trees[a], self.trees[b]
        known = self.trees.get(union)
        cost = left.cost + right.cost
        if known is not None and known.cost <= cost:
            return
        rows = self.sizes.joined(a, b) if known is None else known.rows
        cost += rows + BUILD * min(left.rows, right.rows)
        if not self.has_key(a, b):
            cost += COMPARE * left.rows * right.rows
        if known is not None and known.cost <= cost:
            return
        if operator is None and left.rows < right.rows:
            a, b = b, a
        self.trees[union] = Tree(cost, rows, a, b, operator)
        self._key_neighbours[union] = self._key_neighbours[a] | self._key_neighbours[b]

"""Join order: the published counts of pairs, the best tree, the same rows from every tree, and the time it takes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from planner.analysis.cardinality import CardinalityAnalysis
from planner.catalog import ColumnStatistics
from planner.dtypes import BOOLEAN, INTEGER
from planner.explain import logical_text
from planner.expr.nodes import TRUE, Call, Compare, CompareOp, Expr, Literal
from planner.expr.predicates import all_of
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import Join, LogicalPlan, Project, Scan, pass_through
from planner.optimizer.join_order import search as search_module
from planner.optimizer.join_order.build import build
from planner.optimizer.join_order.dphyp import BudgetExceeded, Enumerator
from planner.optimizer.join_order.graph import extract
from planner.optimizer.join_order.search import BUILD, COMPARE, Search
from planner.optimizer.order_joins import order_joins
from planner.rule import OptimizerContext
from planner.schema import Column, ColumnAllocator
from tests.plans import outcome, random_rows, snapshot

KINDS = (JoinKind.INNER, JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI)
TABLES = 6
DATA = [
    {f"r{n}": random_rows(seed * 10 + n, [4, 3, 5, 0][(seed + n) % 4], [[None, 1, 2, 3]] * 3) for n in range(TABLES)}
    for seed in range(3)
]


def chain(n: int) -> list[tuple[int, int]]:
    return [(1 << i, 1 << i + 1) for i in range(n - 1)]


def cycle(n: int) -> list[tuple[int, int]]:
    return [*chain(n), (1 << n - 1, 1)]


def star(n: int) -> list[tuple[int, int]]:
    return [(1, 1 << i) for i in range(1, n)]


def clique(n: int) -> list[tuple[int, int]]:
    return [(1 << i, 1 << j) for i in range(n) for j in range(i + 1, n)]


@pytest.mark.parametrize("n", range(3, 10))
def test_as_many_pairs_as_published(n: int) -> None:
    """Ono and Lohman, VLDB 1990; each pair once, whichever set is first."""
    counts = {
        "chain": (chain(n), (n**3 - n) // 6),
        "cycle": (cycle(n), (n**3 - 2 * n**2 + n) // 2),
        "star": (star(n), (n - 1) * 2 ** (n - 2)),
        "clique": (clique(n), (3**n - 2 ** (n + 1) + 1) // 2),
    }
    for name, (edges, expected) in counts.items():
        seen: set[frozenset[int]] = set()

        def emit(a: int, b: int, seen: set[frozenset[int]] = seen) -> bool:
            assert not a & b
            seen.add(frozenset((a, b)))
            return True

        enumerator = Enumerator(n, edges, emit)
        enumerator.run()
        assert enumerator.pairs == len(seen) == expected, name


@pytest.mark.parametrize("seed", range(40))
def test_pairs_of_hypergraphs_are_those_of_the_definition(seed: int) -> None:
    generator = random.Random(seed)
    n = generator.randint(3, 6)
    edges = []
    for _ in range(generator.randint(2, 7)):
        relations = generator.sample(range(n), generator.randint(2, min(4, n)))
        cut = generator.randint(1, len(relations) - 1)
        edges.append((sum(1 << r for r in relations[:cut]), sum(1 << r for r in relations[cut:])))

    def linked(a: int, b: int) -> bool:
        return any((not x & ~a and not y & ~b) or (not x & ~b and not y & ~a) for x, y in edges)

    buildable = {1 << i for i in range(n)}
    expected = set()
    for union in sorted(range(1, 1 << n), key=int.bit_count):
        for a in range(1, union):
            b = union ^ a
            if a | b == union and not a & ~union and a < b and a in buildable and b in buildable and linked(a, b):
                expected.add((a, b))
                buildable.add(union)
    found: list[tuple[int, int]] = []
    built = {1 << i for i in range(n)}

    def emit(a: int, b: int) -> bool:
        assert a in built and b in built  # both were made before
        built.add(a | b)
        found.append((min(a, b), max(a, b)))
        return True

    Enumerator(n, edges, emit).run()
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_enumeration_stops_at_its_budget() -> None:
    for edges in (clique(30), star(40), chain(200)):
        enumerator = Enumerator(max(max(e) for e in edges).bit_length(), edges, lambda a, b: True, budget=500)
        with pytest.raises(BudgetExceeded):
            enumerator.run()


class Region:
    """Makes random trees of joins over tables of three columns."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.allocator = ColumnAllocator()

    def scan(self, n: int, rows: int = 10) -> Scan:
        columns = [self.allocator.new(f"r{n}_{name}", INTEGER) for name in "xyz"]
        table = snapshot(f"r{n}", [(name, INTEGER, True) for name in "xyz"], rows)
        return Scan(table, tuple((column, at) for at, column in enumerate(columns)))

    def tree(self, tables: list[int], kinds: tuple[JoinKind, ...] = KINDS) -> LogicalPlan:
        if len(tables) == 1:
            return self.scan(tables[0])
        cut = self.random.randint(1, len(tables) - 1)
        left, right = self.tree(tables[:cut], kinds), self.tree(tables[cut:], kinds)
        kind = self.random.choice(kinds)
        join: LogicalPlan = Join(left, right, kind, self.condition(left, right, kind))
        if self.random.random() < 0.2:
            join = Project(join, pass_through(join.columns[::-1]))
        return join

    def condition(self, left: LogicalPlan, right: LogicalPlan, kind: JoinKind) -> Expr:
        if kind is JoinKind.INNER and self.random.random() < 0.1:
            return TRUE
        terms = [self.term(left.columns, right.columns)]
        if self.random.random() < 0.4:
            terms.append(self.term(left.columns, right.columns))
        if self.random.random() < 0.15:
            terms.append(self.term(left.columns, left.columns))
        return all_of(terms)

    def term(self, left: tuple[Column, ...], right: tuple[Column, ...]) -> Expr:
        a, b = reference(self.random.choice(left)), reference(self.random.choice(right))
        shape = self.random.random()
        if shape < 0.5:
            return Compare(BOOLEAN, CompareOp.EQ, a, b)
        if shape < 0.6:
            return Compare(BOOLEAN, CompareOp.LE, a, b)
        if shape < 0.7:
            return Compare(BOOLEAN, CompareOp.NOT_DISTINCT, a, b)
        if shape < 0.8:
            return Compare(BOOLEAN, CompareOp.EQ, Call(INTEGER, "coalesce", (a, Literal(INTEGER, 2))), b)
        if shape < 0.9:
            return Compare(BOOLEAN, CompareOp.EQ, Call(INTEGER, "coalesce", (b, Literal(INTEGER, 2))), a)
        both = Call(INTEGER, "coalesce", (a, reference(self.random.choice(left))))
        return Compare(BOOLEAN, CompareOp.EQ, both, b)


def any_tree(plan: Join, seed: int, monkeypatch: pytest.MonkeyPatch) -> LogicalPlan:
    """The tree of the region that is cheapest if sizes are drawn at random."""
    sizes: dict[int, float] = {}
    generator = random.Random(seed)
    graph = extract(plan)
    search = Search(graph, CardinalityAnalysis())
    monkeypatch.setattr(search.sizes, "joined", lambda a, b: sizes.setdefault(a | b, generator.uniform(1, 1000)), raising=False)
    monkeypatch.setattr(search_module, "BETTER", 10.0)
    search.run()
    return build(search)


@pytest.mark.parametrize("kinds", [KINDS, (JoinKind.LEFT, JoinKind.FULL)], ids=["all", "outer"])
@pytest.mark.parametrize("seed", range(150))
def test_every_tree_gives_the_same_rows(seed: int, kinds: tuple[JoinKind, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    region = Region(seed)
    plan = region.tree(list(range(region.random.randint(3, TABLES if seed % 3 == 0 else 4))), kinds)
    while isinstance(plan, Project):
        plan = plan.input
    assert isinstance(plan, Join)
    expected = [outcome(plan, tables) for tables in DATA]
    for draw in range(8):
        tree = Project(any_tree(plan, draw, monkeypatch), pass_through(plan.columns))
        assert [outcome(tree, tables) for tables in DATA] == expected, draw


def three(kinds: tuple[JoinKind, JoinKind], strict: tuple[bool, bool], shape: str) -> tuple[Join, list[int]]:
    """A join of a with b and c with the relations' sets: `left` is (a b) c, joined by a; `middle` (a b) c by b; `right` a (b c)
    by c. `strict`: whether each predicate, inner one first, is not true for NULLs of the relation that both predicates use.
    """
    region = Region(0)
    scans = [region.scan(n) for n in range(3)]
    a, b, c = ([reference(column) for column in scan.columns] for scan in scans)

    def equal(shared: Expr, other: Expr, strict: bool) -> Expr:
        return Compare(
            BOOLEAN, CompareOp.EQ, shared if strict else Call(INTEGER, "coalesce", (shared, Literal(INTEGER, 2))), other
        )

    below, above = strict
    if shape == "left":
        inner = Join(scans[0], scans[1], kinds[0], equal(a[0], b[0], below))
        join = Join(inner, scans[2], kinds[1], equal(a[1], c[0], above))
    elif shape == "middle":
        inner = Join(scans[0], scans[1], kinds[0], equal(b[0], a[0], below))
        join = Join(inner, scans[2], kinds[1], equal(b[1], c[0], above))
    else:
        inner = Join(scans[1], scans[2], kinds[0], equal(c[0], b[0], below))
        join = Join(scans[0], inner, kinds[1], equal(c[1], a[0], above))
    return join, [1, 2, 4]


J, L, F, S, A = JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI
CHANGES = [
    # the two joins, the lower one first; is each strict; shape; may the upper one come first?
    ((J, L), (True, True), "left", True),
    ((J, F), (True, True), "left", False),
    ((L, L), (False, False), "left", True),
    ((L, F), (True, False), "left", True),
    ((L, F), (False, True), "left", False),
    ((F, L), (False, True), "left", True),
    ((F, L), (True, False), "left", False),
    ((F, F), (True, True), "left", True),
    ((F, F), (True, False), "left", False),
    ((F, F), (False, True), "left", False),
    ((F, J), (True, True), "left", False),
    ((S, L), (False, False), "left", True),
    ((A, J), (False, False), "left", True),
    ((J, S), (False, False), "left", True),
    ((J, L), (False, False), "middle", True),
    ((J, A), (False, False), "middle", True),
    ((L, J), (True, True), "middle", False),
    ((L, L), (True, True), "middle", True),
    ((L, L), (True, False), "middle", False),
    ((L, S), (True, True), "middle", False),
    ((F, L), (True, True), "middle", True),
    ((F, L), (True, False), "middle", False),
    ((F, F), (True, True), "middle", True),
    ((F, F), (False, True), "middle", False),
    ((F, F), (True, False), "middle", False),
    ((L, F), (True, True), "middle", False),
    ((J, J), (False, False), "right", True),
    ((F, F), (True, True), "right", True),
    ((F, F), (True, False), "right", False),
    ((J, L), (True, True), "right", False),
    ((L, L), (True, True), "right", False),
]


@pytest.mark.parametrize(("kinds", "strict", "shape", "allowed"), CHANGES)
def test_conflict_rules(kinds: tuple[JoinKind, JoinKind], strict: tuple[bool, bool], shape: str, allowed: bool) -> None:
    join, (a, b, c) = three(kinds, strict, shape)
    search = Search(extract(join), CardinalityAnalysis())
    first = {"left": (a, c), "middle": (b, c), "right": (a, c)}[shape]
    assert (search.applicable(*first) is not None) is allowed


def inner_region(edges: list[tuple[int, int]], seed: int, joined_on: str = "own") -> Join:
    """Inner joins along edges between tables of random sizes. Every equality has columns of its own, or all have the same."""
    region = Region(seed)
    count = max(max(edge) for edge in edges).bit_length()
    degree = [sum(1 for edge in edges if 1 << n in edge) for n in range(count)]
    scans = []
    for n in range(count):
        columns = [region.allocator.new(f"t{n}_{at}", INTEGER) for at in range(degree[n] if joined_on == "own" else 1)]
        rows = region.random.choice([3, 50, 200, 1_000, 20_000])
        statistics = [ColumnStatistics(1, region.random.randint(1, rows), 0) for _ in columns]
        table = snapshot(f"t{n}", [(f"c{at}", INTEGER, True) for at in range(len(columns))], rows, statistics)
        scans.append(Scan(table, tuple((column, at) for at, column in enumerate(columns))))
    used = [0] * count
    terms: dict[int, list[Expr]] = {}
    for left, right in edges:
        ends = []
        for n in (left.bit_length() - 1, right.bit_length() - 1):
            ends.append(reference(scans[n].columns[used[n]]))
            used[n] += joined_on == "own"
        terms.setdefault(max(left, right), []).append(Compare(BOOLEAN, CompareOp.EQ, *ends))
    plan: LogicalPlan = scans[0]
    for n in range(1, count):
        plan = Join(plan, scans[n], JoinKind.INNER, all_of(terms.get(1 << n, [])))
    assert isinstance(plan, Join)
    return plan


def exhaustive(search: Search) -> float:
    """The least cost of all trees, cross products included wherever the search has an edge for them."""
    edges = [(edge.left, edge.right) for edge in search.edges]
    best: dict[int, tuple[float, float]] = {1 << n: (0.0, search.sizes.rows(1 << n)) for n in range(search.all.bit_length())}
    for union in sorted(range(1, search.all + 1), key=int.bit_count):
        for a in range(1, union):
            b = union ^ a
            if a & ~union or a > b or a not in best or b not in best:
                continue
            if not any((not x & ~a and not y & ~b) or (not x & ~b and not y & ~a) for x, y in edges):
                continue
            rows = search.sizes.rows(union)
            cost = best[a][0] + best[b][0] + rows + BUILD * min(best[a][1], best[b][1])
            if not any(
                edge.keys and ((edge.keys[0] & a and edge.keys[1] & b) or (edge.keys[0] & b and edge.keys[1] & a))
                for edge in search.edges
            ):
                cost += COMPARE * best[a][1] * best[b][1]
            best[union] = min(best.get(union, (cost, rows)), (cost, rows))
    return best[search.all][0]


@pytest.mark.parametrize("joined_on", ["own", "same"])
@pytest.mark.parametrize("seed", range(8))
def test_the_tree_is_the_cheapest(seed: int, joined_on: str) -> None:
    for shape in (chain, cycle, star, clique):
        search = Search(extract(inner_region(shape(3 + seed % 5), seed, joined_on)), CardinalityAnalysis())
        found = search.run()
        assert found.cost == pytest.approx(min(exhaustive(search), found.written_cost), rel=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_sizes_do_not_depend_on_the_order(seed: int) -> None:
    plan = inner_region(clique(5) if seed % 2 else cycle(6), seed, "same" if seed % 4 < 2 else "own")
    sizes: dict[int, float] = {}
    for draw in range(10):
        search = Search(extract(plan), CardinalityAnalysis())
        parts = [1 << n for n in range(search.all.bit_length())]
        generator = random.Random(draw)
        while len(parts) > 1:
            a, b = generator.sample(parts, 2)
            parts = [part for part in parts if part not in (a, b)] + [a | b]
            rows = search.sizes.joined(a, b)
            assert rows == pytest.approx(sizes.setdefault(a | b, rows))


def test_equal_columns_permit_a_direct_join() -> None:
    """a.x = b.x and b.x = c.x: a and c are small, b is large, so a and c are joined first, and one equality of b is enough."""
    region = Region(0)
    a, b, c = (region.scan(n, rows) for n, rows in enumerate((5, 100_000, 5)))
    first = Compare(BOOLEAN, CompareOp.EQ, reference(a.columns[0]), reference(b.columns[0]))
    second = Compare(BOOLEAN, CompareOp.EQ, reference(b.columns[0]), reference(c.columns[0]))
    plan = Join(Join(a, b, J, first), c, J, second)
    ordered = order_joins(plan, OptimizerContext(region.allocator))
    assert isinstance(ordered, LogicalPlan)
    assert logical_text(ordered) == EQUAL_COLUMNS


EQUAL_COLUMNS = """\
Project r0_x, r0_y, r0_z, r1_x, r1_y, r1_z, r2_x, r2_y, r2_z
  Join inner on r0_x = r1_x
    Scan r1 [r1_x, r1_y, r1_z]
    Join inner on r0_x = r2_x
      Scan r0 [r0_x, r0_y, r0_z]
      Scan r2 [r2_x, r2_y, r2_z]"""


@pytest.mark.parametrize(("shape", "method"), [(chain, "dphyp"), (star, "greedy"), (clique, "greedy"), (cycle, "dphyp")])
def test_seventeen_relations(shape: Callable[[int], list[tuple[int, int]]], method: str) -> None:
    plan = inner_region(shape(17), 1)
    context = OptimizerContext(ColumnAllocator())
    started = time.process_time()
    order_joins(plan, context)
    seconds = time.process_time() - started
    (found,) = context.join_searches
    assert found.method == method
    assert seconds < 0.3  # alone it is well below 0.1


@pytest.mark.parametrize("shape", [chain, star, cycle])
def test_two_hundred_relations(shape: Callable[[int], list[tuple[int, int]]]) -> None:
    plan = inner_region(shape(200), 1)
    context = OptimizerContext(ColumnAllocator())
    started = time.process_time()
    order_joins(plan, context)
    assert time.process_time() - started < 1.5  # alone it takes less than 0.5
    assert context.join_searches[0].method == "greedy"

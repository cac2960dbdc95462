"""Which joins may change places: edges of the query hypergraph with their conflict rules.

The method is CD-C of Moerkotte, Fender and Eich, On the correct and complete enumeration of the core search space, SIGMOD 2013.
Every operator has a total eligibility set (TES), the relations that have to be there before it can be applied, and conflict
rules T1 → T2: if any relation of T1 is there, then all of T2 have to be. Both come from comparing the operator with
every operator below it by three properties of pairs of operators:

    associative         (a ∘A b) ∘B c = a ∘A (b ∘B c)
    left asscom         (a ∘A b) ∘B c = (a ∘B c) ∘A b
    right asscom        a ∘A (b ∘B c) = b ∘B (a ∘A c)

Decision: every conjunct of an inner join is an edge of its own, so that cycles of joins can be entered anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.analysis.nullability import null_rejected_columns
from planner.dtypes import BOOLEAN
from planner.expr.nodes import ColumnRef, Compare, CompareOp, Expr
from planner.expr.predicates import all_of
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.optimizer.join_order.graph import JoinGraph, Operator
from planner.schema import Column

_INNER, _LEFT, _FULL, _SEMI, _ANTI = JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI

Rule = tuple[int, int]

_MOST_DERIVED = 16
"""Equalities are derived between all columns of a class of at most this many."""


@dataclass(slots=True, eq=False)
class Edge:
    """A join operator, or one conjunct of an inner join. Sets of relations are bits.

    `left` and `right` are the two parts of the TES: an operator that is not inner needs them on its sides. `keys` are the
    relations of both operands, if it is an equality of two disjoint sets. `columns` are the two columns of an equality of
    columns, `same` is the number of their class: of all edges of one class between two sets, one is enough.
    """

    kind: JoinKind
    operator: Operator
    terms: tuple[Expr, ...]
    left: int
    right: int
    rules: tuple[Rule, ...] = ()
    keys: tuple[int, int] | None = None
    columns: tuple[Column, Column] | None = None
    same: int = -1
    derived: bool = False

    @property
    def tes(self) -> int:
        return self.left | self.right


def find_edges(graph: JoinGraph) -> list[Edge]:
    """The edges of a region, derived equalities and cross products between unconnected parts included."""
    below = _Below(graph)
    edges: list[Edge] = []
    for operator in graph.operators:
        if operator.kind is _INNER:
            edges.extend(_conjunct(term, operator, graph, below) for term in operator.terms)
        else:
            edges.append(_whole(operator, graph, below))
    _add_equivalences(edges, graph, below)
    _connect(edges, graph, below)
    return edges


class _Below:
    """The operators below each operator that can conflict with it, on its left and on its right."""

    def __init__(self, graph: JoinGraph) -> None:
        self._graph = graph
        self._plain = graph.only_inner
        self._rejected = {}
        if not self._plain:
            self._rejected = {id(o): null_rejected_columns(all_of(o.terms)) for o in graph.operators}
        self._used = {} if self._plain else {id(o): graph.relations_of(all_of(o.terms)) for o in graph.operators}

    def eligibility(self, operator: Operator, used: int, kind: JoinKind) -> tuple[int, tuple[Rule, ...]]:
        """The TES of a predicate over the relations `used`, and the conflict rules that it does not satisfy by itself."""
        if self._plain:
            return used, ()
        rules: list[Rule] = []
        for other in self._graph.operators:
            if other is operator:
                break  # post-order: nothing that follows is below
            if kind is _INNER and other.kind is _INNER:
                continue
            if not other.relations & ~operator.left_set:
                rules += self._left_rules(other, operator)
            elif not other.relations & ~operator.right_set:
                rules += self._right_rules(operator, other)
        tes, before = used, -1
        while tes != before:
            before = tes
            for trigger, needed in rules:
                if trigger & tes:
                    tes |= needed
        return tes, tuple(dict.fromkeys((trigger, needed) for trigger, needed in rules if needed & ~tes))

    def _left_rules(self, below: Operator, above: Operator) -> list[Rule]:
        rules = []
        if not self._associative(below, above, below.right_set):
            rules.append((below.right_set, self._needed(below, below.left_set)))
        if not self._left_asscom(below, above):
            rules.append((below.left_set, self._needed(below, below.right_set)))
        return rules

    def _right_rules(self, above: Operator, below: Operator) -> list[Rule]:
        rules = []
        if not self._associative(above, below, below.left_set):
            rules.append((below.left_set, self._needed(below, below.right_set)))
        if not self._right_asscom(above, below):
            rules.append((below.right_set, self._needed(below, below.left_set)))
        return rules

    def _needed(self, operator: Operator, side: int) -> int:
        return (side & self._used[id(operator)]) or side

    def _associative(self, first: Operator, second: Operator, middle: int) -> bool:
        """(a `first` b) `second` c = a `first` (b `second` c), where `middle` are the relations of b."""
        match first.kind, second.kind:
            case (JoinKind.INNER, kind):
                return kind is not _FULL
            case (JoinKind.LEFT | JoinKind.FULL, JoinKind.LEFT):
                return self._rejects(second, middle)
            case (JoinKind.FULL, JoinKind.FULL):
                return self._rejects(first, middle) and self._rejects(second, middle)
        return False

    def _left_asscom(self, first: Operator, second: Operator) -> bool:
        """(a `first` b) `second` c = (a `second` c) `first` b."""
        shared = first.left_set
        match first.kind, second.kind:
            case (JoinKind.LEFT, JoinKind.FULL):
                return self._rejects(first, shared)
            case (JoinKind.FULL, JoinKind.LEFT):
                return self._rejects(second, shared)
            case (JoinKind.FULL, JoinKind.FULL):
                return self._rejects(first, shared) and self._rejects(second, shared)
        return first.kind is not _FULL and second.kind is not _FULL

    def _right_asscom(self, first: Operator, second: Operator) -> bool:
        """a `first` (b `second` c) = b `second` (a `first` c)."""
        if first.kind is second.kind is _FULL:
            shared = second.right_set
            return self._rejects(first, shared) and self._rejects(second, shared)
        return first.kind is second.kind is _INNER

    def _rejects(self, operator: Operator, relations: int) -> bool:
        """Whether the operator's predicate is not true where all columns of the relations are NULL."""
        return any(self._graph.bit_of.get(id, 0) & relations for id in self._rejected[id(operator)])


def _conjunct(term: Expr, operator: Operator, graph: JoinGraph, below: _Below) -> Edge:
    used = graph.relations_of(term)
    if not used & operator.left_set or not used & operator.right_set:
        used = operator.relations
    tes, rules = below.eligibility(operator, used, _INNER)
    edge = Edge(_INNER, operator, (term,), tes & operator.left_set, tes & operator.right_set, rules)
    if isinstance(term, Compare) and term.op in (CompareOp.EQ, CompareOp.NOT_DISTINCT):
        a, b = graph.relations_of(term.left), graph.relations_of(term.right)
        if a and b and not a & b:
            edge.keys = a, b
            if tes == a | b:
                edge.left, edge.right = a, b
            if isinstance(term.left, ColumnRef) and isinstance(term.right, ColumnRef):
                edge.columns = term.left.column, term.right.column
    return edge


def _whole(operator: Operator, graph: JoinGraph, below: _Below) -> Edge:
    used = graph.relations_of(all_of(operator.terms))
    for side in (operator.left_set, operator.right_set):
        if not used & side:
            used |= side
    tes, rules = below.eligibility(operator, used, operator.kind)
    edge = Edge(operator.kind, operator, operator.terms, tes & operator.left_set, tes & operator.right_set, rules)
    sides = operator.left_set, operator.right_set
    for term in operator.terms:
        if isinstance(term, Compare) and term.op in (CompareOp.EQ, CompareOp.NOT_DISTINCT):
            a, b = graph.relations_of(term.left), graph.relations_of(term.right)
            if any(a and b and not a & ~one and not b & ~other for one, other in (sides, sides[::-1])):
                edge.keys = edge.left, edge.right
    return edge


def _add_equivalences(edges: list[Edge], graph: JoinGraph, below: _Below) -> None:
    """Number the classes of equal columns, and add the equalities that follow: a.x = b.x and b.x = c.x give a.x = c.x."""
    top = {operator.island: operator for operator in graph.operators}  # the last one of an island is its topmost
    parent: dict[tuple[int, int], tuple[int, int]] = {}
    columns: dict[tuple[int, int], Column] = {}

    def find(item: tuple[int, int]) -> tuple[int, int]:
        while parent.setdefault(item, item) != item:
            item = parent[item]
        return item

    equal = [edge for edge in edges if _is_equality_of_columns(edge)]
    for edge in equal:
        assert edge.columns is not None
        items = [(edge.operator.island, column.id) for column in edge.columns]
        columns.update(zip(items, edge.columns, strict=True))
        a, b = find(items[0]), find(items[1])
        parent[max(a, b)] = min(a, b)
    classes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for item in columns:
        classes.setdefault(find(item), []).append(item)
    number = {}
    for index, (root, members) in enumerate(classes.items()):
        if len({graph.bit_of[id] for _, id in members}) == len(members):
            number[root] = index
    known = set()
    for edge in equal:
        assert edge.columns is not None
        edge.same = number.get(find((edge.operator.island, edge.columns[0].id)), -1)
        known.add(frozenset(column.id for column in edge.columns))
    for root, same in number.items():
        members = classes[root]
        if not 2 < len(members) <= _MOST_DERIVED:
            continue
        operator = top[root[0]]
        for index, first in enumerate(members):
            for second in members[index + 1 :]:
                if frozenset((first[1], second[1])) not in known:
                    edges += _derived(columns[first], columns[second], same, operator, graph, below)


def _is_equality_of_columns(edge: Edge) -> bool:
    if edge.columns is None or edge.keys is None or edge.kind is not _INNER:
        return False
    (term,) = edge.terms
    a, b = edge.columns
    exact = isinstance(term, Compare) and term.op is CompareOp.EQ and a.dtype == b.dtype
    return exact and edge.tes == edge.keys[0] | edge.keys[1]


def _derived(a: Column, b: Column, same: int, operator: Operator, graph: JoinGraph, below: _Below) -> list[Edge]:
    left, right = graph.bit_of[a.id], graph.bit_of[b.id]
    tes, rules = below.eligibility(operator, left | right, _INNER)
    if tes != left | right:
        return []
    term = Compare(BOOLEAN, CompareOp.EQ, reference(a), reference(b))
    return [Edge(_INNER, operator, (term,), left, right, rules, (left, right), (a, b), same, derived=True)]


def _connect(edges: list[Edge], graph: JoinGraph, below: _Below) -> None:
    """Add cross products, each as an edge without terms, between the parts of an island that no conjunct connects."""
    linked: dict[int, list[int]] = {}
    for edge in edges:
        if edge.kind is _INNER and edge.left and edge.right:
            linked.setdefault(edge.operator.island, []).append(edge.tes)
    for operator in {operator.island: operator for operator in graph.operators}.values():
        if operator.kind is not _INNER:
            continue
        parts = _parts(operands(operator), linked.get(operator.island, []))
        for index, part in enumerate(parts):
            for other in parts[index + 1 :] if len(parts) <= _MOST_DERIVED else parts[index + 1 : index + 2]:
                edges.append(Edge(_INNER, operator, (), part, other))


def operands(top: Operator) -> list[int]:
    """The operands of an island of inner joins."""
    units: list[int] = []
    stack: list[Operator | int] = [top]
    while stack:
        current = stack.pop()
        if isinstance(current, int):
            units.append(1 << current)
        elif current.island == top.island:
            stack += (current.right, current.left)
        else:
            units.append(current.relations)
    return units


def _parts(units: list[int], links: list[int]) -> list[int]:
    """Sets of relations that are connected by links, which are sets of relations themselves."""
    parts = list(units)
    for link in links:
        touched = [part for part in parts if part & link]
        if len(touched) > 1:
            union = 0
            for part in touched:
                union |= part
            parts = [part for part in parts if not part & link]
            parts.append(union)
    return sorted(parts, key=lambda part: part & -part)

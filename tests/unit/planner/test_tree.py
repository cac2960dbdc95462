"""The node core: immutability, sharing, kinds, flat tables, and depth."""

import pickle

import pytest

from planner.dtypes import BOOLEAN, INTEGER
from planner.expr.nodes import And, ColumnRef, Compare, CompareOp, Literal, Not, conjunction
from planner.logical.nodes import Filter, Limit, Project, Values
from planner.schema import Column
from planner.tree import flatten, kind_mask, node, rewrite, unflatten, walk

A = Column(1, "a", INTEGER)
ROWS = Values((A,), ((1,), (2,)))
THREE = Literal(INTEGER, 3)


def compare(value: int) -> Compare:
    return Compare(BOOLEAN, CompareOp.EQ, ColumnRef(INTEGER, A), Literal(INTEGER, value))


def test_nodes_refuse_assignment_and_deletion():
    with pytest.raises(AttributeError, match="immutable"):
        THREE.value = 4
    with pytest.raises(AttributeError, match="immutable"):
        del THREE.value
    assert not hasattr(THREE, "__dict__")


def test_nodes_compare_by_identity():
    assert Literal(INTEGER, 3) != THREE
    assert len({THREE, Literal(INTEGER, 3)}) == 2


def test_replace_without_change_is_the_same_object():
    assert THREE.replace(value=THREE.value) is THREE
    assert THREE.replace(value=4).value == 4


def test_children_are_found_by_annotation():
    filter = Filter(ROWS, compare(1))
    assert filter.children == (ROWS, filter.predicate)
    assert Limit(filter, 3).children == (filter,)
    assert Limit.CHILD_FIELDS == ("input",)
    assert Project(ROWS, ()).children == (ROWS,)


def test_kinds_are_the_union_of_the_subtree():
    filter = Filter(ROWS, compare(1))
    assert filter.kinds & kind_mask(Literal)
    assert not filter.kinds & kind_mask(Not)


def test_walk_enters_only_subtrees_that_can_match():
    filter = Filter(Filter(ROWS, compare(1)), compare(2))
    found = [literal.value for literal in walk(filter, kind_mask(Literal))]
    assert found == [1, 2]


def test_rewrite_without_a_match_returns_the_same_object():
    filter = Filter(ROWS, compare(1))
    assert rewrite(filter, lambda _: None) is filter
    assert rewrite(filter, lambda _: pytest.fail("not entered"), kind_mask(Not)) is filter


def test_rewrite_keeps_sharing_and_visits_a_shared_node_once():
    shared = compare(1)
    both = And(BOOLEAN, (shared, shared))
    visits = []

    def change(found):
        visits.append(found)
        return found.replace(value=found.value + 1)

    changed = rewrite(both, change, kind_mask(Literal))
    assert len(visits) == 1
    assert changed.terms[0] is changed.terms[1]
    assert changed.terms[0].right.value == 2
    assert shared.right.value == 1


def test_a_plan_survives_the_way_through_a_flat_table():
    plan = Limit(Filter(ROWS, conjunction([compare(1), compare(2)])), 5, 2)
    copy = pickle.loads(pickle.dumps(plan))
    assert [type(n).__name__ for n in walk(copy)] == [type(n).__name__ for n in walk(plan)]
    assert (copy.limit, copy.offset, copy.columns) == (5, 2, plan.columns)
    assert [n.value for n in walk(copy, kind_mask(Literal))] == [1, 2]


def test_a_flat_table_keeps_sharing():
    shared = compare(1)
    copy = unflatten(flatten(And(BOOLEAN, (shared, shared))))
    assert copy.terms[0] is copy.terms[1]


def test_depth_is_bounded_by_memory_only():
    plan = ROWS
    for value in range(20_000):
        plan = Filter(plan, compare(value % 7))
    copy = pickle.loads(pickle.dumps(plan))
    assert sum(1 for _ in walk(copy, kind_mask(Filter))) == 20_000
    changed = rewrite(copy, lambda n: n.replace(value=0), kind_mask(Literal))
    assert all(literal.value == 0 for literal in walk(changed, kind_mask(Literal)))


def test_two_node_classes_cannot_share_a_name():
    with pytest.raises(TypeError, match="named Assign"):

        @node
        class Assign(type(THREE).__mro__[1]):
            pass


def test_a_default_is_inherited_and_may_be_left_out():
    assert Limit(ROWS, 1).offset == 0
    assert Limit(input=ROWS, limit=1, offset=3).offset == 3

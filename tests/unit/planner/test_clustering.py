"""Cutting clustered scans at shared boundaries: every row is delivered by exactly one partition, however row groups lie."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from planner.dir import Pattern, Range, ScanRange, Single, Split
from planner.dtypes import BIGINT
from planner.expr.nodes import Assign, ColumnRef
from planner.join_kind import JoinKind
from planner.physical.clustering import Clustering, choose_boundaries, cut, find_clustering, push_boundaries, task_shares
from planner.physical.nodes import ExchangePlan, JoinExec, LimitExec, ProjectExec, TableScan, ValuesScan
from planner.schema import Column

FILE = Split("f", 1)
KEYS = st.tuples(st.integers(-20, 40), st.integers(0, 15)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def groups_of(claims: list[tuple[int, int]]) -> list[ScanRange]:
    return [ScanRange(FILE, 10 * index, 10, 100, claim) for index, claim in enumerate(claims)]


def clustering_of(claims: list[tuple[int, int]]) -> Clustering:
    return Clustering(tuple(sorted(groups_of(claims), key=lambda group: group.claim)))


def delivered(partitions: tuple[tuple[ScanRange, ...], ...], boundaries: tuple[int, ...], row: int, key: int) -> int:
    """How many partitions deliver the row: they read it, and its key lies in their range."""
    count = 0
    for index, ranges in enumerate(partitions):
        low = boundaries[index - 1] if index else key
        high = boundaries[index] if index < len(boundaries) else key + 1
        read = sum(part.first_row <= row < part.first_row + part.rows for part in ranges)
        assert read <= 1
        count += read and low <= key < high
    return count


@given(st.lists(KEYS, min_size=1, max_size=12), st.lists(st.integers(-25, 60), max_size=5))
def test_every_row_is_delivered_exactly_once(claims, boundaries):
    """Row groups that are disjoint, touch, overlap, or come in any order; boundaries inside and outside of them."""
    boundaries = tuple(sorted(set(boundaries)))
    partitions = cut(clustering_of(claims), boundaries)
    assert len(partitions) == len(boundaries) + 1
    for index, (low, high) in enumerate(claims):
        for key in {low, high, (low + high) // 2}:
            assert delivered(partitions, boundaries, 10 * index + 5, key) == 1


@given(st.lists(KEYS, min_size=1, max_size=12), st.lists(st.integers(-25, 60), max_size=5))
def test_what_is_not_filtered_lies_inside_by_its_claim(claims, boundaries):
    """Merged ranges claim no more than their partition's keys, so the check of a claim alone may replace the filter."""
    boundaries = tuple(sorted(set(boundaries)))
    for index, ranges in enumerate(cut(clustering_of(claims), boundaries)):
        for part in ranges:
            if part.rows > 10:
                assert index == 0 or part.claim[0] >= boundaries[index - 1]
                assert index == len(boundaries) or part.claim[1] < boundaries[index]


@given(st.lists(KEYS, min_size=1, max_size=12), st.integers(1, 8))
def test_boundaries_ascend_and_are_no_more_than_asked_for(claims, parts):
    boundaries = choose_boundaries(clustering_of(claims), parts)
    assert list(boundaries) == sorted(set(boundaries))
    assert len(boundaries) < parts


def test_sorted_row_groups_are_cut_between_them_into_smaller_and_smaller_parts():
    clustering = clustering_of([(10 * i, 10 * i + 9) for i in range(8)])
    assert choose_boundaries(clustering, 4) == (30, 60, 70)
    assert task_shares(1) == (1.0,)
    ends = (0.0, *task_shares(5))
    sizes = [end - start for start, end in pairwise(ends)]
    assert sizes == sorted(sizes, reverse=True)
    assert abs(ends[-1] - 1) < 1e-9 and abs(sizes[-1] * 5 - 0.6) < 1e-9
    partitions = cut(clustering, (20, 40, 60))
    assert [(part.first_row, part.rows, part.claim) for (part,) in partitions] == [
        (0, 20, (0, 19)), (20, 20, (20, 39)), (40, 20, (40, 59)), (60, 20, (60, 79)),
    ]  # fmt: skip


def test_only_row_groups_that_are_ranged_offer_a_clustering():
    ranged = [(10 * i, 10 * i + 9) for i in range(8)]
    assert find_clustering(groups_of(ranged)) is not None
    assert find_clustering(groups_of(ranged[::-1])) is not None  # the order of the file does not matter
    assert find_clustering(groups_of([(10 * i, 10 * i + 12) for i in range(8)])) is not None  # they may overlap a little
    assert find_clustering(groups_of([(0, 100)] * 8)) is None
    assert find_clustering(groups_of([(i, 100 + i) for i in range(8)])) is None
    assert find_clustering(groups_of([(0, 9)])) is None
    assert find_clustering([]) is None


A, B, C, X = (Column(number, name, BIGINT) for number, name in enumerate("abcx", start=1))


def scan(key: Column, *others: Column) -> TableScan:
    columns = (key, *others)
    return TableScan("t", "parquet", "polars", columns, tuple(c.name for c in columns), ((),) * 4, None)


CLUSTERINGS = {column.id: clustering_of([(10 * i, 10 * i + 9) for i in range(8)]) for column in (A, B)}


def test_boundaries_reach_both_sides_of_a_co_partitioned_join():
    join = JoinExec(scan(A, X), scan(B), JoinKind.INNER, (A,), (B,), None)
    for column in (A, B):
        pushed = push_boundaries(join, column.id, (20, 50), CLUSTERINGS)
        assert pushed.left.boundaries == pushed.right.boundaries == (20, 50)
        assert (pushed.left.range_key, pushed.right.range_key) == (A, B)


def test_boundaries_pass_projections_and_range_exchanges():
    renamed = ProjectExec(scan(A), (Assign(C, ColumnRef(BIGINT, A)),))
    assert push_boundaries(renamed, C.id, (20,), CLUSTERINGS).input.boundaries == (20,)
    exchange = ExchangePlan(scan(X), Pattern.RANGE, Range(X.id, BIGINT, (1, 2, 3)))
    join = JoinExec(scan(A), exchange, JoinKind.LEFT, (A,), (X,), None)
    pushed = push_boundaries(join, A.id, (20,), CLUSTERINGS)
    assert pushed.right.partitioning == Range(X.id, BIGINT, (20,))


def test_boundaries_leave_what_every_task_reads_whole():
    small = ExchangePlan(ValuesScan((X,), ()), Pattern.BROADCAST, Single())
    pushed = push_boundaries(JoinExec(scan(A), small, JoinKind.SEMI, (A,), (X,), None), A.id, (20,), CLUSTERINGS)
    assert pushed.right is small


def test_boundaries_stop_at_what_depends_on_the_partition():
    assert push_boundaries(LimitExec(scan(A), 5), A.id, (20,), CLUSTERINGS) is None
    assert push_boundaries(scan(X), X.id, (20,), CLUSTERINGS) is None
    other = JoinExec(scan(A, X), scan(B, C), JoinKind.INNER, (X,), (C,), None)
    assert push_boundaries(other, A.id, (20,), CLUSTERINGS) is None

"""The fewest intermediate rows that any order of a query's joins has, by looking at all of them.

Dynamic programming over connected sets of relations (Moerkotte, Neumann, VLDB 2006), each of which is counted once: DuckDB runs
the joins of the set. Columns that are equal by way of others count as joined. Sets that cannot be part of an order within the
bound are not counted, and no counting goes on beyond the bound, or for more than ten seconds: then the set is too large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from threading import Timer

import duckdb

from tests.plan_quality.movie_queries import JoinQuery

MOST_RELATIONS = 9
SECONDS = 10.0
"""For counting one set."""


def fewest_rows(query: JoinQuery, connection: duckdb.DuckDBPyConnection, bound: int) -> int:
    """The sum of the output rows of all joins in the best order; `bound` if no order has fewer.

    `connection` has the tables. Raises ValueError for queries of more than MOST_RELATIONS relations.
    """
    if len(query.relations) > MOST_RELATIONS:
        raise ValueError(f"{query.name} has {len(query.relations)} relations")
    classes = equal_columns(query)
    costs: dict[frozenset[str], int] = {frozenset((one.alias,)): 0 for one in query.relations}
    for size in range(2, len(query.relations) + 1):
        for aliases in combinations((one.alias for one in query.relations), size):
            joined = frozenset(aliases)
            inputs = min((costs[a] + costs[b] for a, b in _splits(joined, costs) if _connected(a, b, classes)), default=bound)
            if inputs < bound:
                cost = inputs + _count(query, joined, classes, connection, bound - inputs)
                if cost < bound:
                    costs[joined] = cost
    return costs.get(frozenset(one.alias for one in query.relations), bound)


def equal_columns(query: JoinQuery) -> list[frozenset[str]]:
    """The columns of a query in classes of those that its joins make equal."""
    classes: list[frozenset[str]] = []
    for a, b in query.joins:
        touched = [one for one in classes if a in one or b in one]
        classes = [one for one in classes if one not in touched] + [frozenset((a, b)).union(*touched)]
    return classes


def _splits(joined: frozenset[str], costs: Iterable[frozenset[str]]) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    known = set(costs)
    first, *others = sorted(joined)
    for size in range(len(others)):
        for chosen in combinations(others, size):
            left = frozenset((first, *chosen))
            if left in known and joined - left in known:
                yield left, joined - left


def _connected(left: frozenset[str], right: frozenset[str], classes: list[frozenset[str]]) -> bool:
    return any(_columns(one, left) and _columns(one, right) for one in classes)


def _columns(equal: frozenset[str], aliases: frozenset[str]) -> list[str]:
    return sorted(column for column in equal if column.partition(".")[0] in aliases)


def _count(
    query: JoinQuery,
    joined: frozenset[str],
    classes: list[frozenset[str]],
    connection: duckdb.DuckDBPyConnection,
    limit: int,
) -> int:
    """The rows of the joins of a set of relations, or `limit` if they are as many or take too long to count."""
    relations = [one for one in query.relations if one.alias in joined]
    terms = [term for one in relations for term in one.predicates]
    for equal in classes:
        first, *others = _columns(equal, joined) or [""]
        terms += [f"{first} = {other}" for other in others]
    tables = ", ".join(f"{one.table} AS {one.alias}" for one in relations)
    text = f"SELECT count(*) FROM (SELECT 1 FROM {tables} WHERE {' AND '.join(terms)} LIMIT {limit})"
    timer = Timer(SECONDS, connection.interrupt)
    timer.start()
    try:
        row = connection.execute(text).fetchone()
    except duckdb.InterruptException:
        return limit
    finally:
        timer.cancel()
    assert row is not None
    return int(row[0])

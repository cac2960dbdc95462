"""How many rows the operators of DuckDB's plan deliver, from its profile.

The tables are loaded, so that DuckDB plans with the statistics of its own storage. Filters that a join's build side sends to
scans at run time are switched off (`join_filter_pushdown`); those of a top-n stay, since that is no join's work.

What counts is as in `our_plans`: the output of every join, and of every aggregate below a join. A mark or single join counts
with the rows of the filter right above it, if there is one. A join with a constant list (`x IN (1, 2, 3)`) is a predicate, not a
join. What is computed once and read several times (a CTE, which is also how correlated subqueries share the outer rows) counts
once, and its aggregates are below a join if it is read below one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

from tests.plan_quality.best_order import MOST_RELATIONS, fewest_rows
from tests.plan_quality.counts import Counts
from tests.plan_quality.workloads import Workload

_JOINS = (
    "HASH_JOIN", "NESTED_LOOP_JOIN", "BLOCKWISE_NL_JOIN", "PIECEWISE_MERGE_JOIN", "IE_JOIN", "CROSS_PRODUCT", "ASOF_JOIN",
    "POSITIONAL_JOIN",
)  # fmt: skip
_AGGREGATES = ("HASH_GROUP_BY", "PERFECT_HASH_GROUP_BY", "UNGROUPED_AGGREGATE", "PARTITIONED_AGGREGATE", "SIMPLE_AGGREGATE")
_UNFILTERED = ("MARK", "SINGLE")


@dataclass(slots=True)
class DuckDBPlans:
    """DuckDB over the tables of a workload, which are loaded when they are first needed."""

    workload: Workload
    connection: duckdb.DuckDBPyConnection
    counts: Counts
    _loaded: bool = False

    def operators(self, name: str) -> list[tuple[str, int]]:
        """Kind and rows of the operators of a query's plan whose rows are intermediate."""
        text = self.workload.queries[name]
        found = self.counts.of(f"duckdb {duckdb.__version__}\n{text}", lambda: intermediate(self._profile(text)))
        return [(kind, rows) for kind, rows in found]

    def fewest_rows(self, name: str) -> int | None:
        """The intermediate rows of the best order of a query's joins; None if it has too many, or something else than joins."""
        query = self.workload.joins.get(name)
        if query is None or len(query.relations) > MOST_RELATIONS:
            return None
        bound = sum(rows for _, rows in self.operators(name))
        fewest: int = self.counts.of(f"best order below {bound}\n{query.text}", lambda: fewest_rows(query, self.load(), bound))
        return fewest

    def load(self) -> duckdb.DuckDBPyConnection:
        """The connection, with all tables."""
        if not self._loaded:
            for table, path in self.workload.tables.items():
                self.connection.execute(f"CREATE TABLE {table} AS FROM read_parquet('{path}')")
            self._loaded = True
        return self.connection

    def _profile(self, text: str) -> dict[str, Any]:
        row = self.load().execute(f"EXPLAIN (ANALYZE, FORMAT json) {text}").fetchone()
        assert row is not None
        profile: dict[str, Any] = json.loads(row[1])["operator"][0]
        return profile


@contextmanager
def duckdb_plans(workload: Workload) -> Iterator[DuckDBPlans]:
    """DuckDB in memory, with two threads."""
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute("SET disabled_optimizers = 'join_filter_pushdown'")
        yield DuckDBPlans(workload, connection, Counts(workload.name, workload.identity))


def intermediate(root: dict[str, Any]) -> list[tuple[str, int]]:
    """Kind and rows of joins, and of aggregates below them, in a profile."""
    found: list[tuple[str, int]] = []
    stack: list[tuple[dict[str, Any], bool, int | None]] = [(root, False, None)]
    while stack:
        current, below, filtered = stack.pop()
        kind, children = current["type"], current.get("children", ())
        if kind == "CTE":
            produced, used = children
            stack += [(produced, below or _has_join(used), None), (used, below, None)]
            continue
        joins = kind in _JOINS and not _is_constant_list(current)
        if joins:
            join_kind = current["extra_info"].get("Join Type", "INNER")
            kept = filtered if join_kind in _UNFILTERED and filtered is not None else current["intermediate_rows"]
            found.append((str(join_kind).lower(), kept))
        elif kind in _AGGREGATES and below:
            found.append(("aggregate", current["intermediate_rows"]))
        if kind == "FILTER":
            filtered = current["intermediate_rows"]
        elif kind != "PROJECTION":
            filtered = None
        stack += [(child, below or joins, filtered) for child in children]
    return found


def _has_join(root: dict[str, Any]) -> bool:
    stack = [root]
    while stack:
        current = stack.pop()
        if current["type"] in _JOINS and not _is_constant_list(current):
            return True
        stack += current.get("children", ())
    return False


def _is_constant_list(join: dict[str, Any]) -> bool:
    return join["type"] == "HASH_JOIN" and any(child["type"] == "COLUMN_DATA_SCAN" for child in join.get("children", ()))

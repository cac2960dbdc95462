"""Plans of SQL texts, kept for when the same text comes again.

A query is planned from its text, from what the names in it mean, and from the settings; a text that asks what time it is depends
on more and is not kept. Meanings are compared by the identity of what snapshots hold: the catalog keeps those of files for as
long as they are unchanged, which it looks up each time; what was learned of their rows is part of them. Everything that is
planned is kept, down to the stages, which hold nothing that a run changes.

Decision: a hit gives the plans and not the frame. Two DataFrames of one text have columns of their own, so that they can be
joined; a frame is bound when a method first needs it, over the tables that the plans read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from planner.catalog import TableSnapshot
from planner.errors import DataError
from planner.logical.view import View
from planner.ports import Catalog
from qengine.query import Query

MOST_PLANS = 256
LONGEST_TEXT = 16_384
"""Characters of a text that is kept: longer ones are rarely sent twice, and their plans are large."""


class PlanCache:
    """The queries that were planned last, by text, dialect and settings. Thread-safe."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.Lock()
        self._queries: OrderedDict[Hashable, Query] = OrderedDict()

    def __len__(self) -> int:
        return len(self._queries)

    def find(self, key: Hashable) -> Query | None:
        """The query of a key if all its names still mean the same."""
        with self._lock:
            query = self._queries.get(key)
        if query is None:
            return None
        try:
            current = all(_same(self._catalog.table(name), known) for name, known in query.bound.sources.items())
        except DataError:  # binding raises it again, and says where
            current = False
        with self._lock:
            if current and key in self._queries:
                self._queries.move_to_end(key)
            elif not current and self._queries.get(key) is query:
                del self._queries[key]
        return query if current else None

    def keep(self, key: Hashable, query: Query, text: str) -> None:
        """Keep a query for `find`, if its text allows that."""
        if not query.bound.repeatable or len(text) > LONGEST_TEXT:
            return
        with self._lock:
            self._queries[key] = query
            self._queries.move_to_end(key)
            if len(self._queries) > MOST_PLANS:
                self._queries.popitem(last=False)

    def forget(self, name: str) -> None:
        """Let go of the queries that use a name, and so of tables in memory that only they hold."""
        folded = name.casefold()
        with self._lock:
            users = [key for key, query in self._queries.items() if folded in map(str.casefold, query.bound.sources)]
            for key in users:
                del self._queries[key]

    def clear(self) -> None:
        with self._lock:
            self._queries.clear()


def _same(found: TableSnapshot | View | None, known: TableSnapshot | View) -> bool:
    if isinstance(found, TableSnapshot) and isinstance(known, TableSnapshot):
        parts = (found.files is known.files, found.columns is known.columns, found.fields is known.fields)
        same_statistics = found.statistics is known.statistics
        return found is known or (all(parts) and same_statistics and found.trusted is known.trusted)
    return isinstance(found, View) and isinstance(known, View) and found.plan is known.plan

"""Names to table snapshots and views.

A file is opened in a worker, for a broken one can crash or hang whoever opens it, and its footer is read once: the snapshot
is kept and stays valid as long as every file has the size, time and inode that it had.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from glob import has_magic
from typing import Any

from exec.engine import Engine
from planner.catalog import TableSnapshot
from planner.errors import error
from planner.logical.nodes import LogicalPlan
from planner.logical.view import View, with_tables

Paths = tuple[str, ...]


_KINDS: dict[type, str] = {TableSnapshot: "table", tuple: "file", View: "view"}


class SessionCatalog:
    """Implements `planner.ports.Catalog` for one session. Names are case-insensitive."""

    def __init__(self, engine: Engine, sampling: bool = True) -> None:
        """`sampling`: whether samples of tables are drawn in the background."""
        self._engine = engine
        self._sampling = sampling
        self._lock = threading.RLock()
        self._tables: dict[str, tuple[str, TableSnapshot | Paths | View]] = {}
        self._snapshots: dict[Paths, TableSnapshot] = {}
        self._untrusted: set[str] = set()

    def names(self) -> Sequence[str]:
        with self._lock:
            return [name for name, _ in self._tables.values()]

    def kinds(self) -> dict[str, str]:
        """What is registered, by name: "table" (in memory), "file" (one or several) or "view"."""
        with self._lock:
            registered = list(self._tables.values())
        return {name: _KINDS[type(source)] for name, source in registered}

    def table(self, name: str) -> TableSnapshot | View | None:
        with self._lock:
            found = self._tables.get(name.casefold())
        if found is not None:
            source = found[1]
            if isinstance(source, View):
                return self._current_view(name, source)
            return self.describe(source, found[0]) if isinstance(source, tuple) else self._with_statistics(source)
        if _spells_file(name):
            return self.describe((name,), name)
        return None

    def _current_view(self, name: str, view: View) -> View:
        """A registered view over its tables as they are now, which it keeps."""
        plan, tables = self.refreshed(view.plan, view.tables)
        if plan is view.plan:
            return view
        renewed = replace(view, plan=plan, tables=tables)
        with self._lock:
            registered = self._tables.get(name.casefold())
            if registered is not None and registered[1] is view:
                self._tables[name.casefold()] = (registered[0], renewed)
        return renewed

    def register_files(self, name: str, paths: Paths) -> None:
        with self._lock:
            self._tables[name.casefold()] = (name, paths)

    def register_snapshot(self, name: str, snapshot: TableSnapshot) -> None:
        with self._lock:
            self._tables[name.casefold()] = (name, snapshot)

    def register_view(self, name: str, view: View) -> None:
        with self._lock:
            self._tables[name.casefold()] = (name, view)

    def describe(self, paths: Paths, name: str) -> TableSnapshot:
        """The snapshot of files, patterns or folders. Raises DataError if there are none or one cannot be read."""
        from exec.sources.describe import expand  # with the reader of footers, which queries without files can do without

        files = tuple(expand(paths))
        with self._lock:
            known = self._snapshots.get(files)
            untrusted = not self._untrusted.isdisjoint(files)
        if known is None or not _unchanged(known):
            known = self._engine.call("exec.sources.describe:describe", list(files), name, subject=paths[0])
            assert isinstance(known, TableSnapshot)
            with self._lock:
                self._snapshots[files] = known
        return self._with_statistics(replace(known, name=name, trusted=not untrusted, source=paths))

    def _with_statistics(self, snapshot: TableSnapshot) -> TableSnapshot:
        """A snapshot with what is known of its rows now; if that is nothing, something will be learned in the background."""
        store = self._engine.table_statistics
        statistics = store.of(snapshot)
        if statistics is not None:
            return snapshot if statistics is snapshot.statistics else replace(snapshot, statistics=statistics)
        if self._sampling and snapshot.statistics is None:
            store.use(snapshot)
        return snapshot

    def refreshed(self, plan: LogicalPlan, tables: tuple[TableSnapshot, ...]) -> tuple[LogicalPlan, tuple[TableSnapshot, ...]]:
        """A plan over its tables as they are now, and these; the same objects if nothing changed.

        Raises FILE_COLUMNS_CHANGED if a table lacks a column now that the plan reads, and what `describe` raises.
        """
        if all(self.is_current(table) for table in tables):
            return plan, tables
        renewed = {id(table): self._renewed(table) for table in tables}
        return with_tables(plan, renewed), tuple(renewed.get(id(table), table) for table in tables)

    def _renewed(self, snapshot: TableSnapshot) -> TableSnapshot:
        if snapshot.source:
            return self.describe(snapshot.source, snapshot.name)
        return self._with_statistics(snapshot)

    def is_current(self, snapshot: TableSnapshot) -> bool:
        """Whether a snapshot still describes its files as they are now, as far as they are trusted and their rows are known."""
        if self._engine.table_statistics.of(snapshot) not in (None, snapshot.statistics):
            return False
        if snapshot.format == "memory":
            return True
        with self._lock:
            untrusted = any(file.split.path in self._untrusted for file in snapshot.files)
        return snapshot.trusted is not untrusted and _unchanged(snapshot)

    def distrust(self, snapshots: Sequence[TableSnapshot]) -> None:
        """Remember that a footer among these tables lied: its bounds are not used for arithmetic any more."""
        with self._lock:
            for snapshot in snapshots:
                self._untrusted.update(file.split.path for file in snapshot.files)

    def forget(self, snapshots: Sequence[TableSnapshot]) -> None:
        """Read these tables' footers anew at their next use."""
        paths = {file.split.path for snapshot in snapshots for file in snapshot.files}
        with self._lock:
            self._snapshots = {files: s for files, s in self._snapshots.items() if paths.isdisjoint(files)}


def path_tuple(paths: Any) -> Paths:
    """A path, a pattern or a sequence of them as a tuple of text."""
    if isinstance(paths, (str, os.PathLike)):
        return (os.fspath(paths),)
    if not isinstance(paths, Sequence) or not paths or not all(isinstance(p, (str, os.PathLike)) for p in paths):
        raise error("INVALID_SETTING", name="path", expected="a path or a list of paths", given=paths)
    return tuple(os.fspath(path) for path in paths)


def _spells_file(name: str) -> bool:
    return "/" in name or os.sep in name or has_magic(name) or name.lower().endswith((".parquet", ".pq"))


def _unchanged(snapshot: TableSnapshot) -> bool:
    for file in snapshot.files:
        try:
            status = os.stat(file.split.path)
        except OSError:
            return False
        if (status.st_size, status.st_mtime_ns, status.st_ino) != (file.split.size, file.split.mtime_ns, file.split.inode):
            return False
    return True

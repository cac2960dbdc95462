"""What the binder of one statement carries along: where names come from, where ids come from, and how errors find their place."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from planner.catalog import TableSnapshot
from planner.errors import DataError, QEngineError, error, nearest
from planner.expr.nodes import AggregateCall, ColumnRef, Expr, Literal
from planner.logical.view import View
from planner.ports import Catalog
from planner.schema import ColumnAllocator
from planner.sql.positions import position_of
from planner.tree import size

if TYPE_CHECKING:
    from planner.sql.frame import FrameUses
    from planner.sql.scope import Scope

MAX_DEPTH = 150
"""Deepest nesting of operators, function calls and subqueries. Analysis and lowering recurse over expressions a few frames per
level, so this keeps all of them clear of the interpreter's limit. Chains of AND, OR, + and || count as one level."""

MAX_REFERENCES = 10_000
"""CTEs and aliases are inlined, so a chain of them that doubles at every step would grow beyond all bounds."""

MAX_RELATIONS = 200
"""Tables in one FROM clause: a plan of joins is a tree as deep as they are many."""

MAX_COPIES = 100_000
"""Nodes in operands that constructs such as BETWEEN hold more than once; nested in each other they double at every level."""


class BindContext:
    """The state of binding one statement.

    `level` is the depth of the innermost scope in which a column was resolved since it was last reset: it tells to which
    query an aggregate belongs. `selects` are the scopes of the SELECTs being bound, the innermost
    last. `origins` and `aggregates` are keyed by the identity of nodes that they keep alive.
    """

    __slots__ = (
        "_now", "aggregates", "allocator", "catalog", "copies", "depth", "dialect", "frames", "level", "like_escape", "origins",
        "parameters", "references", "selects", "tables", "text",
    )  # fmt: skip

    def __init__(self, text: str, catalog: Catalog, dialect: str, allocator: ColumnAllocator) -> None:
        self.text = text
        self.catalog = catalog
        self.dialect = dialect
        self.allocator = allocator
        self.tables: dict[str, TableSnapshot | View] = {}
        self.frames: FrameUses | None = None
        self.parameters: Mapping[str, Literal] = {}
        self.origins: dict[int, tuple[ColumnRef, exp.Expr]] = {}
        self.aggregates: dict[int, tuple[AggregateCall, Scope, exp.Expr]] = {}
        self.depth = 0
        self.level = -1
        self.references = 0
        self.copies = 0
        self.selects: list[Scope] = []
        self._now: datetime.datetime | None = None
        self.like_escape = "\\" if dialect in ("postgres", "mysql", "spark", "databricks", "hive", "redshift") else ""

    @property
    def asked_time(self) -> bool:
        """Whether the statement depends on the time at which it was bound."""
        return self._now is not None

    @property
    def now(self) -> datetime.datetime:
        """When the statement was first asked what time it is, in the local zone."""
        if self._now is None:
            self._now = datetime.datetime.now().astimezone()
        return self._now

    def error(self, code: str, *nodes: exp.Expr, **values: Any) -> QEngineError:
        """The error of a code at the hull of some syntax nodes."""
        return error(code, position=position_of(self.text, *nodes), **values)

    def unsupported(self, what: str, *nodes: exp.Expr, instead: str = "") -> QEngineError:
        """UNSUPPORTED; `instead` names what works."""
        return self.error("UNSUPPORTED", *nodes, what=what, nearest=f"; {instead}" if instead else "")

    def descend(self, node: exp.Expr, levels: int) -> None:
        """Enter deeper nesting; the caller takes the levels off `depth` again. Raises TOO_DEEP."""
        self.depth += levels
        if self.depth > MAX_DEPTH:
            raise self.error("TOO_DEEP", node)

    def count_reference(self, node: exp.Expr) -> None:
        """Count the use of a table, a CTE or an alias. Raises UNSUPPORTED beyond MAX_REFERENCES."""
        self.references += 1
        if self.references > MAX_REFERENCES:
            raise self.unsupported(f"a statement with more than {MAX_REFERENCES} uses of tables, CTEs and aliases", node)

    def count_copies(self, operand: Expr, node: exp.Expr, copies: int = 1) -> None:
        """Count an operand that what is bound holds so many times more. Raises TOO_DEEP beyond MAX_COPIES."""
        self.copies += copies * size(operand, MAX_COPIES)
        if self.copies > MAX_COPIES:
            raise self.error("TOO_DEEP", node)

    def table(self, name: str, node: exp.Expr) -> TableSnapshot | View:
        """A view, or the snapshot of a table; one statement sees one snapshot of each. Raises UNKNOWN_TABLE."""
        self.count_reference(node)
        found = self.tables.get(name)
        if found is None:
            found = self._asked(name, node)
            if found is None:
                folded = name.lower()
                known = next((other for other in self.catalog.names() if other.lower() == folded), None)
                found = self._asked(known, node) if known is not None else None
            if found is None:
                raise self.error("UNKNOWN_TABLE", node, name=name, nearest=nearest(name, self.catalog.names()))
            self.tables[name] = found
        return found

    def _asked(self, name: str, node: exp.Expr) -> TableSnapshot | View | None:
        """What the catalog says; what it raises about a file gets the place where the query names the file."""
        try:
            return self.catalog.table(name)
        except DataError as problem:
            problem.position = problem.position or position_of(self.text, node)
            raise

    def snapshots(self) -> tuple[TableSnapshot, ...]:
        """The snapshots of all tables asked for so far, those below views included, each once."""
        read = {}
        for found in self.tables.values():
            for snapshot in (found,) if isinstance(found, TableSnapshot) else found.tables:
                read[id(snapshot)] = snapshot
        return tuple(read.values())

"""Scopes: which names mean which columns.

Names are compared without case, quoted ones too. A scope belongs to one SELECT; a name that it does not know is looked for in
the scope around it, which makes the query correlated. Names of output columns (aliases) come after columns of the FROM clause
and before those of surrounding queries; in HAVING, outside of aggregates, they come before columns that are no grouping keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from planner.errors import nearest
from planner.expr.nodes import ColumnRef, Expr
from planner.logical.nodes import LogicalPlan
from planner.schema import Column
from planner.sql.context import BindContext

if TYPE_CHECKING:
    from planner.sql.grouping_sets import GroupingSets


class Relation:
    """One item of a FROM clause: its alias and the names of its columns, in order."""

    __slots__ = ("alias", "columns", "index", "names")

    def __init__(self, alias: str, names: Sequence[str], columns: Sequence[Column]) -> None:
        self.alias = alias
        self.names = names
        self.columns = columns
        self.index: dict[str, Column] = dict(zip([name.lower() for name in reversed(names)], reversed(columns), strict=True))


@dataclass(frozen=True, slots=True)
class Merged:
    """The one unqualified meaning of a name that a USING clause joined, and the relations it stands for."""

    name: str
    expr: Expr
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class BoundRelation:
    """A bound query: its plan, whose columns are the output columns in order, and their names, which may repeat."""

    plan: LogicalPlan
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cte:
    """A common table expression, bound anew at every reference, in the scope where it was defined."""

    name: str
    node: exp.CTE
    scope: Scope


class Scope:
    """The names that an expression may use.

    `clause` names the clause being bound if aggregates are not allowed in it. `aliases` are the output names that may be used,
    with their syntax. `has_aggregates` is set when an aggregate of this scope's query was bound, `has_windows` when a window
    function was; `no_windows` names the clause being bound if only the latter are not allowed in it. `windows` are those of the
    WINDOW clause. `having_keys` are the ids of the columns that are grouping keys while HAVING is bound, else None.
    `grouping_sets` are those of its GROUP BY, if that has ROLLUP, CUBE or GROUPING SETS.
    """

    __slots__ = (
        "aliases", "clause", "ctes", "depth", "grouping_sets", "has_aggregates", "has_windows", "having_keys", "merged",
        "no_windows", "parent", "relations", "windows",
    )  # fmt: skip

    def __init__(self, parent: Scope | None, ctes: dict[str, Cte]) -> None:
        self.parent = parent
        self.ctes = ctes
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.relations: list[Relation] = []
        self.merged: dict[str, Merged] = {}
        self.aliases: dict[str, exp.Expr] = {}
        self.clause: str | None = None
        self.has_aggregates = False
        self.has_windows = False
        self.no_windows: str | None = None
        self.windows: dict[str, exp.Expr] = {}
        self.having_keys: frozenset[int] | None = None
        self.grouping_sets: GroupingSets | None = None

    def prefers_alias(self, name: str, column: Expr) -> bool:
        """Whether a name that `column` has in the FROM clause means an output column nevertheless, as DuckDB has it in HAVING."""
        if self.having_keys is None or self.clause is not None or name not in self.aliases:
            return False
        return not (isinstance(column, ColumnRef) and column.column.id in self.having_keys)

    def ancestor(self, depth: int) -> Scope:
        """The scope at a depth, this one or one around it."""
        scope = self
        while scope.depth > depth and scope.parent is not None:
            scope = scope.parent
        return scope


def find_column(context: BindContext, scope: Scope, name: str, node: exp.Expr) -> Expr | None:
    """The meaning of an unqualified name in the FROM clause of one scope. Raises AMBIGUOUS_COLUMN."""
    merged = scope.merged.get(name)
    if merged is not None:
        for relation in scope.relations:
            if name in relation.index and relation not in merged.relations:
                raise _ambiguous(context, node, merged.name, [relation.alias, *(r.alias for r in merged.relations)])
        return merged.expr
    found: Column | None = None
    for relation in scope.relations:
        column = relation.index.get(name)
        if column is not None:
            if found is not None:
                owners = [other.alias for other in scope.relations if name in other.index]
                raise _ambiguous(context, node, node.name, owners)
            found = column
    return ColumnRef(found.dtype, found) if found is not None else None


def find_relation(scope: Scope | None, alias: str) -> tuple[Scope, Relation] | None:
    """The relation of an alias in a scope or the nearest one around it."""
    while scope is not None:
        for relation in scope.relations:
            if relation.alias.lower() == alias:
                return scope, relation
        scope = scope.parent
    return None


def shows_column(scope: Scope | None, number: int) -> bool:
    """Whether a relation of a scope, or of one around it, has the column of an id."""
    while scope is not None:
        if any(column.id == number for relation in scope.relations for column in relation.columns):
            return True
        scope = scope.parent
    return False


def unknown_column(context: BindContext, scope: Scope, node: exp.Expr, name: str) -> Exception:
    return context.error("UNKNOWN_COLUMN", node, name=name, nearest=nearest(name, _visible_names(scope)))


def unknown_alias(context: BindContext, scope: Scope, node: exp.Expr, name: str) -> Exception:
    aliases: list[str] = []
    current: Scope | None = scope
    while current is not None:
        aliases.extend(relation.alias for relation in current.relations)
        current = current.parent
    return context.error("UNKNOWN_TABLE", node, name=name, nearest=nearest(name, aliases))


def _visible_names(scope: Scope) -> Iterable[str]:
    names: dict[str, str] = {}
    current: Scope | None = scope
    while current is not None:
        for relation in current.relations:
            for name in relation.names:
                names.setdefault(name.lower(), name)
        for name in current.aliases:
            names.setdefault(name, name)
        current = current.parent
    return names.values()


def _ambiguous(context: BindContext, node: exp.Expr, name: str, aliases: Iterable[str]) -> Exception:
    return context.error("AMBIGUOUS_COLUMN", node, name=name, candidates=candidates_text(name, aliases))


def candidates_text(name: str, aliases: Iterable[str]) -> str:
    """The columns that an ambiguous name could mean, by the aliases of their relations."""
    qualified = [repr(f"{alias}.{name}") if alias else f"an {name!r} of an input without an alias" for alias in aliases]
    return " or ".join(dict.fromkeys(qualified))

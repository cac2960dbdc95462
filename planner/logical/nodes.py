"""Logical operators: what is to be computed, without how and where.

Every operator knows its output `columns`. Nodes hold semantics only: statistics, keys, order and nullability are computed by
`planner.analysis`. A plan in which an operator uses columns that no input gives is *correlated*; only the right input of a
DependentJoin and the plan of a subquery expression may be.
"""

from __future__ import annotations

from typing import Any

from planner.catalog import TableSnapshot
from planner.expr.nodes import Assign, ColumnRef, Expr, SortKey, WindowCall
from planner.join_kind import JoinKind, join_columns
from planner.schema import Column, Schema
from planner.tree import Node, node


@node
class LogicalPlan(Node):
    """Base of all logical operators."""

    @property
    def columns(self) -> Schema:
        """The output columns, in order."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[LogicalPlan, ...]:
        """The direct input plans (not the plans inside of subquery expressions)."""
        return tuple(child for child in self.children if isinstance(child, LogicalPlan))

    @property
    def expressions(self) -> tuple[Node, ...]:
        """The expressions, assignments and sort keys that this operator itself holds."""
        return tuple(child for child in self.children if not isinstance(child, LogicalPlan))


@node
class Scan(LogicalPlan):
    """Rows of a table. `output` pairs plan columns with field positions of the snapshot."""

    table: TableSnapshot
    output: tuple[tuple[Column, int], ...]

    @property
    def columns(self) -> Schema:
        return tuple(column for column, _ in self.output)


@node
class Values(LogicalPlan):
    """Constant rows of Python values, in the types of `schema`. No rows: the empty relation."""

    schema: Schema
    rows: tuple[tuple[Any, ...], ...]

    @property
    def columns(self) -> Schema:
        return self.schema


@node
class Filter(LogicalPlan):
    """The rows for which the predicate is true (not NULL)."""

    input: LogicalPlan
    predicate: Expr

    @property
    def columns(self) -> Schema:
        return _columns_of_input(self)


@node
class Project(LogicalPlan):
    """Exactly the assigned columns. A column passed through is `Assign(c, ColumnRef(c))`."""

    input: LogicalPlan
    assigns: tuple[Assign, ...]

    @property
    def columns(self) -> Schema:
        return tuple(assign.column for assign in self.assigns)


@node
class Join(LogicalPlan):
    """`condition` is TRUE for a cross join. A RIGHT join is bound as LEFT with its inputs exchanged."""

    left: LogicalPlan
    right: LogicalPlan
    kind: JoinKind
    condition: Expr
    mark: Column | None = None

    @property
    def columns(self) -> Schema:
        return join_columns(self.kind, self.left.columns, self.right.columns, self.mark)


@node
class DependentJoin(LogicalPlan):
    """A join whose right input may use columns of the left one: it is evaluated once for every left row.

    Removed by `eliminate_dependent_join` (Neumann and Kemper 2015) before anything else looks at the plan.
    """

    left: LogicalPlan
    right: LogicalPlan
    kind: JoinKind
    condition: Expr
    mark: Column | None = None

    @property
    def columns(self) -> Schema:
        return join_columns(self.kind, self.left.columns, self.right.columns, self.mark)


@node
class Aggregate(LogicalPlan):
    """One row per distinct key, NULL being one key; without keys exactly one row. DISTINCT is keys without aggregates."""

    input: LogicalPlan
    keys: tuple[Assign, ...]
    aggregates: tuple[Assign, ...]

    @property
    def columns(self) -> Schema:
        return tuple(assign.column for assign in self.keys + self.aggregates)


@node
class Window(LogicalPlan):
    """The input's rows, each with one column more for every call. All calls (WindowCalls) have the same partition and order."""

    input: LogicalPlan
    calls: tuple[Assign, ...]

    @property
    def columns(self) -> Schema:
        return self.input.columns + tuple(assign.column for assign in self.calls)

    @property
    def partition(self) -> tuple[Expr, ...]:
        return self._call.partition

    @property
    def order(self) -> tuple[SortKey, ...]:
        return self._call.order

    @property
    def _call(self) -> WindowCall:
        call = self.calls[0].expr
        assert isinstance(call, WindowCall)
        return call


@node
class Union(LogicalPlan):
    """The rows of all arms, one after the other (UNION ALL). Column i of `schema` is column i of every arm, in one type.

    The other set operations are written with it: UNION is groups over it, INTERSECT and EXCEPT are null-safe semi and anti joins.
    """

    arms: tuple[LogicalPlan, ...]
    schema: Schema

    @property
    def columns(self) -> Schema:
        return self.schema


@node
class Sort(LogicalPlan):
    """The input's rows ordered by the keys; stable where the input has an order."""

    input: LogicalPlan
    keys: tuple[SortKey, ...]

    @property
    def columns(self) -> Schema:
        return _columns_of_input(self)


@node
class Limit(LogicalPlan):
    """At most `limit` rows (None: all) after the first `offset`."""

    input: LogicalPlan
    limit: int | None
    offset: int = 0

    @property
    def columns(self) -> Schema:
        return _columns_of_input(self)


@node
class TopN(LogicalPlan):
    """Sort, then limit, as one operator."""

    input: LogicalPlan
    keys: tuple[SortKey, ...]
    limit: int
    offset: int = 0

    @property
    def columns(self) -> Schema:
        return _columns_of_input(self)


def _columns_of_input(plan: LogicalPlan) -> Schema:
    """The columns of the first operator below `plan` that has columns of its own. A loop: thousands of filters may be stacked."""
    while isinstance(plan, (Filter, Sort, Limit, TopN)):
        plan = plan.input
    return plan.columns


def pass_through(columns: Schema | tuple[Column, ...]) -> tuple[Assign, ...]:
    """Assignments that keep columns as they are."""
    return tuple(Assign(column, ColumnRef(column.dtype, column)) for column in columns)

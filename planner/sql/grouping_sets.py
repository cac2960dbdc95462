"""GROUP BY with ROLLUP, CUBE and GROUPING SETS.

The rows of the input are repeated once for every grouping set, with the keys that the set lacks made NULL and the number of the
set beside them; all groups are then those of one GROUP BY. (A union of one GROUP BY for each set would read the input as often,
and an input that may differ from run to run would give sets that contradict each other.)

    Aggregate [key, set; sum(x)]
      Project key = CASE WHEN set IN (0) THEN key END, ...
        Join
          input
          Values set: 0, 1

The empty set has a group even if there are no rows: a FULL join with the numbers of the empty sets adds it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from planner import dtypes as t
from planner.expr.equality import same_expression
from planner.expr.functions import AGGREGATES
from planner.expr.nodes import (
    TRUE,
    AggregateCall,
    Assign,
    Call,
    Case,
    ColumnRef,
    Compare,
    CompareOp,
    Expr,
    Literal,
    disjunction,
)
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Join, LogicalPlan, Project, Values, pass_through
from planner.schema import Column
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression, handles
from planner.sql.scope import Scope

MAX_SETS = 4096

Key = tuple[Expr, str]
"""A grouping key over the rows, and a name for its column."""


@dataclass(slots=True)
class GroupingSets:
    """The different keys of a query, and its sets as their positions. `groupings` are columns that stand for GROUPING(...)."""

    keys: list[Key] = field(default_factory=list)
    sets: list[frozenset[int]] = field(default_factory=list)
    groupings: list[tuple[Column, tuple[Expr, ...], exp.Expr]] = field(default_factory=list)

    def position(self, key: Key) -> int:
        """The position of a key, which becomes one of `keys` if it is new."""
        for at, (known, _) in enumerate(self.keys):
            if same_expression(known, key[0]):
                return at
        self.keys.append(key)
        return len(self.keys) - 1


def has_sets(group: exp.Expr | None) -> bool:
    """Whether a GROUP BY clause has more than one grouping set, or an empty one."""
    if group is None:
        return False
    if group.args.get("rollup") or group.args.get("cube"):
        return True
    return any(isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)) for node in group.expressions)


def bind_sets(context: BindContext, group: exp.Expr, found: GroupingSets, bind_key: Callable[[exp.Expr], Key]) -> None:
    """Fill `found` with the keys and sets of a clause: of its items every combination. Raises UNSUPPORTED for too many."""
    items = [_sets_of(found, node, bind_key) for node in group.expressions]
    if group.args.get("rollup") or group.args.get("cube"):  # GROUP BY a, b WITH ROLLUP
        keys = [item[0] for item in items]
        items = [_prefixes(keys) if group.args.get("rollup") else _subsets(keys)]
    count = 1
    for item in items:
        count *= len(item)
        if count > MAX_SETS:
            raise context.unsupported(f"GROUP BY with more than {MAX_SETS} grouping sets", group)
    found.sets = [frozenset().union(*combination) for combination in itertools.product(*items)]


def _sets_of(found: GroupingSets, node: exp.Expr, bind_key: Callable[[exp.Expr], Key]) -> list[frozenset[int]]:
    """The sets of one item of GROUP BY."""
    if isinstance(node, exp.GroupingSets):
        return [inner for item in node.expressions for inner in _sets_of(found, item, bind_key)]
    if isinstance(node, (exp.Rollup, exp.Cube)):
        elements = [_sets_of(found, item, bind_key)[0] for item in node.expressions]
        return _prefixes(elements) if isinstance(node, exp.Rollup) else _subsets(elements)
    if isinstance(node, exp.Tuple):
        return [frozenset(found.position(bind_key(key)) for key in node.expressions)]
    while isinstance(node, exp.Paren):
        node = node.this
    return [frozenset((found.position(bind_key(node)),))]


def _prefixes(elements: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    return [frozenset().union(*elements[:length]) for length in range(len(elements), -1, -1)]


def _subsets(elements: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    if 2 ** len(elements) > MAX_SETS:
        return [frozenset()] * (MAX_SETS + 1)  # refused by whoever counts them
    choices = itertools.product((True, False), repeat=len(elements))
    return [frozenset().union(*itertools.compress(elements, choice)) for choice in choices]


@handles(exp.Grouping, exp.GroupingId, args="this expressions")
def bind_grouping(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """GROUPING(keys): a bit for each key, the last one lowest, that is set where the row's grouping set lacks the key."""
    if scope.grouping_sets is None:
        raise context.unsupported("GROUPING without ROLLUP, CUBE or GROUPING SETS", node)
    arguments = tuple(bind_expression(context, scope, argument) for argument in node.expressions)
    column = context.allocator.new("grouping", t.BIGINT)
    scope.grouping_sets.groupings.append((column, arguments, node))
    return reference(column)


def aggregate_sets(
    context: BindContext, input: LogicalPlan, found: GroupingSets, keys: tuple[Column, ...], aggregates: Sequence[Assign]
) -> LogicalPlan:
    """The groups of all sets over `input`: the keys as the columns `keys`, `aggregates`, and the columns of `groupings`.

    Raises NOT_GROUPED for an argument of GROUPING that is no key.
    """
    number = context.allocator.new("grouping set", t.INTEGER)
    repeated = Join(input, Values((number,), tuple((at,) for at in range(len(found.sets)))), JoinKind.INNER, TRUE)
    kept = [
        Assign(column, _where_grouped(expr, at, found.sets, number))
        for at, (column, (expr, _)) in enumerate(zip(keys, found.keys, strict=True))
    ]
    plan: LogicalPlan = Project(repeated, (*pass_through(input.columns), *kept, Assign(number, reference(number))))
    empty = [at for at, members in enumerate(found.sets) if not members]
    if not empty:
        plan = Aggregate(plan, pass_through((*keys, number)), tuple(aggregates))
    else:
        plan, number = _with_empty_sets(context, plan, keys, number, aggregates, empty)
    groupings = [Assign(column, _grouping(context, node, args, found, number)) for column, args, node in found.groupings]
    outputs = pass_through((*keys, *(assign.column for assign in aggregates)))
    return Project(plan, (*outputs, *groupings))


def _is_set(number: Column, sets: Sequence[int]) -> Expr:
    """Whether the number of the set is one of some."""
    return disjunction([Compare(t.BOOLEAN, CompareOp.EQ, reference(number), Literal(t.INTEGER, at)) for at in sets])


def _where_grouped(key: Expr, at: int, sets: Sequence[frozenset[int]], number: Column) -> Expr:
    """A key in the sets that have it, NULL in the others."""
    members = [position for position, members in enumerate(sets) if at in members]
    if len(members) == len(sets):
        return key
    return Case(key.dtype, (_is_set(number, members),), (key,), Literal(key.dtype, None))


def _with_empty_sets(
    context: BindContext,
    rows: LogicalPlan,
    keys: tuple[Column, ...],
    number: Column,
    aggregates: Sequence[Assign],
    empty: Sequence[int],
) -> tuple[LogicalPlan, Column]:
    """The groups of the rows, with those of the empty sets also if there are no rows; and the column of their set."""
    counted = {}
    inner = []
    for assign in aggregates:
        assert isinstance(assign.expr, AggregateCall)
        if AGGREGATES[assign.expr.function].empty_is_null:
            inner.append(assign)
        else:
            column = counted[assign.column.id] = context.allocator.copy_of(assign.column)
            inner.append(Assign(column, assign.expr))
    groups = Aggregate(rows, pass_through((*keys, number)), tuple(inner))
    always = context.allocator.new("empty set", t.INTEGER)
    values = Values((always,), tuple((at,) for at in empty))
    same = Compare(t.BOOLEAN, CompareOp.EQ, reference(always), reference(number))
    joined = Join(values, groups, JoinKind.FULL, same)
    found = context.allocator.new("grouping set", t.INTEGER)
    results = []
    for assign in aggregates:
        value: Expr = reference(assign.column)
        if assign.column.id in counted:
            value = Call(
                assign.column.dtype, "coalesce", (reference(counted[assign.column.id]), Literal(assign.column.dtype, 0))
            )
        results.append(Assign(assign.column, value))
    either = Call(t.INTEGER, "coalesce", (reference(number), reference(always)))
    return Project(joined, (*pass_through(keys), *results, Assign(found, either))), found


def _grouping(context: BindContext, node: exp.Expr, arguments: tuple[Expr, ...], found: GroupingSets, number: Column) -> Expr:
    positions = []
    for argument, written in zip(arguments, node.expressions, strict=True):
        at = next((at for at, (key, _) in enumerate(found.keys) if same_expression(key, argument)), None)
        if at is None:
            name = argument.column.name if isinstance(argument, ColumnRef) else written.sql(dialect="duckdb")
            raise context.error("NOT_GROUPED", written, name=name)
        positions.append(at)
    values = [sum(1 << bit for bit, at in enumerate(reversed(positions)) if at not in members) for members in found.sets]
    conditions = tuple(_is_set(number, [at]) for at in range(len(values) - 1))
    results = tuple(Literal(t.BIGINT, value) for value in values)
    return Case(t.BIGINT, conditions, results[:-1], results[-1]) if conditions else results[0]

"""Value numbers of physical plans: plans with equal numbers give the same rows, columns with equal numbers the same values.

The classic value numbering of compilers (Cocke and Schwartz 1970) over relations. A plan has one number for its rows and one for
each of its columns, which means something only beside that of the rows. So plans that differ in the columns that they were left
with by column pruning, in names or in projections on the way have equal rows, and it is plain which columns they share.

What says where and how fast, and not what, has no part in a number: the tasks of a scan and its boundaries, the side of a join
that is hashed, operator numbers, claims. The order of rows has, as far as a query may rely on it: sorts, whether a scan is cut
by ranges, and the patterns of exchanges.

A plan whose rows are left open (a limit without order) has equal numbers with its copy: either's rows are right for both.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from planner.expr.nodes import ColumnRef
from planner.logical.same_plan import canonical_form, canonical_value
from planner.physical.nodes import (
    AggregateExec,
    ExchangePlan,
    FilterExec,
    JoinExec,
    LimitExec,
    MergeExec,
    PhysicalPlan,
    ProjectExec,
    SortExec,
    TableScan,
    TopNExec,
    UnionExec,
    ValuesScan,
    WindowExec,
)
from planner.schema import Column
from planner.tree import Node


class Numbers(NamedTuple):
    """The number of a plan's rows, and by id those of its columns."""

    rows: int
    columns: Mapping[int, int]


class ValueNumbers:
    """The numbers of the operators of one plan, each computed once."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._plans: dict[int, tuple[PhysicalPlan, Numbers]] = {}

    def of(self, plan: PhysicalPlan) -> Numbers:
        stack = [plan]
        while stack:
            current = stack[-1]
            pending = [child for child in current.inputs if id(child) not in self._plans]
            if pending:
                stack.extend(pending)
                continue
            stack.pop()
            if id(current) not in self._plans:
                self._plans[id(current)] = current, self._derive(current, [self._plans[id(c)][1] for c in current.inputs])
        return self._plans[id(plan)][1]

    def _number(self, *key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _value(self, expr: Node | None, columns: Mapping[int, int]) -> int:
        """The number of an expression over columns with numbers."""
        if isinstance(expr, ColumnRef):
            return columns[expr.column.id]
        return self._number(*canonical_form(expr, columns)) if expr is not None else -1

    def _values(self, nodes: tuple[Node, ...], columns: Mapping[int, int]) -> tuple[int, ...]:
        return tuple(self._value(node, columns) for node in nodes)

    def _derive(self, plan: PhysicalPlan, inputs: list[Numbers]) -> Numbers:
        match plan:
            case TableScan():
                return self._scan(plan)
            case ValuesScan():
                types = tuple(column.dtype for column in plan.schema)
                columns = {column.id: self._number("value", at) for at, column in enumerate(plan.schema)}
                return Numbers(self._number(ValuesScan, types, canonical_value(plan.rows, {})), columns)
            case JoinExec():
                return self._join(plan, *inputs)
            case UnionExec():
                arms = [_of(arm.columns, given.columns) for arm, given in zip(plan.arms, inputs, strict=True)]
                columns = {
                    column.id: self._number("union", *values) for column, *values in zip(plan.schema, *arms, strict=True)
                }
                return Numbers(self._number(UnionExec, *(given.rows for given in inputs)), columns)
            case _ if len(inputs) == 1:
                return self._derive_one(plan, *inputs[0])
        return self._unlike_any(plan)

    def _derive_one(self, plan: PhysicalPlan, rows: int, known: Mapping[int, int]) -> Numbers:
        """An operator over a single input with these numbers."""
        match plan:
            case ProjectExec():
                return Numbers(rows, {assign.column.id: self._value(assign.expr, known) for assign in plan.assigns})
            case FilterExec():
                return Numbers(self._number(FilterExec, rows, self._value(plan.predicate, known)), known)
            case ExchangePlan():
                keys = tuple(known[key] for key in getattr(plan.partitioning, "keys", ()))
                return Numbers(self._number(ExchangePlan, rows, plan.pattern, keys), known)
            case AggregateExec():
                columns = {key.id: known[key.id] for key in plan.keys}
                columns |= {assign.column.id: self._value(assign.expr, known) for assign in plan.aggregates}
                return Numbers(self._number(AggregateExec, rows, plan.mode, _of(plan.keys, known)), columns)
            case WindowExec():
                calls = {assign.column.id: self._value(assign.expr, known) for assign in plan.calls}
                order = self._values(plan.order, known)
                return Numbers(self._number(WindowExec, rows, _of(plan.partition, known), order), {**known, **calls})
            case SortExec():
                return Numbers(self._number(SortExec, rows, self._values(plan.keys, known)), known)
            case TopNExec():
                return Numbers(self._number(TopNExec, rows, self._values(plan.keys, known), plan.limit, plan.offset), known)
            case MergeExec():
                return Numbers(self._number(MergeExec, rows, self._values(plan.keys, known), plan.limit, plan.offset), known)
            case LimitExec():
                return Numbers(self._number(LimitExec, rows, plan.limit, plan.offset), known)
        return self._unlike_any(plan)

    def _unlike_any(self, plan: PhysicalPlan) -> Numbers:
        return Numbers(self._number("plan", id(plan)), {c.id: self._number("column", c.id) for c in plan.columns})

    def _scan(self, scan: TableScan) -> Numbers:
        """Which row groups are read follows from the files and the predicate."""
        columns = {
            column.id: self._number("stored", name, column.dtype) for column, name in zip(scan.output, scan.names, strict=True)
        }
        splits = {id(part.split): part.split for partition in scan.partitions for part in partition}
        ranged = columns[scan.range_key.id] if scan.range_key is not None else -1
        source = (scan.table_name, scan.format, scan.reader, *splits.values(), scan.row_bound)
        return Numbers(self._number(TableScan, *source, ranged, self._value(scan.predicate, columns)), columns)

    def _join(self, join: JoinExec, left: Numbers, right: Numbers) -> Numbers:
        """A column's number says from which side it comes, so that those of a table joined with itself differ."""
        columns = {id: self._number("left", number) for id, number in left.columns.items()}
        columns |= {id: self._number("right", number) for id, number in right.columns.items()}
        if join.mark is not None:
            columns[join.mark.id] = self._number("mark")
        keys = _of(join.left_keys, columns), _of(join.right_keys, columns)
        rows = self._number(JoinExec, join.kind, left.rows, right.rows, keys, self._value(join.residual, columns))
        return Numbers(rows, columns)


def _of(columns: tuple[Column, ...], numbers: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(numbers[column.id] for column in columns)

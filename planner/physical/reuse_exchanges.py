"""The input of an exchange that occurs twice is computed once: the last step before operators are numbered.

    Join                                        Join
      Exchange hash by k                          Exchange hash by k
        Project k, v                                Project k, v      ←─┐
          Scan t [k, v] where v > 3      ⇒            Scan t ...        │
      Exchange broadcast                          Project k AS k.2      │
        Project k.2                                 Exchange broadcast ─┘
          Scan t [k.2, v.2] where v.2 > 3

CTEs that are used several times and the copies that decorrelation makes are such twins. Both exchanges keep their pattern and
partitioning, so a stage is read by several consumers, each with its own edge and layout. The plan becomes a graph: the two
exchanges have the same object as their input, and `cut_stages` makes one stage of it.

Twins have equal value numbers (`planner.physical.value_numbers`). The one with more columns stays; if each has some that the
other lacks, a scan is widened (`planner.physical.widen`). Sound because an exchange never changes what its rows are (law of
neutrality). Limits without an order are shared too: a CTE is one table wherever it is used, and of two separate subqueries each
may give any rows, the same ones included.

Rejected: twins of logical plans, planned once. Where a plan is cut is known only here, and without an exchange there is nothing
that two consumers could read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from planner.analysis.intervals import Interval
from planner.dir import SampledRange
from planner.expr.nodes import Assign, ColumnRef
from planner.physical.cost import MOVE_BYTE, MOVE_ROW, row_width
from planner.physical.nodes import ExchangePlan, PhysicalPlan, ProjectExec, TableScan, table_scans
from planner.physical.properties import Offered
from planner.physical.value_numbers import ValueNumbers
from planner.physical.widen import widen
from planner.schema import Column, Schema
from planner.tree import Node, kind_mask, walk

_TABLES = kind_mask(TableScan, ExchangePlan)

MOST_WIDENED = 2.0
"""A reader of some columns may pay so many times what moving them alone would cost: less than reading them anew."""


def reuse_exchanges(root: PhysicalPlan) -> PhysicalPlan:
    """The plan in which exchanges with equal inputs share one; the same object if there are none."""
    exchanges = [plan for plan in walk(root, kind_mask(ExchangePlan)) if _may_share(plan)]
    numbers = ValueNumbers()
    reuses: dict[int, _Reuse] = {}
    for alike in _groups(exchanges, _tables):
        for group in _groups(alike, lambda exchange: numbers.of(exchange.input).rows):
            reuses.update((id(reuse.exchange), reuse) for reuse in _share(group, numbers))
    return _rebuild(root, reuses) if reuses else root


def _may_share(plan: Node) -> TypeGuard[ExchangePlan]:
    """Sorted runs belong to the one merge above them; an exchange above that may share it as a whole."""
    return isinstance(plan, ExchangePlan) and not isinstance(plan.partitioning, SampledRange)


def _tables(exchange: ExchangePlan) -> tuple[str, ...]:
    """What twins have in common at first sight: their tables, and where exchanges lie between them."""
    return tuple(plan.table_name if isinstance(plan, TableScan) else "" for plan in walk(exchange.input, _TABLES))


def _groups(exchanges: list[ExchangePlan], key: Callable[[ExchangePlan], Hashable]) -> list[list[ExchangePlan]]:
    """Those that have the key of another one, by key."""
    groups: dict[Hashable, list[ExchangePlan]] = {}
    for exchange in exchanges:
        groups.setdefault(key(exchange), []).append(exchange)
    return [group for group in groups.values() if len(group) > 1]


@dataclass(slots=True)
class _Shared:
    """A plan that several exchanges read, and those exchanges; they have the same rows."""

    input: PhysicalPlan
    readers: list[ExchangePlan]

    def admit(self, exchange: ExchangePlan, numbers: ValueNumbers) -> bool:
        """Take one more reader, if all the columns that it wants are there, or are so when the plan is widened."""
        missing = _numbers(exchange, numbers) - set(_by_number(self.input, numbers))
        input = widen(self.input, exchange.input, missing, numbers) if missing else self.input
        if input is None or not all(_pays(input.columns, reader.columns) for reader in (*self.readers, exchange)):
            return False
        self.input = input
        self.readers.append(exchange)
        return True

    def reuses(self, numbers: ValueNumbers) -> Iterator[_Reuse]:
        """Of the readers all but the one whose own input it is."""
        columns = _by_number(self.input, numbers)
        for reader in self.readers:
            if reader.input is not self.input:
                known = numbers.of(reader.input).columns
                yield _Reuse(reader, self.input, {column.id: columns[known[column.id]] for column in reader.columns})


@dataclass(frozen=True, slots=True)
class _Reuse:
    """`exchange` reads `input` in place of its own; `sources` gives for each of its columns, by id, the one there."""

    exchange: ExchangePlan
    input: PhysicalPlan
    sources: dict[int, Column]

    def over(self, input: PhysicalPlan) -> ProjectExec:
        """The exchange over the shared plan, its columns under the ids that its consumer knows."""
        columns = self.exchange.columns
        assigns = tuple(Assign(column, ColumnRef(column.dtype, self.sources[column.id])) for column in columns)
        renamed = {id: (source.id,) for id, source in self.sources.items()}
        (partitioning,) = Offered((self.exchange.partitioning,)).rename(renamed).partitionings
        origin = self.exchange.origin
        if origin is not None:
            origin = origin._replace(sources=tuple((column, self.sources[column.id]) for column in columns))
        return ProjectExec(self.exchange.replace(input=input, partitioning=partitioning, origin=origin), assigns)


def _share(group: list[ExchangePlan], numbers: ValueNumbers) -> Iterator[_Reuse]:
    """Of exchanges with the same rows those that read another one's input."""
    found: list[_Shared] = []
    for exchange in sorted(group, key=lambda exchange: -len(exchange.columns)):
        if not any(shared.admit(exchange, numbers) for shared in found):
            found.append(_Shared(exchange.input, [exchange]))
    for shared in found:
        yield from shared.reuses(numbers)


def _numbers(exchange: ExchangePlan, numbers: ValueNumbers) -> set[int]:
    known = numbers.of(exchange.input).columns
    return {known[column.id] for column in exchange.columns}


def _by_number(plan: PhysicalPlan, numbers: ValueNumbers) -> dict[int, Column]:
    known = numbers.of(plan).columns
    return {known[column.id]: column for column in plan.columns}


def _pays(given: Schema, wanted: Schema) -> bool:
    """Whether moving all the given columns for the wanted ones costs less than reading and moving those alone."""
    moved, alone = (MOVE_ROW + MOVE_BYTE * row_width(columns) for columns in (given, wanted))
    return moved <= MOST_WIDENED * alone


def _rebuild(root: PhysicalPlan, reuses: dict[int, _Reuse]) -> PhysicalPlan:
    """The plan bottom-up, where an exchange that reuses another one's input has that as its child."""
    claims = _claims(reuses)
    done: dict[int, PhysicalPlan] = {}
    stack = [root]
    while stack:
        current = stack[-1]
        if id(current) in done:
            stack.pop()
            continue
        reuse = reuses.get(id(current))
        children = (reuse.input,) if reuse is not None else current.inputs
        pending = [child for child in children if id(child) not in done]
        if pending:
            stack.extend(reversed(pending))
            continue
        stack.pop()
        if reuse is not None:
            done[id(current)] = reuse.over(done[id(reuse.input)])
        elif id(current) in claims:
            done[id(current)] = current.replace(claims=tuple(sorted(claims[id(current)].items())))
        else:
            done[id(current)] = current.map_children(lambda child: done.get(id(child), child))
    return done[id(root)]


def _claims(reuses: dict[int, _Reuse]) -> dict[int, dict[int, Interval]]:
    """By the id of a scan's node its own claims and those of the scans that it stands for, since arithmetic relies on both."""
    found: dict[int, dict[int, Interval]] = {}
    for reuse in reuses.values():
        for scan, other in zip(table_scans(reuse.input), table_scans(reuse.exchange.input), strict=True):
            columns = dict(zip(scan.names, scan.output, strict=True))
            names = {column.id: name for column, name in zip(other.output, other.names, strict=True)}
            known = found.setdefault(id(scan), dict(scan.claims))
            known.update((columns[names[id]].id, interval) for id, interval in other.claims if names[id] in columns)
    return found

"""Views: bound plans under a name."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalog import TableSnapshot
from planner.errors import error
from planner.logical.nodes import LogicalPlan, Scan
from planner.tree import Node, kind_mask, rewrite

_SCANS = kind_mask(Scan)


@dataclass(frozen=True, slots=True)
class View:
    """A plan with the names of its columns, in order, and the snapshots that it reads.

    `produced` are the ids of the columns that it makes. Whoever uses it beside plans that may make the same ones copies it.
    """

    plan: LogicalPlan
    names: tuple[str, ...]
    tables: tuple[TableSnapshot, ...]
    produced: frozenset[int]


def with_tables(plan: LogicalPlan, tables: dict[int, TableSnapshot]) -> LogicalPlan:
    """The plan over other snapshots of its tables, by the identity of the old ones. Columns are found by their names.

    Raises FILE_COLUMNS_CHANGED for a column that is missing or has another type.
    """

    def renew(scan: Node) -> Node | None:
        assert isinstance(scan, Scan)
        table = tables.get(id(scan.table))
        if table is None:
            return None
        output = []
        for column, position in scan.output:
            field = scan.table.fields[position]
            at = next((at for at, new in enumerate(table.fields) if new.name == field.name), None)
            if at is None or table.fields[at].dtype != field.dtype:
                raise error("FILE_COLUMNS_CHANGED", table=table.name, column=field.name)
            output.append((column, at))
        return scan.replace(table=table, output=tuple(output))

    renewed = rewrite(plan, renew, _SCANS)
    assert isinstance(renewed, LogicalPlan)
    return renewed

"""Which rows of a table cross a hash exchange in a physical plan."""

from __future__ import annotations

from planner.dir import Pattern
from planner.join_kind import JoinKind
from planner.physical.nodes import AggregateExec, ExchangePlan, JoinExec, PhysicalPlan, TableScan
from planner.tree import kind_mask, walk

_LEFT_ROWS = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK)


def hash_exchanges_of(plan: PhysicalPlan, table: str, least_rows: float = 0.0) -> list[ExchangePlan]:
    """The hash exchanges that rows of a table cross, as they are or joined with others, at least so many by the estimate.

    Groups of its rows are not its rows, and neither are rows that were only looked for a match in it.
    """
    return [
        node
        for node in walk(plan, kind_mask(ExchangePlan))
        if isinstance(node, ExchangePlan)
        and node.pattern is Pattern.HASH
        and (node.estimated_rows is None or node.estimated_rows >= least_rows)
        and _delivers(node.input, table)
    ]


def _delivers(plan: PhysicalPlan, table: str) -> bool:
    """Whether rows of a table are in the output."""
    stack = [plan]
    while stack:
        current = stack.pop()
        if isinstance(current, TableScan) and current.table_name == table:
            return True
        if isinstance(current, AggregateExec):
            continue
        stack += [current.left] if isinstance(current, JoinExec) and current.kind in _LEFT_ROWS else current.inputs
    return False

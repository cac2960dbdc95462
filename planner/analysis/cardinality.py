"""Estimates of row counts. They choose between plans and never change an answer, so claims of files are good enough here.

Every column is described by the range and the number of distinct values (NDV) that it had *in its table*, with the weakest
trust of what they were computed from. Filters reduce row counts and leave these descriptions alone: a join on a key then keeps
the share of rows that the key's table has kept (independence and containment, as in Selinger et al., SIGMOD 1979).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.analysis.free_columns import output_ids
from planner.analysis.selectivity import Predicates
from planner.catalog import ColumnStatistics, TableSnapshot, Trust
from planner.dtypes import BOOLEAN, VARCHAR, DType, is_float
from planner.expr.nodes import Assign, ColumnRef, Compare, CompareOp, Expr, Literal, conjuncts
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, DependentJoin, Filter, Join, Limit, LogicalPlan, Project, Scan, TopN, Union, Values

UNKNOWN_TEXT_VALUES = 25
"""Assumed number of different texts in a column of a larger table."""
SMALL_TABLE = 1000
"""In a table of no more rows a text column is assumed to be unique."""


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """A column as it was where it came from: `ndv` distinct values among `rows` rows; range in physical integers (or text)."""

    ndv: float
    rows: float
    low: int | str | None = None
    high: int | str | None = None
    null_share: float = 0.0
    trust: Trust = Trust.ESTIMATED

    @property
    def is_key(self) -> bool:
        """Whether (nearly) every row had a value of its own."""
        return self.ndv >= 0.9 * self.rows


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rows of a plan, and its columns by id."""

    rows: float
    columns: dict[int, ColumnEstimate]


class CardinalityAnalysis:
    """Estimates for the operators of one query, computed once per node object."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[LogicalPlan, Estimate]] = {}

    def rows(self, plan: LogicalPlan) -> float:
        """The estimated number of rows, at least 1 unless the plan is provably empty."""
        return self.estimate(plan).rows

    def estimate(self, plan: LogicalPlan) -> Estimate:
        known = self._known.get(id(plan))
        if known is not None:
            return known[1]
        stack = [plan]
        while stack:
            current = stack[-1]
            if id(current) in self._known:
                stack.pop()
                continue
            pending = [child for child in current.inputs if id(child) not in self._known]
            if pending:
                stack.extend(pending)
                continue
            stack.pop()
            self._known[id(current)] = current, self._derive(current)
        return self._known[id(plan)][1]

    def _derive(self, plan: LogicalPlan) -> Estimate:
        match plan:
            case Scan():
                columns = {c.id: describe_column(plan.table, position) for c, position in plan.output}
                return Estimate(float(plan.table.rows), columns)
            case Values():
                return Estimate(float(len(plan.rows)), {})
            case Filter():
                below = self.estimate(plan.input)
                share = Predicates(below.columns).selectivity(plan.predicate)
                return Estimate(_at_least_one(below.rows * share, below.rows), below.columns)
            case Project():
                return self._project(plan)
            case Aggregate():
                return self._aggregate(plan)
            case Join() | DependentJoin():
                return self._join(plan)
            case Union():
                return self._union(plan)
            case Limit() | TopN():
                below = self.estimate(plan.input)
                rows = below.rows if plan.limit is None else min(below.rows, float(plan.limit))
                return Estimate(rows, below.columns)
        return self.estimate(plan.inputs[0])

    def _project(self, plan: Project) -> Estimate:
        below = self.estimate(plan.input)
        columns = {}
        for assign in plan.assigns:
            found = _passed_on(assign, below)
            if found is not None:
                columns[assign.column.id] = found
        return Estimate(below.rows, columns)

    def _aggregate(self, plan: Aggregate) -> Estimate:
        below = self.estimate(plan.input)
        if not plan.keys:
            return Estimate(1.0, {})
        groups = 1.0
        for key in plan.keys:
            known = _passed_on(key, below)
            groups *= min(known.ndv, below.rows) if known is not None else math.sqrt(max(below.rows, 1.0))
        rows = _at_least_one(min(groups, below.rows), below.rows)
        columns = {}
        for key in plan.keys:
            known = _passed_on(key, below)
            ndv = min(known.ndv, rows) if known is not None else rows
            only = len(plan.keys) == 1
            base = known or ColumnEstimate(ndv, rows)
            columns[key.column.id] = replace(base, ndv=base.ndv if only else ndv, rows=base.ndv if only else rows)
        return Estimate(rows, columns)

    def _union(self, plan: Union) -> Estimate:
        arms = [self.estimate(arm) for arm in plan.arms]
        columns = {}
        for at, column in enumerate(plan.schema):
            known = [estimate.columns.get(arm.columns[at].id) for arm, estimate in zip(plan.arms, arms, strict=True)]
            described = [one for one in known if one is not None]
            if len(described) == len(arms):
                columns[column.id] = ColumnEstimate(max(c.ndv for c in described), sum(c.rows for c in described))
        return Estimate(sum(estimate.rows for estimate in arms), columns)

    def _join(self, plan: Join | DependentJoin) -> Estimate:
        left, right = self.estimate(plan.left), self.estimate(plan.right)
        columns = left.columns | right.columns
        inner = self.inner_rows(plan, left, right)
        match plan.kind:
            case JoinKind.INNER:
                return Estimate(_at_least_one(inner, min(left.rows, right.rows)), columns)
            case JoinKind.LEFT:
                return Estimate(max(left.rows, inner), columns)
            case JoinKind.FULL:
                return Estimate(max(left.rows, right.rows, inner), columns)
            case JoinKind.SEMI:
                return Estimate(_at_least_one(left.rows * self.semi_share(plan), left.rows), left.columns)
            case JoinKind.ANTI:
                share = max(0.1, 1.0 - self.semi_share(plan))
                return Estimate(_at_least_one(left.rows * share, left.rows), left.columns)
        return Estimate(left.rows, columns)

    def inner_rows(self, join: Join | DependentJoin, left: Estimate, right: Estimate) -> float:
        """How many pairs of rows satisfy the join's condition."""
        keys, rest = _split(join.condition, join.left, join.right)
        rows = left.rows * right.rows
        if keys:
            rows *= equality_share([(left.columns.get(a), right.columns.get(b)) for a, b in keys], left.rows, right.rows)
        return rows * Predicates(left.columns | right.columns).selectivity_of_all(rest)

    def semi_share(self, join: Join | DependentJoin) -> float:
        """The share of left rows that have a match."""
        left, right = self.estimate(join.left), self.estimate(join.right)
        keys, rest = _split(join.condition, join.left, join.right)
        share = 1.0 if right.rows > 0 else 0.0
        for a, b in keys:
            x, y = left.columns.get(a), right.columns.get(b)
            values = y.ndv * min(1.0, right.rows / max(y.rows, 1.0)) if y is not None else right.rows
            domain = x.ndv if x is not None else max(left.rows, 1.0)
            share = min(share, max(values, 1.0) / max(domain, 1.0))
        if not keys and rest:
            share = min(1.0, right.rows * Predicates(left.columns | right.columns).selectivity_of_all(rest))
        return min(1.0, share)


def equality_share(
    keys: list[tuple[ColumnEstimate | None, ColumnEstimate | None]], left_rows: float, right_rows: float
) -> float:
    """The share of all pairs of rows that agree on every key."""
    left_domain = right_domain = 1.0
    left_base = right_base = 0.0
    for x, y in keys:
        x = x or ColumnEstimate(max(left_rows, 1.0), max(left_rows, 1.0))
        y = y or ColumnEstimate(max(right_rows, 1.0), max(right_rows, 1.0))
        left_domain *= max(x.ndv, 1.0)
        right_domain *= max(y.ndv, 1.0)
        left_base, right_base = max(left_base, x.rows), max(right_base, y.rows)
    # A side with as many key values as rows is (nearly) unique: its table's size is the domain, the other side refers to it.
    unique = [base for domain, base in ((left_domain, left_base), (right_domain, right_base)) if domain >= 0.9 * base]
    domain = min(unique) if unique else max(left_domain, right_domain)
    return 1.0 / max(domain, 1.0)


def describe_column(table: TableSnapshot, position: int) -> ColumnEstimate:
    """Range and distinct values of a table's column, from its statistics and its type."""
    statistics = table.columns[position] if position < len(table.columns) else ColumnStatistics()
    dtype, rows = table.fields[position].dtype, float(max(table.rows, 1))
    nulls = (statistics.null_count or 0) / rows
    low, high = statistics.minimum, statistics.maximum
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and not is_float(dtype):
        span = float(high) - float(low) + 1.0
        return ColumnEstimate(max(1.0, min(rows, span)), rows, int(low), int(high), nulls, statistics.trust)
    if isinstance(low, str) and isinstance(high, str):
        return ColumnEstimate(_text_values(rows, low, high), rows, low, high, nulls, Trust.ESTIMATED)
    return ColumnEstimate(_guess(dtype, rows), rows, None, None, nulls, Trust.ESTIMATED)


def _text_values(rows: float, low: str, high: str) -> float:
    if low == high:
        return 1.0
    if rows <= SMALL_TABLE:
        return rows
    numbered = len(low) == len(high) and low[-6:].isdigit() and high[-6:].isdigit()
    longer = max(len(low), len(high)) > 25
    return rows if numbered or longer else float(UNKNOWN_TEXT_VALUES)


def _guess(dtype: DType, rows: float) -> float:
    if dtype == BOOLEAN:
        return 2.0
    return min(rows, float(UNKNOWN_TEXT_VALUES)) if dtype == VARCHAR and rows > SMALL_TABLE else rows


def _passed_on(assign: Assign, below: Estimate) -> ColumnEstimate | None:
    if isinstance(assign.expr, ColumnRef):
        return below.columns.get(assign.expr.column.id)
    if isinstance(assign.expr, Literal):
        return ColumnEstimate(1.0, max(below.rows, 1.0))
    return None


def _at_least_one(rows: float, possible: float) -> float:
    return max(1.0, rows) if possible > 0 else 0.0


def _split(condition: Expr, left: LogicalPlan, right: LogicalPlan) -> tuple[list[tuple[int, int]], list[Expr]]:
    """Pairs (left column, right column) that must be equal, and the other conjuncts."""
    left_ids, right_ids = output_ids(left), output_ids(right)
    keys: list[tuple[int, int]] = []
    rest: list[Expr] = []
    for term in conjuncts(condition):
        if isinstance(term, Compare) and term.op in (CompareOp.EQ, CompareOp.NOT_DISTINCT):
            a, b = term.left, term.right
            if isinstance(a, ColumnRef) and isinstance(b, ColumnRef):
                x, y = a.column.id, b.column.id
                if x in left_ids and y in right_ids:
                    keys.append((x, y))
                    continue
                if y in left_ids and x in right_ids:
                    keys.append((y, x))
                    continue
        rest.append(term)
    return keys, rest

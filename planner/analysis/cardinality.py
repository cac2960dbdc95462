"""Estimates of row counts. They choose between plans and never change an answer, so claims of files are good enough here.

Every column is described by the range and the number of distinct values (NDV) that it had *in its table*, with the weakest
trust of what they were computed from. Filters reduce row counts and leave these descriptions alone: a join on a key then keeps
the share of rows that the key's table has kept. Sizes of joins are in `join_size`, columns of tables in `table_columns`.
"""

from __future__ import annotations

import math
from dataclasses import replace

from planner.analysis.computed_columns import describe_expression
from planner.analysis.estimates import ColumnEstimate, Estimate
from planner.analysis.filtered_scan import filter_share
from planner.analysis.join_size import inner_rows, semi_share
from planner.analysis.selectivity import Predicates
from planner.analysis.table_columns import describe_column
from planner.catalog import Certainty, Trust
from planner.expr.nodes import ColumnRef, Expr
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, DependentJoin, Filter, Join, Limit, LogicalPlan, Project, Scan, TopN, Union, Values


class CardinalityAnalysis:
    """Estimates for the operators of one query, computed once per node object."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[LogicalPlan, Estimate]] = {}

    def rows(self, plan: LogicalPlan) -> float:
        """The estimated number of rows, at least 1 unless the plan is provably empty."""
        return self.estimate(plan).rows

    def observe(self, plan: LogicalPlan, rows: float) -> None:
        """The rows of an operator are known; what lies above it, and was not asked for yet, is estimated from them."""
        self._known[id(plan)] = plan, replace(self.estimate(plan), rows=rows)

    def semi_share(self, join: Join | DependentJoin) -> float:
        """The share of left rows that have a match."""
        return semi_share(join, self.estimate(join.left), self.estimate(join.right))

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
                trust = Trust.VERIFIED if plan.table.format == "memory" else Trust.CLAIMED
                return Estimate(float(plan.table.rows), columns, Certainty.EXACT, trust)
            case Values():
                return Estimate(float(len(plan.rows)), {}, Certainty.EXACT, Trust.VERIFIED)
            case Filter():
                return self._filter(plan)
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
                return replace(below, rows=rows)
        return self.estimate(plan.inputs[0])

    def _filter(self, plan: Filter) -> Estimate:
        below = self.estimate(plan.input)
        if isinstance(plan.input, Scan):
            share, certainty = filter_share(plan.input, plan.predicate, below.columns)
        else:
            predicates = Predicates(below.columns)
            share = predicates.selectivity(plan.predicate)
            certainty = Certainty.UNKNOWN if predicates.guessed else Certainty.ESTIMATED
        return Estimate(_at_least_one(below.rows * share, below.rows), below.columns, min(below.certainty, certainty))

    def _project(self, plan: Project) -> Estimate:
        below = self.estimate(plan.input)
        columns = {}
        for assign in plan.assigns:
            found = describe_expression(assign.expr, below.columns, below.rows)
            if found is not None:
                columns[assign.column.id] = found
        return replace(below, columns=columns)

    def _aggregate(self, plan: Aggregate) -> Estimate:
        below = self.estimate(plan.input)
        if not plan.keys:
            return Estimate(1.0, {}, Certainty.EXACT, Trust.VERIFIED)
        groups, certainty = 1.0, min(below.certainty, Certainty.ESTIMATED)
        for key in plan.keys:
            known = describe_expression(key.expr, below.columns, below.rows)
            values = _values_among(known, below.rows) if known is not None else math.sqrt(max(below.rows, 1.0))
            groups *= min(values, self._fewest_rows(plan.input, key.expr))
            certainty = min(certainty, known.certainty if known is not None else Certainty.UNKNOWN)
        rows = _at_least_one(min(groups, below.rows), below.rows)
        columns = {}
        for key in plan.keys:
            known = describe_expression(key.expr, below.columns, below.rows)
            ndv = min(known.ndv, rows) if known is not None else rows
            only = len(plan.keys) == 1
            base = known or ColumnEstimate(ndv, rows)
            columns[key.column.id] = replace(base, ndv=base.ndv if only else ndv, rows=base.ndv if only else rows)
        return Estimate(rows, columns, certainty)

    def _fewest_rows(self, plan: LogicalPlan, expr: Expr) -> float:
        """The rows of the smallest relation that a column comes through: it has no more values than that."""
        fewest = self.rows(plan)
        while isinstance(expr, ColumnRef):
            id = expr.column.id
            if isinstance(plan, Project):
                expr = next(assign.expr for assign in plan.assigns if assign.column.id == id)
                plan = plan.input
            else:
                source = next((input for input in plan.inputs if any(column.id == id for column in input.columns)), None)
                if source is None:
                    break
                plan = source
            fewest = min(fewest, self.rows(plan))
        return fewest

    def _union(self, plan: Union) -> Estimate:
        arms = [self.estimate(arm) for arm in plan.arms]
        columns = {}
        for at, column in enumerate(plan.schema):
            known = [estimate.columns.get(arm.columns[at].id) for arm, estimate in zip(plan.arms, arms, strict=True)]
            described = [one for one in known if one is not None]
            if len(described) == len(arms):
                columns[column.id] = ColumnEstimate(max(c.ndv for c in described), sum(c.rows for c in described))
        rows = sum(estimate.rows for estimate in arms)
        return Estimate(rows, columns, min(arm.certainty for arm in arms), min(arm.trust for arm in arms))

    def _join(self, plan: Join | DependentJoin) -> Estimate:
        left, right = self.estimate(plan.left), self.estimate(plan.right)
        columns = left.columns | right.columns
        inner = inner_rows(plan, left, right)
        certainty = min(left.certainty, right.certainty, Certainty.ESTIMATED)
        match plan.kind:
            case JoinKind.INNER:
                return Estimate(_at_least_one(inner, min(left.rows, right.rows)), columns, certainty)
            case JoinKind.LEFT:
                return Estimate(max(left.rows, inner), columns, certainty)
            case JoinKind.FULL:
                return Estimate(max(left.rows, right.rows, inner), columns, certainty)
            case JoinKind.SEMI:
                return Estimate(_at_least_one(left.rows * semi_share(plan, left, right), left.rows), left.columns, certainty)
            case JoinKind.ANTI:
                share = max(0.1, 1.0 - semi_share(plan, left, right))
                return Estimate(_at_least_one(left.rows * share, left.rows), left.columns, certainty)
        return Estimate(left.rows, columns, left.certainty, left.trust)


def _values_among(known: ColumnEstimate, rows: float) -> float:
    """How many of a column's values are expected among some of its table's rows (Cardenas, CACM 1975)."""
    if rows >= known.rows or known.ndv <= 1.0:
        return min(known.ndv, rows)
    return known.ndv * -math.expm1(-rows / known.ndv)


def _at_least_one(rows: float, possible: float) -> float:
    return max(1.0, rows) if possible > 0 else 0.0

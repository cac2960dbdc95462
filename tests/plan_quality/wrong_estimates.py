"""Estimates that are wrong on purpose."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from planner.analysis.cardinality import CardinalityAnalysis
from planner.analysis.estimates import Estimate
from planner.logical.nodes import LogicalPlan
from planner.physical.nodes import PhysicalPlan
from planner.physical.plan import plan_physical
from planner.rule import OptimizerContext
from qengine.query import Query

FACTOR = 1_000.0


@dataclass(frozen=True, slots=True)
class Error:
    """How far estimates are off: each by a factor drawn from `factors`, in the order in which they are made."""

    name: str
    factors: tuple[float, ...]
    seed: int = 0


RIGHT = Error("right", (1.0,))
ERRORS = (
    Error("all too large", (FACTOR,)),
    Error("all too small", (1 / FACTOR,)),
    Error("either, seed 1", (FACTOR, 1 / FACTOR), 1),
    Error("either, seed 2", (FACTOR, 1 / FACTOR), 2),
    Error("either or right, seed 3", (FACTOR, 1.0, 1 / FACTOR), 3),
)


class WrongCardinality(CardinalityAnalysis):
    """The rows of every operator, of scans too, are right estimates times a factor of its own; what is observed is right."""

    def __init__(self, error: Error) -> None:
        super().__init__()
        self._right = CardinalityAnalysis()
        self._factors = error.factors
        self._random = random.Random(error.seed)

    def estimate(self, plan: LogicalPlan) -> Estimate:
        known = self._known.get(id(plan))
        if known is None:
            right = self._right.estimate(plan)
            rows = max(right.rows * self._random.choice(self._factors), min(right.rows, 1.0))
            known = self._known[id(plan)] = plan, replace(right, rows=rows)
        return known[1]

    def observe(self, plan: LogicalPlan, rows: float) -> None:
        self._right.observe(plan, rows)
        self._known[id(plan)] = plan, self._right.estimate(plan)


@dataclass(slots=True)
class MisjudgedQuery(Query):
    """A query that is planned with wrong estimates, the rules and the strategies each with their own.

    What is planned anew while it runs is planned with right ones.
    """

    error: Error = RIGHT

    def _optimizer_context(self) -> OptimizerContext:
        context = Query._optimizer_context(self)
        context.cardinality = WrongCardinality(self.error)
        return context

    def physical(self, single: bool = False) -> PhysicalPlan:
        wrong = WrongCardinality(self.error)
        return plan_physical(self.optimized, self.bound.allocator, self._options(single), cardinality=wrong)

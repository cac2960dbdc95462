"""Estimates that are wrong on purpose."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from planner.analysis.cardinality import CardinalityAnalysis
from planner.analysis.estimates import Estimate
from planner.logical.nodes import LogicalPlan
from planner.physical.context import PhysicalOptions
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
    """Estimates of all operators, scans included, that are off by a factor each, on top of what is off below them."""

    def __init__(self, error: Error) -> None:
        super().__init__()
        self._factors = error.factors
        self._random = random.Random(error.seed)

    def _derive(self, plan: LogicalPlan) -> Estimate:
        estimate = super()._derive(plan)
        return replace(estimate, rows=max(estimate.rows * self._random.choice(self._factors), min(estimate.rows, 1.0)))


@dataclass(slots=True)
class MisjudgedQuery(Query):
    """A query that is planned with wrong estimates, the rules and the strategies each with their own."""

    error: Error = RIGHT

    def _optimizer_context(self) -> OptimizerContext:
        context = Query._optimizer_context(self)
        context.cardinality = WrongCardinality(self.error)
        return context

    def physical(self, single: bool = False) -> PhysicalPlan:
        options, wrong = PhysicalOptions(self.workers, single), WrongCardinality(self.error)
        return plan_physical(self.optimized, self.bound.allocator, options, cardinality=wrong)

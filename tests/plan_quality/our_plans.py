"""Plans of this engine, and how many rows their operators really deliver.

The *intermediate rows* of a plan are the output rows of every join and of every aggregate below a join, in the optimized logical
plan. They are counted by running `count(*)` over each such subplan as it is: nothing below the count is optimized again, except
that columns which the count does not need are left out. So filters that are only made at run time count for nothing.

A mark join (and a single join) hands all its left rows on, and a filter right above it keeps some: then the filter's rows count,
as if it had been the semi join that it is. An operator that is the same object in several places of a plan counts once; equal
operators that are computed twice count twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time

from exec.engine import Engine
from exec.lower.evaluate import ConstantEvaluator
from exec.lower.result import decode
from planner.analysis.cardinality import CardinalityAnalysis
from planner.dtypes import BIGINT
from planner.explain import logical_text
from planner.expr.nodes import AggregateCall, Assign
from planner.join_kind import JoinKind
from planner.logical.nodes import Aggregate, Filter, Join, LogicalPlan, Project
from planner.optimizer import optimize
from planner.optimizer.merge_projects import merge_projects
from planner.optimizer.prune_columns import prune_columns
from planner.optimizer.remove_trivial_project import remove_trivial_project
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.plan import operators, plan_physical
from planner.rule import OptimizerContext, fixed_point, once, run_batches
from planner.schema import ColumnAllocator
from planner.sql import bind
from qengine.session import Session
from tests.plan_quality.counts import Counts
from tests.plan_quality.workloads import Workload

WORKERS = 2
_PRUNING = (once("columns", prune_columns), fixed_point("clean up", merge_projects, remove_trivial_project))


@dataclass(frozen=True, slots=True)
class Operator:
    """A join, or an aggregate below one. `kind` is that of the join, or "aggregate"; `relations` are the leaves below it."""

    kind: str
    relations: int
    estimated: float
    rows: int

    @property
    def q_error(self) -> float:
        """By which factor the estimate is off (Moerkotte, Neumann, Steidl, VLDB 2009); zero counts as one row."""
        estimated, rows = max(self.estimated, 1.0), max(self.rows, 1)
        return max(estimated / rows, rows / estimated)


@dataclass(frozen=True, slots=True)
class OurPlan:
    """The optimized plan of a query, what it allocates columns from, and the seconds of planning from text to stages.

    They are of processor time, since that is the same on a busy machine.
    """

    plan: LogicalPlan
    allocator: ColumnAllocator
    seconds: float


@dataclass(slots=True)
class OurPlans:
    """Plans of the queries of a workload, with the statistics that `Session.analyze` gives."""

    workload: Workload
    session: Session
    engine: Engine
    counts: Counts
    _plans: dict[str, OurPlan] = field(default_factory=dict)

    def plan(self, name: str, tries: int = 5) -> OurPlan:
        """The plan of a query, with the least seconds of some tries."""
        if name not in self._plans:
            self._plans[name] = min((self._made(self.workload.queries[name]) for _ in range(tries)), key=lambda p: p.seconds)
        return self._plans[name]

    def _made(self, text: str) -> OurPlan:
        begin = process_time()
        allocator = ColumnAllocator()
        bound = bind(text, self.session._catalog, allocator=allocator)
        plan = optimize(bound.plan, OptimizerContext(allocator, ConstantEvaluator(), verify=False))
        cut_stages(plan_physical(plan, allocator, PhysicalOptions(WORKERS)))
        return OurPlan(plan, allocator, process_time() - begin)

    def operators(self, name: str) -> list[Operator]:
        """The operators of a query's plan whose rows are intermediate."""
        made = self.plan(name)
        cardinality = CardinalityAnalysis()
        return [
            Operator(_kind(plan), _relations(plan), cardinality.rows(plan), self.rows(plan, made.allocator))
            for plan in intermediate(made.plan)
        ]

    def rows(self, plan: LogicalPlan, allocator: ColumnAllocator) -> int:
        """The rows that an operator of a plan delivers."""
        counted: int = self.counts.of(logical_text(plan), lambda: self._count(plan, allocator))
        return counted

    def _count(self, plan: LogicalPlan, allocator: ColumnAllocator) -> int:
        rows = Assign(allocator.new("rows", BIGINT), AggregateCall(BIGINT, "count_star", ()))
        counting = run_batches(Aggregate(plan, (), (rows,)), _PRUNING, OptimizerContext(allocator, verify=False))
        graph = cut_stages(plan_physical(counting, allocator, PhysicalOptions(WORKERS)))
        parts = self.engine.execute(graph)
        root = graph.stage(graph.root)
        counts = [decode(part, root.output.schema, root.output.encodings, ["rows"]) for part in parts]
        return sum(value for part in counts for value in part["rows"].to_pylist())


@contextmanager
def our_plans(workload: Workload) -> Iterator[OurPlans]:
    """An engine over the tables of a workload, with statistics of all of them."""
    with Engine(WORKERS, cache="off") as engine, Session(engine=engine, sampling="off", inline="off") as session:
        for table, path in workload.tables.items():
            session.register(table, session.read_parquet(path))
            session.analyze(table)
        yield OurPlans(workload, session, engine, Counts(workload.name, workload.identity))


def intermediate(root: LogicalPlan) -> list[LogicalPlan]:
    """The joins of a plan and the aggregates below them; for a join that a filter corrects, the filter."""
    found: dict[int, LogicalPlan] = {}
    seen: set[tuple[int, bool]] = set()
    stack: list[tuple[LogicalPlan, bool]] = [(root, False)]
    while stack:
        current, below = stack.pop()
        if (id(current), below) in seen:
            continue
        seen.add((id(current), below))
        if isinstance(current, Join) or (isinstance(current, Aggregate) and below):
            found.setdefault(id(current), current)
        filtered = _filtered_join(current)
        if filtered is not None:
            found[id(filtered)] = current
        stack += [(child, below or isinstance(current, Join)) for child in current.inputs]
    return list(found.values())


def _filtered_join(plan: LogicalPlan) -> Join | None:
    """The mark or single join whose rows a filter keeps some of."""
    if not isinstance(plan, Filter):
        return None
    below = plan.input
    while isinstance(below, (Project, Filter)):
        below = below.input
    return below if isinstance(below, Join) and below.kind in (JoinKind.MARK, JoinKind.SINGLE) else None


def _kind(plan: LogicalPlan) -> str:
    if isinstance(plan, Aggregate):
        return "aggregate"
    join = plan if isinstance(plan, Join) else _filtered_join(plan)
    assert join is not None
    return str(join.kind)


def _relations(plan: LogicalPlan) -> int:
    return sum(not one.inputs for one in operators(plan))

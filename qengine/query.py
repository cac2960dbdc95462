"""One query: its plans, from bound to stages, and its run to an Arrow table."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exec.engine import Engine
from exec.metrics import QueryMetrics
from exec.progress import ProgressCallback
from planner.adaptive import RunningPlan
from planner.analysis.bounds import BoundsAnalysis
from planner.analysis.cardinality import CardinalityAnalysis
from planner.analysis.nullability import non_null_columns
from planner.dir import StageGraph
from planner.errors import error
from planner.logical.nodes import LogicalPlan
from planner.optimizer import optimize
from planner.physical.context import OPTIONAL_STEPS, PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.inline import may_run_inline, reads_files
from planner.physical.nodes import PhysicalPlan
from planner.physical.plan import plan_physical
from planner.rule import OptimizerContext
from planner.rule_trace import RuleTrace
from planner.schema import Field
from planner.sql import BoundQuery
from qengine.query_profile import Record
from qengine.replanning import Replanning
from qengine.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class Query:
    """The plans of one bound query, each made once when it is first asked for. Thread-safe: several runs may share it."""

    bound: BoundQuery
    settings: Settings
    workers: int
    _optimized: LogicalPlan | None = None
    _cardinality: CardinalityAnalysis | None = None
    """The estimates of the optimizer, for those who plan next; not kept when the plans are there."""
    _executed: tuple[RunningPlan, bool] | None = None
    _planning: threading.RLock = field(default_factory=threading.RLock)

    @property
    def schema(self) -> tuple[Field, ...]:
        """The output columns as the user sees them."""
        never_null = non_null_columns(self.bound.plan)
        return tuple(
            Field(name, column.dtype, column.id not in never_null)
            for name, column in zip(self.bound.names, self.bound.plan.columns, strict=True)
        )

    @property
    def optimized(self) -> LogicalPlan:
        with self._planning:
            if self._optimized is None:
                context = self._optimizer_context()
                self._optimized = optimize(self.bound.plan, context)
                self._cardinality = context.cardinality
            return self._optimized

    def traced(self) -> tuple[LogicalPlan, OptimizerContext, RuleTrace]:
        """The optimized plan, made once more, and how it came about: what was counted, and the rules that fired."""
        trace = RuleTrace()
        context = self._optimizer_context()
        context.trace = trace
        with self._planning:
            return optimize(self.bound.plan, context), context, trace

    def _optimizer_context(self) -> OptimizerContext:
        from exec.lower.evaluate import ConstantEvaluator

        rules = self.settings.disabled_rules.difference(OPTIONAL_STEPS)
        return OptimizerContext(allocator=self.bound.allocator, evaluator=ConstantEvaluator(), disabled=rules)

    def physical(self, single: bool = False) -> PhysicalPlan:
        return plan_physical(self.optimized, self.bound.allocator, self._options(single), cardinality=self._cardinality)

    def _options(self, single: bool = False) -> PhysicalOptions:
        return PhysicalOptions(self.workers, single, disabled=self.settings.disabled_rules)

    def stages(self) -> StageGraph:
        return cut_stages(self.physical())

    def executed(self) -> tuple[StageGraph, bool]:
        """The stages that `run` executes, as long as nothing is a surprise, and whether in this process."""
        plan, inline = self._plans()
        return plan.graph, inline

    def _plans(self) -> tuple[RunningPlan, bool]:
        """The plans that `run` executes, and whether in this process: allowed, and proven to be small enough."""
        with self._planning:
            if self._executed is None:
                single = self._inline_plan()
                plan = single if single is not None else self.physical()
                self._executed = RunningPlan(self.optimized, plan, cut_stages(plan)), single is not None
                self._cardinality = None
            return self._executed

    def _inline_plan(self) -> PhysicalPlan | None:
        if self.settings.inline == "off" or reads_files(self.optimized):
            return None
        plan = self.physical(single=True)
        return plan if may_run_inline(plan, BoundsAnalysis()) else None

    def _replanning(self, plan: RunningPlan) -> Replanning | None:
        if "replan_stages" in self.settings.disabled_rules:
            return None
        return Replanning(plan, self.bound.allocator, self._options())

    def run(
        self,
        engine: Engine,
        progress: ProgressCallback | None,
        cancel: threading.Event | None,
        record: Record | None = None,
    ) -> pa.Table:
        """The result with the user's names; `record` is filled. Raises QEngineError."""
        import pyarrow as pa

        from exec.lower.observe import Observer
        from exec.lower.result import decode

        if cancel is not None and cancel.is_set():
            raise error("CANCELLED")
        record = record if record is not None else Record()
        _ = self.optimized
        record.passed("optimize")
        plan, inline = self._plans()
        graph = record.graph = plan.graph
        record.passed("plan")
        root = graph.stage(graph.root)
        record.metrics = None
        if inline:
            observer = Observer() if record.observed else None
            parts = [engine.execute_inline(root.body, root.output, observer)]
            record.operators = {(graph.root, 0): observer.counts()} if observer is not None else {}
        else:
            record.metrics = QueryMetrics(observed=record.observed)
            replan = self._replanning(plan)
            parts = engine.execute(graph, progress=progress, cancel=cancel, metrics=record.metrics, replan=replan)
            graph = record.graph = record.metrics.graph or graph
            root = graph.stage(graph.root)
            record.operators = record.metrics.operators
        record.passed("execute")
        table = pa.concat_tables(parts) if len(parts) != 1 else parts[0]
        result = decode(table, root.output.schema, root.output.encodings, self.bound.names)
        record.passed("deliver")
        return result

"""The same SQL under many configurations of the engine.

A configuration fixes where a query runs (inside of this process or on workers), how many workers there are, where the tables
are (in memory or in Parquet files of small row groups), into how many parts inputs and exchanges are cut, which optimizer rules
and optional steps of planning are left out, and whether a worker is killed in the middle. None of that may change an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from exec.engine import Engine
from exec.lower.evaluate import ConstantEvaluator
from planner.logical.nodes import LogicalPlan
from planner.optimizer import BATCHES, optimize
from planner.physical.context import OPTIONAL_STEPS, PhysicalOptions
from planner.physical.nodes import PhysicalPlan
from planner.physical.plan import plan_physical
from planner.rule import OptimizerContext
from planner.schema import ColumnAllocator
from planner.sql import bind
from qengine.query import Query, Settings
from qengine.session import Session
from tests.cluster.kills import KillOne

OPTIONAL = (*dict.fromkeys(rule.name for batch in BATCHES for rule in batch.rules if not rule.mandatory), *OPTIONAL_STEPS)


@dataclass(frozen=True, slots=True)
class Configuration:
    """`scattered` cuts every input at each row group and every hash exchange into eight buckets. `sorted_in_parts` keeps every
    sort in as many tasks as it finds. `runtime_filters` puts filters over scans wherever they are sound.

    `verified` checks the plan after every rule, which makes planning several times slower. `cache` is the mode of the
    column store.
    """

    name: str
    inline: str = "off"
    workers: int = 2
    source: str = "memory"
    scattered: bool = False
    sorted_in_parts: bool = False
    disabled: frozenset[str] = frozenset()
    kill: bool = False
    verified: bool = False
    cache: str = "off"
    runtime_filters: bool = False


CONFIGURATIONS = (
    Configuration("inline", inline="auto", verified=True),
    Configuration("inline files", inline="auto", source="files"),
    Configuration("one worker", workers=1, source="files"),
    Configuration("two workers", workers=2),
    Configuration("four workers", workers=4, source="files"),
    Configuration("scattered", source="files", scattered=True),
    Configuration("scattered, one worker", workers=1, source="files", scattered=True),
    Configuration("scattered, four workers", workers=4, source="files", scattered=True),
    Configuration("no rules", inline="auto", disabled=frozenset(OPTIONAL), verified=True),
    Configuration("no rules, scattered", source="files", scattered=True, disabled=frozenset(OPTIONAL)),
    Configuration("column store", source="files", cache="eager"),
    Configuration("column store, scattered", source="files", scattered=True, cache="eager"),
    Configuration("runtime filters", source="files", runtime_filters=True),
    Configuration("runtime filters, inline", inline="auto", runtime_filters=True),
    Configuration("runtime filters, scattered", source="files", scattered=True, runtime_filters=True),
    Configuration("runtime filters, column store", source="files", scattered=True, cache="eager", runtime_filters=True),
    Configuration("runtime filters, one kill", source="files", scattered=True, kill=True, runtime_filters=True),
    Configuration("sorts in parts", source="files", scattered=True, sorted_in_parts=True),
    Configuration("sorts in parts, four workers", workers=4, source="files", scattered=True, sorted_in_parts=True),
    Configuration("sorts in parts, one kill", source="files", scattered=True, sorted_in_parts=True, kill=True),
    Configuration("one kill", source="files", scattered=True, kill=True),
    *(Configuration(f"without {name}", inline="auto", disabled=frozenset((name,))) for name in OPTIONAL),
    *(
        Configuration(f"without {name}, scattered", source="files", scattered=True, disabled=frozenset((name,)))
        for name in OPTIONAL
    ),
)

BY_NAME = {configuration.name: configuration for configuration in CONFIGURATIONS}


@dataclass(slots=True)
class _ConfiguredQuery(Query):
    """A query whose plans are verified and cut as its configuration says."""

    configuration: Configuration = CONFIGURATIONS[0]
    _plan: LogicalPlan | None = None

    @property
    def optimized(self) -> LogicalPlan:
        if self._plan is None:
            disabled = self.settings.disabled_rules.difference(OPTIONAL_STEPS)
            context = OptimizerContext(self.bound.allocator, ConstantEvaluator(), disabled, verify=self.configuration.verified)
            self._plan = optimize(self.bound.plan, context)
        return self._plan

    def physical(self, single: bool = False) -> PhysicalPlan:
        disabled = self.settings.disabled_rules
        options = PhysicalOptions(
            self.workers, single, disabled=disabled, force_runtime_filters=self.configuration.runtime_filters
        )
        if self.configuration.scattered and not single:
            options = replace(options, task_bytes=1, least_task_bytes=1, buckets=8)
        if self.configuration.sorted_in_parts:
            options = replace(options, task_bytes=1 << 10, least_sort_bytes=1)
        return plan_physical(self.optimized, self.bound.allocator, options)


@dataclass(slots=True)
class Switchboard:
    """Engines and sessions over the same tables, opened when a configuration first needs them. A context manager.

    `kills` counts the workers that were killed while they computed.
    """

    tables: Mapping[str, pa.Table]
    folder: Path
    kills: int = 0
    _stack: ExitStack = field(default_factory=ExitStack)
    _engines: dict[tuple[int, bool, str], tuple[Engine, KillOne]] = field(default_factory=dict)
    _sessions: dict[tuple[int, bool, str, str], Session] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, table in self.tables.items():
            pq.write_table(table, self._path(name), row_group_size=max(3, table.num_rows // 5))

    def run(self, text: str, configuration: Configuration, seed: int = 0) -> pa.Table:
        """The answer of a query. Raises QEngineError. `seed` chooses the task whose worker is killed."""
        session, engine, faults = self._session(configuration)
        settings = Settings(configuration.inline, configuration.disabled)
        bound = bind(text, session._catalog, "duckdb", ColumnAllocator())
        query = _ConfiguredQuery(bound, settings, configuration.workers)
        query.configuration = configuration
        if configuration.kill:
            stages = query.stages().stages
            faults.arm(seed, among=max(1, sum(stage.tasks for stage in stages)))
            faults.hit = None
        try:
            return query.run(engine, None, None)
        finally:
            if configuration.kill:
                self.kills += faults.hit is not None

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> Switchboard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def _session(self, configuration: Configuration) -> tuple[Session, Engine, KillOne]:
        owner = (configuration.workers, configuration.kill, configuration.cache)
        if owner not in self._engines:
            faults = KillOne()
            faulty = faults if configuration.kill else None
            engine = Engine(configuration.workers, cache=configuration.cache, faults=faulty)
            self._engines[owner] = (self._stack.enter_context(engine), faults)
        engine, faults = self._engines[owner]
        key = (*owner, configuration.source)
        if key not in self._sessions:
            session = self._stack.enter_context(Session(engine=engine))
            for name, table in self.tables.items():
                session.register(name, table if configuration.source == "memory" else session.read_parquet(self._path(name)))
            self._sessions[key] = session
        return self._sessions[key], engine, faults

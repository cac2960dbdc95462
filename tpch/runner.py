"""Run the queries in every engine, side by side, and give one Result.

    for each run: for each query: for each engine

so that a machine that slows down slows all alike. Every engine has a process of its own (`engine_client`); a crash, a timeout, an
answer that is wrong or too much memory is the verdict of a run, after which the engine is opened again. After a timeout, an
error or too much memory a query is not run again by that engine in that mode: its further runs have the same verdict.

    cold     a new process for each run, which is left alone until it is ready; the query is the first thing that it does. The
             files are in the page cache, unless evicted
    hot      one process; `warm` untimed runs of each query, then the tree is left alone until it has nothing to do any more
    memory   as hot, after loading

Engines stay open between their turns. Where that could take more memory than there is (the data is large, and the engines
keep it), they take part one after the other instead, and their settings say so.

A power run has the queries in the order of stream 0; a throughput run starts S streams at once in each engine, alone, each with
its own order and, with a seed, its own parameters. Answers are compared outside of every measured time: those of streams when
the last one has ended.
"""

from __future__ import annotations

import contextlib
import datetime
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from tpch import machine
from tpch.engine_client import EngineFailure, EngineProcess, Measured, StreamReply, verdict_of
from tpch.engine_messages import Executed, Failed, StreamsDone
from tpch.engines import ADAPTERS, Entry
from tpch.engines.protocol import Settings, Statement
from tpch.errors import TpchError
from tpch.expected import Expected
from tpch.generate import TABLES, data_format, format_scale_factor, table_files, verify
from tpch.parameters import parameters
from tpch.process_tree import total_memory
from tpch.queries import NUMBERS, query
from tpch.results import EngineRecord, Mode, Result, Run, Throughput, Verdict
from tpch.streams import STREAMS, order, seed_of

MEMORY_SHARE = 0.8
"""Of the machine's memory, that a process tree may take unless told otherwise."""

_KEPT = {Mode.COLD: 0, Mode.HOT: 4, Mode.MEMORY: 8}
"""How many bytes an engine may keep between its turns for each byte of Parquet."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to run. Seconds, bytes, and counts per query and engine.

    `threads` None is one per core; `cold_runs` None is as many as `runs`: they take longest, since each has a new process.
    """

    scale_factor: Decimal
    folder: Path
    engines: tuple[str, ...] = ("qengine",)
    modes: tuple[Mode, ...] = (Mode.HOT,)
    numbers: tuple[int, ...] = NUMBERS
    threads: int | None = None
    memory_limit: int | None = None
    runs: int = 1
    cold_runs: int | None = None
    warm: int = 2
    timeout: float = 300.0
    evict: bool = False
    power: bool = False
    streams: int = 0
    seed: int | None = None
    engine_options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    variants: tuple[Entry, ...] = ()
    command: str = ""

    def runs_in(self, mode: Mode) -> int:
        """Runs that are measured."""
        return self.cold_runs if mode is Mode.COLD and self.cold_runs is not None else self.runs

    def entries(self, mode: Mode) -> tuple[Entry, ...]:
        """What takes part in a mode: each engine, and after it those of `variants` that are of it."""
        found = []
        for name in self.engines:
            chosen = self.engine_options.get(name, {})
            found.append(Entry(name, name, chosen))
            found += [
                replace(variant, options={**chosen, **variant.options})
                for variant in self.variants
                if variant.engine == name and mode in variant.modes
            ]
        return tuple(found)


class Display(Protocol):
    """Shows how far the benchmark has come."""

    def prepare(self, text: str) -> None:
        """Something that is not measured begins."""

    def start(self, engine: str, mode: Mode, query: int) -> None:
        """A run begins, measured or not."""

    def finish(self, run: Run) -> None:
        """A run has its verdict."""


def run(options: Options, display: Display, adapters: Mapping[str, str] = ADAPTERS) -> Result:
    """Run what `options` say in the engines that `adapters` name.

    Raises TpchError: the options contradict each other or the machine, or the data is not there or not complete.
    """
    _check(options, adapters)
    return _Benchmark(options, display, adapters).run()


def _check(options: Options, adapters: Mapping[str, str]) -> None:
    for name in options.engines:
        if name not in adapters:
            raise TpchError(f"there is no engine {name!r}: choose among {', '.join(adapters)}")
    if not options.folder.is_dir():
        raise TpchError(f"{options.folder} does not exist: generate the data first")
    verify(options.folder, options.scale_factor)
    if data_format(options.folder) != "parquet":
        raise TpchError(f"{options.folder} has CSV files, and the engines are measured over Parquet: generate that")
    if options.evict and options.modes != (Mode.COLD,):
        raise TpchError("--evict is for --mode cold alone: in the others nothing is read from the disk when it counts")
    if options.streams > STREAMS:
        raise TpchError(f"the specification has {STREAMS} streams, not {options.streams}")
    if options.streams and options.modes == (Mode.COLD,):
        raise TpchError("a throughput run needs an open session: --mode hot or memory")
    if options.memory_limit is not None and options.memory_limit > total_memory():
        raise TpchError(f"this machine has {total_memory() >> 20} MiB of memory: choose a --memory-limit below")


class _Benchmark:
    def __init__(self, options: Options, display: Display, adapters: Mapping[str, str]):
        self._options = options
        self._display = display
        self._adapters = adapters
        self._threads = options.threads or machine.cores()
        self._memory_limit = options.memory_limit or int(total_memory() * MEMORY_SHARE)
        self._files = [path for table in TABLES for path in table_files(options.folder, table)]
        self._numbers = _in_order(0, options.numbers) if options.power else options.numbers
        self._records: list[EngineRecord] = []
        self._runs: list[Run] = []
        self._throughput: list[Throughput] = []

    def run(self) -> Result:
        options = self._options
        started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        self._display.prepare("expected answers")
        wanted = {(number, seed_of(options.seed, stream)) for stream in range(options.streams + 1) for number in self._numbers}
        self._expected = Expected(options.folder, options.scale_factor, sorted(wanted, key=str), self._threads)
        if not options.evict:
            self._display.prepare("page cache")
            machine.fill_page_cache(self._files)
        for mode in options.modes:
            for group in self._groups(mode):
                self._measure(mode, group)
        return Result(
            started=started,
            command=options.command,
            scale_factor=format_scale_factor(options.scale_factor),
            queries=tuple(sorted(options.numbers)),
            threads=self._threads,
            memory_limit=self._memory_limit,
            seed=options.seed,
            machine=machine.describe(),
            engines=tuple(self._records),
            runs=tuple(self._runs),
            throughput=tuple(self._throughput),
        )

    def _groups(self, mode: Mode) -> list[list[_Participant]]:
        """The engines that are open at the same time."""
        size = sum(path.stat().st_size for path in self._files)
        participants = [self._participant(entry, mode) for entry in self._options.entries(mode)]
        if size * _KEPT[mode] * len(participants) <= self._memory_limit:
            return [participants]
        for participant in participants:
            participant.settings_shown["turns"] = "one engine after the other"
        return [[participant] for participant in participants]

    def _participant(self, entry: Entry, mode: Mode) -> _Participant:
        options = self._options
        settings = Settings(options.folder.resolve(), self._threads, self._memory_limit, mode, entry.options)
        return _Participant(entry, self._adapters[entry.engine], settings, options.timeout)

    def _measure(self, mode: Mode, group: list[_Participant]) -> None:
        try:
            for participant in group:
                self._display.prepare(f"opening {participant.name} ({mode})")
                participant.begin()
            ready = [participant for participant in group if not participant.reason]
            if mode is Mode.COLD:
                self._runs += self._cold_runs(ready)
            else:
                self._warm_up(ready)
                self._runs += self._hot_runs(mode, ready)
                for participant in ready if self._options.streams else ():
                    self._runs += self._throughput_run(participant)
        finally:
            for participant in group:
                participant.end()
        for participant in group:
            self._records.append(participant.record())
            if participant.reason:
                for number in self._numbers:
                    run = Run(participant.name, mode, number, 1, Verdict.UNAVAILABLE, detail=participant.reason)
                    self._display.finish(run)
                    self._runs.append(run)

    def _turns(self, mode: Mode, group: Sequence[_Participant]) -> Iterator[tuple[int, int, _Participant]]:
        """Number of the run, number of the query, engine; in the order that is measured."""
        for number in range(1, self._options.runs_in(mode) + 1):
            for asked in self._numbers:
                for participant in group:
                    yield number, asked, participant

    def _cold_runs(self, group: Sequence[_Participant]) -> Iterator[Run]:
        for number, asked, participant in self._turns(Mode.COLD, group):
            self._display.start(participant.name, Mode.COLD, asked)
            participant.make_ready()
            if self._options.evict:
                machine.evict_page_cache(self._files)
            run = self._finished(participant, self._statement(asked), number)
            participant.end()
            yield run

    def _warm_up(self, group: Sequence[_Participant]) -> None:
        for _ in range(self._options.warm):
            for asked in self._numbers:
                for participant in group:
                    self._display.start(participant.name, participant.settings.mode, asked)
                    self._warm_run(participant, asked)
        for participant in group:
            participant.settle()

    def _hot_runs(self, mode: Mode, group: Sequence[_Participant]) -> Iterator[Run]:
        for number, asked, participant in self._turns(mode, group):
            self._display.start(participant.name, mode, asked)
            # Only if the engine was opened again since all were warmed up.
            for _ in range(self._options.warm - participant.executions(asked)):
                self._warm_run(participant, asked)
                participant.settle()
            yield self._finished(participant, self._statement(asked), number)

    def _warm_run(self, participant: _Participant, asked: int) -> None:
        """A run whose time does not count, but whose answer does."""
        if asked in participant.given_up:
            return
        outcome = participant.execute(self._statement(asked))
        if isinstance(outcome, EngineFailure):
            return
        verdict, detail = self._expected.verdict(participant.engine, outcome[0].table, asked, self._options.seed)
        if verdict is not Verdict.CORRECT:
            participant.given_up[asked] = (verdict, f"in an untimed run: {detail}")

    def _finished(self, participant: _Participant, statement: Statement, number: int) -> Run:
        """Run a query unless the engine has failed in it, and judge the answer."""
        asked, mode = statement.number, participant.settings.mode
        if asked in participant.given_up:
            verdict, detail = participant.given_up[asked]
            run = Run(participant.name, mode, asked, number, verdict, detail=detail)
        else:
            outcome = participant.execute(statement)
            if isinstance(outcome, EngineFailure):
                usage = outcome.usage or Measured(0, 0.0)
                run = Run(
                    participant.name,
                    mode,
                    asked,
                    number,
                    outcome.verdict,
                    cpu_seconds=usage.cpu_seconds,
                    memory=usage.memory,
                    detail=outcome.detail,
                )
            else:
                run = self._judged(participant, number, *outcome)
        self._display.finish(run)
        return run

    def _judged(self, participant: _Participant, number: int, executed: Executed, measured: Measured) -> Run:
        seed = seed_of(self._options.seed, executed.stream)
        verdict, detail = self._expected.verdict(participant.engine, executed.table, executed.number, seed)
        return Run(
            participant.name,
            participant.settings.mode,
            executed.number,
            number,
            verdict,
            seconds=executed.seconds,
            cpu_seconds=measured.cpu_seconds,
            planning_seconds=executed.phases.planning,
            execution_seconds=executed.phases.execution,
            delivery_seconds=executed.phases.delivery,
            memory=measured.memory,
            rows=executed.table.num_rows,
            stream=executed.stream,
            detail=detail,
        )

    def _throughput_run(self, participant: _Participant) -> Iterator[Run]:
        """All streams at once. The processor time is that of all of them, so no single run has one; `number` is the place."""
        mode, count = participant.settings.mode, self._options.streams
        orders = {stream: _in_order(stream, self._numbers) for stream in range(1, count + 1)}
        statements = [[self._statement(asked, stream) for asked in orders[stream]] for stream in orders]
        self._display.prepare(f"throughput run of {participant.name}: {count} streams ({mode})")
        waiting = {(stream, asked): place for stream in orders for place, asked in enumerate(orders[stream], start=1)}
        failure = (Verdict.FAILED, "the streams ended before it")
        replies: list[tuple[StreamReply, Measured]] = []
        try:
            replies.extend(participant.execute_streams(statements))  # what came before a failure stays
        except EngineFailure as problem:
            failure = (problem.verdict, problem.detail)
        for reply, measured in replies:
            if isinstance(reply, StreamsDone):
                self._throughput.append(Throughput(participant.name, mode, reply.seconds, reply.stream_seconds))
                continue
            number = waiting.pop((reply.stream, reply.number))
            run = Run(participant.name, mode, reply.number, number, Verdict.FAILED, stream=reply.stream)
            if isinstance(reply, Failed):
                run = replace(run, verdict=verdict_of(reply), detail=reply.detail)
            else:
                run = replace(self._judged(participant, number, reply, measured), cpu_seconds=None)
            self._display.finish(run)
            yield run
        for (stream, asked), number in waiting.items():
            run = Run(participant.name, mode, asked, number, failure[0], stream=stream, detail=failure[1])
            self._display.finish(run)
            yield run

    def _statement(self, number: int, stream: int = 0) -> Statement:
        seed, scale_factor = seed_of(self._options.seed, stream), self._options.scale_factor
        return Statement(number, query(number, scale_factor, seed).text, parameters(number, scale_factor, seed))


class _Participant:
    """One engine in one mode: its process, opened again when it was lost, and what it has told and failed in."""

    def __init__(self, entry: Entry, adapter: str, settings: Settings, timeout: float):
        self.name = entry.name
        self.engine = entry.engine
        self.settings = settings
        self.settings_shown: dict[str, str] = {}
        self.reason = ""
        self.given_up: dict[int, tuple[Verdict, str]] = {}
        self._adapter = adapter
        self._timeout = timeout
        self._process: EngineProcess | None = None
        self._version = ""
        self._startups: list[float] = []
        self._loads: list[float] = []
        self._executions: dict[int, int] = {}

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.alive

    def executions(self, number: int) -> int:
        """How often the process that is open has run a query."""
        return self._executions.get(number, 0) if self.alive else 0

    def begin(self) -> None:
        """Open the engine, or note why it cannot take part. What the first opening costs more than others is not counted."""
        try:
            self._open()
        except EngineFailure as problem:
            said = problem.verdict in (Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT)
            self.reason = f"{problem.verdict}: {problem.detail}" if said else problem.detail
        if self.settings.mode is Mode.COLD:
            self.end()
            self._startups.clear()

    def make_ready(self) -> None:
        """Open the engine and wait until what it starts in the background is there. A failure is that of the query after it."""
        with contextlib.suppress(EngineFailure):
            self._open().settle(quiet=0.05)

    def execute(self, statement: Statement) -> tuple[Executed, Measured] | EngineFailure:
        """Run one query in the open process or in a new one. After a failure the query is given up."""
        try:
            process = self._open()
            self._executions[statement.number] = self._executions.get(statement.number, 0) + 1
            return process.execute(statement)
        except EngineFailure as problem:
            self.given_up[statement.number] = (problem.verdict, problem.detail)
            return problem

    def execute_streams(self, streams: Sequence[Sequence[Statement]]) -> Iterator[tuple[StreamReply, Measured]]:
        """Run streams side by side. Raises EngineFailure."""
        yield from self._open().execute_streams(streams)

    def settle(self) -> None:
        """Wait for what the engine does in the background."""
        if self._process is not None and self._process.alive:
            self._process.settle()

    def end(self) -> None:
        """Close the process."""
        if self._process is not None:
            self._process.close()

    def record(self) -> EngineRecord:
        """What a report says about the engine."""
        return EngineRecord(
            self.name,
            self.settings.mode,
            self._version,
            dict(self.settings_shown),
            statistics.median(self._startups) if self._startups else None,
            statistics.median(self._loads) if self._loads else None,
            self.reason,
            "" if self.engine == self.name else self.engine,
        )

    def _open(self) -> EngineProcess:
        if self._process is not None and self._process.alive:
            return self._process
        self._executions.clear()
        try:
            process = self._process = EngineProcess(self._adapter, self.settings, self._timeout)
        except OSError as problem:
            raise EngineFailure(Verdict.FAILED, f"its process cannot be started: {problem.strerror or problem}") from None
        try:
            opened = process.open()
            if self.settings.mode is Mode.MEMORY:
                self._loads.append(process.load())
        except EngineFailure:
            process.kill()
            raise
        self._startups.append(process.startup_seconds)
        self._version = opened.version
        self.settings_shown.update(opened.settings)
        return process


def _in_order(stream: int, numbers: Iterable[int]) -> tuple[int, ...]:
    wanted = set(numbers)
    return tuple(number for number in order(stream) if number in wanted)

"""The runner over engines that are slow, wrong, crash, hang or eat memory, in real processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.unit.tpch.fake_engine import SLOW_SECONDS
from tpch import answers, process_tree, runner
from tpch.engine_client import EngineProcess
from tpch.engines import Entry
from tpch.errors import TpchError
from tpch.generate import generate
from tpch.generator import Storage
from tpch.queries import query
from tpch.results import Mode, Result, Run, Verdict
from tpch.runner import Options, run
from tpch.streams import order

SMALL = Decimal("0.01")
FAKE = "tests.unit.tpch.fake_engine:FakeEngine"
ADAPTERS = {"qengine": FAKE, "peer": FAKE, "missing": "tests.unit.tpch.fake_engine:MissingEngine"}
NUMBERS = (1, 3, 4, 6)


class Recorder:
    def __init__(self) -> None:
        self.prepared: list[str] = []
        self.started: list[tuple[str, int]] = []
        self.finished: list[Run] = []

    def prepare(self, text: str) -> None:
        self.prepared.append(text)

    def start(self, engine: str, mode: Mode, query: int) -> None:
        self.started.append((engine, query))

    def finish(self, run: Run) -> None:
        self.finished.append(run)


@pytest.fixture(scope="session")
def stored_answers(small_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers")
    with answers.connect(small_data) as connection:
        for number in range(1, 23):
            table = answers.run_in_duckdb(connection, query(number, SMALL).text)
            with pa.ipc.new_file(folder / f"{number}.arrow", table.schema) as writer:
                writer.write_table(table)
    return folder


Benchmark = Callable[..., tuple[Result, list[str], Recorder]]


@pytest.fixture
def benchmark(small_data: Path, stored_answers: Path, tmp_path: Path) -> Benchmark:
    """Run fake engines; gives the result, what the engines did as `name action process`, and what the display was told."""

    def benchmark(actions: dict[str, dict[str, str]] | None = None, **options: Any) -> tuple[Result, list[str], Recorder]:
        log = tmp_path / "log"
        common = {"answers": str(stored_answers), "log": str(log)}
        chosen = {name: {**common, "name": name, **(actions or {}).get(name, {})} for name in ADAPTERS}
        asked = {"engines": ("qengine",), "numbers": NUMBERS, "warm": 0, "threads": 2, **options}
        recorder = Recorder()
        result = run(Options(SMALL, small_data, engine_options=chosen, **asked), recorder, ADAPTERS)
        assert recorder.finished == list(result.runs)
        return result, log.read_text().splitlines() if log.exists() else [], recorder

    return benchmark


def done(log: list[str]) -> list[str]:
    """`name action` without processes."""
    return [line.rpartition(" ")[0] for line in log]


def test_the_engines_take_turns(benchmark: Benchmark) -> None:
    result, log, recorder = benchmark(engines=("qengine", "peer"), numbers=(1, 6), runs=2, warm=1)
    turns = [f"{name} Q{number}" for _ in range(3) for number in (1, 6) for name in ("qengine", "peer")]
    assert [line for line in done(log) if not line.endswith("close")] == turns
    assert sorted(done(log)[-2:]) == ["peer close", "qengine close"]
    assert len({line.rpartition(" ")[2] for line in log}) == 2
    assert len(recorder.started) == 12
    assert [(run.number, run.query, run.engine) for run in result.runs] == [
        (number, asked, name) for number in (1, 2) for asked in (1, 6) for name in ("qengine", "peer")
    ]
    for each in result.runs:
        assert each.verdict is Verdict.CORRECT
        assert each.seconds is not None and 0 < each.seconds < 5
        assert (each.planning_seconds, each.execution_seconds, each.delivery_seconds) == (0.001, 0.002, 0.003)
        assert each.memory is not None and 5 << 20 < each.memory < 1 << 30
        assert each.rows == query_rows(each.query)
    assert result.median("qengine", Mode.HOT, 1) is not None
    record = result.engines[0]
    assert (record.name, record.version, record.settings, record.reason) == ("qengine", "1.2.3", {"threads": "2"}, "")
    assert record.startup_seconds is not None and record.load_seconds is None
    assert (result.scale_factor, result.queries, result.threads) == ("0.01", (1, 6), 2)


def test_variants_run_beside_their_engine_where_they_apply(benchmark: Benchmark) -> None:
    variant = Entry("qengine (slow)", "qengine", {"1": "slow"}, (Mode.HOT,))
    result, _, _ = benchmark(engines=("qengine", "peer"), modes=(Mode.COLD, Mode.HOT), numbers=(1,), variants=(variant,))
    assert [(record.name, record.mode, record.variant_of) for record in result.engines] == [
        ("qengine", Mode.COLD, ""),
        ("peer", Mode.COLD, ""),
        ("qengine", Mode.HOT, ""),
        ("qengine (slow)", Mode.HOT, "qengine"),
        ("peer", Mode.HOT, ""),
    ]
    seconds = {name: result.median(name, Mode.HOT, 1) for name in ("qengine", "qengine (slow)")}
    assert seconds["qengine"] is not None and seconds["qengine"] < SLOW_SECONDS
    assert seconds["qengine (slow)"] is not None and seconds["qengine (slow)"] >= SLOW_SECONDS


def query_rows(number: int) -> int:
    return {1: 4, 3: 10, 4: 5, 6: 1}[number]


def test_cold_runs_have_a_process_each_and_one_at_a_time(benchmark: Benchmark) -> None:
    result, log, _ = benchmark(engines=("qengine", "peer"), modes=(Mode.COLD,), numbers=(1, 6), evict=True)
    assert done(log) == [
        *("qengine close", "peer close"),  # opened once to see whether they are there
        *(f"{name} {what}" for asked in ("Q1", "Q6") for name in ("qengine", "peer") for what in (asked, "close")),
    ]
    assert len({line.rpartition(" ")[2] for line in log}) == 6
    assert [run.verdict for run in result.runs] == [Verdict.CORRECT] * 4
    assert all(record.startup_seconds is not None for record in result.engines)


def test_in_memory_the_tables_are_loaded_first(benchmark: Benchmark) -> None:
    result, log, _ = benchmark({"qengine": {"load": "slow"}}, modes=(Mode.MEMORY,), numbers=(1,), warm=1)
    assert done(log) == ["qengine load", "qengine Q1", "qengine Q1", "qengine close"]
    load_seconds = result.engines[0].load_seconds
    assert load_seconds is not None and load_seconds >= SLOW_SECONDS


def test_every_misfortune_is_a_verdict(benchmark: Benchmark) -> None:
    actions = {"1": "crash", "3": "fail", "4": "exit", "6": "wrong", "12": "out-of-memory", "13": "shout", "14": "slow"}
    numbers = (1, 3, 4, 6, 12, 13, 14, 17)
    result, log, _ = benchmark({"qengine": actions}, numbers=numbers, runs=2)
    expected = {
        1: (Verdict.FAILED, "the process ended by signal SIGSEGV: the last words"),
        3: (Verdict.FAILED, "ValueError: cannot do this"),
        4: (Verdict.FAILED, "the process ended with exit status 3"),
        6: (Verdict.WRONG, "expected 1 rows, got 0"),
        12: (Verdict.OUT_OF_MEMORY, "RuntimeError: Out of Memory Error: could not allocate block"),
        13: (Verdict.CORRECT, ""),
        14: (Verdict.CORRECT, ""),
        17: (Verdict.CORRECT, ""),
    }
    assert [(run.number, run.query) for run in result.runs] == [(number, asked) for number in (1, 2) for asked in numbers]
    for each in result.runs:
        verdict, detail = expected[each.query]
        assert each.verdict is verdict
        assert each.detail.startswith(detail) and ("\n" not in each.detail)
        assert (each.seconds is not None) == (verdict in (Verdict.CORRECT, Verdict.WRONG))
    # What has failed is not tried again, what is wrong is.
    assert {asked: done(log).count(f"qengine Q{asked}") for asked in numbers} == {
        **dict.fromkeys(numbers, 2),
        **dict.fromkeys((1, 3, 4, 12), 1),
    }
    assert min(result.seconds_of("qengine", Mode.HOT, 14)) >= SLOW_SECONDS
    assert result.median("qengine", Mode.HOT, 6) is None


def test_a_query_that_hangs_is_ended_with_its_processes(benchmark: Benchmark) -> None:
    result, log, _ = benchmark({"qengine": {"3": "hang"}}, timeout=4.0, runs=2, numbers=(1, 3, 6))
    assert [str(run.verdict) for run in result.runs] == ["correct", "timeout", "correct"] * 2
    assert result.runs[1].detail == "not done within 4 s"
    assert result.runs[1].memory
    child = next(line for line in log if "child" in line).split()[1].removeprefix("child-")
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]


def test_memory_is_guarded(benchmark: Benchmark) -> None:
    result, _, _ = benchmark({"qengine": {"3": "eat"}}, memory_limit=400 << 20, numbers=(1, 3, 6))
    assert [str(run.verdict) for run in result.runs] == ["correct", "out of memory", "correct"]
    assert "more than the limit of 400 MiB" in result.runs[1].detail
    assert result.runs[1].memory is not None and 400 << 20 < result.runs[1].memory < 800 << 20
    assert result.memory_limit == 400 << 20


def test_who_holds_little_is_not_to_blame_for_a_full_machine(benchmark: Benchmark, monkeypatch: Any) -> None:
    monkeypatch.setattr(process_tree, "available_memory", lambda: 0)
    result, _, _ = benchmark({"qengine": {"3": "slow", "6": "eat"}}, numbers=(1, 3, 6), memory_limit=16 << 30)
    assert [str(run.verdict) for run in result.runs] == ["correct", "correct", "out of memory"]


def test_a_cold_engine_is_left_alone_until_it_is_ready(benchmark: Benchmark, monkeypatch: Any) -> None:
    waits = []
    settle = EngineProcess.settle
    monkeypatch.setattr(EngineProcess, "settle", lambda self, **how: (waits.append(how), settle(self, **how)))
    benchmark({}, modes=(Mode.COLD,), numbers=(1, 6), runs=2)
    assert waits == [{"quiet": 0.05}] * 4


def test_an_engine_that_is_not_there_has_its_rows(benchmark: Benchmark) -> None:
    result, _, _ = benchmark({"peer": {"open": "crash"}}, engines=("missing", "qengine", "peer"), numbers=(1, 6), runs=2)
    by_engine = {name: [run for run in result.runs if run.engine == name] for name in ("missing", "qengine", "peer")}
    assert [run.verdict for run in by_engine["qengine"]] == [Verdict.CORRECT] * 4
    for name, reason in (("missing", "missing_engine is not installed: pip install"), ("peer", "the process ended by signal")):
        assert [(run.query, run.verdict) for run in by_engine[name]] == [(1, Verdict.UNAVAILABLE), (6, Verdict.UNAVAILABLE)]
        assert all(run.detail.startswith(reason) for run in by_engine[name])
    reasons = {record.name: record.reason for record in result.engines}
    assert reasons["qengine"] == "" and reasons["missing"].startswith("missing_engine")


def test_an_engine_that_was_lost_is_warmed_up_again(benchmark: Benchmark) -> None:
    result, log, _ = benchmark({"qengine": {"3": "crash@2"}}, numbers=(1, 3, 6), warm=1)
    assert [str(run.verdict) for run in result.runs] == ["correct", "failed", "correct"]
    assert done(log) == [f"qengine {what}" for what in ("Q1", "Q3", "Q6", "Q1", "Q3", "Q6", "Q6", "close")]


def test_an_untimed_answer_counts_as_well(benchmark: Benchmark) -> None:
    result, _, _ = benchmark({"qengine": {"4": "wrong@1"}}, numbers=(4,), warm=1)
    assert result.runs[0].verdict is Verdict.WRONG
    assert result.runs[0].detail.startswith("in an untimed run: expected 5 rows, got 4")


def test_where_memory_is_short_one_engine_comes_after_the_other(benchmark: Benchmark, monkeypatch: Any) -> None:
    monkeypatch.setattr(runner, "_KEPT", dict.fromkeys(Mode, 10_000))
    result, log, _ = benchmark(engines=("qengine", "peer"), numbers=(1, 6))
    assert done(log) == [f"{name} {what}" for name in ("qengine", "peer") for what in ("Q1", "Q6", "close")]
    assert [record.settings["turns"] for record in result.engines] == ["one engine after the other"] * 2


def test_the_power_run_has_its_order(benchmark: Benchmark) -> None:
    result, _, _ = benchmark(power=True, numbers=(1, 2, 3, 4, 5, 6))
    assert [run.query for run in result.runs] == [number for number in order(0) if number <= 6]
    assert result.queries == (1, 2, 3, 4, 5, 6)


def test_streams_run_side_by_side_in_their_orders(benchmark: Benchmark) -> None:
    actions = {"qengine": {"1": "slow", "6": "slow", "4": "fail@2"}}
    result, _, _ = benchmark(actions, streams=2)
    streams = {stream: [run for run in result.runs if run.stream == stream] for stream in (0, 1, 2)}
    assert [run.query for run in streams[0]] == list(NUMBERS)
    for stream in (1, 2):
        assert [run.query for run in streams[stream]] == [number for number in order(stream) if number in NUMBERS]
        assert [run.number for run in streams[stream]] == [1, 2, 3, 4]
        assert all(run.cpu_seconds is None for run in streams[stream])
    failed = [run for run in result.runs if run.verdict is not Verdict.CORRECT]
    assert [(run.query, run.verdict, run.detail) for run in failed] == [(4, Verdict.FAILED, "ValueError: cannot do this")]
    assert len(result.runs_of("qengine", Mode.HOT, 1)) == 1
    # Two sleeps in each stream, at the same time.
    took = result.throughput_of("qengine", Mode.HOT)
    assert took is not None and len(took.stream_seconds) == 2
    assert all(2 * SLOW_SECONDS <= seconds <= took.seconds for seconds in took.stream_seconds)
    assert took.seconds < 4 * SLOW_SECONDS


def test_streams_that_are_lost_have_their_rows(benchmark: Benchmark) -> None:
    result, _, _ = benchmark({"qengine": {"6": "crash@2"}}, streams=2, numbers=(1, 6))
    in_streams = [run for run in result.runs if run.stream]
    assert sorted((run.stream, run.query) for run in in_streams) == [(1, 1), (1, 6), (2, 1), (2, 6)]
    assert result.throughput == ()
    lost = [run for run in in_streams if run.verdict is Verdict.FAILED]
    assert lost and all("SIGSEGV" in run.detail for run in lost)


def test_parameters_are_drawn_by_seed_and_stream(small_data: Path, monkeypatch: Any) -> None:
    wanted: list[tuple[int, int | None]] = []

    class Spy(runner.Expected):
        def __init__(self, folder: Path, scale_factor: Decimal, asked: list[tuple[int, int | None]], threads: int):
            wanted.extend(asked)
            super().__init__(folder, scale_factor, wanted, threads)

    monkeypatch.setattr(runner, "Expected", Spy)
    run(Options(SMALL, small_data, ("missing",), numbers=(1, 6), seed=7, streams=2), Recorder(), ADAPTERS)
    assert set(wanted) == {(number, seed) for number in (1, 6) for seed in (7, 8, 9)}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"engines": ("oracle",)}, "there is no engine 'oracle': choose among qengine, peer, missing"),
        ({"folder": Path("missing")}, "missing does not exist: generate the data first"),
        ({"scale_factor": Decimal(1)}, r"has \d+ rows, not the \d+ of scale factor 1"),
        ({"evict": True}, "--evict is for --mode cold alone"),
        ({"streams": 41}, "the specification has 40 streams, not 41"),
        ({"streams": 1, "modes": (Mode.COLD,)}, "a throughput run needs an open session"),
        ({"memory_limit": 1 << 60}, "choose a --memory-limit below"),
    ],
)
def test_what_cannot_be_run_is_refused(options: dict[str, Any], complaint: str, small_data: Path) -> None:
    asked = Options(**{"scale_factor": SMALL, "folder": small_data, **options})
    with pytest.raises(TpchError, match=complaint):
        run(asked, Recorder(), ADAPTERS)


def test_csv_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    generate(folder, SMALL, Storage("csv", compression=None, row_group_bytes=None))
    with pytest.raises(TpchError, match="has CSV files, and the engines are measured over Parquet"):
        run(Options(SMALL, folder), Recorder(), ADAPTERS)


def test_nothing_is_left_behind(benchmark: Benchmark, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    _, log, _ = benchmark({"qengine": {"6": "crash"}}, numbers=(1, 6))
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    for process in {int(line.rpartition(" ")[2]) for line in log}:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)

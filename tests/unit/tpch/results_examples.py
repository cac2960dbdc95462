"""Results of benchmarks that never ran, drawn by a seed: what a report must show, and the corners that it must survive."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tpch.results import EngineRecord, Machine, Mode, Result, Run, Throughput, Verdict

ALL_QUERIES = tuple(range(1, 23))
SEVEN_ENGINES = ("qengine", "duckdb", "polars", "datafusion", "chdb", "daft", "pyspark")
VARIANT = "qengine (no plan cache)"

# Seconds of the query of average size, roughly as far apart as the real engines are.
SPEED = {"qengine": 0.04, "duckdb": 0.075, "polars": 0.08, "datafusion": 0.14, "chdb": 0.23, "daft": 0.3, "pyspark": 1.7}
STARTUP = {"qengine": 0.31, "duckdb": 0.02, "pyspark": 4.2}
MACHINE = Machine("Example Processor 3000 @ 2.50GHz", 2, 24 << 30, "Linux 6.1.0-13-amd64", "3.11.7")


def example_result(
    engines: Sequence[str] = SEVEN_ENGINES,
    modes: Sequence[Mode] = tuple(Mode),
    queries: Sequence[int] = ALL_QUERIES,
    runs: int = 5,
    streams: int = 0,
    verdicts: Mapping[tuple[str, int], Verdict] | None = None,
    unavailable: Mapping[str, str] | None = None,
    seed: int = 1,
) -> Result:
    """A plausible result.

    `verdicts` says which (engine, query) goes wrong in its last run, `unavailable` which engine is not there and why.
    """
    draw = random.Random(seed)
    weight = {query: draw.lognormvariate(0, 0.8) for query in queries}
    records, found, throughput = [], [], []
    for mode in modes:
        for engine in engines:
            reason = (unavailable or {}).get(engine, "")
            records.append(_record(engine, mode, reason, draw))
            taste = {query: draw.lognormvariate(0, 0.35) for query in queries}
            for query in queries:
                if reason:
                    found.append(Run(engine, mode, query, 1, Verdict.UNAVAILABLE, detail=reason))
                    continue
                base = SPEED.get(engine, 0.1) * weight[query] * taste[query] * (2 if mode is Mode.COLD else 1)
                for number in range(1, (1 if mode is Mode.COLD else runs) + 1):
                    found.append(_run(engine, mode, query, number, base, draw))
                verdict = (verdicts or {}).get((engine, query))
                if verdict is not None:
                    found[-1] = _spoilt(found[-1], verdict)
            if mode is Mode.HOT and not reason:
                seconds = []
                for stream in range(1, streams + 1):
                    order = draw.sample(list(queries), len(queries))
                    for number, query in enumerate(order, start=1):
                        base = streams * SPEED.get(engine, 0.1) * weight[query] * taste[query]
                        found.append(replace(_run(engine, mode, query, number, base, draw), stream=stream))
                    seconds.append(1.01 * sum(run.seconds or 0.0 for run in found[-len(queries) :]))
                if streams:
                    throughput.append(Throughput(engine, mode, 1.001 * max(seconds), tuple(seconds)))
    return Result(
        started="2026-01-02T03:04:05Z",
        command=f"python -m tpch run --sf 1 --dir data/tpch/sf1 --engines {','.join(engines)} --mode hot --runs {runs}",
        scale_factor="1",
        queries=tuple(queries),
        threads=2,
        memory_limit=16 << 30,
        seed=None,
        machine=MACHINE,
        engines=tuple(records),
        runs=tuple(found),
        throughput=tuple(throughput),
    )


def troubled_result() -> Result:
    """Seven engines in which every kind of trouble happens, with a throughput run of three streams."""
    return example_result(
        streams=3,
        verdicts={
            ("polars", 5): Verdict.OUT_OF_MEMORY,
            ("chdb", 17): Verdict.WRONG,
            ("chdb", 21): Verdict.TIMEOUT,
            ("pyspark", 9): Verdict.FAILED,
        },
        unavailable={"daft": "daft is not installed: pip install 'qengine[bench]'"},
    )


def corner_results() -> dict[str, Result]:
    """Results that a report has to survive, by name."""
    plain = example_result(streams=2)
    two = ("qengine", "duckdb")
    long_names = (
        "qengine",
        VARIANT,
        "an engine with quite a long name 2.0.1rc3",
        "x" * 60,
        "<b>&\"'</b>",
    )
    return {
        "seven engines": plain,
        "trouble": troubled_result(),
        "a variant": example_result(("qengine", VARIANT, "duckdb"), (Mode.COLD, Mode.HOT)),
        "one engine": example_result(("qengine",), (Mode.HOT,)),
        "two engines": example_result(two),
        "only peers": example_result(("duckdb", "polars"), (Mode.HOT,)),
        "one query": example_result(two, (Mode.HOT,), (6,)),
        "one run": example_result(two, (Mode.HOT,), runs=1),
        "only cold": example_result(modes=(Mode.COLD,)),
        "missing runs": replace(plain, runs=tuple(run for run in plain.runs if run.query % 3 and run.engine != "chdb")),
        "no runs": replace(plain, runs=()),
        "nothing": replace(plain, engines=(), runs=(), queries=()),
        "unknown engines": replace(example_result(two), engines=()),
        "everything fails": example_result(two, verdicts={(e, q): Verdict.FAILED for e in two for q in ALL_QUERIES}),
        "nobody is there": example_result(two, unavailable={"qengine": "no workers", "duckdb": "not installed"}),
        "long names": _with_long_texts(example_result(long_names, (Mode.HOT, Mode.MEMORY), streams=2)),
        "only streams": replace(plain, runs=tuple(run for run in plain.runs if run.stream)),
        "a stream fails": _one_stream_fails(plain),
        "no time at all": _without_time(example_result(two, (Mode.HOT,), (1, 6), streams=2)),
        "slow": _slower(example_result(two, (Mode.HOT,)), 4000.0),
        "far behind": _slower(example_result(two, (Mode.HOT,), runs=3), 40.0, engines=("qengine",)),
        "drawn parameters": replace(example_result(two, (Mode.HOT,)), seed=42, scale_factor="0.01"),
    }


def _record(engine: str, mode: Mode, reason: str, draw: random.Random) -> EngineRecord:
    variant_of = "qengine" if engine == VARIANT else ""
    if reason:
        return EngineRecord(engine, mode, reason=reason, variant_of=variant_of)
    return EngineRecord(
        engine,
        mode,
        version=f"{draw.randint(0, 5)}.{draw.randint(0, 40)}.{draw.randint(0, 9)}",
        settings={"threads": "2", "memory limit": "16 GiB"},
        startup_seconds=STARTUP.get(engine, 0.1) * draw.lognormvariate(0, 0.1),
        load_seconds=draw.uniform(1, 4) if mode is Mode.MEMORY else None,
        variant_of=variant_of,
    )


def _run(engine: str, mode: Mode, query: int, number: int, base: float, draw: random.Random) -> Run:
    seconds = base * draw.lognormvariate(0, 0.06)
    return Run(
        engine,
        mode,
        query,
        number,
        Verdict.CORRECT,
        seconds=seconds,
        cpu_seconds=seconds * draw.uniform(1.2, 1.95),
        planning_seconds=0.05 * seconds if engine in ("qengine", VARIANT, "pyspark") else None,
        execution_seconds=0.85 * seconds if engine in ("qengine", VARIANT) else None,
        delivery_seconds=0.08 * seconds if engine in ("qengine", VARIANT) else None,
        memory=int(draw.uniform(0.3, 3) * (1 << 30)),
        rows=1 + query * 7 % 100,
    )


def _spoilt(run: Run, verdict: Verdict) -> Run:
    detail = {
        Verdict.WRONG: "row 0, column 1 (sum_qty): expected 37734107.00, got 37734107.01",
        Verdict.FAILED: "UnresolvedError: no column named l_shipdate_with_a_long_name_that_nobody_expected_here in lineitem",
        Verdict.TIMEOUT: "no answer within 60 s",
        Verdict.OUT_OF_MEMORY: "the process tree passed 16.0 GiB",
    }.get(verdict, "")
    timed = verdict is Verdict.WRONG
    return replace(
        run, verdict=verdict, detail=detail, seconds=run.seconds if timed else None, rows=run.rows if timed else None
    )


def _with_long_texts(result: Result) -> Result:
    settings = {"a setting with a long name": "value" * 30, "<i>": "& more"}
    return replace(
        result,
        command=result.command + " --option=" + "y" * 200,
        machine=replace(result.machine, processor="Processor " * 12, system="<script>alert(1)</script>"),
        engines=tuple(replace(record, settings=settings, version="1.0.0+" + "f" * 40) for record in result.engines),
    )


def _one_stream_fails(result: Result) -> Result:
    runs = list(result.runs)
    place = next(place for place, run in enumerate(runs) if run.stream == 2)
    runs[place] = _spoilt(runs[place], Verdict.FAILED)
    return replace(result, runs=tuple(runs), throughput=result.throughput[1:])


def _without_time(result: Result) -> Result:
    runs = tuple(replace(run, seconds=0.0, cpu_seconds=0.0, memory=0, rows=0) for run in result.runs)
    return replace(result, runs=runs, throughput=tuple(replace(found, seconds=0.0) for found in result.throughput))


def _slower(result: Result, factor: float, engines: Sequence[str] = SEVEN_ENGINES) -> Result:
    runs = (replace(run, seconds=(run.seconds or 0) * factor) if run.engine in engines else run for run in result.runs)
    return replace(result, runs=tuple(runs))

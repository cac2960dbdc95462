"""What changed between two results: the rates of errors of the rule by simulation, and everything that is no matter of chance."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tpch.__main__ import main
from tpch.compare.changes import MEAN, PEAK, THROUGHPUT, TOTAL, Change, Comparison, Row, compare
from tpch.compare.noise import MOST_SHARED, Noise, combined, noise_of, shift, significant, student_tail, trigamma, undisturbed
from tpch.compare.text import as_markdown, as_text, print_in_colours
from tpch.errors import TpchError
from tpch.results import EngineRecord, Machine, Mode, Result, Run, Throughput, Verdict, write

TRIALS = 200
QUERIES = tuple(range(1, 23))
MACHINE = Machine("a processor", 2, 1 << 34, "Linux 6", "3.11.4")

Slowdown = Callable[[int], float]
"""By what the time of qengine is multiplied, per query."""


def unchanged(_: int) -> float:
    return 1.0


def draw(
    dice: random.Random,
    runs: int,
    times: dict[tuple[str, int], tuple[float, float]],
    *,
    slowdown: Slowdown = unchanged,
    drift: float = 1.0,
    outliers: float = 0.03,
    modes: Sequence[Mode] = (Mode.HOT,),
) -> Result:
    """A result in which `times` has (seconds, spread) per engine and query; an outlier takes twice as long."""
    found = []
    for mode in modes:
        for (engine, query), (seconds, spread) in times.items():
            true = seconds * drift * (slowdown(query) if engine == "qengine" else 1.0)
            for number in range(1, runs + 1):
                noise = dice.lognormvariate(0, spread) * (2 if dice.random() < outliers else 1)
                found.append(Run(engine, mode, query, number, Verdict.CORRECT, true * noise))
    names = dict.fromkeys(engine for engine, _ in times)
    records = tuple(EngineRecord(name, mode, "1.0") for mode in modes for name in names)
    return Result("2026-01-02T03:04:05Z", "", "1", QUERIES, 2, 1 << 33, None, MACHINE, records, tuple(found))


def pairs(
    runs: int,
    *,
    spreads: tuple[float, float] = (0.05, 0.15),
    peers: Sequence[str] = ("duckdb",),
    slowdown: Slowdown = unchanged,
    drift: float = 1.0,
    outliers: float = 0.03,
    modes: Sequence[Mode] = (Mode.HOT,),
    trials: int = TRIALS,
) -> list[Comparison]:
    """Comparisons of two results each: queries of 20 ms to 1 s, every one with a spread of its own."""
    dice = random.Random(20260102)
    found = []
    low, high = (math.log(spread) for spread in spreads)
    for _ in range(trials):
        times = {
            (engine, query): (10 ** dice.uniform(-1.7, 0), math.exp(dice.uniform(low, high)))
            for engine in ("qengine", *peers)
            for query in QUERIES
        }
        before = draw(dice, runs, times, outliers=outliers, modes=modes)
        after = draw(dice, runs, times, slowdown=slowdown, drift=drift, outliers=outliers, modes=modes)
        found.append(compare(before, after))
    return found


def share(comparisons: list[Comparison], found: Callable[[Comparison], bool]) -> float:
    return sum(map(found, comparisons)) / len(comparisons)


def alarm(comparison: Comparison) -> bool:
    return bool(comparison.regressions)


def rows_of(comparison: Comparison, change: Change, engine: str = "qengine") -> set[str]:
    return {
        row.name
        for series in comparison.series
        for row in series.queries + series.overall
        if series.engine == engine and row.change is change
    }


# ------------------------------------------------------------------------------------------------------- rates of errors


@pytest.mark.parametrize("runs", [3, 5, 7])
@pytest.mark.parametrize("outliers", [0.0, 0.05])
def test_no_alarm_where_nothing_has_changed(runs, outliers):
    comparisons = pairs(runs, outliers=outliers)
    assert share(comparisons, alarm) < 0.05
    assert share(comparisons, lambda comparison: bool(rows_of(comparison, Change.FASTER))) < 0.05


@pytest.mark.parametrize(
    "case",
    [
        {"peers": ()},
        {"peers": ("duckdb", "polars"), "drift": 1.3},
        {"drift": 0.7},
        {"modes": (Mode.HOT, Mode.COLD)},
        {"spreads": (0.15, 0.15)},
        {"spreads": (0.01, 0.3)},
    ],
    ids=str,
)
def test_no_alarm_in_other_circumstances(case):
    assert share(pairs(3, **case), alarm) < 0.05


def test_one_slower_query_is_found():
    comparisons = pairs(5, slowdown=lambda query: 1.4 if query == 7 else 1.0)
    assert share(comparisons, lambda comparison: "Q7" in rows_of(comparison, Change.SLOWER)) > 0.9
    assert share(comparisons, lambda comparison: bool(rows_of(comparison, Change.SLOWER) - {"Q7", TOTAL, MEAN})) < 0.05


@pytest.mark.parametrize("case", [{}, {"peers": ()}, {"drift": 0.95}, {"peers": ("duckdb", "polars")}], ids=str)
def test_slower_queries_all_over_are_found(case):
    comparisons = pairs(5, slowdown=lambda _: 1.1, **case)
    assert share(comparisons, lambda comparison: MEAN in rows_of(comparison, Change.SLOWER)) > 0.9


def test_three_runs_suffice_for_a_large_change():
    comparisons = pairs(3, slowdown=lambda query: 3.0 if query == 7 else 1 / 3 if query == 8 else 1.0, trials=100)
    assert share(comparisons, lambda comparison: "Q7" in rows_of(comparison, Change.SLOWER)) > 0.95
    assert share(comparisons, lambda comparison: "Q8" in rows_of(comparison, Change.FASTER)) > 0.95


def test_a_slower_machine_is_a_slower_engine_only_without_peers():
    assert share(pairs(5, drift=1.3, peers=(), trials=50), alarm) == 1.0
    found = pairs(5, drift=1.3, trials=50)
    assert share(found, alarm) < 0.1
    drifts = [series.drift for comparison in found for series in comparison.series if series.engine == "qengine"]
    assert all(1.15 < drift < 1.45 for drift in drifts)


# -------------------------------------------------------------------------------------------------------- the statistics


@pytest.mark.parametrize(
    ("t", "freedom", "tail"),
    [
        (6.314, 1, 0.05),
        (2.920, 2, 0.05),
        (2.353, 3, 0.05),
        (2.132, 4, 0.05),
        (3.365, 5, 0.01),
        (2.764, 10, 0.01),
        (1.96, 1e6, 0.025),
    ],
)
def test_students_distribution_as_in_printed_tables(t, freedom, tail):
    assert student_tail(t, freedom) == pytest.approx(tail, rel=2e-3)
    assert student_tail(-t, freedom) == pytest.approx(1 - tail, rel=2e-3)


def test_the_detectable_difference_is_just_significant():
    change = shift(([0.0, 0.1, 0.2], [0.1, 0.2, 0.3]), Noise(0.1, 6))
    assert student_tail(change.detectable(0.01) / change.error, change.freedom) == pytest.approx(0.01)
    assert change.value == pytest.approx(0.1)


def test_holm_is_stricter_than_each_test_and_less_strict_than_bonferroni():
    assert significant([0.04, 0.01, 0.5], 0.05) == [False, True, False]
    assert significant([0.02, 0.01, 0.5], 0.05) == [True, True, False]  # 0.02 * 3 is above the level
    assert significant([], 0.05) == []


def draw_pairs(dice: random.Random, size: int, spreads: Sequence[float]) -> list[tuple[list[float], list[float]]]:
    return [([dice.gauss(5, s) for _ in range(size)], [dice.gauss(5, s) for _ in range(size)]) for s in spreads]


@pytest.mark.parametrize("size", [2, 3, 7])
def test_the_typical_spread_is_right_for_small_samples_and_robust(size):
    dice = random.Random(1)
    samples = draw_pairs(dice, size, [0.1] * 1000)
    assert noise_of(samples).typical == pytest.approx(0.1, rel=0.05)
    disturbed = [([*before, 9.0], after) if dice.random() < 0.2 else (before, after) for before, after in samples]
    assert noise_of(disturbed).typical < 0.15


def test_the_typical_spread_counts_as_much_as_spreads_agree():
    dice = random.Random(1)
    assert noise_of(draw_pairs(dice, 3, [0.1] * 200)).freedom == MOST_SHARED
    assert noise_of(draw_pairs(dice, 3, [0.07, 0.13] * 100)).freedom in (4, 5, 6, 7)
    assert noise_of(draw_pairs(dice, 3, [0.01, 0.3] * 100)).freedom <= 2
    assert noise_of(draw_pairs(dice, 3, [0.1])).freedom == 1


def test_trigamma_as_in_printed_tables():
    assert [trigamma(x) for x in (0.5, 1, 2)] == pytest.approx([4.9348, 1.6449, 0.6449], rel=1e-4)


def test_a_minority_far_above_the_fastest_is_left_out():
    assert undisturbed([0.0, 0.01, 0.9], 0.02) == [0.0, 0.01]
    assert undisturbed([0.0, 0.9, 0.91], 0.02) == [0.0, 0.9, 0.91]


def test_combined_shifts():
    one = shift(([0.0, 0.1], [0.3, 0.4]), Noise(0.1, 6))
    both = combined([(0.5, one), (0.5, one)])
    assert both.value == pytest.approx(one.value)
    assert both.error == pytest.approx(one.error / math.sqrt(2))
    assert both.freedom == pytest.approx(2 * one.freedom)


# ------------------------------------------------------------------------------------------------ what is not left to chance


def steady(seconds: float = 0.1, engines: Sequence[str] = ("qengine", "duckdb"), runs: int = 5) -> Result:
    times = {(engine, query): (seconds, 0.02) for engine in engines for query in QUERIES}
    return draw(random.Random(1), runs, times, outliers=0.0)


def spoil(result: Result, engine: str, query: int, verdict: Verdict) -> Result:
    return replace(
        result,
        runs=tuple(
            replace(run, verdict=verdict, detail="row 3") if (run.engine, run.query, run.number) == (engine, query, 2) else run
            for run in result.runs
        ),
    )


def scale(result: Result, factor: float, engine: str = "qengine", queries: Sequence[int] = QUERIES) -> Result:
    return replace(
        result,
        runs=tuple(
            replace(run, seconds=run.seconds * factor) if run.engine == engine and run.query in queries else run
            for run in result.runs
        ),
    )


def test_a_result_compared_with_itself():
    result = steady()
    comparison = compare(result, result)
    assert comparison.regressions == ()
    assert all(row.ratio == pytest.approx(1) for series in comparison.series for row in series.queries + series.overall)


def test_a_broken_query_is_a_regression_and_a_mended_one_is_none():
    good = steady()
    bad = spoil(good, "qengine", 9, Verdict.WRONG)
    broken = compare(good, bad)
    assert [(row.name, row.change, row.detail) for _, row in broken.regressions] == [("Q9", Change.BROKEN, "wrong: row 3")]
    mended = compare(bad, good)
    assert mended.regressions == () and rows_of(mended, Change.MENDED) == {"Q9"}
    assert rows_of(compare(bad, bad), Change.UNJUDGED) == {"Q9"}


def test_qengine_that_does_not_open_any_more_is_broken_and_a_peer_is_a_note():
    good = steady()
    gone = {engine: _without(good, engine) for engine in ("qengine", "duckdb")}
    assert rows_of(compare(good, gone["qengine"]), Change.BROKEN) == {f"Q{query}" for query in QUERIES}
    comparison = compare(good, gone["duckdb"])
    assert comparison.regressions == ()
    assert any("duckdb hot was not available" in note for note in comparison.notes)
    assert any("without another engine" in note for note in comparison.notes)


def _without(result: Result, engine: str) -> Result:
    return replace(
        result,
        engines=tuple(replace(r, reason="it does not open") if r.name == engine else r for r in result.engines),
        runs=tuple(
            replace(run, verdict=Verdict.UNAVAILABLE, seconds=None) if run.engine == engine else run for run in result.runs
        ),
    )


def test_slower_peers_are_shown_and_no_regression():
    result = steady(engines=("qengine", "duckdb", "polars", "datafusion"))
    comparison = compare(result, scale(result, 1.5, "polars", (1, 2)))
    assert comparison.regressions == ()
    assert rows_of(comparison, Change.SLOWER, "polars") >= {"Q1", "Q2"}


def test_a_variant_is_judged_with_its_engine_and_is_no_peer():
    dice = random.Random(7)
    times = {(engine, query): (0.1, 0.02) for engine in ("qengine", "qengine (off)", "duckdb") for query in QUERIES}
    results = [draw(dice, 5, times) for _ in range(2)]
    before, after = (
        replace(
            result,
            engines=tuple(
                replace(record, variant_of="qengine" if record.name == "qengine (off)" else "") for record in result.engines
            ),
        )
        for result in results
    )
    assert not compare(before, after).regressions
    slower = tuple(
        replace(run, seconds=3 * (run.seconds or 0.0)) if run.engine == "qengine (off)" else run for run in after.runs
    )
    comparison = compare(before, replace(after, runs=slower))
    assert {series.engine for series, _ in comparison.regressions} == {"qengine (off)"}
    assert {series.engine: series.peers for series in comparison.series} == {
        "qengine": ("duckdb",),
        "qengine (off)": ("duckdb",),
        "duckdb": (),
    }


def test_a_peer_of_another_version_tells_nothing_of_the_machine():
    result = steady()
    newer = replace(result, engines=(result.engines[0], replace(result.engines[1], version="2.0")))
    comparison = compare(result, scale(newer, 0.5, "duckdb"))
    assert comparison.regressions == ()
    assert any("version 1.0 before, 2.0 after" in note for note in comparison.notes)


def test_threshold_and_floor():
    result = steady()
    assert alarm(compare(result, scale(result, 1.15)))
    assert not alarm(compare(result, scale(result, 1.15), threshold=20))
    tiny = steady(0.002)
    assert rows_of(compare(tiny, scale(tiny, 1.3)), Change.SLOWER) == {TOTAL}  # 0.6 ms each, 13 ms together


def test_times_of_zero_are_no_error():
    result = steady()
    nothing = scale(result, 0.0)
    assert not alarm(compare(nothing, nothing))
    assert alarm(compare(nothing, result))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"scale_factor": "10"}, "scale factor 1 and 10"),
        ({"threads": 4}, "threads 2 and 4"),
        ({"seed": 3}, "seed None and 3"),
        ({"memory_limit": 1 << 34}, "memory limit 8.0 GiB and 16.0 GiB"),
        ({"machine": replace(MACHINE, cores=8)}, "cores 2 and 8"),
        ({"machine": replace(MACHINE, processor="another")}, "processor a processor and another"),
        ({"queries": (23,)}, "no query in common"),
        (
            {"engines": (EngineRecord("qengine", Mode.COLD),)},
            "no engine and mode in common: qengine hot, duckdb hot; and qengine cold",
        ),
        ({"runs": ()}, "two correct runs or more"),
    ],
    ids=str,
)
def test_what_cannot_be_compared_is_refused(tmp_path, capsys, change, complaint):
    before, after = steady(), replace(steady(), **change)
    if not change.get("runs", True):
        before = after
    with pytest.raises(TpchError, match=complaint):
        compare(before, after)
    write(before, tmp_path / "a.json")
    write(after, tmp_path / "b.json")
    assert main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err and len(printed.err.splitlines()) == 1 and not printed.out


def test_a_result_that_is_too_noisy_says_so():
    dice = random.Random(1)
    times = {(engine, query): (0.1, 0.9) for engine in ("qengine", "duckdb") for query in QUERIES}
    notes = compare(draw(dice, 3, times), draw(dice, 3, times)).notes
    assert any(re.match(r"qengine hot: too noisy to see less than \d+% in the geometric mean", note) for note in notes)
    assert compare(steady(), steady()).notes == compare(steady(), steady(), threshold=100).notes == ()


def test_differences_that_do_not_matter_are_told():
    before = steady()
    after = replace(
        before,
        queries=QUERIES[:20],
        machine=replace(MACHINE, python="3.13.1", memory=MACHINE.memory - (1 << 20)),
        engines=(replace(before.engines[0], settings={"cache": "off"}), before.engines[1], EngineRecord("daft", Mode.HOT)),
    )
    notes = compare(before, after).notes
    assert notes == (
        "Python: 3.11.4 before, 3.13.1 after",
        "only in the first result: Q21, Q22",
        "only in the second result: daft hot",
        "qengine hot: cache none before, off after",
    )


# ------------------------------------------------------------------------------------------------- memory and throughput


def with_peaks(result: Result, engine: str, *peaks: int) -> Result:
    """Each run of all queries of an engine has its peak (MiB) in query 3 and half of that elsewhere."""
    return replace(
        result,
        runs=tuple(
            replace(run, memory=(peaks[run.number - 1] << 20) // (1 if run.query == 3 else 2)) if run.engine == engine else run
            for run in result.runs
        ),
    )


def row_of(comparison: Comparison, name: str, engine: str = "qengine") -> Row:
    return next(row for one in comparison.series for row in one.overall if (one.engine, row.name) == (engine, name))


@pytest.mark.parametrize(
    ("after", "change"),
    [
        ((1000, 1010, 1020), Change.NONE),
        ((1060, 1070, 1300), Change.NONE),  # one run is not above those before by enough
        ((1180, 1200, 1300), Change.LARGER),
        ((700, 720, 800), Change.SMALLER),
    ],
)
def test_memory_grew_if_every_run_is_above_every_run_before(after, change):
    good = with_peaks(steady(runs=3), "qengine", 990, 1000, 1050)
    comparison = compare(good, with_peaks(good, "qengine", *after))
    row = row_of(comparison, PEAK)
    assert row.change is change
    assert f"1,000 to {sorted(after)[1]:,} MiB" in row.detail
    assert bool(comparison.regressions) == (change is Change.LARGER)
    assert ("peak memory qengine hot larger by" in as_text(comparison)) == (change is Change.LARGER)


def test_small_amounts_of_memory_and_those_of_peers_are_no_regression():
    good = steady(runs=3)
    assert not compare(with_peaks(good, "qengine", 50, 50, 50), with_peaks(good, "qengine", 100, 100, 100)).regressions
    peers = compare(with_peaks(good, "duckdb", 500, 500, 500), with_peaks(good, "duckdb", 900, 900, 900))
    assert row_of(peers, PEAK, "duckdb").change is Change.LARGER and not peers.regressions


def with_streams(result: Result, **seconds: float) -> Result:
    runs = [replace(run, stream=run.number) for run in result.runs if run.number <= 2]
    took = tuple(Throughput(engine, Mode.HOT, value, (value, value)) for engine, value in seconds.items())
    return replace(result, runs=(*result.runs, *runs), throughput=took)


@pytest.mark.parametrize(
    ("qengine", "duckdb", "change"),
    [(10.0, 20.0, Change.NONE), (15.0, 20.0, Change.SLOWER), (15.0, 30.0, Change.NONE), (6.0, 20.0, Change.FASTER)],
)
def test_throughput_is_judged_beside_that_of_the_peers(qengine, duckdb, change):
    good = steady(runs=3)
    comparison = compare(with_streams(good, qengine=10.0, duckdb=20.0), with_streams(good, qengine=qengine, duckdb=duckdb))
    assert row_of(comparison, THROUGHPUT).change is change
    assert bool(comparison.regressions) == (change is Change.SLOWER)
    assert "15,840 to" in row_of(comparison, THROUGHPUT).detail


def test_throughput_is_no_surer_than_the_queries():
    dice = random.Random(3)
    times = {("qengine", query): (0.1, 1.0) for query in QUERIES}
    noisy = [with_streams(draw(dice, 3, times), qengine=seconds) for seconds in (10.0, 15.0)]
    row = row_of(compare(*noisy), THROUGHPUT)
    assert row.change is Change.NONE and row.noise is not None and row.noise > 1.5


def test_throughput_that_is_not_in_both_or_of_other_streams_or_wrong_is_not_judged():
    good = steady(runs=3)
    both = with_streams(good, qengine=10.0)
    wrong = replace(both, runs=(*both.runs[:-1], *(replace(run, verdict=Verdict.WRONG) for run in both.runs if run.stream)))
    other = replace(both, throughput=(Throughput("qengine", Mode.HOT, 30.0, (30.0,)),))
    for after in (good, wrong, other):
        assert THROUGHPUT not in {row.name for one in compare(both, after).series for row in one.overall}


# ------------------------------------------------------------------------------------------------------------- the command


@pytest.fixture
def files(tmp_path):
    good = steady()
    for name, result in {"good": good, "slow": scale(good, 1.5, queries=(3,)), "fast": scale(good, 0.5)}.items():
        write(result, tmp_path / f"{name}.json")
    return lambda name: str(tmp_path / f"{name}.json")


def test_exit_status_and_text(files, capsys):
    assert main(["compare", files("good"), files("slow")]) == 1
    text = capsys.readouterr().out
    line = next(line for line in text.splitlines() if line.startswith("Q3 "))
    assert line.split()[:4] == ["Q3", "0.0984", "0.1477", "+50.0%"] and line.endswith("slower")
    assert text.splitlines()[-1] == "regressions: Q3 qengine hot slower by +50.0%"
    assert main(["compare", files("good"), files("good")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no regression of qengine"
    assert main(["compare", files("good"), files("fast")]) == 0
    assert main(["compare", files("good"), files("slow"), "--threshold", "60"]) == 0


def test_markdown(files, capsys):
    assert main(["compare", files("good"), files("slow"), "--format", "markdown"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(
        re.fullmatch(r"\| Q3 \| 0.0984 \| 0.1477 \| \*\*\+50.0%\*\* \| ±\d+% \| \*\*slower\*\* \|", line) for line in lines
    )
    assert {line.count("|") for line in lines if line.startswith("|")} == {7}


def test_colours_say_the_same_as_plain_text(capsys):
    good = steady()
    comparison = compare(good, spoil(scale(good, 1.5, queries=(3,)), "qengine", 4, Verdict.TIMEOUT))
    print_in_colours(comparison)
    shown = capsys.readouterr().out
    for word in ("Q3", "slower", "Q4", "broken", "geometric mean", "regressions: Q3"):
        assert word in shown and word in as_text(comparison) and word in as_markdown(comparison)


def test_files_that_are_none(files, tmp_path, capsys):
    assert main(["compare", files("good"), str(tmp_path / "none.json")]) == 2
    (tmp_path / "old.json").write_text('{"format": 99}')
    assert main(["compare", str(tmp_path / "old.json"), files("good")]) == 2
    assert "another version" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["compare", files("good"), files("good"), "--threshold", "much"])

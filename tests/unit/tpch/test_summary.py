"""The tables at the end of a run, and the displays while it runs."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from tests.unit.tpch.results_examples import corner_results, example_result
from tpch.report.figures import figures_of
from tpch.results import Mode, Run, Verdict
from tpch.run_display import display
from tpch.summary import format_summary, format_verdicts

HOT = (Mode.HOT,)


def rows_of(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split() for line in text.splitlines() if line}


def test_one_engine() -> None:
    text = format_summary(figures_of(example_result(("qengine",), HOT)))
    assert text.splitlines()[0].split() == ["query", "qengine", "s", "rows", "verdict"]
    assert text.endswith("\n22/22 correct\n")
    assert "no QphH is claimed" in text


def test_the_ratio_is_to_the_best_peer() -> None:
    result = example_result(("qengine", "duckdb", "polars"), HOT, (6, 14), runs=3)
    rows = rows_of(format_summary(figures_of(result)))
    medians = [result.median(name, Mode.HOT, 6) or 0.0 for name in ("qengine", "duckdb", "polars")]
    assert rows["Q6"][1:5] == [*(f"{value:.3f}" for value in medians), f"{medians[0] / min(medians[1:]):.2f}"]
    total = [sum(result.median(name, Mode.HOT, number) or 0.0 for number in (6, 14)) for name in ("qengine", "duckdb")]
    assert rows["total"][1:3] == [f"{value:.3f}" for value in total]
    assert rows["2/2"] == ["2/2", "correct"]


def test_what_is_not_correct_has_no_time_and_is_not_in_the_totals() -> None:
    verdicts = {("qengine", 4): Verdict.WRONG, ("duckdb", 6): Verdict.TIMEOUT}
    unavailable = {"chdb": "chdb is not installed"}
    result = example_result(("qengine", "duckdb", "chdb"), HOT, (1, 4, 6), verdicts=verdicts, unavailable=unavailable)
    text = format_summary(figures_of(result))
    rows = rows_of(text)
    assert rows["Q4"][1] == "-" and "wrong:" in rows["Q4"]
    assert rows["Q6"][2:4] == ["-", "-"]
    assert "correct; duckdb: timeout" in text  # a peer that is wrong is said in the row
    assert rows["total"][1] == f"{result.median('qengine', Mode.HOT, 1):.3f}"
    assert "of the 1 query that all engines compared here answered" in text
    assert "chdb: chdb is not installed" in text
    assert "duckdb (hot): 2/3 correct\nchdb (hot): 0/3 correct\n2/3 correct\n" in text
    assert figures_of(result).correct("qengine") == 2


def test_a_stream_that_is_wrong_counts() -> None:
    result = example_result(("qengine",), HOT, (1, 6), streams=2)
    assert "qengine: throughput run with 2 streams, 4/4 correct, " in format_summary(figures_of(result))
    spoilt = [replace(run, verdict=Verdict.WRONG) if run.stream and run.query == 6 else run for run in result.runs]
    text = format_summary(figures_of(replace(result, runs=tuple(spoilt))))
    assert "2/4 correct\n" in text
    assert text.endswith("\n1/2 correct\n")


def test_modes_have_a_table_each() -> None:
    text = format_summary(figures_of(example_result(("qengine", "duckdb"), (Mode.COLD, Mode.HOT))))
    assert text.count("geometric mean") == 2
    assert text.index("cold\n") < text.index("hot\n")


def test_without_qengine_the_first_engine_counts() -> None:
    assert format_summary(figures_of(example_result(("duckdb", "polars"), HOT))).endswith("\n22/22 correct (duckdb)\n")


@pytest.mark.parametrize("name", corner_results())
def test_corners(name: str) -> None:
    result = corner_results()[name]
    assert format_summary(figures_of(result)).endswith("\n") and format_verdicts(figures_of(result)).endswith("\n")


def test_verdicts() -> None:
    verdicts = {("duckdb", 6): Verdict.TIMEOUT}
    result = example_result(
        ("qengine", "duckdb", "daft"), HOT, (1, 6), 1, verdicts=verdicts, unavailable={"daft": "not installed"}
    )
    lines = format_verdicts(figures_of(result)).splitlines()
    assert [line.split() for line in lines[:4:2]] == [
        ["query", "qengine", "duckdb", "daft"],
        ["Q1", "correct", "correct", "unavailable"],
    ]
    assert lines[3].split() == ["Q6", "correct", "timeout", "unavailable"]
    assert lines[-3:] == ["qengine: 2/2 correct", "duckdb: 1/2 correct", "daft: 0/2 correct"]
    assert [line for line in lines if "not installed" in line] == ["daft: unavailable: not installed"]


DONE = Run("qengine", Mode.HOT, 1, 1, Verdict.CORRECT, seconds=0.5, rows=4)
BAD = Run("duckdb", Mode.HOT, 2, 1, Verdict.WRONG, detail="[bold]not markup")


def test_plain_progress_is_a_line_for_each_run() -> None:
    stream = io.StringIO()
    with display(("qengine", "duckdb"), (1, 2), 3, stream) as shown:
        shown.prepare("page cache")
        shown.start("qengine", Mode.HOT, 1)
        shown.finish(DONE)
        shown.finish(BAD)
        shown.finish(replace(DONE, stream=2))
    assert stream.getvalue().splitlines() == [
        "page cache",
        "[1/3] qengine hot Q1: 0.500 s, 4 rows, correct",
        "[2/3] duckdb hot Q2: - s, wrong: [bold]not markup",
        "[3/3] qengine hot stream 2 Q1: 0.500 s, 4 rows, correct",
    ]


def test_progress_on_a_terminal_is_a_table_that_fills() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with display(("qengine", "duckdb"), (1, 2), 3, stream) as shown:
        shown.start("qengine", Mode.HOT, 1)
        shown.finish(DONE)
        shown.finish(replace(DONE, engine="duckdb", seconds=0.25))
        shown.finish(BAD)
        drawn = stream.getvalue()
    assert "0.500 ████████████" in drawn
    assert "0.250 ██████" in drawn
    assert "wrong" in drawn
    assert "hot: qengine Q1" in drawn

"""The report: figures against sums made by hand from the runs, and every form of it against the figures."""

from __future__ import annotations

import csv
import doctest
import importlib
import io
import json
import math
import re
import statistics
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.unit.tpch.page_reader import Element, read_page
from tests.unit.tpch.results_examples import ALL_QUERIES, VARIANT, corner_results, example_result, troubled_result
from tpch.report import FORMATS, render
from tpch.report.charts import _apart, _axis
from tpch.report.figures import EngineFigures, ModeFigures, figures_of
from tpch.results import EngineRecord, Mode, Result, Run, Throughput, Verdict

CORNERS = corner_results()
every_corner = pytest.mark.parametrize("result", CORNERS.values(), ids=[name.replace(" ", "-") for name in CORNERS])


def of_mode(result: Result, mode: Mode) -> ModeFigures:
    return next(figures for figures in figures_of(result).modes if figures.mode is mode)


def of_engine(result: Result, mode: Mode, engine: str) -> EngineFigures:
    return next(figures for figures in of_mode(result, mode).engines if figures.name == engine)


def timed(engine: str, query: int, *seconds: float, **more: Any) -> list[Run]:
    return [
        Run(engine, Mode.HOT, query, number, Verdict.CORRECT, seconds=value, **more)
        for number, value in enumerate(seconds, start=1)
    ]


def small(*runs: Run, queries: tuple[int, ...] = (1, 2)) -> Result:
    return replace(example_result(("a",), (), queries), engines=(), runs=tuple(runs))


# ---- figures


@every_corner
def test_figures_are_those_of_the_runs(result):
    figures = figures_of(result)
    assert {(mode.mode, engine.name) for mode in figures.modes for engine in mode.engines} == (
        {(record.mode, record.name) for record in result.engines} | {(run.mode, run.engine) for run in result.runs}
    )
    for mode in figures.modes:
        for engine in mode.engines:
            medians = []
            for query in engine.queries:
                runs = [
                    run
                    for run in result.runs
                    if run.engine == engine.name and run.mode is mode.mode and run.query == query.query and not run.stream
                ]
                if runs and all(run.verdict is Verdict.CORRECT for run in runs):
                    seconds = [run.seconds for run in runs]
                    medians.append(statistics.median(seconds))
                    assert (query.median, query.minimum, query.maximum) == (medians[-1], min(seconds), max(seconds))
                    assert query.verdict is Verdict.CORRECT
                else:
                    assert (query.median, query.minimum, query.ratio, query.cumulative) == (None, None, None, None)
                    assert query.verdict is not Verdict.CORRECT
            assert engine.correct == len(medians)
            assert engine.total == (pytest.approx(sum(medians)) if medians else None)
            if medians and min(medians) > 0:
                assert engine.geometric_mean == pytest.approx(math.exp(statistics.fmean(map(math.log, medians))))
            peaks = [
                run.memory
                for run in result.runs
                if run.engine == engine.name and run.mode is mode.mode and run.memory is not None and not run.stream
            ]
            assert engine.memory == max(peaks, default=None)


def test_the_ratio_is_over_the_fastest_peer_of_each_query():
    result = small(
        *timed("qengine", 1, 1.0), *timed("a", 1, 2.0), *timed("b", 1, 4.0),
        *timed("qengine", 2, 3.0), *timed("a", 2, 2.0), *timed("b", 2, 0.5),
    )  # fmt: skip
    ours, a, b = of_mode(result, Mode.HOT).engines
    assert [query.ratio for query in ours.queries] == [0.5, 6.0]
    assert [query.ratio for query in a.queries] == [2.0, 4.0]
    assert [query.ratio for query in b.queries] == [4.0, 0.25]
    assert ours.ratio == pytest.approx(math.sqrt(3.0))
    assert ours.total_ratio == pytest.approx(4.0 / 4.0)
    assert [engine.fastest for engine in (ours, a, b)] == [1, 0, 1]
    assert [query.cumulative for query in ours.queries] == [1.0, 4.0]


def test_a_variant_of_an_engine_is_nobodys_peer_and_never_the_fastest():
    result = small(*timed("qengine", 1, 2.0), *timed(VARIANT, 1, 1.0), *timed("a", 1, 4.0), *timed("b", 1, 8.0), queries=(1,))
    records = [EngineRecord(name, Mode.HOT, variant_of="qengine" if name == VARIANT else "") for name in ("qengine", VARIANT)]
    ours, variant, a, b = of_mode(replace(result, engines=tuple(records)), Mode.HOT).engines
    assert [engine.ratio for engine in (ours, variant, a, b)] == pytest.approx([0.5, 0.25, 2.0, 4.0])
    assert [engine.total_ratio for engine in (ours, variant, a, b)] == pytest.approx([0.5, 0.25, 2.0, 4.0])
    assert [engine.fastest for engine in (ours, variant, a, b)] == [1, None, 0, 0]
    alone = of_mode(replace(small(*timed("qengine", 1, 2.0), *timed(VARIANT, 1, 1.0)), engines=tuple(records)), Mode.HOT)
    assert [(engine.ratio, engine.total_ratio) for engine in alone.engines] == [(None, None)] * 2


def test_a_report_is_about_qengine_wherever_it_stands_and_else_about_the_first():
    result = small(*timed("a", 1, 2.0), *timed("qengine", 1, 1.0), queries=(1,))
    assert of_mode(result, Mode.HOT).subject == 1
    page = read_page(render(result, "html"))
    assert [p.text() for p in page.all("p", "headline")] == [
        "qengine takes 0.50× the time of its best peer and is the fastest in 1 of 1."
    ]
    assert "The time of qengine over" in page.text()
    assert of_mode(small(*timed("a", 1, 2.0)), Mode.HOT).subject == 0


def test_an_engine_alone_has_no_ratio_and_is_not_called_the_fastest():
    (engine,) = of_mode(small(*timed("qengine", 1, 1.0), *timed("qengine", 2, 1.0)), Mode.HOT).engines
    assert (engine.ratio, engine.total_ratio, engine.fastest) == (None, None, 0)


def test_totals_are_compared_over_the_queries_that_all_engines_answered():
    failed = Run("b", Mode.HOT, 3, 1, Verdict.FAILED, detail="boom")
    runs = [run for query in (1, 2, 3, 4) for run in timed("a", query, float(query))]
    runs += [run for query in (1, 2, 4) for run in timed("b", query, 10.0)] + [failed]
    runs += timed("weak", 1, 5.0)  # one of four is too few to take part
    mode = of_mode(small(*runs, queries=(1, 2, 3, 4)), Mode.HOT)
    a, b, weak = mode.engines
    assert mode.common == (1, 2, 4)
    assert not mode.complete
    assert (a.total, a.common_total, b.total, b.common_total) == (10.0, 7.0, 30.0, 30.0)
    assert (weak.total, weak.common_total, weak.total_ratio) == (5.0, None, None)
    assert a.total_ratio == pytest.approx(7 / 30)
    assert [query.cumulative for query in a.queries] == [1.0, 3.0, None, 7.0]


def test_an_interrupted_benchmark_is_compared_over_what_all_have():
    runs = [run for engine in ("a", "b") for run in timed(engine, 2, 1.0)]
    assert of_mode(small(*runs, queries=ALL_QUERIES), Mode.HOT).common == (2,)


def test_one_bad_run_spoils_its_query_and_says_why():
    runs = [*timed("a", 1, 1.0, 1.0), Run("a", Mode.HOT, 1, 3, Verdict.WRONG, seconds=1.0, detail="row 7")]
    first, second = of_engine(small(*runs), Mode.HOT, "a").queries
    assert (first.verdict, first.detail, first.median) == (Verdict.WRONG, "row 7", None)
    assert (second.verdict, second.median) == (None, None)


def test_throughput_is_all_queries_over_the_time_from_first_start_to_last_end():
    runs = [replace(run, stream=stream) for stream in (1, 2) for query in (1, 2) for run in timed("a", query, float(stream))]
    took = (Throughput("a", Mode.HOT, 5.0, (2.5, 4.5)),)
    streams = of_engine(replace(small(*runs), throughput=took), Mode.HOT, "a").streams
    assert streams is not None
    assert (streams.streams, streams.runs, streams.correct) == (2, 4, 4)
    assert (streams.seconds, streams.elapsed) == ((2.5, 4.5), 5.0)
    assert streams.queries_per_hour == pytest.approx(4 * 3600 / 5.0)
    failed = replace(runs[-1], verdict=Verdict.FAILED, seconds=None, detail="boom")
    spoilt = replace(small(*runs[:-1], failed), throughput=took)
    streams = of_engine(spoilt, Mode.HOT, "a").streams
    assert streams is not None
    assert (streams.correct, streams.queries_per_hour, streams.incorrect) == (3, None, (failed,))
    for form in ("html", "markdown", "text"):
        assert "stream 2, Q2" in render(spoilt, form) and "boom" in render(spoilt, form)
    unfinished = of_engine(small(*runs), Mode.HOT, "a").streams
    assert unfinished is not None and (unfinished.elapsed, unfinished.queries_per_hour) == (None, None)


# ---- all forms


@every_corner
@pytest.mark.parametrize("form", FORMATS)
def test_every_form_survives_every_corner_and_disclaims_an_audit(result, form):
    text = render(result, form)
    assert text.endswith("\n")
    if form in ("html", "markdown", "text"):
        assert "QphH" in text
        assert "audited" in text


def test_no_engine_and_no_query_is_missing_in_any_form():
    result = troubled_result()
    rows = list(csv.DictReader(io.StringIO(render(result, "csv"))))
    wanted = {(mode.value, record.name, str(query)) for mode in Mode for record in result.engines for query in ALL_QUERIES}
    assert {(row["mode"], row["engine"], row["query"]) for row in rows} == wanted
    assert len(rows) == len(wanted)
    for form in ("html", "markdown", "text"):
        text = render(result, form)
        for word in ("wrong", "failed", "timeout", "out of memory", "unavailable", "no answer within 60 s"):
            assert word in text, (form, word)
        assert all(f"Q{query}" in text for query in ALL_QUERIES)


def test_csv_has_the_exact_figures():
    result = troubled_result()
    for row in csv.DictReader(io.StringIO(render(result, "csv"))):
        mode, engine, query = Mode(row["mode"]), row["engine"], int(row["query"])
        median = result.median(engine, mode, query)
        assert (float(row["median_seconds"]) if row["median_seconds"] else None) == median
        assert row["verdict"] == (result.runs_of(engine, mode, query)[-1].verdict.value)
        assert int(row["timed_runs"]) == len(result.seconds_of(engine, mode, query))


@every_corner
def test_markdown_tables_are_rectangular_and_nothing_of_a_result_is_markup(result):
    text = render(result, "markdown")
    blocks = [block.splitlines() for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]
    for lines in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
        assert set(lines[1]) <= set("|-: ")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert not re.findall(r"(?<!\\)[<>]", prose)
    fastest = of_mode(result, Mode.HOT).engines[0].queries if Mode.HOT in {m.mode for m in figures_of(result).modes} else ()
    assert prose.count("**") % 2 == 0
    assert not any(query.fastest for query in fastest) or "**" in text


@every_corner
def test_text_columns_are_aligned(result):
    lines = render(result, "text").splitlines()
    for place, line in enumerate(lines):
        if set(line) == {"-"}:
            assert len(lines[place - 1]) <= len(line)
            assert max(len(row) for row in lines[place + 1 : lines.index("", place)] or [""]) <= len(line)


def test_the_fastest_is_marked_in_every_readable_form():
    result = small(*timed("a", 1, 1.25), *timed("b", 1, 2.5), queries=(1,))
    assert "| Q1 | **1.250** | 2.500 |" in render(result, "markdown")
    assert re.search(r"^Q1 +1\.250 \* +2\.500$", render(result, "text"), re.MULTILINE)
    (table,) = read_page(render(result, "html")).all("table", "queries")
    marked, unmarked = (table.all("tbody")[0].all("td", "best"), table.all("tbody")[0].all("td"))
    assert [cell.text() for cell in marked] == ["●fastest 1.250"]
    assert len(unmarked) == 2


# ---- the page


def resolve(document: Any, pointer: str) -> Any:
    """RFC 6901, without the escapes, which no key of ours needs."""
    for part in pointer.split("/")[1:]:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


@every_corner
def test_every_figure_on_the_page_is_in_the_json(result):
    document = json.loads(render(result, "json"))
    page = read_page(render(result, "html"))
    figures = page.all("data")
    assert bool(figures) == bool(result.engines or result.runs)
    for element in figures:
        pointer, value, text = element.attributes["data-pointer"], element.attributes["value"], element.text()
        assert pointer is not None
        assert value is not None
        found = resolve(document, pointer)
        assert float(value) == found, pointer
        assert agrees(text, found), (pointer, found, text)


def agrees(text: str, value: float) -> bool:
    """Whether a text shows a value, rounded to the digits that it has."""
    number, unit = re.fullmatch(r"([\d.,]+)\s*(×|[KMGT]iB|B)?", text).groups()
    shown = float(number.replace(",", ""))
    scale = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}.get(unit or "", 1)
    half = 0.5 * 10.0 ** -len(number.partition(".")[2])
    return abs(shown - value / scale) <= half * 1.0000001


@every_corner
def test_no_figure_on_the_page_is_without_its_pointer(result):
    page = read_page(render(result, "html"))
    measured = [section for section in page.all("section") if section.attributes.get("id") in set(Mode)]
    measured += page.all("section", "glance")
    assert len(measured) == len(figures_of(result).modes) + bool(figures_of(result).modes)
    for section in measured:
        for name in result_names(result):
            replace_text(section, name, " ")
        text = section.text(without=frozenset({"data", "x", "y", "scale", "troubles"}))
        numbers = re.findall(r"\d[\d.,]*\d|\d", re.sub(r"\bQ\d+", " ", text))
        # What is left counts queries or runs, or explains a scale.
        most = max(10, len(result.queries), len(result.runs))
        assert all(number.isdigit() and int(number) <= most for number in numbers), numbers


def result_names(result: Result) -> list[str]:
    return [*(record.name for record in result.engines), *(record.reason for record in result.engines if record.reason)]


def replace_text(element: Element, old: str, new: str) -> None:
    for place, item in enumerate(element.content):
        if isinstance(item, Element):
            replace_text(item, old, new)
        else:
            element.content[place] = item.replace(old, new)


@every_corner
def test_the_page_is_one_file_without_scripts_and_network(result):
    text = render(result, "html")
    page = read_page(text)
    assert not [e for e in page.walk() if e.tag in ("script", "img", "iframe", "object", "video", "base", "form")]
    assert not [name for e in page.walk() for name in e.attributes if name.startswith("on") or name == "src"]
    assert [e.attributes["href"] for e in page.all("link")] == ["data:,"]
    style = page.all("style")[0].text()
    assert "url(" not in style
    assert "@import" not in style
    assert "://" not in re.sub(re.escape(result.command), "", text)


@every_corner
def test_the_structure_of_the_page(result):
    page = read_page(render(result, "html"))
    (html,) = page.all("html")
    assert html.attributes["lang"] == "en"
    assert len(page.all("h1")) == len(page.all("main")) == 1
    ids = [e.attributes["id"] for e in page.walk() if "id" in e.attributes]
    assert len(set(ids)) == len(ids)
    assert {(e.attributes["href"] or "")[1:] for e in page.all("a")} <= set(ids)
    levels = [int(e.tag[1]) for e in page.walk() if re.fullmatch(r"h[1-6]", e.tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    boxes = page.all("div", "scroll")
    assert len(boxes) == len(page.all("table"))
    for box in boxes:
        assert box.attributes["tabindex"] == "0"
        assert box.attributes["aria-label"]
        (table,) = box.all("table")
        rows = table.all("tr")
        assert len({len(row.all("th")) + len(row.all("td")) for row in rows}) == 1
        assert all("scope" in cell.attributes for cell in table.all("th"))


@pytest.mark.parametrize(
    ("name", "headings"),
    [
        ("seven engines", {"Throughput", "Queries", "Bars per query", "Ratio to the best peer", "Cumulative time"}),
        ("trouble", {"Throughput", "What went wrong", "Ratio to the best peer", "Cumulative time"}),
        ("one engine", {"Queries", "Bars per query", "Cumulative time"}),
        ("one query", {"Queries", "Bars per query", "Ratio to the best peer"}),
        ("everything fails", {"Queries", "What went wrong", "Bars per query"}),
        ("nothing", {"How to repeat it"}),
    ],
)
def test_the_page_has_the_parts_that_there_is_something_for(name, headings):
    optional = {"Throughput", "Queries", "What went wrong", "Bars per query", "Ratio to the best peer", "Cumulative time"}
    found = {heading.text() for heading in read_page(render(CORNERS[name], "html")).all("h3")}
    assert headings <= found
    if name in ("one engine", "one query", "everything fails", "nothing"):
        assert found & optional == headings & optional


def test_the_page_says_how_to_repeat_it_and_what_it_ran_on():
    result = CORNERS["drawn parameters"]
    text = read_page(render(result, "html")).text()
    for fact in (result.command, "Example Processor 3000 @ 2.50GHz", "24.0 GiB", "16.0 GiB", "3.11.7", "drawn with seed 42"):
        assert fact in text
    for record in result.engines:
        assert record.version in text


def test_nothing_of_a_result_becomes_markup():
    result = CORNERS["long names"]
    page = read_page(render(result, "html"))
    assert not page.all("b")
    assert not page.all("i")
    assert not page.all("script")
    assert "<script>alert(1)</script>" in page.text()
    assert page.text().count("<b>&\"'</b>") > 50


def test_bars_are_proportional_and_the_long_ones_cut():
    result = small(*timed("a", 1, 1.0), *timed("b", 1, 4.0), *timed("c", 1, 11.0), queries=(1,))
    (card,) = [c for c in read_page(render(result, "html")).all("article", "card") if c.all("h4")]
    bars = card.all("span", "bar")
    assert [bar.attributes["style"] for bar in bars] == ["width:10.00%", "width:40.00%", "width:100.00%"]
    assert ["cut" in bar.classes for bar in bars] == [False, False, True]


def test_lines_go_through_the_cumulative_seconds():
    runs = [run for query in (1, 2, 3) for run in timed("a", query, 1.0)]
    page = read_page(render(small(*runs, queries=(1, 2, 3)), "html"))
    (line,) = page.all("path", "line")
    assert line.attributes["d"] == "M0.0 666.7L500.0 333.3L1000.0 0.0"
    assert [tick.text() for tick in page.all("span", "y")] == ["0", "0.5", "1", "1.5", "2", "2.5", "3"]


@pytest.mark.parametrize("largest", [0.0, 1e-9, 0.0123, 0.4, 1.0, 3.999, 4.0, 99.0, 12345.6])
def test_an_axis_has_few_round_steps_and_room_for_the_largest(largest):
    top, step = _axis(largest)
    assert top >= largest
    assert 4 <= round(top / step) <= 10
    assert f"{step:e}"[0] in "125"


def test_labels_do_not_cover_each_other():
    places = _apart([50.0, 50.0, 99.0, 100.0, 100.0, 0.0, 51.0, -30.0])
    ordered = sorted(places)
    assert all(after - before > 6 for before, after in pairwise(ordered))
    assert ordered[0] >= 0
    assert ordered[-1] <= 100
    assert places[7] == 0.0
    assert places.index(ordered[1]) == 5


# ---- colours

PAIRS = [("--text", "--ground"), ("--text", "--card"), ("--muted", "--ground"), ("--muted", "--card"), ("--link", "--ground")]
PAIRS += [("--best-text", "--best"), ("--bad-text", "--bad")]


def schemes() -> dict[str, dict[str, str]]:
    style = read_page(render(CORNERS["nothing"], "html")).all("style")[0].text()
    light, dark = re.findall(r":root \{([^}]*--ground[^}]*)\}", style)
    return {name: dict(re.findall(r"(--[\w-]+): (#\w+);", block)) for name, block in (("light", light), ("dark", dark))}


def luminance(colour: str) -> float:
    """WCAG 2: relative luminance of an sRGB colour."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme):
    colours = schemes()[scheme]
    assert set(colours) == set(schemes()["light"])
    for text, ground in PAIRS:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for name in (*(f"--c{slot}" for slot in range(8)), "--faster", "--slower"):
        assert contrast(colours[name], colours["--ground"]) >= 3, name
        assert contrast(colours[name], colours["--card"]) >= 2.9, name


@pytest.mark.parametrize("module", ["formats", "markup", "terminal"])
def test_examples_in_docstrings(module):
    failed, attempted = doctest.testmod(importlib.import_module(f"tpch.report.{module}"))
    assert attempted > 0
    assert failed == 0

"""The part of the page about one mode: its engines, its queries, and their charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tpch.report import formats
from tpch.report.charts import CUT, Bar, Line, Place, bars, has_cut_bars, line_chart, phase_bar, ratio_chart
from tpch.report.columns import engine_columns, leaders, total_of, troubles
from tpch.report.figures import PHASES, EngineFigures, Figures, ModeFigures, QueryFigures, phases_of
from tpch.report.markup import EMPTY, Content, Markup, element, figure, join
from tpch.report.notes import MEANINGS, TITLES


def mode_section(figures: Figures, place: int, slots: Mapping[str, int]) -> Markup:
    """The section of the mode at `place`; `slots` give the engines their colours."""
    mode = figures.modes[place]
    pointer = f"/modes/{place}"
    return element(
        "section",
        element("h2", TITLES[mode.mode]),
        element("p", MEANINGS[mode.mode], class_="about"),
        _engine_table(mode, pointer),
        _throughput(mode, pointer),
        _query_table(figures, mode, pointer) if figures.queries else None,
        _troubles(mode),
        _phases(figures, mode, pointer) if figures.queries else None,
        _query_bars(figures, mode, pointer, slots) if figures.queries else None,
        element(
            "div",
            _ratios(mode, pointer),
            _cumulative(figures, mode, pointer, slots) if len(mode.common) > 1 else None,
            class_="pair",
        ),
        _every_run(mode, pointer) if figures.queries else None,
        id=mode.mode.value,
    )


def table(
    caption: str,
    head: Iterable[Content],
    rows: Iterable[Iterable[Content]],
    foot: Iterable[Iterable[Content]] = (),
    class_: str = "",
) -> Markup:
    """A table in a box of its own that scrolls sideways, by keyboard too, while the page does not."""
    last = [element("tr", *cells) for cells in foot]
    return element(
        "div",
        element(
            "table",
            element("caption", caption),
            element("thead", element("tr", *head)),
            element("tbody", *(element("tr", *cells) for cells in rows)),
            element("tfoot", *last) if last else None,
            class_=class_ or None,
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption,
    )


def cut_note() -> Markup:
    """Says what a bar with an open end is."""
    return element("p", f"Bars with a torn end are cut: they are longer than {CUT} times the shortest one.", class_="note")


def _engine_table(mode: ModeFigures, pointer: str) -> Markup:
    columns = engine_columns(mode)
    best = [leaders(column, mode) for column in columns]
    rows = []
    for index, engine in enumerate(mode.engines):
        cells = [element("th", engine.name, scope="row")]
        for column, first in zip(columns, best, strict=True):
            value = column.value(engine)
            shown = figure(f"{pointer}/engines/{index}/{column.field}", value, column.show(value))
            of = formats.coverage(engine) if column.over_queries and value is not None else ""
            cells.append(_cell(shown, engine.name in first, element("small", of) if of else None))
        rows.append(cells)
    head = [element("th", "engine", scope="col", class_="text")]
    head += [element("th", column.title, scope="col") for column in columns]
    return join(element("h3", "Engines"), table(f"{TITLES[mode.mode]}: engines", head, rows, class_="summary"))


def _throughput(mode: ModeFigures, pointer: str) -> Markup:
    rows = []
    for index, engine in enumerate(mode.engines):
        streams = engine.streams
        if streams is None:
            continue
        path = f"{pointer}/engines/{index}/streams"
        answered = join(figure(f"{path}/correct", streams.correct, formats.count(streams.correct)), f" of {streams.runs}")
        each = [
            join(" · " if stream else None, figure(f"{path}/seconds/{stream}", seconds, formats.seconds(seconds)))
            for stream, seconds in enumerate(streams.seconds)
        ]
        rows.append(
            (
                element("th", engine.name, scope="row"),
                element("td", figure(f"{path}/streams", streams.streams, formats.count(streams.streams))),
                element("td", answered),
                element(
                    "td", figure(f"{path}/queries_per_hour", streams.queries_per_hour, formats.count(streams.queries_per_hour))
                ),
                element("td", figure(f"{path}/elapsed", streams.elapsed, formats.seconds(streams.elapsed))),
                element("td", figure(f"{path}/memory", streams.memory, formats.memory(streams.memory))),
                element("td", *each),
            )
        )
    if not rows:
        return EMPTY
    titles = ("engine", "streams", "correct", "queries per hour", "elapsed s", "peak memory", "seconds of each stream")
    head = [element("th", text, scope="col", class_="text" if text == "engine" else None) for text in titles]
    return join(element("h3", "Throughput"), table(f"{TITLES[mode.mode]}: throughput", head, rows, class_="throughput"))


def _query_table(figures: Figures, mode: ModeFigures, pointer: str) -> Markup:
    rows = [
        (
            element("th", f"Q{number}", scope="row"),
            *(
                _query_cell(engine.queries[place], f"{pointer}/engines/{index}/queries/{place}")
                for index, engine in enumerate(mode.engines)
            ),
        )
        for place, number in enumerate(figures.queries)
    ]
    foot = []
    for title, field in (("total", "total"), ("mean", "geometric_mean")):
        cells = [element("th", title, scope="row")]
        for index, engine in enumerate(mode.engines):
            value = getattr(engine, field)
            of = formats.coverage(engine) if value is not None else ""
            shown = figure(f"{pointer}/engines/{index}/{field}", value, formats.seconds(value))
            cells.append(_cell(shown, False, element("small", of) if of else None))
        foot.append(cells)
    head = [
        element("th", "query", scope="col", class_="text"),
        *(element("th", engine.name, scope="col") for engine in mode.engines),
    ]
    legend = "Median seconds; below it the fastest and the slowest run."
    if len(mode.engines) > 1:
        legend += " The fastest engine of a query is bold and marked ●."
    return join(
        element("h3", "Queries"),
        element("p", legend, class_="note"),
        table(f"{TITLES[mode.mode]}: median seconds per query", head, rows, foot, class_="queries"),
    )


def _query_cell(query: QueryFigures, path: str) -> Markup:
    if query.median is None:
        return element("td", element("span", formats.verdict(query), class_="verdict"))
    spread = formats.spread(query)
    below = None
    if spread:
        low, _, high = spread.partition("–")
        below = element(
            "small", figure(f"{path}/minimum", query.minimum, low), "–", figure(f"{path}/maximum", query.maximum, high)
        )
    return _cell(figure(f"{path}/median", query.median, formats.seconds(query.median)), query.fastest, below)


def _cell(shown: Markup, best: bool, below: Content = None) -> Markup:
    mark = join(element("span", "●", class_="mark", aria_hidden="true"), element("span", "fastest ", class_="unseen"))
    return element("td", mark if best else None, shown, below, class_="best" if best else None)


def _troubles(mode: ModeFigures) -> Markup:
    found = troubles(mode)
    if not found:
        return EMPTY
    items = (element("li", element("strong", f"{engine}, {where}"), " ", what) for engine, where, what in found)
    return join(element("h3", "What went wrong"), element("ul", *items, class_="troubles"))


def _phases(figures: Figures, mode: ModeFigures, pointer: str) -> Markup:
    """Where the time of the engine that the report is about went, if it tells all of that."""
    if mode.subject is None:
        return EMPTY
    engine = mode.engines[mode.subject]
    if engine.execution_seconds is None:
        return EMPTY
    rows = []
    for place, query in enumerate(engine.queries):
        path = f"{pointer}/engines/{mode.subject}/queries/{place}"
        cells = [
            element("td", figure(f"{path}/{phase}_seconds", seconds, formats.seconds(seconds)))
            for phase, seconds in zip(PHASES, phases_of(query), strict=True)
        ]
        rows.append(
            (
                element("th", f"Q{query.query}", scope="row"),
                element("td", phase_bar(phases_of(query)), class_="text"),
                *cells,
                element("td", figure(f"{path}/median", query.median, formats.seconds(query.median))),
            )
        )
    titles = ("query", "parts of the time", *(f"{phase} s" for phase in PHASES), "all s")
    head = [element("th", title, scope="col", class_="text" if place < 2 else None) for place, title in enumerate(titles)]
    return join(
        element("h3", f"Where the time of {engine.name} goes"),
        element(
            "p", "Medians of planning (the strongest colour), execution and delivery, which are explained below.", class_="note"
        ),
        table(f"{TITLES[mode.mode]}: planning, execution and delivery of {engine.name}", head, rows, class_="phases"),
    )


def _query_bars(figures: Figures, mode: ModeFigures, pointer: str, slots: Mapping[str, int]) -> Markup:
    cards, any_cut = [], False
    for place, number in enumerate(figures.queries):
        rows = []
        for index, engine in enumerate(mode.engines):
            query = engine.queries[place]
            shown = figure(f"{pointer}/engines/{index}/queries/{place}/median", query.median, formats.seconds(query.median))
            text = element("span", formats.verdict(query), class_="verdict") if query.median is None else shown
            rows.append(Bar(engine.name, query.median, text, query.fastest))
        any_cut = any_cut or has_cut_bars(rows)
        cards.append(element("article", element("h4", f"Q{number}"), bars(rows, slots), class_="card"))
    return join(
        element("h3", "Bars per query"),
        element("p", "Median seconds. Each query has a scale of its own, from zero.", class_="note"),
        cut_note() if any_cut else None,
        element("div", *cards, class_="cards"),
    )


def _ratios(mode: ModeFigures, pointer: str) -> Markup:
    """Of the engine that the report is about."""
    if mode.subject is None or mode.engines[mode.subject].ratio is None:
        return EMPTY
    engine, path = mode.engines[mode.subject], f"{pointer}/engines/{mode.subject}"
    places = []
    for place, query in enumerate(engine.queries):
        shown = figure(f"{path}/queries/{place}/ratio", query.ratio, formats.ratio(query.ratio))
        text = element("span", formats.verdict(query), class_="verdict") if query.median is None else shown
        places.append(Place(f"Q{query.query}", query.ratio, text))
    mean = figure(f"{path}/ratio", engine.ratio, formats.ratio(engine.ratio))
    return element(
        "div",
        element("h3", "Ratio to the best peer"),
        element(
            "p",
            f"The time of {engine.name} over that of the fastest peer in each query: to the left of 1 it is faster than all "
            "of them. The scale is logarithmic. Geometric mean: ",
            mean,
            class_="note",
        ),
        ratio_chart(places),
    )


def _cumulative(figures: Figures, mode: ModeFigures, pointer: str, slots: Mapping[str, int]) -> Markup:
    lines = []
    for index, engine in enumerate(mode.engines):
        if engine.common_total is None:
            continue
        values = tuple(query.cumulative for query in engine.queries if query.cumulative is not None)
        label = figure(f"{pointer}/engines/{index}/common_total", engine.common_total, formats.seconds(engine.common_total))
        lines.append(Line(engine.name, values, label))
    return element(
        "div",
        element("h3", "Cumulative time"),
        element("p", f"Sum of the median seconds over {total_of(mode, len(figures.queries))}, in their order.", class_="note"),
        line_chart(lines, [f"Q{number}" for number in mode.common], slots),
        _details("Cumulative seconds as a table", _cumulative_table(figures, mode, pointer)),
    )


def _cumulative_table(figures: Figures, mode: ModeFigures, pointer: str) -> Markup:
    rows = [
        (
            element("th", f"Q{number}", scope="row"),
            *(
                element(
                    "td",
                    figure(
                        f"{pointer}/engines/{index}/queries/{place}/cumulative",
                        engine.queries[place].cumulative,
                        formats.seconds(engine.queries[place].cumulative),
                    ),
                )
                for index, engine in enumerate(mode.engines)
            ),
        )
        for place, number in enumerate(figures.queries)
    ]
    head = [
        element("th", "up to", scope="col", class_="text"),
        *(element("th", engine.name, scope="col") for engine in mode.engines),
    ]
    return table(f"{TITLES[mode.mode]}: cumulative seconds", head, rows)


def _every_run(mode: ModeFigures, pointer: str) -> Markup:
    rows = [
        _run_row(engine, query, f"{pointer}/engines/{index}/queries/{place}")
        for index, engine in enumerate(mode.engines)
        if not engine.reason
        for place, query in enumerate(engine.queries)
    ]
    if not rows:
        return EMPTY
    titles = ("engine", "query", "verdict", "rows", "CPU s", *(f"{phase} s" for phase in PHASES), "peak memory")
    titles += ("seconds of each run",)
    head = [
        element("th", text, scope="col", class_="text" if text in ("engine", "query", "verdict") else None) for text in titles
    ]
    return _details("Every run", table(f"{TITLES[mode.mode]}: every run", head, rows, class_="every"))


def _run_row(engine: EngineFigures, query: QueryFigures, path: str) -> Sequence[Content]:
    runs = [
        join(" · " if place else None, figure(f"{path}/seconds/{place}", seconds, formats.seconds(seconds)))
        for place, seconds in enumerate(query.seconds)
    ]
    return (
        element("th", engine.name, scope="row"),
        element("td", f"Q{query.query}", class_="text"),
        element("td", formats.verdict(query), class_="text"),
        element("td", figure(f"{path}/rows", query.rows, formats.count(query.rows))),
        element("td", figure(f"{path}/cpu_seconds", query.cpu_seconds, formats.seconds(query.cpu_seconds))),
        *(
            element("td", figure(f"{path}/{phase}_seconds", seconds, formats.seconds(seconds)))
            for phase, seconds in zip(PHASES, phases_of(query), strict=True)
        ),
        element("td", figure(f"{path}/memory", query.memory, formats.memory(query.memory))),
        element("td", *runs),
    )


def _details(summary: str, content: Markup) -> Markup:
    return element("details", element("summary", summary), content)

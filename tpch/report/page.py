"""The report as one HTML page: no script, no network, light and dark, readable on a telephone and on paper.

Every figure on it is a <data> element with its exact value and a JSON pointer into the report as JSON.
"""

from __future__ import annotations

from importlib.resources import files

from tpch.report import formats
from tpch.report.charts import Bar, bars, has_cut_bars, slots_of
from tpch.report.columns import setting_lines, title, total_of
from tpch.report.figures import EngineFigures, Figures, ModeFigures
from tpch.report.markup import EMPTY, Content, Markup, element, figure, join
from tpch.report.mode_section import cut_note, mode_section, table
from tpch.report.notes import DEFINITIONS, NOT_AUDITED, TITLES


def as_html(figures: Figures) -> str:
    """The whole page."""
    slots = slots_of(figures.engine_names)
    sections = [mode_section(figures, place, slots) for place in range(len(figures.modes))]
    body = join(
        element("a", "Skip to the figures", href="#figures", class_="skip"),
        _header(figures),
        element(
            "main",
            _glance(figures, slots) if figures.modes else element("p", "Nothing was measured.", class_="empty"),
            *sections,
            _conditions(figures),
            _notes(),
            id="figures",
        ),
        element("footer", element("p", NOT_AUDITED)),
    )
    style = Markup(files("tpch.report").joinpath("style.css").read_text(encoding="utf-8"))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        # An empty icon of its own, so that no browser asks the network for one.
        element("link", rel="icon", href="data:,"),
        element("title", title(figures)),
        element("style", style),
    )
    return f"<!DOCTYPE html>\n{element('html', head, element('body', body), lang='en')}\n"


def _header(figures: Figures) -> Markup:
    names = tuple(dict.fromkeys(engine.variant_of or engine.name for mode in figures.modes for engine in mode.engines))
    against = f"{names[0]} beside {_listed(names[1:])}" if len(names) > 1 else "".join(names)
    queries = f"{len(figures.queries)} {'query' if len(figures.queries) == 1 else 'queries'}"
    threads = f"{figures.threads} {'thread' if figures.threads == 1 else 'threads'} each"
    moment = element("span", formats.moment(figures.started), class_="whole")
    links = [
        element("li", element("a", TITLES[mode.mode], href=f"#{mode.mode.value}")) for mode in figures.modes if mode.engines
    ]
    links += [
        element("li", element("a", "Conditions", href="#conditions")),
        element("li", element("a", "What the figures mean", href="#notes")),
    ]
    return element(
        "header",
        element("p", "Benchmark report · not an audited result", class_="eyebrow"),
        element("h1", title(figures)),
        element("p", f"{against} · " if against else None, f"{queries} · {threads} · ", moment, class_="lead"),
        element("nav", element("ul", *links), aria_label="Sections"),
    )


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _glance(figures: Figures, slots: dict[str, int]) -> Markup:
    cards = [_glance_card(mode, place, len(figures.queries), slots) for place, mode in enumerate(figures.modes)]
    return element(
        "section",
        element("h2", "At a glance"),
        element("p", "Seconds in total, the fastest engine first.", class_="about"),
        element("div", *cards, class_="cards wide"),
        class_="glance",
    )


def _glance_card(mode: ModeFigures, place: int, queries: int, slots: dict[str, int]) -> Markup:
    ranked = sorted(enumerate(mode.engines), key=lambda pair: (pair[1].common_total is None, pair[1].common_total or 0.0))
    first = next((engine for _, engine in ranked if not engine.variant_of), None)
    rows = [_total_bar(engine, f"/modes/{place}/engines/{index}", engine is first) for index, engine in ranked]
    return element(
        "article",
        element("h3", TITLES[mode.mode]),
        _headline(mode, place),
        bars(rows, slots),
        element("p", f"Total of {total_of(mode, queries)}.", class_="note") if mode.common else None,
        cut_note() if has_cut_bars(rows) else None,
        class_="card",
    )


def _total_bar(engine: EngineFigures, pointer: str, first: bool) -> Bar:
    if engine.common_total is not None:
        text = join(figure(f"{pointer}/common_total", engine.common_total, formats.seconds(engine.common_total)), " s")
        return Bar(engine.name, engine.common_total, text, fastest=first)
    if engine.reason:
        return Bar(engine.name, None, element("span", "unavailable", class_="verdict"))
    answered = join(
        figure(f"{pointer}/correct", engine.correct, formats.count(engine.correct)), f" of {len(engine.queries)} answered"
    )
    return Bar(engine.name, None, element("span", answered, class_="verdict"))


def _headline(mode: ModeFigures, place: int) -> Content:
    """How the engine that the report is about stands to the best of its peers."""
    if mode.subject is None or mode.engines[mode.subject].total_ratio is None:
        return None
    engine, pointer = mode.engines[mode.subject], f"/modes/{place}/engines/{mode.subject}"
    ratio = figure(f"{pointer}/total_ratio", engine.total_ratio, formats.ratio(engine.total_ratio))
    fastest = figure(f"{pointer}/fastest", engine.fastest, formats.count(engine.fastest))
    return element(
        "p",
        f"{engine.name} takes ",
        element("strong", ratio),
        " the time of its best peer and is the fastest in ",
        fastest,
        f" of {len(engine.queries)}.",
        class_="headline",
    )


def _conditions(figures: Figures) -> Markup:
    settings = (join(element("dt", name), element("dd", value)) for name, value in setting_lines(figures))
    return element(
        "section",
        element("h2", "Conditions"),
        element("p", "All engines had the same machine, files, threads and memory limit.", class_="about"),
        element("dl", *settings, class_="settings"),
        _engines(figures),
        element("h3", "How to repeat it"),
        element("pre", element("code", figures.command), tabindex=0, role="region", aria_label="Command"),
        id="conditions",
    )


def _engines(figures: Figures) -> Markup:
    """A row per engine, or one per mode where its settings differ between them."""
    seen: dict[tuple[str, str, str], list[str]] = {}
    for mode in figures.modes:
        for engine in mode.engines:
            settings = ", ".join(f"{name}: {value}" for name, value in engine.settings.items())
            seen.setdefault((engine.name, engine.version, engine.reason or settings), []).append(TITLES[mode.mode].lower())
    if not seen:
        return EMPTY
    rows = [
        (
            element("th", name, scope="row"),
            element("td", version or formats.NONE, class_="text"),
            element("td", ", ".join(modes), class_="text"),
            element("td", settings or formats.NONE, class_="text long"),
        )
        for (name, version, settings), modes in seen.items()
    ]
    head = [element("th", text, scope="col", class_="text") for text in ("engine", "version", "modes", "settings")]
    return join(element("h3", "Engines"), table("Engines and their settings", head, rows, class_="engines"))


def _notes() -> Markup:
    definitions = (join(element("dt", name), element("dd", text)) for name, text in DEFINITIONS)
    return element(
        "section",
        element("h2", "What the figures mean"),
        element("dl", *definitions, class_="definitions"),
        id="notes",
    )

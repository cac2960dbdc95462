"""The charts of the page, drawn without scripts: bars are boxes whose width is a percentage, lines are SVG.

Everything scales with the width of the page and all text stays HTML, so that it has the same size on a telephone. Colours
come from the stylesheet by the slot of the engine, and no chart needs them to be read: bars have names, lines have labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tpch.report.markup import EMPTY, Content, Markup, element, join

SLOTS = 8
"""Colours in the stylesheet; more engines begin again, with other dashes."""
CUT = 10
"""A bar longer than so many times the shortest one is cut, for the others would become too short to compare."""
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "5 5", "12 4", "2 6", "9 3 2 3 2 3")
_LABEL_DISTANCE = 6.5  # of the height of a line chart in percent: two labels one below the other


@dataclass(frozen=True, slots=True)
class Bar:
    """`value` is the length and None for no bar; `text` stands at its end."""

    engine: str
    value: float | None
    text: Content
    fastest: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A value on the horizontal scale of a chart of ratios."""

    name: str
    ratio: float | None
    text: Content


@dataclass(frozen=True, slots=True)
class Line:
    """One engine's cumulative seconds, a value per name of the horizontal axis."""

    engine: str
    values: tuple[float, ...]
    label: Content


def slots_of(engines: Sequence[str]) -> dict[str, int]:
    """The slot of each engine: the same colour on the whole page."""
    return {engine: place for place, engine in enumerate(engines)}


def bars(rows: Sequence[Bar], slots: Mapping[str, int]) -> Markup:
    """Horizontal bars from zero, one per engine."""
    values = [row.value for row in rows if row.value is not None]
    limit = min(max(values, default=0.0), CUT * min((value for value in values if value > 0), default=0.0))
    return element("ul", *(_bar(row, limit, slots) for row in rows), class_="bars")


def has_cut_bars(rows: Sequence[Bar]) -> bool:
    """Whether `bars` cuts one of them."""
    values = [row.value for row in rows if row.value]
    return bool(values) and max(values) > CUT * min(values)


def _bar(row: Bar, limit: float, slots: Mapping[str, int]) -> Markup:
    track = None
    if row.value is not None:
        width = min(1.0, row.value / limit) if limit else 0.0
        kind = f"bar {_colour(row.engine, slots)}" + (" cut" if limit and row.value > limit else "")
        track = element("span", element("span", class_=kind, style=f"width:{width:.2%}"), class_="track", aria_hidden="true")
    return element(
        "li",
        element("span", row.engine, class_="name", title=row.engine),
        track,
        element("span", row.text, class_="value"),
        class_="fastest" if row.fastest else None,
    )


def phase_bar(seconds: Sequence[float | None]) -> Markup:
    """A bar whose parts are the phases of one run, as shares of their sum."""
    total = sum(filter(None, seconds))
    if not total:
        return EMPTY
    parts = (
        element("span", class_=f"phase p{place}", style=f"width:{part / total:.2%}")
        for place, part in enumerate(seconds)
        if part
    )
    return element("span", *parts, class_="parts", aria_hidden="true")


def ratio_chart(places: Sequence[Place]) -> Markup:
    """Ratios on a logarithmic scale around 1: to the left is faster than the best peer, to the right slower."""
    known = [abs(math.log2(place.ratio)) for place in places if place.ratio]
    extent = 1.1 * min(max(1.0, max(known, default=1.0)), math.log2(64))
    ticks = [2**power for power in range(1, int(extent) + 1) if extent < 3 or power % 2 == 0]
    scale = element(
        "div",
        element("span", "query", class_="name"),
        element(
            "span",
            *(_tick(f"1/{tick}", 1 / tick, extent) for tick in reversed(ticks)),
            _tick("1", 1.0, extent),
            *(_tick(f"{tick}", float(tick), extent) for tick in ticks),
            class_="track",
        ),
        element("span", class_="value"),
        class_="scale",
        aria_hidden="true",
    )
    rows = (
        element(
            "li",
            element("span", place.name, class_="name"),
            element("span", _deviation(place.ratio, extent), class_="track", aria_hidden="true"),
            element("span", place.text, class_="value"),
        )
        for place in places
    )
    return element("div", scale, element("ul", *rows), class_="ratios", style=f"--rows:{len(places)}")


def _position(ratio: float, extent: float) -> float:
    """In percent of the width; beyond the extent at its end."""
    return 50 + 50 * max(-1.0, min(1.0, math.log2(ratio) / extent))


def _tick(text: str, ratio: float, extent: float) -> Markup:
    return element("span", text, class_="tick", style=f"left:{_position(ratio, extent):.2f}%")


def _deviation(ratio: float | None, extent: float) -> Markup:
    if not ratio:
        return EMPTY
    end = _position(ratio, extent)
    left, width = min(50.0, end), abs(end - 50)
    kind = "faster" if ratio < 1 else "slower"
    return element("span", class_=f"deviation {kind}", style=f"left:{left:.2f}%;width:{width:.2f}%")


def line_chart(lines: Sequence[Line], names: Sequence[str], slots: Mapping[str, int]) -> Markup:
    """Cumulative seconds over the queries, in their order. A line that leaves the chart has its label at the upper edge."""
    ends = [line.values[-1] for line in lines]
    shortest = min((end for end in ends if end > 0), default=0.0)
    top, step = _axis(min(max(ends, default=0.0), 5 * shortest))
    columns = max(1, len(names) - 1)
    grid = [number * step for number in range(round(top / step) + 1)]
    labels = _apart([100 * (1 - end / top) for end in ends])
    every = 1 if len(names) <= 12 else 3
    return element(
        "div",
        element(
            "div",
            *(element("span", f"{value:g}", class_="y", style=f"top:{100 * (1 - value / top):.2f}%") for value in grid),
            *(
                element("span", name, class_="x", style=f"left:{100 * place / columns:.2f}%")
                for place, name in enumerate(names)
                if place % every == 0
            ),
            element(
                "svg",
                *(_grid_line(1000 * (1 - value / top)) for value in grid),
                *(_line(line, top, columns, slots) for line in lines),
                viewBox="0 0 1000 1000",
                preserveAspectRatio="none",
                aria_hidden="true",
                focusable="false",
            ),
            *(_line_label(line, place, end > top, slots) for line, place, end in zip(lines, labels, ends, strict=True)),
            class_="plot",
        ),
        class_="lines",
    )


def _axis(largest: float) -> tuple[float, float]:
    """The top of a scale from 0 and the step of its lines: 1, 2 or 5 times a power of ten, four to eight of them."""
    if largest <= 0:
        return 1.0, 0.25
    power = 10.0 ** math.floor(math.log10(largest / 4))
    step = next(factor * power for factor in (10, 5, 2, 1) if factor * power <= largest / 4 * 1.0000001)
    return math.ceil(largest / step * 0.9999999) * step, step


def _apart(places: Sequence[float]) -> list[float]:
    """The places of labels in percent from the upper edge, moved so that none covers another and all are inside.

    They keep their order: pushed down where they are too close, and back up from the lower edge.
    """
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = [max(0.0, place) for place in places]
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + _LABEL_DISTANCE)
    lowest = 100.0
    for index in reversed(order):
        moved[index] = min(moved[index], lowest)
        lowest = moved[index] - _LABEL_DISTANCE
    return moved


def _grid_line(height: float) -> Markup:
    return element("path", d=f"M0 {height:.1f}H1000", class_="grid")


def _line(line: Line, top: float, columns: int, slots: Mapping[str, int]) -> Markup:
    points = [f"{1000 * place / columns:.1f} {1000 * (1 - value / top):.1f}" for place, value in enumerate(line.values)]
    colour = _colour(line.engine, slots)
    dash = _DASHES[slots[line.engine] % len(_DASHES)]
    path = element("path", d="M" + "L".join(points), class_=f"line {colour}", stroke_dasharray=dash)
    # A stroke of no length with round ends is a dot that keeps its shape while the drawing is stretched.
    return join(path, element("path", d="".join(f"M{point}h0" for point in points), class_=f"dots {colour}"))


def _line_label(line: Line, place: float, beyond: bool, slots: Mapping[str, int]) -> Markup:
    arrow = element("span", "↑", class_="beyond", title="beyond the upper edge") if beyond else None
    return element(
        "span",
        element("span", class_=f"swatch {_colour(line.engine, slots)}"),
        element("span", line.engine, class_="name", title=line.engine),
        element("span", line.label, arrow, class_="value"),
        class_="label",
        style=f"top:{place:.2f}%",
    )


def _colour(engine: str, slots: Mapping[str, int]) -> str:
    return f"c{slots[engine] % SLOTS}"

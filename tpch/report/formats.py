"""Figures as text, the same in every form of the report."""

from __future__ import annotations

from tpch.report.figures import EngineFigures, QueryFigures

NONE = "–"
"""What stands where there is no figure."""


def seconds(value: float | None) -> str:
    """Without the unit: two significant digits or more, as far as tenths of a millisecond go.

    >>> [seconds(value) for value in (0.00123, 0.00999, 0.0451, 0.4567, 12.3456, 1234.5, None)]
    ['0.0012', '0.010', '0.045', '0.457', '12.35', '1234.5', '–']
    """
    if value is None:
        return NONE
    digits = 4 if value < 0.00995 else 3 if value < 9.9995 else 2 if value < 99.995 else 1
    return f"{value:.{digits}f}"


def ratio(value: float | None) -> str:
    """
    >>> [ratio(value) for value in (0.004, 0.256, 1.0, 23.45, 234.5)]
    ['0.004×', '0.26×', '1.00×', '23.4×', '234×']
    """
    if value is None:
        return NONE
    digits = 3 if value < 0.1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f}×"


def memory(value: int | None) -> str:
    """
    >>> [memory(value) for value in (0, 1023, 1 << 20, 3 << 29, 24 << 30)]
    ['0 B', '1023 B', '1.0 MiB', '1.5 GiB', '24.0 GiB']
    """
    if value is None:
        return NONE
    if value < 1024:
        return f"{value} B"
    units = ("KiB", "MiB", "GiB", "TiB")
    power = next((power for power in range(1, len(units)) if value < 1023.95 * 1024**power), len(units))
    return f"{value / 1024**power:.1f} {units[power - 1]}"


def count(value: int | float | None) -> str:
    """
    >>> count(1234567)
    '1,234,567'
    """
    return NONE if value is None else f"{value:,.0f}"


def spread(query: QueryFigures) -> str:
    """The range of several runs in seconds; empty for one run or none.

    Both ends have the digits of the larger one, for `0.0098–0.012` would look like a slip.
    """
    if query.minimum is None or query.maximum is None or len(query.seconds) < 2:
        return ""
    digits = len(seconds(query.maximum).partition(".")[2])
    return f"{query.minimum:.{digits}f}–{query.maximum:.{digits}f}"


def verdict(query: QueryFigures) -> str:
    """In words, for a query without a median."""
    return query.verdict.value if query.verdict else "no run"


def coverage(engine: EngineFigures) -> str:
    """How many queries a sum is over, where it is not over all; else empty."""
    return "" if engine.complete else f"{engine.correct} of {len(engine.queries)}"


def query_list(numbers: tuple[int, ...]) -> str:
    """
    >>> query_list((1, 2, 3, 5, 9, 10)), query_list(())
    ('1–3, 5, 9–10', 'none')
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join("–".join(map(str, span)) for span in spans) or "none"


def moment(started: str) -> str:
    """
    >>> moment("2026-01-02T03:04:05Z"), moment("2026-01-02T03:04:05.123456+00:00"), moment("yesterday")
    ('2026-01-02 03:04 UTC', '2026-01-02 03:04 UTC', 'yesterday')
    """
    date, separator, time = started.partition("T")
    return f"{date} {time[:5]} UTC" if separator else started

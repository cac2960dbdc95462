"""The tables at the end of a run: seconds per engine, ratio to the best peer, verdict; and how many answers are correct."""

from __future__ import annotations

from collections.abc import Sequence

from tpch.report.notes import NOT_AUDITED
from tpch.results import Mode, Result, Verdict, geometric_mean

SUBJECT = "qengine"
"""The engine that the others are the peers of."""


def subject_of(result: Result) -> str:
    """The engine that ratios and verdicts are about: qengine, or the first one where it did not take part."""
    names = [record.name for record in result.engines]
    return SUBJECT if SUBJECT in names or not names else names[0]


def correct_queries(result: Result, engine: str) -> int:
    """The queries whose every run in every mode and stream is correct."""
    wrong = {run.query for run in result.runs if run.engine == engine and run.verdict is not Verdict.CORRECT}
    run = {run.query for run in result.runs if run.engine == engine}
    return len(run - wrong)


def format_summary(result: Result) -> str:
    """One table for each mode, the throughput runs, and last the line `22/22 correct`."""
    subject = subject_of(result)
    modes = dict.fromkeys(record.mode for record in result.engines)
    parts = []
    for mode in modes:
        if len(modes) > 1:
            parts.append(f"{mode}\n")
        parts += [_mode_table(result, mode, subject), _throughput(result, mode)]
    wrong_peers = [
        f"{record.name} ({record.mode}): {correct}/{len(result.queries)} correct"
        for record in result.engines
        if record.name != subject
        and (correct := sum(result.median(record.name, record.mode, number) is not None for number in result.queries))
        < len(result.queries)
    ]
    label = "" if subject == SUBJECT else f" ({subject})"
    lines = [NOT_AUDITED, *wrong_peers, f"{correct_queries(result, subject)}/{len(result.queries)} correct{label}"]
    return "\n".join([*(part for part in parts if part), *lines, ""])


def format_verdicts(result: Result) -> str:
    """A table of queries and engines with verdicts in place of times, and below it what was wrong."""
    names = list(dict.fromkeys(record.name for record in result.engines))
    verdicts = {(run.query, run.engine): run.verdict for run in result.runs}
    rows = [[f"Q{number}", *(str(verdicts.get((number, name), "-")) for name in names)] for number in result.queries]
    text = _aligned([["query", *names], *rows], left=True)
    details = [f"{record.name}: {Verdict.UNAVAILABLE}: {record.reason}" for record in result.engines if record.reason]
    troubled = [run for run in result.runs if run.detail and run.verdict is not Verdict.UNAVAILABLE]
    details += [f"{run.engine} Q{run.query}: {run.verdict}: {run.detail}" for run in troubled]
    totals = [f"{name}: {correct_queries(result, name)}/{len(result.queries)} correct" for name in names]
    return "\n".join([text, *details, *([""] if details else []), *totals, ""])


def _mode_table(result: Result, mode: Mode, subject: str) -> str:
    records = {record.name: record for record in result.engines if record.mode is mode}
    names = list(records)
    peers = [name for name in names if name != subject]
    medians = {(name, number): result.median(name, mode, number) for name in names for number in result.queries}

    def best_peer(number: int) -> float | None:
        return min((value for name in peers if (value := medians[name, number]) is not None), default=None)

    rows = []
    for number in result.queries:
        seconds = [_seconds(medians[name, number]) for name in names]
        ratio = _ratio(medians[subject, number], best_peer(number))
        runs = result.runs_of(subject, mode, number)
        count = next((str(run.rows) for run in runs if run.rows is not None), "-")
        bad = next((run for run in runs if run.verdict is not Verdict.CORRECT), None)
        rows.append([f"Q{number}", *seconds, ratio, count, "correct" if bad is None else f"{bad.verdict}: {bad.detail}"])
    # Only what every engine that took part has answered, or the sums would be of different things.
    taking_part = [name for name in names if not records[name].reason]
    shared = [number for number in result.queries if all(medians[name, number] is not None for name in taking_part)]
    label = "" if len(shared) == len(result.queries) else f"of the {len(shared)} that all answered"
    footer = []
    for title, combine in (("total", sum), ("geometric mean", _geometric_mean)):
        combined = {
            name: combine([medians[name, number] or 0.0 for number in shared]) if name in taking_part and shared else None
            for name in names
        }
        best = min((value for name in peers if (value := combined[name]) is not None), default=None)
        seconds = [_seconds(combined[name]) for name in names]
        footer.append([title, *seconds, _ratio(combined[subject], best), "", label])
    heads = [f"{name} s" for name in names]
    table = [["query", *heads, "ratio", "rows", "verdict"], *rows, *footer]
    if not peers:
        ratio_at = 1 + len(names)
        table = [[*row[:ratio_at], *row[ratio_at + 1 :]] for row in table]
    reasons = [f"{name}: {record.reason}" for name, record in records.items() if record.reason]
    return "\n".join([_aligned(table, footer=len(footer)), *reasons, *([""] if reasons else [])])


def _geometric_mean(values: Sequence[float]) -> float | None:
    """None where a value is 0: too short for the clock."""
    return geometric_mean(values) if all(values) else None


def _throughput(result: Result, mode: Mode) -> str:
    lines = []
    for record in result.engines:
        runs = [run for run in result.runs if run.engine == record.name and run.mode is mode and run.stream]
        if record.mode is not mode or not runs:
            continue
        streams = len({run.stream for run in runs})
        correct = sum(run.verdict is Verdict.CORRECT for run in runs)
        label = f"{record.name}: throughput run with {streams} streams, {correct}/{len(runs)} correct"
        if correct == len(runs) and any(run.seconds for run in runs):
            elapsed = max(sum(run.seconds or 0.0 for run in runs if run.stream == stream) for stream in range(1, streams + 1))
            label += f", {elapsed:.3f} s, {len(runs) * 3600 / elapsed:.0f} queries per hour"
        lines.append(label)
    return "\n".join([*lines, ""]) if lines else ""


def _aligned(table: Sequence[Sequence[str]], footer: int = 0, left: bool = False) -> str:
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]) - 1)]
    lines = []
    for index, row in enumerate(table):
        cells = [
            cell.ljust(width) if left or place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row[:-1], widths, strict=True))
        ]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
        if index == 0 or (footer and index == len(table) - footer - 1):
            lines.append("-" * (sum(widths) + 2 * len(widths) + len("verdict")))
    return "\n".join([*lines, ""])


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _ratio(mine: float | None, theirs: float | None) -> str:
    return f"{mine / theirs:.2f}" if mine is not None and theirs else "-"

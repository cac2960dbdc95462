"""The report for programs: JSON with every figure, and CSV with a row per mode, engine and query."""

from __future__ import annotations

import csv
import dataclasses
import io
import json

from tpch.report.figures import Figures
from tpch.results import FORMAT

COLUMNS = (
    "mode",
    "engine",
    "version",
    "query",
    "verdict",
    "timed_runs",
    "median_seconds",
    "minimum_seconds",
    "maximum_seconds",
    "ratio_to_best_peer",
    "cpu_seconds",
    "planning_seconds",
    "execution_seconds",
    "delivery_seconds",
    "memory_bytes",
    "rows",
    "detail",
)


def as_json(figures: Figures) -> str:
    """Every figure of the report; the JSON pointers of the HTML page lead into it."""
    return json.dumps({"format": FORMAT, **dataclasses.asdict(figures)}, indent=1, ensure_ascii=False) + "\n"


def as_csv(figures: Figures) -> str:
    """A row per mode, engine and query, with COLUMNS; what does not exist is empty. Lines end in a line feed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for mode in figures.modes:
        for engine in mode.engines:
            for query in engine.queries:
                writer.writerow(
                    (
                        mode.mode.value,
                        engine.name,
                        engine.version,
                        query.query,
                        query.verdict.value if query.verdict else "",
                        len(query.seconds),
                        query.median,
                        query.minimum,
                        query.maximum,
                        query.ratio,
                        query.cpu_seconds,
                        query.planning_seconds,
                        query.execution_seconds,
                        query.delivery_seconds,
                        query.memory,
                        query.rows,
                        query.detail,
                    )
                )
    return out.getvalue()

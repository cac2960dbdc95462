"""Running a whole plan in the driver's process: the same lowering, no workers and no files.

Only for plans that are proven to be small; the caller sees to that. Polars runs in a thread of its own, because Ctrl-C inside
of a Polars call is raised a second time while the first one is handled.
"""

from __future__ import annotations

import threading

import polars as pl
import pyarrow as pa

from exec.lower.failures import translate
from exec.lower.observe import Observer
from exec.lower.optimizations import OPTIMIZATIONS
from exec.lower.plan import deliver, lower_body
from exec.sources import unchanged_files
from planner.dir import Dir
from planner.errors import error
from planner.physical.nodes import ExchangeSource, PhysicalPlan

_POLL = 0.05
"""Seconds between looks at signals: an endless join would not notice Ctrl-C (see `exec.progress`)."""


def execute_inline(body: PhysicalPlan, output: Dir, observer: Observer | None = None) -> pa.Table:
    """The encoded rows of a plan without exchanges, as columns `c<id>`. An `observer` counts what operators deliver.

    Raises QEngineErrors only (and KeyboardInterrupt).
    """
    outcome: list[pa.Table | BaseException] = []

    def run() -> None:
        try:
            with unchanged_files(body, 0):
                frame = deliver(lower_body(body, 0, _no_exchange, observer=observer), body, output)
                table = frame.collect(optimizations=OPTIMIZATIONS).to_arrow()
            outcome.append(table)
        except BaseException as problem:  # a Polars panic is not an Exception
            outcome.append(problem)

    thread = threading.Thread(target=run, name="qengine-inline", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_POLL)
    result = outcome[0]
    if isinstance(result, BaseException):
        raise translate(result) from result
    return result


def _no_exchange(source: ExchangeSource) -> pl.LazyFrame:
    raise error("INTERNAL", detail=f"an inline plan reads exchange {source.exchange}")

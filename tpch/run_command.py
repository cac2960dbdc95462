"""`python -m tpch run` and `check`: from the command line to a benchmark, its file, its table and an exit status."""

from __future__ import annotations

import argparse
import datetime
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tpch.arguments import add_data, add_queries, argument, count, memory, positive, worker_count
from tpch.engines import ADAPTERS, SUBJECT, VARIANTS, parse_engines
from tpch.errors import TpchError
from tpch.report.figures import Figures, figures_of
from tpch.results import Mode, Result, write
from tpch.run_display import display
from tpch.runner import Options, run
from tpch.summary import format_summary, format_verdicts

RESULTS = Path("data/results")
"""Where results go unless told otherwise."""

_ROOM = 16 << 20
"""Bytes that must be free for a result."""


def add_commands(commands: Any) -> None:
    """Add `run` and `check` to the sub-commands of an argparse parser."""
    summary = "Run the queries, check every answer, print and keep the times."
    runs = commands.add_parser("run", help=summary, description=summary)
    runs.set_defaults(command=_run)
    _add_common(runs, default="qengine")
    runs.add_argument(
        "--mode", type=argument(parse_modes), default=(Mode.HOT,), metavar="LIST", help="cold, hot, memory (default: hot)"
    )
    runs.add_argument("--runs", type=argument(positive), metavar="N", help="runs per query (default: 1, of several engines 3)")
    runs.add_argument("--cold-runs", type=argument(positive), metavar="N", help="of them cold (default: the same)")
    runs.add_argument(
        "--warm", type=argument(count), default=2, metavar="N", help="runs before those, hot and in memory (default: 2)"
    )
    runs.add_argument("--evict", action="store_true", help="drop the files from the page cache before each cold run")
    runs.add_argument("--power", action="store_true", help="run the queries in the order of the power run")
    runs.add_argument(
        "--streams", type=argument(count), default=0, metavar="S", help="then a throughput run with S streams (default: none)"
    )
    runs.add_argument(
        "--plan-cache",
        choices=("both", "auto", "off"),
        default="both",
        help="qengine: reuse plans of texts that come again; both measures it with and without when hot (default: both)",
    )
    runs.add_argument("--out", type=Path, metavar="FILE", help=f"the result as JSON (default: {RESULTS}/TIME.json)")

    summary = "Check the answer of each engine to each query."
    check = commands.add_parser("check", help=summary, description=summary)
    check.set_defaults(command=_check)
    _add_common(check, default=",".join(ADAPTERS))


def parse_modes(text: str) -> tuple[Mode, ...]:
    """Modes from text such as `cold,hot`, without repetitions. Raises ValueError."""
    names = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",")))
    for name in names:
        if name not in tuple(Mode):
            raise ValueError(f"there is no mode {name!r}: choose among {', '.join(Mode)}")
    return tuple(Mode(name) for name in names)


def _add_common(parser: argparse.ArgumentParser, default: str) -> None:
    add_data(parser)
    add_queries(parser)
    parser.add_argument(
        "--engines",
        type=argument(parse_engines),
        default=parse_engines(default),
        metavar="LIST",
        help=f"of {', '.join(ADAPTERS)} (default: {default})",
    )
    parser.add_argument(
        "--workers",
        type=argument(worker_count),
        metavar="N",
        help="worker processes of qengine, threads of every other engine (default: one per core)",
    )
    parser.add_argument(
        "--memory-limit",
        type=argument(memory),
        metavar="SIZE",
        help="that the processes of an engine may take, such as 8G (default: 80 %% of the machine's)",
    )
    parser.add_argument(
        "--timeout", type=argument(positive), default=300, metavar="SECONDS", help="for each query (default: 300)"
    )
    parser.add_argument("--seed", type=argument(count), metavar="N", help="draw query parameters (default: validation values)")
    parser.add_argument("--inline", choices=("off", "auto"), help="qengine: let tiny queries run in its own process")
    parser.add_argument("--cache", choices=("auto", "eager", "off"), help="qengine: keep columns of files in shared memory")


def _run(options: argparse.Namespace) -> int:
    out = options.out or RESULTS / f"{datetime.datetime.now():%Y%m%d-%H%M%S}.json"
    _make_room(out)
    asked = _options(
        options,
        modes=options.mode,
        runs=options.runs or (1 if len(options.engines) == 1 else 3),
        cold_runs=options.cold_runs,
        warm=options.warm,
        evict=options.evict,
        power=options.power,
        streams=options.streams,
        variants=VARIANTS if options.plan_cache == "both" else (),
    )
    result = _measure(asked)
    write(result, out)
    figures = figures_of(result)
    sys.stdout.write(format_summary(figures))
    print(f"result in {out}", file=sys.stderr)
    return 0 if _is_correct(figures, figures.subject) else 1


def _check(options: argparse.Namespace) -> int:
    figures = figures_of(_measure(_options(options, warm=0)))
    sys.stdout.write(format_verdicts(figures))
    return 0 if all(_is_correct(figures, engine) for engine in figures.engine_names) else 1


def _is_correct(figures: Figures, engine: str) -> bool:
    return figures.correct(engine) == len(figures.queries)


def _options(options: argparse.Namespace, **further: Any) -> Options:
    given = ((name, getattr(options, name, None)) for name in ("inline", "cache", "plan_cache"))
    chosen = {name: value for name, value in given if value not in (None, "both")}
    return Options(
        scale_factor=options.sf,
        folder=options.dir,
        engines=options.engines,
        numbers=options.queries,
        threads=options.workers,
        memory_limit=options.memory_limit,
        timeout=options.timeout,
        seed=options.seed,
        engine_options={SUBJECT: chosen},
        command=_command(options.arguments),
        **further,
    )


def _measure(options: Options) -> Result:
    names: dict[str, None] = {}
    total = 0
    for mode in options.modes:
        entries = options.entries(mode)
        names.update(dict.fromkeys(entry.name for entry in entries))
        streams = 0 if mode is Mode.COLD else options.streams
        total += len(entries) * len(options.numbers) * (options.runs_in(mode) + streams)
    with display(tuple(names), options.numbers, total, sys.stderr) as shown:
        return run(options, shown)


def _command(arguments: Sequence[str]) -> str:
    return shlex.join(["python", "-m", "tpch", *arguments])


def _make_room(out: Path) -> None:
    """Find out before a benchmark, not after it, that its result cannot be written."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(out.parent).free
        if out.is_dir():
            raise TpchError(f"{out} is a folder: choose a file for the result")
        probe = out.with_name(f".{out.name}.probe")
        probe.touch()
        probe.unlink()
    except OSError as problem:
        raise TpchError(f"cannot write {out}: {problem.strerror or problem}") from None
    if free < _ROOM:
        raise TpchError(f"no room for the result: {free >> 10} KiB are free on the disk of {out.parent}")

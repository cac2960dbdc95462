"""The commands `explain` and `profile`: the plan of one query in qengine, and where the time of its runs went."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from tpch.arguments import argument, count, positive
from tpch.engine_process import describe
from tpch.errors import TpchError
from tpch.generate import format_scale_factor, parse_scale_factor, verify
from tpch.queries import NUMBERS, query

LEVELS = ("logical", "optimized", "physical", "stages")


def add_commands(commands: Any) -> None:
    """Add `explain` and `profile` to the sub-commands of an argparse parser."""
    summary = "Show the plan of a query in qengine."
    explain = commands.add_parser("explain", help=summary, description=summary)
    explain.set_defaults(command=_explain)
    _add_common(explain)
    explain.add_argument("--level", choices=LEVELS, default="optimized", help="default: optimized")

    summary = "Run a query in qengine and show where its time went: planning, stages, critical path."
    profile = commands.add_parser("profile", help=summary, description=summary)
    profile.set_defaults(command=_profile)
    _add_common(profile)
    profile.add_argument(
        "--runs", type=argument(positive), default=3, metavar="K", help="runs, of which the median is shown (default: 3)"
    )
    profile.add_argument("--warm", type=argument(count), default=1, metavar="N", help="runs before those (default: 1)")
    profile.add_argument(
        "--cache", choices=("auto", "eager", "off"), default="auto", help="keep columns of files in shared memory"
    )
    profile.add_argument(
        "--plan-cache", choices=("auto", "off"), default="off", help="auto: reuse the plan of the runs before (default: off)"
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--query", type=argument(_number), required=True, metavar="N", help="1 to 22")
    parser.add_argument(
        "--sf", type=argument(parse_scale_factor), default=Decimal(1), metavar="F", help="scale factor (default: 1)"
    )
    parser.add_argument("--dir", type=Path, metavar="D", help="folder of the Parquet files (default: data/tpch/sfF)")
    parser.add_argument("--seed", type=argument(count), metavar="N", help="draw the parameters (default: validation values)")
    parser.add_argument("--workers", type=argument(positive), metavar="N", help="worker processes (default: one per core)")


def _explain(options: argparse.Namespace) -> int:
    with _frame(options) as make:
        print(make().explain(options.level))
    return 0


def _profile(options: argparse.Namespace) -> int:
    with _frame(options, cache=options.cache, plan_cache=options.plan_cache) as make:
        profiles = [make().profile() for _ in range(options.warm + options.runs)][options.warm :]
    by_time = sorted(range(options.runs), key=lambda run: profiles[run].seconds)
    shown = by_time[(options.runs - 1) // 2]
    if options.runs > 1:
        times = ", ".join(f"{1000 * profile.seconds:.1f}" for profile in profiles)
        print(f"Q{options.query}, {options.runs} runs of {times} ms; this is run {shown + 1}:")
    print(profiles[shown])
    return 0


@contextmanager
def _frame(options: argparse.Namespace, **settings: Any) -> Iterator[Any]:
    """A function that makes the lazy result of the query anew, over an open session. Raises TpchError for what goes wrong."""
    import qengine
    from tpch.engines.qengine import register_tables

    folder = options.dir or Path(f"data/tpch/sf{format_scale_factor(options.sf)}")
    if not folder.is_dir():
        raise TpchError(f"{folder} does not exist: generate the data first")
    verify(folder, options.sf)
    text = query(options.query, options.sf, options.seed).text
    try:
        with qengine.Session(workers=options.workers, **settings) as session:
            register_tables(session, folder)
            yield lambda: session.sql(text)
    except qengine.errors.QEngineError as error:
        raise TpchError(describe(error)) from None


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) not in NUMBERS:
        raise ValueError(f"expected a query from 1 to 22, not {text!r}")
    return int(text)

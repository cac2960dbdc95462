"""The command `compare`: exit status 0 without a regression of qengine, 1 with one, 2 if the files cannot be compared."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

from tpch.arguments import argument
from tpch.compare.changes import THRESHOLD, Comparison, compare
from tpch.compare.text import as_markdown, as_text, print_in_colours
from tpch.errors import TpchError
from tpch.results import read


def add_command(commands: Any) -> None:
    """Add `compare` to the sub-commands of an argparse parser."""
    summary = "Tell what became faster or slower between two results, beyond noise."
    parser = commands.add_parser("compare", help=summary, description=summary)
    parser.set_defaults(command=_run)
    parser.add_argument("before", type=Path, metavar="A.json", help="the result to compare with")
    parser.add_argument("after", type=Path, metavar="B.json", help="the result that is judged")
    parser.add_argument(
        "--threshold",
        type=argument(_percentage),
        default=THRESHOLD,
        metavar="PERCENT",
        help=f"changes below it are none (default: {THRESHOLD:g})",
    )
    parser.add_argument("--format", choices=("text", "markdown"), default="text", help="of the tables (default: text)")


def _run(options: argparse.Namespace) -> int:
    try:
        comparison = compare(read(options.before), read(options.after), options.threshold)
    except TpchError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    if options.format == "markdown":
        sys.stdout.write(as_markdown(comparison))
    elif not (sys.stdout.isatty() and _print_in_colours(comparison)):
        sys.stdout.write(as_text(comparison))
    return 1 if comparison.regressions else 0


def _print_in_colours(comparison: Comparison) -> bool:
    """False without rich."""
    try:
        print_in_colours(comparison)
    except ModuleNotFoundError:
        return False
    return True


def _percentage(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1000:
        raise ValueError(f"expected a percentage such as 5, not {text!r}")
    return value

"""`python -m tpch report`: a result file as a page, as data, or as text."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tpch.errors import TpchError
from tpch.report import FORMATS, render
from tpch.results import read

_SUFFIXES = {".html": "html", ".htm": "html", ".csv": "csv", ".json": "json", ".md": "markdown", ".txt": "text"}


def add_command(commands: Any) -> None:
    """Add `report` to the sub-commands of an argparse parser."""
    summary = "Show a result as an HTML page, CSV, JSON, Markdown or text."
    parser = commands.add_parser("report", help=summary, description=summary)
    parser.add_argument("result", type=Path, help="file that `run` wrote")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where it goes (default: for a page, a file .html beside the result; else standard output)",
    )
    parser.add_argument("--format", choices=FORMATS, help="default: what the ending of --out says, else html")
    parser.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    chosen: str = options.format or (_SUFFIXES.get(options.out.suffix.lower(), "html") if options.out else "html")
    out: Path | None = options.out
    if out is None and chosen == "html":
        out = options.result.with_suffix(".html")
    if out is not None and out.exists() and options.result.exists() and out.samefile(options.result):
        raise TpchError(f"{out} is the result itself: the report needs another file")
    text = render(read(options.result), chosen)
    if out is None:
        sys.stdout.write(text)
        return 0
    _write(text, out)
    print(f"report in {out}")
    return 0


def _write(text: str, path: Path) -> None:
    temporary = path.with_name(f"{path.name}.new")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise TpchError(f"cannot write {path}: {problem.strerror or problem}") from None

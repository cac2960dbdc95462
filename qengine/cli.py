"""The `qengine` command: one query, its result on standard output; errors on standard error with exit status 1."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from planner.errors import QEngineError
from qengine import __version__
from qengine.display import FORMATS

EXIT_ERROR = 1
EXIT_INTERRUPTED = 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qengine",
        description="Run one SQL query. Parquet files are named in it: SELECT * FROM 'file.parquet'.",
    )
    parser.add_argument("-c", "--command", metavar="SQL", help="the query; read from standard input if absent")
    parser.add_argument("--format", choices=FORMATS, default="table", help="how the result is written (default: table)")
    parser.add_argument("--workers", type=int, metavar="N", help="worker processes (default: one per core)")
    parser.add_argument("--inline", choices=("auto", "off"), default="auto", help="whether small queries skip the workers")
    parser.add_argument(
        "--cache", choices=("auto", "eager", "off"), default="auto", help="whether columns of files are kept in memory"
    )
    parser.add_argument("--dialect", default="duckdb", help="the SQL dialect (default: duckdb)")
    parser.add_argument(
        "--explain", choices=("logical", "optimized", "physical", "stages"), help="print the plan instead of running it"
    )
    parser.add_argument("--version", action="version", version=f"qengine {__version__}")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit status: 0, 1 for an error, 130 after Ctrl-C."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None and sys.stdin.isatty():
        parser.print_usage(sys.stderr)
        print("qengine: give a query with -c or on standard input", file=sys.stderr)
        return EXIT_ERROR
    try:
        return _print(_run(_query(options.command), options))
    except QEngineError as failure:
        print(f"error: {failure} [{failure.code}]" if failure.position is None else _with_caret(failure), file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("cancelled", file=sys.stderr)
        return EXIT_INTERRUPTED


def _query(command: str | None) -> str:
    """The text of the query, which is UTF-8 in any locale; bytes that are not become what the parser refuses with a caret."""
    data = os.fsencode(command) if command is not None else sys.stdin.buffer.read()
    return data.decode("utf-8", "surrogateescape")


def _print(text: str) -> int:
    """Write a result to standard output; characters that it has no bytes for as escapes. Gives the exit status."""
    if sys.stdout is None:  # closed by whoever started us
        return 0
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        print(text, flush=True)
    except OSError as problem:
        # A broken pipe is no error: whoever reads has seen enough.
        if not isinstance(problem, BrokenPipeError):
            print(f"error: the result cannot be written: {problem.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        return EXIT_ERROR
    return 0


def _run(text: str, options: argparse.Namespace) -> str:
    from qengine.display import render
    from qengine.session import Session

    with Session(options.workers, inline=options.inline, cache=options.cache) as session:
        result = session.sql(text, options.dialect)
        return result.explain(options.explain) if options.explain else render(result.collect(), options.format)


def _with_caret(failure: QEngineError) -> str:
    assert failure.position is not None
    return f"error: {failure.message} [{failure.code}]\n{failure.position.caret()}"


if __name__ == "__main__":
    sys.exit(main())

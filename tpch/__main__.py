"""The command line: `python -m tpch generate | run | answers`. Errors are one line and exit status 1."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from tpch.errors import TpchError
from tpch.generate import format_scale_factor, generate, parse_scale_factor, verify
from tpch.queries import NUMBERS, parse_numbers


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; the exit status is 0 when it did what it should, and every answer was correct."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except TpchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _generate(options: argparse.Namespace) -> int:
    label = f"TPC-H scale factor {format_scale_factor(options.sf)} in {options.dir}"
    print(f"{label}: generated" if generate(options.dir, options.sf) else f"{label}: already there")
    return 0


def _run(options: argparse.Namespace) -> int:
    from tpch.run import Options, run

    asked = Options(
        scale_factor=options.sf,
        folder=options.dir,
        numbers=options.queries,
        workers=options.workers,
        inline=options.inline,
        cache=options.cache,
        warm=options.warm,
        runs=options.runs or (3 if options.duckdb else 1),
        duckdb=options.duckdb,
    )
    return 0 if run(asked, sys.stdout) else 1


def _answers(options: argparse.Namespace) -> int:
    from tpch import answers
    from tpch.queries import query

    verify(options.dir, options.sf)
    connection = answers.connect(options.dir)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for number in options.queries:
            asked = query(number, options.sf)
            answers.write(answers.make(connection, asked), options.out / answers.file_name(asked))
    except OSError as error:
        raise TpchError(f"cannot write into {options.out}: {error.strerror or error}") from None
    finally:
        connection.close()
    print(f"{len(options.queries)} answers in {options.out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tpch", description="Make TPC-H data, run the 22 queries, check every answer."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], summary: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=summary)
        sub.set_defaults(command=run)
        sub.add_argument(
            "--sf",
            type=_argument(parse_scale_factor),
            default=Decimal(1),
            metavar="F",
            help="scale factor (default: 1)",
        )
        sub.add_argument("--dir", type=Path, required=True, metavar="D", help="folder of the Parquet files")
        return sub

    def add_queries(sub: argparse.ArgumentParser) -> None:
        sub.add_argument(
            "--queries",
            type=_argument(parse_numbers),
            default=NUMBERS,
            metavar="LIST",
            help="which ones, such as 1,3,18 or 1-6 (default: all 22)",
        )

    command("generate", _generate, "Generate the tables as Parquet files, unless they are there.")

    run = command("run", _run, "Run queries, check the answers, print the times.")
    add_queries(run)
    run.add_argument("--workers", type=_argument(_positive), metavar="N", help="worker processes (default: one per core)")
    run.add_argument("--inline", choices=("off", "auto"), default="auto", help="let tiny queries run in this process")
    run.add_argument(
        "--cache", choices=("auto", "eager", "off"), default="auto", help="keep columns of the files in shared memory"
    )
    run.add_argument("--warm", type=_argument(_count), default=0, metavar="N", help="runs before those that are timed")
    run.add_argument("--runs", type=_argument(_positive), metavar="N", help="runs per query (default: 1, with --duckdb 3)")
    run.add_argument("--duckdb", action="store_true", help="time DuckDB on the same files in the same run")

    answers = command("answers", _answers, "Make the expected answers with DuckDB over the files.")
    add_queries(answers)
    answers.add_argument("--out", type=Path, required=True, metavar="D", help="folder that the answers go to")
    return parser


def _argument(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """`parse` for argparse, keeping the message of its ValueError."""

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"expected a number, not {text!r}")
    return int(text)


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise ValueError(f"expected a number above 0, not {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())

"""The command line: `python -m tpch generate | run | check | report | compare | explain | profile |
answers`.

Errors are one line and exit status 1, where a command has no other.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tpch import explain, generate, generate_command, run_command
from tpch.arguments import add_data, add_queries
from tpch.compare import command as compare
from tpch.errors import TpchError
from tpch.report import command as report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; the exit status is 0 when it did what it should, and every answer of qengine was correct."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended as by Ctrl-C: nothing is left behind
    given = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(given)
    options.arguments = given
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except TpchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tpch", description="Make TPC-H data, run the 22 queries in several engines, check every answer."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    generate_command.add_command(commands)
    run_command.add_commands(commands)
    report.add_command(commands)
    compare.add_command(commands)
    explain.add_commands(commands)
    _add_answers(commands)
    return parser


def _add_answers(commands: Any) -> None:
    summary = "Make the expected answers with DuckDB over the files."
    parser = commands.add_parser("answers", help=summary, description=summary)
    parser.set_defaults(command=_answers)
    add_data(parser)
    add_queries(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="D", help="folder that the answers go to")


def _answers(options: argparse.Namespace) -> int:
    from tpch import answers
    from tpch.queries import query

    generate.verify(options.dir, options.sf)
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


if __name__ == "__main__":
    sys.exit(main())

"""The command `generate`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tpch.arguments import add_data, argument, memory, positive
from tpch.errors import TpchError
from tpch.generate import flag, format_scale_factor, generate
from tpch.generation_display import display
from tpch.generator import COMPRESSIONS, FORMATS, Storage


def add_command(commands: Any) -> None:
    """Add `generate` to the sub-commands of an argparse parser."""
    summary = "Generate the tables as files, unless they are there; go on where an earlier generation was interrupted."
    parser = commands.add_parser("generate", help=summary, description=summary)
    parser.set_defaults(command=_generate)
    add_data(parser)
    parser.add_argument("--format", choices=FORMATS, default="parquet", help="kind of the files (default: parquet)")
    parser.add_argument("--compression", choices=COMPRESSIONS, help="of Parquet files (default: snappy)")
    parser.add_argument(
        "--row-group-bytes",
        type=argument(memory),
        metavar="N",
        help="size of the row groups of Parquet files before compression, such as 64M (default: 7M)",
    )
    parser.add_argument(
        "--parts", type=argument(positive), default=1, metavar="N", help="files per table (default: 1; nation and region: 1)"
    )


def _generate(options: argparse.Namespace) -> int:
    label = f"TPC-H scale factor {format_scale_factor(options.sf)} in {options.dir}"
    with display(sys.stderr) as show:
        generated = generate(options.dir, options.sf, _storage(options), show)
    print(f"{label}: generated" if generated else f"{label}: already there")
    return 0


def _storage(options: argparse.Namespace) -> Storage:
    of_parquet = {"compression": options.compression, "row_group_bytes": options.row_group_bytes}
    given = {name: value for name, value in of_parquet.items() if value is not None}
    if options.format == "parquet":
        return Storage(parts=options.parts, **given)
    if given:
        raise TpchError(f"{flag(next(iter(given)))} is an option of Parquet files: {options.format} has no such thing")
    return Storage(options.format, compression=None, row_group_bytes=None, parts=options.parts)

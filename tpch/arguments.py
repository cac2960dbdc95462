"""What several sub-commands read from the command line, and how a value that is none is refused."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from tpch.generate import parse_scale_factor
from tpch.queries import NUMBERS, parse_numbers

MOST_WORKERS = 1024

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def argument(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """`parse` for argparse, keeping the message of its ValueError."""

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add `--sf` and `--dir`: which data, and where it is."""
    parser.add_argument(
        "--sf",
        type=argument(parse_scale_factor),
        default=Decimal(1),
        metavar="F",
        help="scale factor (default: 1)",
    )
    parser.add_argument("--dir", type=Path, required=True, metavar="D", help="folder of the Parquet files")


def add_queries(parser: argparse.ArgumentParser) -> None:
    """Add `--queries`."""
    parser.add_argument(
        "--queries",
        type=argument(parse_numbers),
        default=NUMBERS,
        metavar="LIST",
        help="which ones, such as 1,3,18 or 1-6 (default: all 22)",
    )


def count(text: str) -> int:
    """A number from 0 on. Raises ValueError."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"expected a number, not {text!r}")
    return int(text)


def positive(text: str) -> int:
    """A number from 1 on. Raises ValueError."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise ValueError(f"expected a number above 0, not {text!r}")
    return int(text)


def worker_count(text: str) -> int:
    """From 1 to 1024. Raises ValueError."""
    found = positive(text)
    if found > MOST_WORKERS:
        raise ValueError(f"expected at most {MOST_WORKERS}, not {text}")
    return found


def memory(text: str) -> int:
    """Bytes, from text such as `8G`, `512MB` or `4GiB`, in powers of 1024. Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE | re.ASCII)
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size == 0:
        raise ValueError(f"expected an amount of memory such as 8G or 512M, not {text!r}")
    return size

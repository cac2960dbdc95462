"""The machine that a benchmark runs on, as its result names it; and the page cache."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from pathlib import Path

from tpch import process_tree
from tpch.results import Machine

_BLOCK = 8 << 20


def describe() -> Machine:
    """This machine. Linux."""
    return Machine(
        processor=_processor(),
        cores=cores(),
        memory=process_tree.total_memory(),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
    )


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def fill_page_cache(files: Iterable[Path]) -> None:
    """Read files to their end, so that the first engine does not pay for the disk on behalf of the others."""
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.read(_BLOCK):
                pass


def evict_page_cache(files: Iterable[Path]) -> None:
    """Ask the kernel to drop the pages of files; it keeps those that somebody has mapped."""
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()

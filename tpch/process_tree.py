"""What a process and all its descendants use: memory, processor time; and how to end them. Linux, from /proc.

Memory is the same sum for every engine:

* the anonymous resident memory of each process (`RssAnon`), which nothing else shares with it, plus
* the shared memory that belongs to the tree, counted once however many processes map it: files below /dev/shm that one of them
  has open or mapped, with all that is in the same folder there, since data on its way from one process to another is held by
  neither. Memory that is shared without such a file counts as the largest `RssShmem` does.

Pages of ordinary files are not counted, because the kernel takes them back when it needs them. Processes that end are in the
processor time of their parent, so nothing is lost with them.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import NamedTuple

SHARED_MEMORY = "/dev/shm"

_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
# Places in /proc/PID/stat after the name: utime, stime, cutime, cstime.
_TIMES = slice(11, 15)


class Usage(NamedTuple):
    """Bytes of memory now, and seconds of processor time since the tree began."""

    memory: int
    cpu_seconds: float


def usage(root: int) -> Usage:
    """What the tree below process `root` uses; zeros if it has ended."""
    anonymous = shared_resident = 0
    seconds = 0.0
    shared: set[str] = set()
    for process in members(root):
        with contextlib.suppress(OSError, ValueError, IndexError):
            seconds += _cpu_seconds(process)
            own, of_all = _resident(process)
            anonymous += own
            if of_all:
                shared_resident = max(shared_resident, of_all)
                shared |= _mapped(process)
            shared |= _opened(process)
    return Usage(anonymous + max(_file_bytes(shared), shared_resident), seconds)


def members(root: int) -> list[int]:
    """`root` and its descendants, parents first."""
    found = [root]
    for process in found:
        # Children belong to the thread that made them.
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{process}/task"):
                with contextlib.suppress(OSError):
                    found += [int(child) for child in _read(f"/proc/{process}/task/{thread}/children").split()]
    return found


def kill(root: int) -> None:
    """End the tree at once. Stopped from the root down first, so that nobody starts or replaces anybody meanwhile."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in members(root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)


def kill_group(leader: int) -> None:
    """End what is left of the process group of a leader that has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def available_memory() -> int:
    """Bytes that this machine, or the control group of this process, still has to give."""
    values = dict(line.split(":", 1) for line in _read("/proc/meminfo").splitlines())
    available = int(values["MemAvailable"].split()[0]) << 10
    limit, used = _control_group()
    return available if limit is None else min(available, max(limit - used, 0))


def total_memory() -> int:
    """Bytes of memory of this machine, or of the control group of this process if that has less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit, _ = _control_group()
    return total if limit is None else min(total, limit)


def _control_group() -> tuple[int | None, int]:
    """Limit and use of memory of the control group, without page cache that can be dropped; a limit of None is none."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        folder = Path("/sys/fs/cgroup")
        limit = int(_read(str(folder / "memory.max")))
        values = dict(line.split() for line in _read(str(folder / "memory.stat")).splitlines())
        return limit, int(_read(str(folder / "memory.current"))) - int(values["inactive_file"])
    return None, 0


def _cpu_seconds(process: int) -> float:
    # The name, in parentheses, may hold anything.
    fields = _read(f"/proc/{process}/stat").rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[_TIMES]) / _CLOCK_TICKS


def _resident(process: int) -> tuple[int, int]:
    """Bytes of anonymous and of shared memory that are resident."""
    values = dict(line.split(":", 1) for line in _read(f"/proc/{process}/status").splitlines() if line.startswith("Rss"))
    anonymous, shared = (int(values.get(name, "0").split()[0]) << 10 for name in ("RssAnon", "RssShmem"))
    return anonymous, shared


def _mapped(process: int) -> set[str]:
    lines = (line.split(maxsplit=5) for line in _read(f"/proc/{process}/maps").splitlines() if SHARED_MEMORY in line)
    return {fields[5] for fields in lines if len(fields) == 6 and fields[5].startswith(f"{SHARED_MEMORY}/")}


def _opened(process: int) -> set[str]:
    found = set()
    folder = f"/proc/{process}/fd"
    for descriptor in os.listdir(folder):
        with contextlib.suppress(OSError):
            target = os.readlink(f"{folder}/{descriptor}")
            if target.startswith(f"{SHARED_MEMORY}/"):
                found.add(target)
    return found


def _file_bytes(paths: set[str]) -> int:
    """Bytes in memory of these files and of all files beside them below /dev/shm, each counted once."""
    sizes: dict[tuple[int, int], int] = {}
    folders = {f"{SHARED_MEMORY}/{path.split('/')[3]}" for path in paths if path.count("/") > 3}
    for path in paths:
        _add_size(path, sizes)
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                _add_size(f"{parent}/{name}", sizes)
    return sum(sizes.values())


def _add_size(path: str, sizes: dict[tuple[int, int], int]) -> None:
    with contextlib.suppress(OSError):
        status = os.stat(path)
        sizes[status.st_dev, status.st_ino] = status.st_blocks * 512


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()

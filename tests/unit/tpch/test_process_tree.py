"""Memory and processor time of a tree of processes, and its end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tpch import process_tree

MIB = 1 << 20

# Takes anonymous memory, and processor time in a child that has ended.
PARENT = """
import subprocess, sys, time
subprocess.run([sys.executable, "-c", "import time\\nend = time.process_time() + 0.5\\nwhile time.process_time() < end: pass"])
child = subprocess.Popen([sys.executable, "-c", {child!r}])
own = bytearray(b"x") * (40 << 20)
print("ready", flush=True)
time.sleep(600)
"""
CHILD = """
import mmap, os, time
own = bytearray(b"y") * (30 << 20)
descriptor = os.open({path!r}, os.O_RDWR)
shared = mmap.mmap(descriptor, 0)
os.close(descriptor)
time.sleep(600)
"""


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    folder = Path(f"/dev/shm/test-process-tree-{os.getpid()}")
    folder.mkdir()
    yield folder
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


@pytest.fixture
def tree(shared_folder: Path) -> Iterator[int]:
    for name in ("mapped", "beside"):
        (shared_folder / name).write_bytes(b"z" * (20 * MIB))
    child = CHILD.format(path=str(shared_folder / "mapped"))
    process = subprocess.Popen([sys.executable, "-c", PARENT.format(child=child)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process.pid
    process_tree.kill(process.pid)
    process.wait()
    process.stdout.close()


def test_usage(tree: int) -> None:
    deadline = time.monotonic() + 20
    expected = (40 + 30 + 20 + 20) * MIB
    while process_tree.usage(tree).memory < expected and time.monotonic() < deadline:
        time.sleep(0.05)
    usage = process_tree.usage(tree)
    # The interpreters themselves take a few MiB each; the folder in shared memory counts once and as a whole.
    assert expected <= usage.memory < expected + 20 * MIB
    assert 0.5 <= usage.cpu_seconds < 5
    assert len(process_tree.members(tree)) == 2


def test_kill_ends_children_in_sessions_of_their_own() -> None:
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process_tree.kill(process.pid)
        process.wait()
    deadline = time.monotonic() + 5
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(child)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_of_a_process_that_has_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert process_tree.usage(process.pid) == (0, 0.0)
    process_tree.kill(process.pid)


def test_memory_of_the_machine() -> None:
    assert 0 < process_tree.available_memory() <= process_tree.total_memory()

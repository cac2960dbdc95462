"""However a driver ends, no worker and no file outlives it; and it need not be a well-behaved script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.conftest import eventually, folders_of, workers_of

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}

QUERY = """
from exec.engine import Engine
from tests.cluster.graphs import constants, count_pairs, shuffle
engine = Engine(2)
print(sum(table.num_rows for table in engine.execute(shuffle())), flush=True)
"""
BUSY = QUERY + "engine.execute(count_pairs(60_000))\n"


def start(arguments: list[str], cwd: Path, **options) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def assert_nothing_left(process: int) -> None:
    assert eventually(lambda: not workers_of(process)), "workers outlive their driver"
    assert eventually(lambda: not folders_of(process)), "a folder outlives its driver"


def test_a_script_without_a_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(QUERY)
    process = start([str(script)], tmp_path)
    out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == ("1000\n", "", 0)
    assert_nothing_left(process.pid)


def test_a_script_from_standard_input(tmp_path: Path) -> None:
    process = start(["-"], tmp_path, stdin=subprocess.PIPE)
    out, err = process.communicate(QUERY + "print(input() if False else 'end')\n", timeout=30)
    assert (out, err, process.returncode) == ("1000\nend\n", "", 0)
    assert_nothing_left(process.pid)


def test_modules_in_the_working_directory_do_not_hijack_a_worker(tmp_path: Path) -> None:
    for name in ("random", "exec", "planner", "polars", "pickle"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hijacked')")
    script = tmp_path / "elsewhere" / "script.py"
    script.parent.mkdir()
    script.write_text(QUERY)
    process = start([str(script)], tmp_path)
    out, err = process.communicate(timeout=30)
    assert (out, err) == ("1000\n", "")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_driver(tmp_path: Path, how: signal.Signals) -> None:
    process = start(["-c", BUSY], tmp_path)
    assert process.stdout is not None and process.stdout.readline() == "1000\n"
    time.sleep(0.3)
    assert len(set(workers_of(process.pid))) >= 2 and folders_of(process.pid)
    process.send_signal(how)
    process.wait(10)
    assert_nothing_left(process.pid)
    process.communicate()


def test_control_c_in_the_terminal(tmp_path: Path) -> None:
    """The whole process group gets the signal; only the driver may react to it."""
    goes_on = BUSY.replace("engine.execute(count", "try:\n  engine.execute(count") + (
        "except KeyboardInterrupt:\n  print('interrupted', flush=True)\n"
        "print(sum(table.num_rows for table in engine.execute(constants())))\n"
        "print(engine.statistics.workers_lost <= 2)\n"
    )
    process = start(["-c", goes_on], tmp_path, start_new_session=True)
    assert process.stdout is not None and process.stdout.readline() == "1000\n"
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (out, err) == ("interrupted\n100\nTrue\n", "")
    assert_nothing_left(process.pid)


def test_an_exit_in_the_middle(tmp_path: Path) -> None:
    hard = QUERY + (
        "import threading, os, time\n"
        "threading.Thread(target=lambda: engine.execute(count_pairs(60_000)), daemon=True).start()\n"
        "time.sleep(0.2)\nos._exit(3)\n"
    )
    process = start(["-c", hard], tmp_path)
    process.communicate(timeout=30)
    assert process.returncode == 3
    assert_nothing_left(process.pid)


def test_a_forked_sibling_keeps_nothing_alive(tmp_path: Path) -> None:
    forking = QUERY + (
        "import os, time\n"
        "child = os.fork()\n"
        "if child == 0:\n    os.close(1)\n    os.close(2)\n    time.sleep(20)\n    os._exit(0)\n"
        "print(child, flush=True)\n"
        "engine.execute(count_pairs(60_000))\n"
    )
    process = start(["-c", forking], tmp_path)
    assert process.stdout is not None and process.stdout.readline() == "1000\n"
    child = int(process.stdout.readline())
    time.sleep(0.2)
    process.kill()
    process.wait()
    try:
        assert_nothing_left(process.pid)
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)
    process.communicate()


def test_the_next_engine_sweeps_what_is_left(tmp_path: Path) -> None:
    """Driver and workers killed at once: nobody is there to clean up until an engine opens."""
    process = start(["-c", BUSY], tmp_path)
    assert process.stdout is not None and process.stdout.readline() == "1000\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGSTOP)
    workers = workers_of(process.pid)
    for pid in (*workers, process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    assert folders_of(process.pid)
    other = start(["-c", QUERY], tmp_path)
    other.communicate(timeout=30)
    assert_nothing_left(process.pid)
    assert_nothing_left(other.pid)

"""The examples of README.md do what they say, typed as written, over a smaller scale of the same data."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from tpch.generate import generate

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8").replace("data/tpch/sf1/", "data/tpch/sf0.1/")
COMMANDS = re.findall(r"^qengine .*$", README, re.M)


@pytest.fixture(scope="module", autouse=True)
def data() -> None:
    generate(ROOT / "data" / "tpch" / "sf0.1", Decimal("0.1"))


def test_the_python_examples_run_one_after_the_other() -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", README, re.S))
    assert "session.sql(" in code and "from qengine import col" in code
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-"], input=code, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "lazy · lineage · sync" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_examples_run(command: str) -> None:
    words = shlex.split(command, comments=True)
    done = subprocess.run([sys.executable, "-m", "qengine", *words[1:]], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2


def test_there_are_shell_examples() -> None:
    assert len(COMMANDS) >= 3

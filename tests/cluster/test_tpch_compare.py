"""Real results under `compare`: a build with an operator that sleeps is caught, the same build twice is not."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.slow_top_n import SlowTopN
from tpch.__main__ import main
from tpch.engines import ADAPTERS
from tpch.generate import generate
from tpch.results import Result, write
from tpch.runner import Options, run

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "data" / "tpch" / "sf0.01"
WITH_TOP_N, WITHOUT = (3, 10), (6, 12)


class Silent:
    def prepare(self, text: str) -> None:
        pass

    def start(self, *what: Any) -> None:
        pass

    def finish(self, run: Any) -> None:
        pass


def measure(adapter: str) -> Result:
    options = Options(
        Decimal("0.01"), FOLDER, ("qengine", "duckdb"), numbers=WITH_TOP_N + WITHOUT, threads=2, runs=5, warm=1, timeout=60
    )
    return run(options, Silent(), {**ADAPTERS, "qengine": adapter})


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    generate(FOLDER, Decimal("0.01"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    slow = f"{SlowTopN.__module__}:{SlowTopN.__name__}"
    for name, adapter in {"one": ADAPTERS["qengine"], "two": ADAPTERS["qengine"], "slow": slow}.items():
        write(measure(adapter), tmp_path / f"{name}.json")
    return tmp_path


def test_a_sleeping_operator_is_caught_and_the_same_build_is_not(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The threshold is far above what a busy machine does to twenty short runs, and far below what the sleep does."""
    one, two, slow = (str(files / f"{name}.json") for name in ("one", "two", "slow"))
    assert main(["compare", one, two, "--threshold", "100"]) == 0, capsys.readouterr().out
    capsys.readouterr()
    assert main(["compare", one, slow, "--threshold", "100"]) == 1
    lines = capsys.readouterr().out.partition("duckdb hot")[0].splitlines()
    slower = {line.split()[0] for line in lines if "  slower" in line}
    assert {f"Q{number}" for number in WITH_TOP_N} <= slower
    assert not {f"Q{number}" for number in WITHOUT} & slower
    assert main(["compare", slow, one, "--threshold", "100"]) == 0

"""The benchmark with real engines, by command: every mode at the smallest scale factor, from the table to the result file."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from tpch import __main__ as command_line
from tpch.expected import Expected
from tpch.generate import generate
from tpch.results import Mode, Verdict, read

pytestmark = pytest.mark.cluster

FOLDER = Path(__file__).resolve().parents[2] / "data" / "tpch" / "sf0.01"
QUERIES = (6, 18)


@pytest.fixture(scope="module")
def arguments() -> list[str]:
    generate(FOLDER, Decimal("0.01"))
    numbers = ",".join(map(str, QUERIES))
    return ["--sf", "0.01", "--dir", str(FOLDER), "--queries", numbers, "--engines", "qengine,duckdb", "--workers", "2"]


def test_run_in_every_mode(arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep" / "result.json"
    modes = ["--mode", "cold,hot,memory", "--runs", "2", "--cold-runs", "1", "--warm", "1", "--streams", "2"]
    command = ["run", *arguments, *modes, "--out", str(out)]
    assert command_line.main(command) == 0
    written = capsys.readouterr()
    assert written.out.endswith("\n2/2 correct\n")
    hot_and_streams = 2 + 2
    assert written.err.count("correct\n") == len(QUERIES) * (2 * (1 + 2 * hot_and_streams) + hot_and_streams)
    result = read(out)
    assert result.command.startswith("python -m tpch run --sf 0.01 ")
    assert {run.verdict for run in result.runs} == {Verdict.CORRECT}
    variants = [(record.name, record.mode, record.settings["plan_cache"]) for record in result.engines if record.variant_of]
    assert variants == [("qengine (no plan cache)", Mode.HOT, "off")]
    for engine in ("qengine", "duckdb"):
        for mode in Mode:
            assert all(result.median(engine, mode, number) for number in QUERIES)
        streams = [run for run in result.runs if run.engine == engine and run.stream and run.mode is Mode.HOT]
        assert len(streams) == 2 * len(QUERIES)
    for record in result.engines:
        assert record.version and record.startup_seconds
        assert (record.load_seconds is not None) == (record.mode is Mode.MEMORY)
    for run in result.runs:
        assert run.memory is not None and 20 << 20 < run.memory < 2 << 30
    for run in result.runs:
        phases = (run.planning_seconds, run.execution_seconds, run.delivery_seconds)
        if run.engine == "duckdb":
            assert phases == (None, None, None)
        else:
            assert run.seconds is not None
            assert 0 < sum(seconds for seconds in phases if seconds is not None) <= run.seconds
            assert all(phases)
    planning = {
        engine: min(run.planning_seconds or 0.0 for run in result.runs if run.engine == engine and not run.stream)
        for engine in ("qengine", "qengine (no plan cache)")
    }
    assert planning["qengine"] < planning["qengine (no plan cache)"]


def test_check(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["check", *arguments]) == 0
    assert capsys.readouterr().out.endswith("\nqengine: 2/2 correct\nduckdb: 2/2 correct\n")


def test_a_wrong_answer_is_an_exit_status(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_wrong(
        expected: Expected, engine: str, table: pa.Table, number: int, seed: int | None = None
    ) -> tuple[Verdict, str]:
        return Verdict.WRONG, "expected something else"

    monkeypatch.setattr(Expected, "verdict", find_wrong)
    command = ["run", *arguments, "--engines", "qengine", "--warm", "0", "--out", str(tmp_path / "result.json")]
    assert command_line.main(command) == 1
    assert "wrong: expected something else" in (out := capsys.readouterr().out)
    assert out.endswith(f"\n0/{len(QUERIES)} correct\n")

"""The command line: errors are one line, wrong usage has status 2, and the small commands do what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tpch import __main__ as command_line
from tpch.arguments import worker_count


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "--dir", "missing"], "error: missing does not exist: generate the data first\n"),
        (["check", "--dir", "missing"], "error: missing does not exist: generate the data first\n"),
        (["answers", "--dir", "missing", "--out", "x"], "error: missing/customer.parquet is missing"),
        (["run", "--dir", "missing", "--out", "."], "error: . is a folder: choose a file for the result\n"),
        (["run", "--dir", "missing", "--out", "/proc/x.json"], "error: cannot write /proc/x.json: "),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command_line.main(arguments) == 1
    written = capsys.readouterr()
    assert written.err.startswith(complaint)
    assert written.err.count("\n") == 1
    assert written.out == ""


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "COMMAND"),
        (["run"], "--dir"),
        (["run", "--dir", "d", "--queries", "23"], "there is no query 23"),
        (["run", "--dir", "d", "--engines", "duckdb,oracle"], "there is no engine 'oracle': choose among qengine, duckdb, "),
        (["run", "--dir", "d", "--mode", "hot,lukewarm"], "there is no mode 'lukewarm': choose among cold, hot, memory"),
        (["run", "--dir", "d", "--memory-limit", "much"], "expected an amount of memory such as 8G or 512M, not 'much'"),
        (["run", "--dir", "d", "--runs", "0"], "expected a number above 0, not '0'"),
        (["run", "--dir", "d", "--duckdb"], "unrecognized arguments: --duckdb"),
        (["generate", "--sf", "x"], "a scale factor is a number"),
    ],
)
def test_wrong_usage_has_status_2(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command_line.main(arguments)
    assert caught.value.code == 2
    assert complaint in capsys.readouterr().err


def test_generate_and_answers_by_command(small_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["generate", "--sf", "0.01", "--dir", str(small_data)]) == 0
    assert "already there" in capsys.readouterr().out
    out = tmp_path / "answers"
    arguments = ["answers", "--sf", "0.01", "--dir", str(small_data), "--queries", "1,6", "--out", str(out)]
    assert command_line.main(arguments) == 0
    assert sorted(path.name for path in out.iterdir()) == ["q01.csv", "q06.csv"]


def test_a_number_of_workers_that_no_machine_has_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 1024, not 1000000"):
        worker_count("1000000")
    assert worker_count("1024") == 1024

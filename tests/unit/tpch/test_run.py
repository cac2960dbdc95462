"""The runner against a stand-in session that answers with DuckDB, right or wrong or not at all."""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from exec.metrics import Progress
from tpch import __main__ as command_line
from tpch import answers
from tpch import run as module
from tpch.generate import TABLES
from tpch.queries import NUMBERS, query
from tpch.run import Options, Outcome, format_table, register_tables, run_queries

SMALL = Decimal("0.01")


class Refused(Exception):
    code = "unsupported_feature"


class StandInSession:
    """The public API as far as the runner uses it."""

    def __init__(self, connection: Any, distort: Callable[[str, pa.Table], pa.Table] | None = None):
        self.connection = connection
        self.distort = distort or (lambda _, table: table)
        self.registered: dict[str, str] = {}

    def read_parquet(self, path: str) -> str:
        return path

    def register(self, name: str, table: str) -> None:
        self.registered[name] = table

    def sql(self, text: str) -> StandInResult:
        return StandInResult(self, text)


class StandInResult:
    def __init__(self, session: StandInSession, text: str):
        self.session, self.text = session, text

    def collect(self, progress: Callable[[Progress], None]) -> pa.Table:
        progress(Progress(0, 1, 0, 0, 0.0))
        table = answers.run_in_duckdb(self.session.connection, self.text)
        progress(Progress(1, 1, 0, 0, 0.1))
        return self.session.distort(self.text, table)


class Recorder:
    def __init__(self) -> None:
        self.started: list[str] = []
        self.finished: list[str] = []
        self.tasks: list[tuple[int, int]] = []

    def start(self, name: str) -> Callable[[Progress], None]:
        self.started.append(name)
        return lambda progress: self.tasks.append((progress.tasks_done, progress.tasks))

    def finish(self, outcome: Outcome) -> None:
        self.finished.append(outcome.name)


def run_small(folder: Path, distort: Any = None, **options: Any) -> tuple[list[Outcome], Recorder]:
    recorder = Recorder()
    asked = Options(**{"scale_factor": SMALL, "folder": folder, "numbers": NUMBERS, **options})
    with answers.connect(folder) as connection:
        session = StandInSession(connection, distort)
        register_tables(session, folder)
        assert sorted(session.registered) == sorted(TABLES)
        return run_queries(session, connection, asked, recorder), recorder


def test_all_right(small_data: Path) -> None:
    outcomes, recorder = run_small(small_data)
    assert [outcome.complaint for outcome in outcomes] == [None] * 22
    assert recorder.started == recorder.finished == [f"Q{number}" for number in NUMBERS]
    assert recorder.tasks == [(0, 1), (1, 1)] * 22
    text = format_table(outcomes)
    assert text.splitlines()[0].split() == ["query", "time", "s", "rows", "verdict"]
    assert text.endswith("\n22/22 correct\n")


def test_a_wrong_answer_and_a_failure_are_rows(small_data: Path) -> None:
    def distort(text: str, table: pa.Table) -> pa.Table:
        if text == query(4).text:
            return table.slice(1)
        if text == query(6).text:
            raise Refused("cannot do this\nand more that does not matter")
        if text == query(22).text:
            raise ZeroDivisionError
        return table

    outcomes, _ = run_small(small_data, distort, numbers=(4, 6, 12, 22))
    assert [outcome.complaint and outcome.complaint.split(":")[0] for outcome in outcomes] == [
        "wrong",
        "failed",
        None,
        "failed",
    ]
    text = format_table(outcomes)
    assert "failed: unsupported_feature: cannot do this\n" in text
    assert "failed: ZeroDivisionError: no message\n" in text
    assert "wrong: expected 5 rows, got 4; missing:" in text
    assert "of the 2 that ran" in text
    assert text.endswith("\n1/4 correct\n")


def test_every_run_is_checked(small_data: Path) -> None:
    calls = 0

    def distort(text: str, table: pa.Table) -> pa.Table:
        nonlocal calls
        calls += 1
        return table.slice(1) if calls == 3 else table

    outcomes, _ = run_small(small_data, distort, numbers=(4,), runs=3)
    assert calls == 3
    assert outcomes[0].complaint is not None


def test_duckdb_beside_it(small_data: Path) -> None:
    outcomes, _ = run_small(small_data, numbers=(1, 6), runs=2, duckdb=True)
    assert [len(outcome.seconds) for outcome in outcomes] == [2, 2]
    assert [len(outcome.duckdb_seconds) for outcome in outcomes] == [2, 2]
    header, _, *rows = format_table(outcomes).splitlines()
    assert header.split() == ["query", "qengine", "s", "duckdb", "s", "ratio", "rows", "verdict"]
    assert len(rows[0].split()) == 6


def test_totals_count_only_what_ran_in_both() -> None:
    outcomes = [
        Outcome("Q1", [1.0, 3.0, 2.0], [1.0, 1.0, 1.0], 4),
        Outcome("Q2", [], [5.0], None, "failed: out of memory"),
    ]
    total = format_table(outcomes).splitlines()[-3].split()
    assert total == ["total", "2.000", "1.000", "2.00", "of", "the", "1", "that", "ran"]


def test_plain_progress_is_a_line_per_query() -> None:
    stream = io.StringIO()
    with module._display(2, stream) as display:
        display.start("Q1")(Progress(1, 2, 0, 0, 0.0))
        display.finish(Outcome("Q1", [0.5], [], 4))
        display.finish(Outcome("Q2", [], [], None, "failed: x"))
    assert stream.getvalue() == "[1/2] Q1: 0.500 s, 4 rows, correct\n[2/2] Q2: - s, failed: x\n"


def test_progress_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with module._display(1, Terminal()) as display:
        assert isinstance(display, module._RichDisplay)
        display.start("Q1")(Progress(1, 2, 0, 0, 0.0))
        display.finish(Outcome("Q1", [], [], None, "wrong: [bold]not markup"))
    assert "Q1: wrong: [bold]not markup" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "--dir", "missing"], "error: missing does not exist: generate the data first\n"),
        (["answers", "--dir", "missing", "--out", "x"], "error: missing/customer.parquet is missing"),
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


@pytest.mark.parametrize("arguments", [[], ["run"], ["run", "--dir", "d", "--queries", "23"], ["generate", "--sf", "x"]])
def test_wrong_usage_has_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command_line.main(arguments)
    assert caught.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_generate_and_answers_by_command(small_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["generate", "--sf", "0.01", "--dir", str(small_data)]) == 0
    assert "already there" in capsys.readouterr().out
    out = tmp_path / "answers"
    arguments = ["answers", "--sf", "0.01", "--dir", str(small_data), "--queries", "1,6", "--out", str(out)]
    assert command_line.main(arguments) == 0
    assert sorted(path.name for path in out.iterdir()) == ["q01.csv", "q06.csv"]

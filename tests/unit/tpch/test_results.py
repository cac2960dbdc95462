"""The result of a benchmark: written and read back, medians, and files that are none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tpch.errors import TpchError
from tpch.results import FORMAT, EngineRecord, Machine, Mode, Result, Run, Verdict, geometric_mean, read, write

RESULT = Result(
    started="2026-01-02T03:04:05Z",
    command="python -m tpch run --sf 1",
    scale_factor="1",
    queries=(1, 2),
    threads=2,
    memory_limit=1 << 30,
    seed=None,
    machine=Machine("a processor", 2, 1 << 34, "Linux 6", "3.11.4"),
    engines=(EngineRecord("qengine", Mode.HOT, "1.0", {"workers": "2"}, 0.4), EngineRecord("daft", Mode.HOT, reason="no")),
    runs=(
        Run("qengine", Mode.HOT, 1, 2, Verdict.CORRECT, 0.3, 0.5, 0.01, 1000, 4),
        Run("qengine", Mode.HOT, 1, 1, Verdict.CORRECT, 0.1, 0.5, 0.01, 1000, 4),
        Run("qengine", Mode.HOT, 1, 1, Verdict.CORRECT, 9.0, stream=1),
        Run("qengine", Mode.HOT, 2, 1, Verdict.CORRECT, 0.1),
        Run("qengine", Mode.HOT, 2, 2, Verdict.WRONG, 0.1, detail="row 1"),
        Run("daft", Mode.HOT, 1, 1, Verdict.UNAVAILABLE, detail="no"),
    ),
)


def test_a_result_survives_its_file(tmp_path):
    write(RESULT, tmp_path / "r.json")
    assert read(tmp_path / "r.json") == RESULT
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_medians_are_of_runs_outside_of_streams_and_only_of_correct_ones():
    assert [run.number for run in RESULT.runs_of("qengine", Mode.HOT, 1)] == [1, 2]
    assert RESULT.median("qengine", Mode.HOT, 1) == pytest.approx(0.2)
    assert RESULT.median("qengine", Mode.HOT, 2) is None
    assert RESULT.median("daft", Mode.HOT, 1) is None
    assert RESULT.median("qengine", Mode.COLD, 1) is None
    assert geometric_mean([]) is None
    assert geometric_mean([1, 4]) == pytest.approx(2)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "not JSON"),
        ("[]", "no result"),
        ("{}", "no result"),
        ('{"format": 99}', "another version"),
        ('{"format": 1}', "another version"),
        (json.dumps({"format": FORMAT}), "damaged"),
        (json.dumps({"format": FORMAT, "queries": [], "machine": {}, "engines": [], "runs": []}), "damaged"),
    ],
)
def test_files_that_are_no_results(tmp_path, content, complaint):
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(TpchError, match=complaint):
        read(tmp_path / "r.json")


def test_a_result_that_is_not_there_and_one_that_cannot_be_written(tmp_path):
    with pytest.raises(TpchError, match="cannot read"):
        read(tmp_path / "none.json")
    with pytest.raises(TpchError, match="cannot write"):
        write(replace(RESULT, seed=3), tmp_path / "no folder" / "r.json")

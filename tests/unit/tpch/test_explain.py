"""The commands `explain` and `profile`."""

from __future__ import annotations

import re

import pytest

from qengine.dataframe import EXPLAIN_LEVELS
from tpch.__main__ import main
from tpch.explain import LEVELS


def run(capsys, *arguments: str) -> str:
    assert main([*arguments, "--workers", "1"]) == 0
    return capsys.readouterr().out


def test_every_level_of_the_plan(small_data, capsys):
    assert LEVELS == EXPLAIN_LEVELS
    common = ("explain", "--query", "6", "--sf", "0.01", "--dir", str(small_data))
    texts = {level: run(capsys, *common, "--level", level) for level in LEVELS}
    assert run(capsys, *common) == texts["optimized"]
    assert len(set(texts.values())) == len(LEVELS)
    assert all("lineitem" in text for text in texts.values())
    assert "Stage 1 (batch" in texts["stages"]


def test_parameters_are_those_of_the_seed_and_of_the_scale_factor(small_data, capsys):
    common = ("explain", "--query", "6", "--sf", "0.01", "--dir", str(small_data))
    assert "1994-01-01" in run(capsys, *common)
    assert len({run(capsys, *common, "--seed", str(seed)) for seed in range(4)}) > 1


def test_the_profile_of_the_median_run(small_data, capsys):
    lines = run(capsys, "profile", "--query", "3", "--sf", "0.01", "--dir", str(small_data), "--runs", "3").splitlines()
    found = re.fullmatch(r"Q3, 3 runs of ([\d.]+), ([\d.]+), ([\d.]+) ms; this is run ([123]):", lines[0])
    assert found is not None
    median = sorted(float(found[place]) for place in (1, 2, 3))[1]
    assert float(found[int(found[4])]) == median
    assert re.match(rf"total {median} ms: .*parse .* bind .* optimize .* execute ", lines[1])
    assert "TableScan lineitem" in "\n".join(lines)


def test_one_run_needs_no_headline(small_data, capsys):
    text = run(capsys, "profile", "--query", "6", "--sf", "0.01", "--dir", str(small_data), "--runs", "1", "--warm", "0")
    assert text.startswith("total ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--query", "6", "--sf", "0.02"), "error: data/tpch/sf0.02 does not exist: generate the data first\n"),
        (("--query", "6", "--dir", "."), "error: customer.parquet is missing"),
    ],
)
def test_errors_are_one_line(arguments, complaint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in ("explain", "profile"):
        assert main([command, *arguments]) == 1
        written = capsys.readouterr().err
        assert written.startswith(complaint) and written.count("\n") == 1


@pytest.mark.parametrize("number", ["0", "23", "six", "²"])
def test_queries_that_there_are_not(number, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["explain", "--query", number])
    assert "expected a query from 1 to 22" in capsys.readouterr().err

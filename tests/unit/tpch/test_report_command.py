"""`python -m tpch report`: where the report goes, in which form, and what is refused."""

from __future__ import annotations

import argparse
import json

import pytest

from tests.unit.tpch.page_reader import read_page
from tests.unit.tpch.results_examples import example_result
from tpch.__main__ import main
from tpch.errors import TpchError
from tpch.report import command
from tpch.results import Mode, read, write


def report(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_command(parser.add_subparsers())
    options = parser.parse_args(["report", *arguments])
    return options.command(options)


@pytest.fixture
def result_file(tmp_path):
    path = tmp_path / "r.json"
    write(example_result(("qengine", "duckdb"), (Mode.HOT,), (1, 6)), path)
    return path


def test_a_page_goes_beside_the_result(result_file, capsys):
    assert report(str(result_file)) == 0
    page = result_file.with_suffix(".html")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert capsys.readouterr().out == f"report in {page}\n"
    assert sorted(entry.name for entry in result_file.parent.iterdir()) == ["r.html", "r.json"]


@pytest.mark.parametrize(
    ("form", "start"), [("csv", "mode,engine,"), ("json", "{\n"), ("markdown", "# TPC-H at"), ("text", "TPC-H at scale")]
)
def test_other_forms_go_to_standard_output(result_file, capsys, form, start):
    assert report(str(result_file), "--format", form) == 0
    assert capsys.readouterr().out.startswith(start)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("x.htm", "<!DOCTYPE"),
        ("x.md", "# TPC"),
        ("x.csv", "mode,"),
        ("x.txt", "TPC-H"),
        ("x.JSON", "{"),
        ("x", "<!DOCTYPE"),
    ],
)
def test_the_ending_of_out_says_the_form(result_file, name, start):
    out = result_file.with_name(name)
    assert report(str(result_file), "--out", str(out)) == 0
    assert out.read_text(encoding="utf-8").startswith(start)


def test_format_goes_before_the_ending(result_file):
    out = result_file.with_name("x.html")
    assert report(str(result_file), "--out", str(out), "--format", "json") == 0
    assert json.loads(out.read_text(encoding="utf-8"))["scale_factor"] == "1"


def test_the_result_is_not_overwritten(result_file):
    before = result_file.read_bytes()
    with pytest.raises(TpchError, match="is the result itself"):
        report(str(result_file), "--out", str(result_file))
    with pytest.raises(TpchError, match="is the result itself"):
        report(str(result_file), "--out", str(result_file.parent / "." / "r.json"), "--format", "html")
    assert result_file.read_bytes() == before


def test_what_cannot_be_read_or_written(result_file, tmp_path):
    with pytest.raises(TpchError, match="cannot read"):
        report(str(tmp_path / "none.json"))
    with pytest.raises(TpchError, match="cannot write"):
        report(str(result_file), "--out", str(tmp_path / "no folder" / "x.html"))
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(TpchError, match="no result of a benchmark"):
        report(str(tmp_path / "bad.json"))
    assert not (tmp_path / "bad.html").exists()


def test_an_unknown_form_is_refused(result_file, capsys):
    with pytest.raises(SystemExit):
        report(str(result_file), "--format", "pdf")
    assert "invalid choice: 'pdf'" in capsys.readouterr().err


def test_what_the_runner_measures_becomes_a_page(small_data, tmp_path):
    result, page = tmp_path / "r.json", tmp_path / "r.html"
    asked = ["--sf", "0.01", "--dir", str(small_data), "--engines", "duckdb", "--mode", "hot", "--queries", "1,6"]
    # The exit status is about qengine, which is left out to be quick.
    main(["run", *asked, "--runs", "2", "--streams", "2", "--out", str(result)])
    assert main(["report", str(result)]) == 0
    document = read_page(page.read_text(encoding="utf-8"))
    assert [table.attributes.get("class") for table in document.all("table")][:3] == ["summary", "throughput", "queries"]
    medians = [data for data in document.all("data") if (data.attributes["data-pointer"] or "").endswith("/median")]
    assert {float(data.attributes["value"] or "") for data in medians} == {
        read(result).median("duckdb", Mode.HOT, query) for query in (1, 6)
    }

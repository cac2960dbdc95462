"""The `qengine` command as a process: what goes to standard output, to standard error, and the exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "points.parquet"
    pq.write_table(pa.table({"k": ["a", "b", "a"], "v": pa.array([1, 2, 3], pa.int64())}), path)
    return path


def run(*arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "qengine", *arguments], input=input, capture_output=True, text=True, timeout=60
    )


def test_a_query_prints_a_table(file):
    done = run("-c", f"SELECT k, sum(v) AS total FROM '{file}' GROUP BY k ORDER BY k", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines()[1] == "│ k │ total │"
    assert done.stdout.splitlines()[3:5] == ["│ a │     4 │", "│ b │     2 │"]


@pytest.mark.parametrize("format, expected", [("csv", "k,v\nb,2\n"), ("json", None), ("markdown", "| b | 2 |\n")])
def test_formats(file, format, expected):
    done = run("-c", f"SELECT * FROM '{file}' WHERE v = 2", "--format", format, "--workers", "1")
    assert done.returncode == 0, done.stderr
    if format == "json":
        assert json.loads(done.stdout) == [{"k": "b", "v": 2}]
    else:
        assert done.stdout.endswith(expected)


def test_the_query_may_come_from_standard_input():
    done = run("--format", "csv", "--workers", "1", input="SELECT 1 + 1 AS two")
    assert (done.returncode, done.stdout) == (0, "two\n2\n")


def test_explain_prints_the_plan(file):
    done = run("-c", f"SELECT k, sum(v) FROM '{file}' GROUP BY k", "--explain", "stages", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "lazy · lineage · sync" in done.stdout


@pytest.mark.parametrize(
    "arguments, first_line",
    [
        (["-c", "SELECT nope"], "error: column 'nope' does not exist [UNKNOWN_COLUMN]"),
        (["-c", "SELECT 1 // 0"], "error: division by zero [DIVISION_BY_ZERO]"),
        (["-c", "SELECT * FROM 'none.parquet'"], "error: no file matches 'none.parquet' [FILE_NOT_FOUND]"),
        (["-c", "SELECT 1", "--workers", "0"], "error: workers must be an integer from 1 to 1024, not 0 [INVALID_SETTING]"),
    ],
)
def test_an_error_is_one_clear_line_and_status_1(arguments, first_line, tmp_path):
    done = run(*arguments)
    assert done.returncode == 1, done.stdout
    assert done.stdout == ""
    assert done.stderr.splitlines()[0] == first_line
    assert "Traceback" not in done.stderr


def test_an_error_in_the_text_has_a_caret():
    done = run("-c", "SELECT 1,\n       nope")
    assert done.stderr.splitlines()[1:] == ["LINE 2:        nope", "               ^^^^"]


def test_bytes_that_are_no_utf8_are_an_error_with_a_caret():
    command = [sys.executable, "-m", "qengine", "--workers", "1"]
    for arguments, data in ((["-c", b"SELECT '\xff'"], b""), ([], b"SELECT '\xff'")):
        done = subprocess.run([*command, *arguments], input=data, capture_output=True, timeout=60)
        lines = done.stderr.decode().splitlines()
        assert (done.returncode, done.stdout) == (1, b"")
        assert lines[0].endswith("the text was not UTF-8 [SYNTAX]")
        assert lines[2] == " " * 16 + "^"


def test_text_is_utf8_in_every_locale_and_may_have_a_byte_order_mark():
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "qengine", "--workers", "1", "--format", "csv"]
    done = subprocess.run(command, input="\ufeffSELECT 'é' AS x".encode(), capture_output=True, timeout=60, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"x\n\\xe9\n", b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_output_that_cannot_be_written():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "qengine", "-c", "SELECT 1"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (done.returncode, done.stderr) == (1, "error: the result cannot be written: No space left on device\n")


def test_output_that_nobody_reads_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "qengine", "-c", "SELECT 1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait(60)

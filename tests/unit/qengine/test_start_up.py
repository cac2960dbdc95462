"""What a process loads before its first result: start-up is imports for the most part, so each has to be needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

_REPORT = "import sys; print('loaded:', ' '.join(sorted(sys.modules)))"


def loaded(*lines: str) -> set[str]:
    """The modules of a process that ran some lines of Python."""
    program = "\n".join((*lines, _REPORT))
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    report = next(line for line in finished.stdout.splitlines() if line.startswith("loaded:"))
    return set(report.split()[1:])


@pytest.fixture(scope="module")
def constant_query() -> set[str]:
    return loaded("from qengine.cli import main", "assert main(['-c', 'SELECT 1']) == 0")


def test_importing_qengine_loads_no_library():
    modules = loaded("import qengine")
    assert modules.isdisjoint({"polars", "pyarrow", "numpy", "sqlglot", "qengine.session", "planner.errors"})


def test_help_needs_no_engine():
    modules = loaded("from qengine.cli import main", "try: main(['--version'])", "except SystemExit: pass")
    assert modules.isdisjoint({"polars", "pyarrow", "numpy", "sqlglot", "exec.engine", "planner.sql"})


def test_a_query_of_constants_loads_one_dialect(constant_query):
    dialects = {name for name in constant_query if name.startswith("sqlglot.dialects.")}
    assert dialects == {"sqlglot.dialects.dialect", "sqlglot.dialects.duckdb"}


def test_a_query_of_constants_loads_no_reader_of_files(constant_query):
    assert constant_query.isdisjoint({"pyarrow.parquet", "pyarrow.compute", "pyarrow.dataset", "pyarrow.csv", "pandas"})
    assert {"polars", "pyarrow", "sqlglot"} <= constant_query, "or this test sees nothing"


def test_sql_does_not_load_the_dataframe_api(constant_query):
    assert constant_query.isdisjoint({"qengine.column", "qengine.functions"})

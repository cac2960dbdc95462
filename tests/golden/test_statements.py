"""What statements that are no queries say: statements.txt holds each (EXPLAIN, SET, SHOW, ...) with its rows, or the error.

They run one after the other in one session that has a table `t` in memory (2 rows), the file `f` and the view `v`. `pytest
--rewrite` regenerates the answers.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import qengine
from qengine.display import value_text
from qengine.errors import QEngineError
from tests.golden.error_text import cases, check, error_text

FILE = Path(__file__).with_name("statements.txt")


def answer(session: qengine.Session, text: str) -> str:
    """The rows, with bars between values, below the names of columns; of a plan alone, # being times, bytes and tries."""
    try:
        table = session.sql(text).collect()
    except QEngineError as failure:
        return error_text(failure)
    if table.column_names == ["plan"]:
        return re.sub(r"\d+\.\d ms|[\d.]+ (Ki)?B\b|\d+(?= tried)|(?<= of )\d+(?=, )", "#", "\n".join(table["plan"].to_pylist()))
    rows = [table.column_names, *(row.values() for row in table.to_pylist())]
    return "\n".join(" | ".join(map(value_text, row)) for row in rows)


def test_statements(tmp_path, rewrite) -> None:
    pq.write_table(pa.table({"k": pa.array(range(4), pa.int64())}), tmp_path / "f.parquet")
    with qengine.Session(workers=2, sampling="off") as session:
        session.register("t", pa.table({"i": pa.array([1, 2], pa.int32()), "s": ["a", None]}))
        session.register("f", session.read_parquet(tmp_path / "f.parquet"))
        session.register("v", session.sql("SELECT i + 1 AS j FROM t"))
        check(FILE, [(text, answer(session, text)) for text, _ in cases(FILE)], rewrite)

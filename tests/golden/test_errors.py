"""Bad input and what is said about it: errors.txt holds queries, each followed by the error's code, message and caret.

`pytest --rewrite` regenerates the answers. After every one of them the session still works. Files are made in a folder that
the answers call {files}, and named from there.
"""

from __future__ import annotations

import math
import os
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from qengine.errors import QEngineError
from tests.golden.error_text import cases, check, error_text

FILE = Path(__file__).with_name("errors.txt")
LEAST = 200


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    good = folder / "good.parquet"
    pq.write_table(pa.table({"a": pa.array(range(500), pa.int64()), "b": ["text"] * 500}), good)
    content = good.read_bytes()
    (folder / "empty.parquet").write_bytes(b"")
    (folder / "truncated.parquet").write_bytes(content[:-50])
    (folder / "half.parquet").write_bytes(content[: len(content) // 2])
    (folder / "foreign.parquet").write_bytes(b"a,b\n1,2\n" * 100)
    (folder / "mixed").mkdir()
    pq.write_table(pa.table({"a": [1]}), folder / "mixed" / "1.parquet")
    pq.write_table(pa.table({"a": ["x"]}), folder / "mixed" / "2.parquet")
    pq.write_table(pa.table({"nested": [[1]]}), folder / "nested.parquet")
    (folder / "columns").mkdir()
    pq.write_table(pa.table({"a": [1]}), folder / "columns" / "1.parquet")
    pq.write_table(pa.table({"a": [1], "more": [2]}), folder / "columns" / "2.parquet")
    (folder / "folder").mkdir()
    (folder / "damaged.parquet").write_bytes(content[:4] + b"\xa5" * 400 + content[404:])
    (folder / "lies.parquet").write_bytes(content[:-8] + (2**31 - 1).to_bytes(4, "little") + content[-4:])
    (folder / "zeros.parquet").symlink_to("/dev/zero")
    (folder / "loop.parquet").symlink_to("loop.parquet")
    os.mkfifo(folder / "pipe.parquet")
    return folder


@pytest.fixture(scope="module")
def session():
    with qengine.Session(workers=2) as opened:
        opened.register(
            "orders",
            pa.table(
                {
                    "id": pa.array([1, 2, 0], pa.int32()),
                    "total": pa.array([Decimal("1.50"), None, Decimal("9" * 13 + ".99")], pa.decimal128(15, 2)),
                    "big": pa.array([2**63 - 1, 1, None], pa.int64()),
                    "wide": pa.array([Decimal("9" * 38), Decimal(1), None], pa.decimal128(38, 0)),
                    "customer": ["Ann", "Bob", None],
                    "day": pa.array([8766, 8767, None], pa.date32()),
                    "paid": [True, False, None],
                    "tiny": pa.array([-128, 100, None], pa.int8()),
                    "small": pa.array([-(2**15), 2**15 - 1, None], pa.int16()),
                    "unsigned": pa.array([0, 2**32 - 1, None], pa.uint32()),
                    "ratio": [1e300, math.nan, -1e300],
                    "moment": pa.array([0, 1, None], pa.timestamp("us")),
                }
            ),
        )
        opened.register("customers", pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["Ann", "Bob"]}))
        yield opened


def answer(session: qengine.Session, files: Path, text: str) -> str:
    with pytest.raises(QEngineError) as caught:
        session.sql(text).collect()
    return error_text(caught.value, files)


def test_there_are_enough() -> None:
    assert len(cases(FILE)) >= LEAST
    assert len({text for text, _ in cases(FILE)}) == len(cases(FILE))


def test_errors(session, files, monkeypatch, rewrite) -> None:
    monkeypatch.chdir(files)
    answers = [(text, answer(session, files, text)) for text, _ in cases(FILE)]
    assert session.sql("SELECT count(*) AS n FROM orders").collect().to_pylist() == [{"n": 3}]
    check(FILE, answers, rewrite)

"""Bad input and what is said about it: errors.txt holds queries, each followed by the error's code, message and caret.

`pytest --rewrite` regenerates the answers. After every one of them the session still works. Files are made in a folder that the
text calls {files}.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from qengine.errors import InternalError, QEngineError

FILE = Path(__file__).with_name("errors.txt")
SEPARATOR = "\n\n"
LEAST = 60


def cases() -> list[tuple[str, str]]:
    """Pairs of a query and what is expected of it."""
    found = []
    for block in FILE.read_text(encoding="utf-8").strip().split(SEPARATOR):
        text, _, expected = block.partition("\n----\n")
        found.append((text, expected))
    return found


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
                }
            ),
        )
        opened.register("customers", pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["Ann", "Bob"]}))
        yield opened


def answer(session: qengine.Session, files: Path, text: str) -> str:
    with pytest.raises(QEngineError) as caught:
        session.sql(text.replace("{files}", str(files))).collect()
    assert not isinstance(caught.value, InternalError)
    return f"{caught.value.code}: {caught.value}".replace(str(files), "{files}")


def test_there_are_enough() -> None:
    assert len(cases()) >= LEAST
    assert len({text for text, _ in cases()}) == len(cases())


def test_errors(session, files, rewrite) -> None:
    answers = [(text, answer(session, files, text)) for text, _ in cases()]
    assert session.sql("SELECT count(*) AS n FROM orders").collect().to_pylist() == [{"n": 3}]
    if rewrite:
        blocks = (f"{text}\n----\n{said}" for text, said in answers)
        FILE.write_text(SEPARATOR.join(blocks) + "\n", encoding="utf-8")
        return
    for (text, said), (_, expected) in zip(answers, cases(), strict=True):
        assert said == expected, text

"""Bad input of every kind ends in one typed error, and the session goes on; nothing is left behind."""

from __future__ import annotations

import datetime
import os
import struct
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from qengine.errors import QEngineError

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module", params=["off", "auto"])
def session(request, tmp_path_factory):
    with qengine.Session(workers=2, inline=request.param) as opened:
        opened.register(
            "t",
            pa.table(
                {
                    "i": pa.array([1, 2, 0, 2**31 - 1], pa.int32()),
                    "big": pa.array([2**63 - 1, 1, 5, None], pa.int64()),
                    "d": pa.array([Decimal("9" * 20), None, Decimal(1), Decimal(2)], pa.decimal128(38, 0)),
                    "s": ["12", "x", None, "1994-02-30"],
                    "day": [datetime.date(1994, 1, 1)] * 4,
                }
            ),
        )
        yield opened


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("files") / "good.parquet"
    pq.write_table(pa.table({"a": pa.array(range(1000), pa.int64()), "b": [str(i) for i in range(1000)]}), path)
    return path


def check_usable(session) -> None:
    assert session.sql("SELECT count(*) AS n FROM t").collect().to_pylist() == [{"n": 4}]


def fails(session, text: str, code: str) -> QEngineError:
    with pytest.raises(QEngineError) as caught:
        session.sql(text).collect()
    assert caught.value.code == code, str(caught.value)
    assert "Traceback" not in str(caught.value)
    check_usable(session)
    return caught.value


@pytest.mark.parametrize(
    "text, code, part",
    [
        ("SELEC 1", "SYNTAX", ""),
        ("", "EMPTY_QUERY", ""),
        ("SELECT 1; SELECT 2", "SEVERAL_STATEMENTS", ""),
        ("SELECT (1", "SYNTAX", ""),
        ("SELECT * FROM nowhere", "UNKNOWN_TABLE", "nowhere"),
        ("SELECT bigg FROM t", "UNKNOWN_COLUMN", "did you mean 'big'"),
        ("SELECT t.i FROM t AS u", "UNKNOWN_TABLE", ""),
        ("SELECT i FROM t a, t b", "AMBIGUOUS_COLUMN", "'i'"),
        ("SELECT summ(i) FROM t", "UNKNOWN_FUNCTION", "did you mean 'sum'"),
        ("SELECT i + day FROM t WHERE s + day", "TYPE_MISMATCH", ""),
        ("SELECT sum(s) FROM t", "TYPE_MISMATCH", ""),
        ("SELECT i, sum(big) FROM t", "NOT_GROUPED", "'i'"),
        ("SELECT i FROM t WHERE sum(i) > 1", "MISPLACED_AGGREGATE", "WHERE"),
        ("SELECT DATE '1994-02-30'", "INVALID_LITERAL", ""),
        ("SELECT i FROM t ORDER BY 7", "INVALID_ORDINAL", "7"),
        ("SELECT sum(i) OVER (ORDER BY i RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", "UNSUPPORTED", ""),
    ],
)
def test_a_query_that_cannot_be_understood(session, text, code, part):
    message = str(fails(session, text, code))
    assert part in message


@pytest.mark.parametrize(
    "text, code",
    [
        ("SELECT i + 1 FROM t", "OVERFLOW"),
        ("SELECT i * i FROM t", "OVERFLOW"),
        ("SELECT big + 1 FROM t", "OVERFLOW"),
        ("SELECT sum(big) FROM t", "OVERFLOW"),
        ("SELECT d * d FROM t", "OVERFLOW"),
        ("SELECT 10 // i FROM t", "DIVISION_BY_ZERO"),
        ("SELECT 10 % i FROM t", "DIVISION_BY_ZERO"),
        ("SELECT i / CAST(0 AS DECIMAL(3, 1)) FROM t", "DIVISION_BY_ZERO"),
        ("SELECT CAST(s AS INTEGER) FROM t", "CAST_FAILED"),
        ("SELECT CAST(s AS DATE) FROM t", "CAST_FAILED"),
        ("SELECT CAST(big AS INTEGER) FROM t", "OVERFLOW"),
        ("SELECT (SELECT i FROM t) FROM t", "SCALAR_SUBQUERY_ROWS"),
    ],
)
def test_a_value_that_does_not_fit(session, text, code):
    fails(session, text, code)


def test_a_file_that_is_not_there(session, tmp_path):
    assert "gone.parquet" in str(fails(session, f"SELECT * FROM '{tmp_path}/gone.parquet'", "FILE_NOT_FOUND"))
    fails(session, f"SELECT * FROM '{tmp_path}/*.parquet'", "FILE_NOT_FOUND")
    with pytest.raises(QEngineError) as caught:
        session.read_parquet(tmp_path / "gone.parquet")
    assert caught.value.code == "FILE_NOT_FOUND"


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"PAR1PAR1", b"a,b\n1,2\n" * 50, b"\x00" * 5000, b"PAR1" + b"\xff" * 100 + struct.pack("<I", 90) + b"PAR1"],
    ids=["empty", "magic", "two magics", "csv", "zeros", "bad footer"],
)
def test_a_file_of_another_kind(session, tmp_path, content):
    path = tmp_path / "foreign.parquet"
    path.write_bytes(content)
    assert "foreign.parquet" in str(fails(session, f"SELECT * FROM '{path}'", "FILE_INVALID"))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_a_truncated_file(session, tmp_path, good, share):
    path = tmp_path / "truncated.parquet"
    content = good.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    fails(session, f"SELECT * FROM '{path}'", "FILE_INVALID")


def test_a_file_with_damaged_pages(session, tmp_path, good):
    path = tmp_path / "damaged.parquet"
    content = bytearray(good.read_bytes())
    content[4:400] = b"\xa5" * 396
    path.write_bytes(content)
    with pytest.raises(QEngineError) as caught:
        session.sql(f"SELECT sum(a), max(b) FROM '{path}'").collect()
    assert caught.value.code == "FILE_INVALID"
    assert "damaged.parquet" in str(caught.value)
    check_usable(session)


def test_files_with_different_columns(session, tmp_path, good):
    pq.write_table(pa.table({"a": ["text"], "c": [1]}), tmp_path / "2.parquet")
    os.link(good, tmp_path / "1.parquet")
    fails(session, f"SELECT * FROM '{tmp_path}/*.parquet'", "FILE_SCHEMA_MISMATCH")


def test_a_file_that_changes_between_two_runs_is_read_anew(session, tmp_path):
    path = tmp_path / "changing.parquet"
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int64())}), path)
    result = session.sql(f"SELECT sum(a) AS s FROM '{path}'")
    assert result.collect().to_pylist() == [{"s": 3}]
    pq.write_table(pa.table({"a": pa.array([1, 2, 4], pa.int64())}), path)
    assert result.collect().to_pylist() == [{"s": 7}]
    path.unlink()
    with pytest.raises(QEngineError) as caught:
        result.collect()
    assert caught.value.code == "FILE_NOT_FOUND"
    check_usable(session)


def test_a_footer_that_lies_costs_time_and_no_answer(session, tmp_path):
    """The footer claims 3 as the greatest value; the product of the real ones does not fit in 64 bits."""
    path = tmp_path / "lying.parquet"
    great = 4 * 10**18
    table = pa.table({"a": pa.array([1, 2, great], pa.int64()), "k": pa.array([1, 1, 1], pa.int64())})
    pq.write_table(table, path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    footer = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]
    before, after = struct.pack("<q", great), struct.pack("<q", 3)
    lies = content[footer:].count(before)
    assert lies > 0
    content[footer:] = content[footer:].replace(before, after)
    path.write_bytes(content)
    assert pq.read_metadata(path).row_group(0).column(0).statistics.max == 3
    fails(session, f"SELECT sum(a * 5) FROM '{path}'", "OVERFLOW")
    total = session.sql(f"SELECT sum(a) AS s FROM '{path}'").collect().to_pylist()
    assert total == [{"s": great + 3}]


def test_settings_out_of_range():
    for arguments in ({"workers": 0}, {"workers": "two"}, {"inline": "maybe"}):
        with pytest.raises(QEngineError) as caught:
            qengine.Session(**arguments)
        assert caught.value.code == "INVALID_SETTING"


def test_a_closed_session_says_so():
    opened = qengine.Session(workers=1)
    result = opened.sql("SELECT 1")
    opened.close()
    opened.close()
    for use in (lambda: opened.sql("SELECT 1"), result.collect, lambda: opened.register("t", pa.table({}))):
        with pytest.raises(QEngineError) as caught:
            use()
        assert caught.value.code == "SESSION_CLOSED"

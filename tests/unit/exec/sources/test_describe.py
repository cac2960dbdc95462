"""Parquet footers to snapshots, and the errors of files that are none."""

from __future__ import annotations

import datetime
import os
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exec.sources.describe import describe
from planner import dtypes as t
from planner.catalog import Trust
from planner.errors import QEngineError

D = Decimal


def code(paths) -> str:
    with pytest.raises(QEngineError) as failure:
        describe(paths, "t")
    assert "\n" not in failure.value.message
    return failure.value.code


def test_fields_statistics_and_row_groups(tmp_path):
    table = pa.table(
        {
            "i": pa.array([1, 5, None, None], pa.int32()),
            "u": pa.array([2**64 - 1, 3, 4, 5], pa.uint64()),
            "d": pa.array([D("1.25"), D("-7"), None, None], pa.decimal128(15, 2)),
            "w": pa.array([D("1"), D("-" + "9" * 30), D("0"), None], pa.decimal128(38, 3)),
            "s": ["b", "a", None, None],
            "day": pa.array([datetime.date(1970, 1, 3), datetime.date(1969, 12, 31), None, None]),
            "ts": pa.array([datetime.datetime(1970, 1, 1, 0, 0, 1), None, None, None], pa.timestamp("ms")),
            "nested": pa.array([[1], [2], [], None], pa.list_(pa.int64())),
            "last": pa.array([9, 8, 7, 6], pa.int64()),
        }
    )
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=2)
    found = describe(path, "t")
    columns = dict(zip((field.name for field in found.fields), found.columns, strict=True))
    types = {field.name: field.dtype for field in found.fields}
    assert types == {
        "i": t.INTEGER, "u": t.UBIGINT, "d": t.decimal(15, 2), "w": t.decimal(38, 3), "s": t.VARCHAR, "day": t.DATE,
        "ts": t.TIMESTAMP, "last": t.BIGINT,
    }  # fmt: skip
    bounds = {name: (column.minimum, column.maximum, column.null_count) for name, column in columns.items()}
    assert bounds == {
        "i": (1, 5, 2), "u": (3, 2**64 - 1, 0), "d": (-700, 125, 2), "w": (-(10**30 - 1) * 1000, 1000, 1), "s": ("a", "b", 2),
        "day": (-1, 2, 2), "ts": (1_000_000, 1_000_000, 3), "last": (6, 9, 0),
    }  # fmt: skip
    assert all(column.trust is Trust.CLAIMED for column in found.columns)
    (file,) = found.files
    assert [(group.first_row, group.rows) for group in file.row_groups] == [(0, 2), (2, 2)]
    assert file.split.size == os.stat(path).st_size
    assert (found.rows, found.reader, found.format) == (4, "polars", "parquet")


def test_folders_globs_and_lists_in_sorted_order(tmp_path):
    for name in ("b", "a", "c"):
        pq.write_table(pa.table({"x": [1]}), tmp_path / f"{name}.parquet")
    names = [[os.path.basename(file.split.path) for file in describe(given, "t").files] for given in (
        tmp_path, f"{tmp_path}/*.parquet", [tmp_path / "c.parquet", tmp_path / "a.parquet"])]  # fmt: skip
    assert names == [["a.parquet", "b.parquet", "c.parquet"]] * 2 + [["c.parquet", "a.parquet"]]


def test_files_that_cannot_be_read(tmp_path):
    good = tmp_path / "good.parquet"
    pq.write_table(pa.table({"x": list(range(1000))}), good)
    content = good.read_bytes()
    broken = {"empty": b"", "short": b"PAR1", "text": b"hello world, this is text", "cut": content[: len(content) // 2]}
    broken["footer"] = content[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1"
    broken["thrift"] = content[:-40] + b"\xff" * 32 + content[-8:]
    for name, data in broken.items():
        (tmp_path / name).write_bytes(data)
        assert code(tmp_path / name) == "FILE_INVALID", name
    assert code(tmp_path / "missing.parquet") == "FILE_NOT_FOUND"
    assert code(f"{tmp_path}/none*.parquet") == "FILE_NOT_FOUND"
    assert code([]) == "FILE_NOT_FOUND"
    (tmp_path / "folder").mkdir()
    assert code(tmp_path / "folder") == "FILE_NOT_FOUND"


@pytest.mark.parametrize(
    "other", [{"x": [1.5], "y": ["a"]}, {"x": [1]}, {"x": [1], "y": ["a"], "z": [1]}], ids=["type", "missing", "added"]
)
def test_files_of_one_table_have_the_same_columns(tmp_path, other):
    pq.write_table(pa.table({"x": [1], "y": ["a"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table(other), tmp_path / "b.parquet")
    assert code(tmp_path) == "FILE_SCHEMA_MISMATCH"


def test_a_table_without_any_supported_column(tmp_path):
    pq.write_table(pa.table({"x": [[1]]}), tmp_path / "a.parquet")
    assert code(tmp_path / "a.parquet") == "FILE_TYPE_UNSUPPORTED"

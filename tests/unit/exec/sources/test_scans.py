"""Scans: row ranges, predicates, tiers, the check of claims, and the identity of files."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exec.lower.failures import translate
from exec.sources import scan_table
from exec.sources.describe import describe
from exec.sources.memory import register
from exec.store.segments import StoredColumns
from planner import dtypes as t
from planner.analysis.intervals import Interval
from planner.catalog import TableSnapshot, Trust
from planner.dir import ScanRange, Split
from planner.errors import QEngineError
from planner.expr.nodes import Call, ColumnRef, Compare, CompareOp, Expr, Literal
from planner.physical.nodes import TableScan
from planner.schema import Column
from tests.stored_tables import fill_all, segments_of_rows

D = Decimal
ROWS = 100
DECIMAL, WIDE = t.decimal(15, 2), t.decimal(30, 2)
KEY, PRICE, BIG, NAME = Column(1, "k", t.BIGINT), Column(2, "p", DECIMAL), Column(3, "w", WIDE), Column(4, "s", t.VARCHAR)
COLUMNS = (KEY, PRICE, BIG, NAME)
CLAIMS = ((1, Interval(0, ROWS - 1)), (2, Interval(0, 125 * ROWS)), (3, Interval(-ROWS, 0)))


STORES: dict[Split, StoredColumns] = {}
"""The column stores of the tables that have one."""


def table() -> pa.Table:
    return pa.table(
        {
            "k": pa.array(range(ROWS), pa.int64()),
            "p": pa.array([D(125 * k) / 100 for k in range(ROWS)], pa.decimal128(15, 2)),
            "w": pa.array([D(-k) / 100 for k in range(ROWS)], pa.decimal128(30, 2)),
            "s": [None if k % 7 == 0 else f"name {k}" for k in range(ROWS)],
        }
    )


@pytest.fixture(params=["polars", "pyarrow", "stored", "memory"])
def snapshot(request, tmp_path) -> Iterator[TableSnapshot]:
    if request.param == "memory":
        yield register(table(), "t", str(tmp_path))
        return
    pq.write_table(table(), tmp_path / "t.parquet", row_group_size=10)
    found = describe(tmp_path / "t.parquet", "t")
    if request.param == "stored":
        with segments_of_rows(32):
            STORES[found.files[0].split] = fill_all(found, tmp_path)
            yield found
    else:
        yield replace(found, reader=request.param)
    STORES.clear()


def scan(
    snapshot: TableSnapshot, predicate: Expr | None = None, ranges=((0, ROWS),), claims=CLAIMS, columns=COLUMNS
) -> TableScan:
    split = snapshot.files[0].split
    parts = tuple(ScanRange(split, first, rows, 0) for first, rows in ranges)
    names = tuple(column.name for column in columns)
    return TableScan("t", snapshot.format, snapshot.reader, columns, names, (parts,), predicate, claims)


def collect(node: TableScan, needed: set[int] | None = None) -> pl.DataFrame:
    wanted = frozenset({column.id for column in node.output} if needed is None else needed)
    try:
        splits = [part.split for part in node.partitions[0]]
        return scan_table(node, 0, wanted, STORES.get(splits[0]) if splits else None).collect(engine="streaming")
    except BaseException as problem:
        raise translate(problem) from problem


def code(node: TableScan, needed: set[int] | None = None) -> str:
    with pytest.raises(QEngineError) as failure:
        collect(node, needed)
    return failure.value.code


def test_all_rows_in_order_and_in_their_tiers(snapshot):
    found = collect(scan(snapshot))
    assert found.schema == {"c1": pl.Int64, "c2": pl.Int64, "c3": pl.Int64, "c4": pl.String}
    assert found["c1"].to_list() == list(range(ROWS))
    assert found["c2"].to_list() == [125 * k for k in range(ROWS)]
    assert found["c3"].to_list() == [-k for k in range(ROWS)]
    assert found["c4"].null_count() == 15
    unclaimed = collect(scan(snapshot, claims=()))
    assert unclaimed.schema["c3"] == pl.Int128
    assert unclaimed["c3"].to_list() == [-k for k in range(ROWS)]


def test_row_ranges(snapshot):
    found = collect(scan(snapshot, ranges=((10, 10), (20, 20), (70, 10))))
    assert found["c1"].to_list() == [*range(10, 40), *range(70, 80)]
    empty = collect(scan(snapshot, ranges=()))
    assert empty.height == 0
    assert empty.schema == found.schema


def test_only_what_is_needed_is_delivered(snapshot):
    later = Compare(t.BOOLEAN, CompareOp.GE, ColumnRef(t.BIGINT, KEY), Literal(t.BIGINT, 90))
    assert collect(scan(snapshot, later), {4}).columns == ["c4"]
    rows = collect(scan(snapshot, later), set())
    assert rows.height == 10
    assert collect(scan(snapshot), set()).height == ROWS


def test_predicates_on_plain_and_on_computed_columns(snapshot):
    cheap = Compare(t.BOOLEAN, CompareOp.LT, ColumnRef(DECIMAL, PRICE), Literal(DECIMAL, D("5.00")))
    assert collect(scan(snapshot, cheap))["c1"].to_list() == [0, 1, 2, 3]
    doubled = t.decimal(16, 2)
    twice = Call(doubled, "add", (ColumnRef(DECIMAL, PRICE), ColumnRef(DECIMAL, PRICE)))
    assert collect(scan(snapshot, Compare(t.BOOLEAN, CompareOp.LT, twice, Literal(doubled, D("5.00")))))["c1"].to_list() == [
        0,
        1,
    ]


@pytest.mark.parametrize("reader", ["polars", "pyarrow"])
def test_values_outside_of_a_claim(tmp_path, reader):
    pq.write_table(table(), tmp_path / "t.parquet", row_group_size=10)
    snapshot = replace(describe(tmp_path / "t.parquet", "t"), reader=reader)
    for column in (1, 2, 3):
        lies = tuple((id, Interval(0, 5) if id == column else claim) for id, claim in CLAIMS)
        assert code(scan(snapshot, claims=lies)) == "STATISTICS_VIOLATED"
        assert collect(scan(snapshot, claims=lies), {4}).height == ROWS
        # Rows that the scan does not deliver are not its business.
        first = Compare(t.BOOLEAN, CompareOp.EQ, ColumnRef(t.BIGINT, KEY), Literal(t.BIGINT, 0))
        assert collect(scan(snapshot, first, claims=lies)).height == 1


def test_a_claim_far_below_128_bits_is_checked_before_values_are_narrowed(tmp_path):
    wide = pa.table({"w": pa.array([D(1), D(10**25)], pa.decimal128(30, 2))})
    pq.write_table(wide, tmp_path / "t.parquet")
    node = scan(describe(tmp_path / "t.parquet", "t"), columns=(BIG,), claims=((3, Interval(0, 100)),), ranges=((0, 2),))
    assert code(node) == "STATISTICS_VIOLATED"


def test_a_decimal_with_more_digits_than_its_type(tmp_path):
    stored = pa.Array.from_buffers(pa.decimal128(3, 2), 2, pa.array([D("1.00"), D("99.99")], pa.decimal128(4, 2)).buffers())
    pq.write_table(pa.table({"p": stored}), tmp_path / "t.parquet", write_statistics=False)
    small = Column(2, "p", t.decimal(3, 2))
    assert code(scan(describe(tmp_path / "t.parquet", "t"), columns=(small,), claims=(), ranges=((0, 2),))) == "FILE_INVALID"


def test_a_file_that_changed_is_noticed(snapshot):
    node = scan(snapshot)
    path = snapshot.files[0].split.path
    assert collect(node).height == ROWS
    os.rename(path, f"{path}.old")
    if snapshot.format != "memory":  # a mapping outlives the name
        assert code(node) == "FILE_CHANGED"
        pq.write_table(table().slice(1), path)
        assert code(node) == "FILE_CHANGED"


@pytest.mark.parametrize("convert", [lambda x: x, pl.from_arrow, lambda x: x.to_pandas(types_mapper=pd.ArrowDtype)])
def test_table_objects(convert, tmp_path):
    found = register(convert(table()), "t", str(tmp_path))
    assert [field.dtype for field in found.fields] == [column.dtype for column in COLUMNS]
    assert [field.nullable for field in found.fields] == [False, False, False, True]
    assert [(c.minimum, c.maximum, c.null_count) for c in found.columns] == [
        (0, ROWS - 1, 0), (0, 125 * (ROWS - 1), 0), (-(ROWS - 1), 0, 0), ("name 1", "name 99", 15),
    ]  # fmt: skip
    assert all(column.trust is Trust.VERIFIED for column in found.columns)
    assert collect(scan(found))["c4"].to_list()[:3] == [None, "name 1", "name 2"]


def test_memory_types_nulls_and_batches(tmp_path):
    rows = 300_000
    given = pl.DataFrame(
        {
            "e": pl.Series(["x", "y", "x"] * (rows // 3), dtype=pl.Categorical),
            "n": pl.Series([None] * rows, dtype=pl.Null),
            "day": pl.Series([datetime.date(1970, 1, 2)] * rows),
            "ns": pl.Series([datetime.datetime(1970, 1, 1, 0, 0, 1)] * rows, dtype=pl.Datetime("ns")),
        }
    )
    found = register(given, "t", str(tmp_path))
    assert [field.dtype for field in found.fields] == [t.VARCHAR, t.INTEGER, t.DATE, t.TIMESTAMP]
    assert [(c.minimum, c.maximum, c.null_count) for c in found.columns] == [
        ("x", "y", 0), (None, None, rows), (1, 1, 0), (1_000_000, 1_000_000, 0),
    ]  # fmt: skip
    assert len(found.files[0].row_groups) == 3
    columns = tuple(Column(index, field.name, field.dtype) for index, field in enumerate(found.fields))
    frame = collect(scan(found, columns=columns, claims=(), ranges=((131_000, 200),)))
    assert frame.height == 200
    assert frame.row(0) == (
        "y" if 131_000 % 3 == 1 else "x",
        None,
        datetime.date(1970, 1, 2),
        datetime.datetime(1970, 1, 1, 0, 0, 1),
    )


def test_filtered_strings_do_not_drag_their_buffers_along(tmp_path):
    long = pl.DataFrame({"s": [f"a rather long string, number {n:07}" for n in range(20_000)]})
    one_in_hundred = long.gather_every(100).to_arrow(compat_level=pl.CompatLevel.newest())
    assert pa.types.is_string_view(one_in_hundred.schema.field("s").type)
    found = register(one_in_hundred, "t", str(tmp_path))
    assert found.files[0].split.size < 50_000


@pytest.mark.parametrize("value", [5, [1, 2], pa.table({"x": [[1]]}), pa.table({}), {"a": 1}])
def test_what_is_no_table(value, tmp_path):
    with pytest.raises(QEngineError) as failure:
        register(value, "t", str(tmp_path))
    assert failure.value.code == "UNSUPPORTED_VALUE"
    assert os.listdir(tmp_path) == []

"""The column store: what is filled and when, what has to go, and that a segment gives back what the file holds."""

from __future__ import annotations

import datetime as dt
import sys
import threading
from dataclasses import dataclass, field
from decimal import Decimal as D
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exec.sources import scan_table
from exec.sources.describe import describe
from exec.store import column_store
from exec.store.column_store import ColumnStore
from exec.store.columns import FOLDER, SEGMENT_ROWS, StoredColumn, segments_of
from exec.store.segments import Segment, StoredColumns, map_segment, write_segment
from planner import dtypes as t
from planner.analysis.intervals import Interval
from planner.catalog import TableSnapshot
from planner.dir import BATCH, Determinism, Dir, ScanRange, Single, Split, Stage, StageGraph
from planner.errors import QEngineError, error
from planner.expr.nodes import Call, ColumnRef, Compare, CompareOp, Expr, InList, IsNull, Literal, Not
from planner.physical.nodes import TableScan
from planner.schema import Column
from tests.stored_tables import fill_all, segments_of_rows


@pytest.fixture(autouse=True)
def much_space(monkeypatch):
    """However full the disk of the tests is."""
    monkeypatch.setattr(column_store, "total_bytes", lambda _: 0)


# ------------------------------------------------------------------------------------------------------------- what is kept

I64, I128 = 2**63, 10**37
VALUES: dict[str, tuple[pa.DataType, list[object]]] = {
    "bool": (pa.bool_(), [True, False, None]),
    "tiny": (pa.int8(), [-128, 127, None]),
    "narrow": (pa.int64(), [-128, 127, None]),
    "int16": (pa.int64(), [-129, 128, None]),
    "int32": (pa.int64(), [-(2**31), 2**31 - 1, None]),
    "int64": (pa.int64(), [-I64, I64 - 1, None]),
    "unsigned": (pa.uint64(), [0, 2**64 - 1, None]),
    "small unsigned": (pa.uint64(), [0, 200, None]),
    "float": (pa.float64(), [float("nan"), -0.0, None, float("inf"), 1e300]),
    "decimal": (pa.decimal128(15, 2), [D("-0.01"), D("9999999999999.99"), None]),
    "small decimal": (pa.decimal128(15, 2), [D("0.00"), D("0.10"), None]),
    "wide decimal": (pa.decimal128(38, 1), [D(-I128) / 10, D(I128) / 10, None]),
    "wide decimal of small values": (pa.decimal128(38, 1), [D("1.5"), D("-2.5"), None]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "time": (pa.time64("us"), [dt.time(0), dt.time(23, 59, 59, 999_999), None]),
    "timestamp": (pa.timestamp("us"), [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999), None]),
    "few strings": (pa.string(), ["", "a", "ä\0\U0001f600", None, "a" * 300]),
    "many strings": (pa.string(), [f"a rather long string, number {n}" for n in range(5000)]),
    "binary": (pa.binary(), [b"", b"\xff\x00", None]),
    "nulls": (pa.int32(), [None, None]),
}


def written(tmp_path: Path, kind: pa.DataType, values: list[object], rows: int = 6000) -> TableSnapshot:
    repeated = (values * (rows // len(values) + 1))[:rows]
    pq.write_table(pa.table({"x": pa.array(repeated, kind)}), tmp_path / "t.parquet", row_group_size=1700)
    return describe(tmp_path / "t.parquet", "t")


def scan(table: TableSnapshot, predicate: Expr | None = None, first: int = 0, rows: int | None = None, **more) -> TableScan:
    file = table.files[0]
    part = ScanRange(file.split, first, file.rows if rows is None else rows, 0)
    column = Column(1, "x", table.fields[0].dtype)
    return TableScan("t", "parquet", table.reader, (column,), ("x",), ((part,),), predicate, **more)


def rows_of(node: TableScan, stored: StoredColumns | None = None) -> list[object]:
    frame = scan_table(node, 0, frozenset((1,)), stored).collect(engine="streaming")
    return [(None if value is None else repr(value)) for value in frame.to_series()] + [str(frame.schema)]


@pytest.mark.parametrize("name", VALUES)
def test_a_stored_column_gives_what_the_file_gives(tmp_path, name):
    table = written(tmp_path, *VALUES[name])
    column = StoredColumn(table.files[0].split, "x", table.fields[0].dtype)
    with segments_of_rows(1000):
        stored = fill_all(table, tmp_path)
        for first, rows in ((0, 6000), (999, 2), (1000, 1000), (1700, 3400), (5999, 1)):
            assert stored.rows([column], first, rows) is not None
            node = scan(table, first=first, rows=rows)
            assert rows_of(node, stored) == rows_of(node)


def test_segments_of_one_column_may_have_different_forms(tmp_path):
    values = [*range(1000), *[10**30 + n for n in range(1000)], *[None] * 1000]
    pq.write_table(pa.table({"x": pa.array(map_or_none(D, values), pa.decimal128(38, 0))}), tmp_path / "t.parquet")
    table = describe(tmp_path / "t.parquet", "t")
    texts = [*["few"] * 1000, *[f"one of very many strings {n}" for n in range(5000)]]
    pq.write_table(pa.table({"x": texts}), tmp_path / "s.parquet")
    strings = describe(tmp_path / "s.parquet", "t")
    with segments_of_rows(1000):
        for one in (table, strings):
            assert rows_of(scan(one), fill_all(one, tmp_path)) == rows_of(scan(one))
        few = Compare(t.BOOLEAN, CompareOp.NE, TEXT, Literal(t.VARCHAR, "few"))
        assert rows_of(scan(strings, few), fill_all(strings, tmp_path)) == rows_of(scan(strings, few))


def map_or_none(convert, values):
    return [None if value is None else convert(value) for value in values]


TEXT = ColumnRef(t.VARCHAR, Column(1, "x", t.VARCHAR))
PREDICATES: dict[str, Expr] = {
    "equal": Compare(t.BOOLEAN, CompareOp.EQ, TEXT, Literal(t.VARCHAR, "a")),
    "not equal": Compare(t.BOOLEAN, CompareOp.NE, TEXT, Literal(t.VARCHAR, "a")),
    "in a list": InList(t.BOOLEAN, TEXT, (Literal(t.VARCHAR, "a"), Literal(t.VARCHAR, ""))),
    "is null": IsNull(t.BOOLEAN, TEXT),
    "is not null": Not(t.BOOLEAN, IsNull(t.BOOLEAN, TEXT)),
    "of a function": Compare(t.BOOLEAN, CompareOp.GT, Call(t.BIGINT, "length", (TEXT,)), Literal(t.BIGINT, 2)),
}


@pytest.mark.parametrize("name", PREDICATES)
def test_predicates_over_codes(tmp_path, name):
    """A predicate may be true for NULL, which is in no dictionary."""
    table = written(tmp_path, *VALUES["few strings"])
    node = scan(table, PREDICATES[name])
    with segments_of_rows(1000):
        found = rows_of(node, fill_all(table, tmp_path))
    assert found == rows_of(node)
    assert len(found) > 1


def test_few_strings_are_codes_and_small_numbers_are_narrow(tmp_path):
    for name, form in (
        ("few strings", "UInt8"),
        ("many strings", "String"),
        ("narrow", "Int8"),
        ("small decimal", "Int8"),
        ("int32", "Int32"),
    ):
        table = written(tmp_path, *VALUES[name])
        fill_all(table, tmp_path)
        segment = map_segment(tmp_path / FOLDER / StoredColumn(table.files[0].split, "x", table.fields[0].dtype).segment(0))
        assert segment is not None
        assert str(segment.values.dtype) == form, name


def test_a_claim_is_compared_with_the_bounds_of_the_segment(tmp_path):
    table = written(tmp_path, *VALUES["narrow"])
    stored = fill_all(table, tmp_path)
    with pytest.raises(QEngineError, match="outside of its footer's claim"):
        rows_of(scan(table, claims=((1, Interval(-128, 126)),)), stored)
    assert rows_of(scan(table, claims=((1, Interval(-128, 127)),)), stored)


def test_a_file_that_changed_is_not_found_in_the_store(tmp_path):
    table = written(tmp_path, *VALUES["narrow"])
    stored = fill_all(table, tmp_path)
    other = written(tmp_path, pa.int64(), [7], rows=6001)
    column = StoredColumn(other.files[0].split, "x", t.BIGINT)
    assert stored.rows([column], 0, 6001) is None
    with pytest.raises(QEngineError) as caught:
        rows_of(scan(table), stored)
    assert caught.value.code == "FILE_CHANGED"


def test_a_segment_is_complete_or_not_there(tmp_path):
    class Stops:
        def __init__(self) -> None:
            self.values = self

        def to_frame(self):
            return self

        def to_arrow(self, **_: object) -> pa.Table:
            return Unwritable()

        bounds = dictionary = None

    class Unwritable:
        schema = pa.schema([("x", pa.int64())])

        def combine_chunks(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_segment(Stops(), tmp_path / FOLDER, "name")  # type: ignore[arg-type]
    assert list((tmp_path / FOLDER).iterdir()) == []
    assert map_segment(tmp_path / FOLDER / "name") is None


# ------------------------------------------------------------------------------------------------------- what is kept, when


@dataclass
class FakeWorkers:
    """Fills at once; `sizes` are the bytes of a segment of a column."""

    sizes: dict[str, int] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()
    filled: list[tuple[str, int]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def fill(self, column: StoredColumn, number: int, reader: str, folder: Path) -> tuple[int, float]:
        self.filled.append((column.field, number))
        if column.field in self.failing:
            raise error("FILE_UNREADABLE", path="x", detail="it is damaged")
        write_segment(Segment(pl.Series("x", [1]), None), folder, column.segment(number))
        return self.sizes.get(column.field, 10), 1.0

    def dropped(self, names: tuple[str, ...]) -> None:
        self.gone.extend(names)


SPLIT = Split("file", 1000)


def query(*names: str, rows: tuple[int, int] = (0, 10), split: Split = SPLIT) -> StageGraph:
    """A query that scans columns of one file."""
    columns = tuple(Column(index, name, t.BIGINT) for index, name in enumerate(names))
    body = TableScan("t", "parquet", "polars", columns, names, ((ScanRange(split, *rows, 0),),), None)
    return StageGraph((Stage(0, 1, body, Dir((), (), Single(), (), BATCH), Determinism.SET),), (), 0)


def store(tmp_path: Path, workers: FakeWorkers, limit: int = 1000, mode: str = "auto") -> ColumnStore:
    return ColumnStore(tmp_path, limit, mode, workers)


def run(kept: ColumnStore, graph: StageGraph) -> None:
    kept.expect(graph)
    kept.count(graph)
    kept.wait()


def test_a_column_is_filled_after_its_second_use(tmp_path):
    workers = FakeWorkers()
    kept = store(tmp_path, workers)
    run(kept, query("a", "b"))
    assert workers.filled == []
    run(kept, query("a"))
    assert workers.filled == [("a", 0)]
    run(kept, query("a"))
    assert workers.filled == [("a", 0)]
    assert kept.bytes == 10
    kept.close()


def test_uses_that_lie_far_apart_do_not_count(tmp_path):
    workers = FakeWorkers()
    kept = store(tmp_path, workers)
    run(kept, query("a"))
    for number in range(120):
        run(kept, query(f"other {number}"))
    run(kept, query("a"))
    assert workers.filled == []


def test_eager_fills_before_the_first_use_and_off_never(tmp_path):
    workers = FakeWorkers()
    eager = store(tmp_path, workers, mode="eager")
    eager.expect(query("a"))
    assert workers.filled == [("a", 0)]
    off = store(tmp_path, workers, mode="off")
    for _ in range(5):
        run(off, query("b"))
    assert workers.filled == [("a", 0)]


def test_only_segments_that_are_scanned_are_filled(tmp_path):
    workers = FakeWorkers()
    kept = store(tmp_path, workers)
    for _ in range(2):
        run(kept, query("a", rows=(3 * SEGMENT_ROWS - 1, 2)))
    assert workers.filled == [("a", 2), ("a", 3)]
    assert list(segments_of(SEGMENT_ROWS, SEGMENT_ROWS)) == [1]
    assert list(segments_of(5, 0)) == []


def test_what_saves_least_time_per_byte_has_to_go(tmp_path):
    workers = FakeWorkers({"large": 900})
    kept = store(tmp_path, workers, limit=1000)
    for _ in range(2):
        run(kept, query("large"))
    for _ in range(12):
        run(kept, query("a", "b", "c"))
    assert kept.bytes == 930
    for _ in range(2):
        run(kept, query(*(f"small {n}" for n in range(8))))
    assert kept.bytes == 110
    split = StoredColumn(SPLIT, "large", t.BIGINT)
    assert workers.gone == [split.segment(0)]
    assert not (tmp_path / FOLDER / split.segment(0)).exists()
    kept.close()


def test_others_get_space_when_they_need_it(tmp_path, monkeypatch):
    workers, free = FakeWorkers(), [1000]
    monkeypatch.setattr(column_store, "free_bytes", lambda _: free[0])
    monkeypatch.setattr(column_store, "total_bytes", lambda _: 1000)
    kept = store(tmp_path, workers)
    for _ in range(2):
        run(kept, query("a", "b"))
    assert kept.bytes == 20
    free[0] = 100
    run(kept, query("c"))
    assert kept.bytes == 0
    run(kept, query("c"))
    assert kept.bytes == 0
    free[0] = 1000
    run(kept, query("c"))
    assert kept.bytes == 10


def test_what_is_not_used_any_more_is_forgotten(tmp_path):
    kept = store(tmp_path, FakeWorkers())
    for number in range(1000):
        run(kept, query(f"other {number}"))
    assert len(kept._entries) < 512


def test_a_column_larger_than_the_store_does_not_displace_the_others(tmp_path):
    workers = FakeWorkers({"huge": 5000})
    kept = store(tmp_path, workers, limit=1000)
    for _ in range(3):
        run(kept, query("a"))
    for _ in range(3):
        run(kept, query("huge"))
    assert kept.bytes == 10


def test_a_column_that_cannot_be_filled_is_not_tried_again(tmp_path):
    workers = FakeWorkers(failing=frozenset({"a"}))
    kept = store(tmp_path, workers)
    for _ in range(5):
        run(kept, query("a"))
    assert workers.filled == [("a", 0)]
    assert kept.bytes == 0


def test_a_column_that_could_not_be_filled_is_tried_again_later(tmp_path):
    workers = FakeWorkers(failing=frozenset({"a"}))
    kept = store(tmp_path, workers)
    for _ in range(2):
        run(kept, query("a"))
    workers.failing = frozenset()
    for _ in range(column_store.RETRY_AFTER):
        run(kept, query("a"))
    assert workers.filled == [("a", 0), ("a", 0)]
    assert kept.bytes == 10


def test_whatever_a_filling_raises_the_next_one_goes_on(tmp_path):
    class Failing(FakeWorkers):
        def fill(self, column: StoredColumn, number: int, reader: str, folder: Path) -> tuple[int, float]:
            if column.field == "a":
                raise OSError(24, "too many open files")
            return super().fill(column, number, reader, folder)

    kept = store(tmp_path, Failing(), mode="eager")
    kept.expect(query("a"))
    kept.expect(query("a", "b"))
    assert kept.bytes == 10


@dataclass
class SlowWorkers(FakeWorkers):
    """Fills what is called slow only when it is let."""

    let: threading.Event = field(default_factory=threading.Event)

    def fill(self, column: StoredColumn, number: int, reader: str, folder: Path) -> tuple[int, float]:
        if column.field == "slow":
            assert self.let.wait(10)
        return super().fill(column, number, reader, folder)


def test_eager_waits_for_its_own_columns_and_not_when_it_is_cancelled(tmp_path):
    workers = SlowWorkers()
    kept = store(tmp_path, workers, mode="eager")
    kept.expect(query("a"))
    cancelled = threading.Event()
    threading.Timer(0.1, cancelled.set).start()
    kept.expect(query("slow"), cancelled)
    assert kept.bytes == 10
    kept.expect(query("a"))
    workers.let.set()
    kept.wait()
    assert kept.bytes == 20


def test_an_older_version_of_a_file_has_to_go(tmp_path):
    workers = FakeWorkers()
    kept = store(tmp_path, workers)
    for size in range(1000, 1010):
        for _ in range(3):
            run(kept, query("a", split=Split("file", size)))
    assert kept.bytes == 10
    assert len(workers.gone) == 9
    assert len(list((tmp_path / FOLDER).iterdir())) == 1


def test_a_store_that_is_too_small_does_not_fill_what_it_has_to_evict_again(tmp_path):
    workers = FakeWorkers({"a": 600, "b": 600})
    kept = store(tmp_path, workers, limit=1000)
    for _ in range(20):
        run(kept, query("a", "b"))
    assert kept.bytes == 600
    assert len(workers.filled) <= 3


def test_there_are_never_more_segments_than_a_process_can_map(tmp_path, monkeypatch):
    monkeypatch.setattr(column_store, "MOST_SEGMENTS", 3)
    kept = store(tmp_path, FakeWorkers())
    for _ in range(3):
        run(kept, query("a", "b", "c", "d", "e"))
    assert kept.bytes == 30


def test_a_segment_that_cannot_be_mapped_is_not_there(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(pa, "memory_map", refuse)
    assert map_segment(tmp_path / "name") is None


def test_threads_that_evict_and_fill_at_once(tmp_path):
    """The switch interval makes threads take turns after almost every instruction."""
    kept = store(tmp_path, FakeWorkers(), limit=25)
    problems: list[BaseException] = []

    def ask(first: int) -> None:
        try:
            for number in range(150):
                kept.count(query(f"c{(first + number) % 7}", f"c{(first * number) % 5}"))
        except BaseException as problem:
            problems.append(problem)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(first,)) for first in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    kept.wait()
    assert problems == []
    assert kept.bytes <= 25
    assert kept.bytes == 10 * len(list((tmp_path / FOLDER).iterdir()))
    kept.count(query("last"))
    kept.count(query("last"))
    kept.wait()
    kept.close()

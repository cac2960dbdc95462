"""Samples of tables: which rows, what is said of columns, predicates counted on them, and when they are drawn."""

from __future__ import annotations

import datetime
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exec.sampling.distinct_sketch import MOST_HASHES, merge, sketch, sketch_rows
from exec.sampling.distributions import COMMON, PARTS, distinct_values, distribution
from exec.sampling.draw import Drawing, Drawn, draw, sample_frame
from exec.sampling.places import SAMPLE_ROWS, WHOLE_ROWS, row_parts, sample_places
from exec.sampling.statistics_store import LEAST_ROWS, StatisticsStore
from exec.sampling.table_sample import TableSample
from exec.sources.describe import describe
from exec.sources.memory import register
from planner.catalog import ColumnDistribution, TableSnapshot
from planner.errors import error
from planner.expr.nodes import Expr
from planner.logical.nodes import Filter, Scan
from planner.optimizer import optimize
from tests.plans import TestCatalog, bound, snapshot, verifying


def drawn(table: TableSnapshot) -> Drawn:
    return draw(Drawing(sample_places(table), table.fields, table.rows, table.format, table.reader))


def predicate(where: str, table: TableSnapshot) -> tuple[Expr, dict[int, int]]:
    """A filter over a table called t, and the positions of the columns."""
    plan, allocator = bound(f"SELECT 1 FROM t WHERE {where}", TestCatalog({"t": table}))
    optimized = optimize(plan, verifying(allocator, disabled=frozenset({"prune_columns"})))
    found = optimized
    while not isinstance(found, Filter):
        found = found.inputs[0]
    assert isinstance(found.input, Scan)
    return found.predicate, {column.id: position for column, position in found.input.output}


@pytest.fixture
def types(tmp_path: Path) -> pa.Table:
    """A row of every kind of type, and NULLs."""
    wide = [Decimal("12345678901234567890.123"), Decimal("-0.001"), None]
    return pa.table(
        {
            "b": pa.array([True, False, None]),
            "i": pa.array([1, -2, None], pa.int16()),
            "u": pa.array([2**64 - 1, 0, None], pa.uint64()),
            "f": pa.array([1.5, float("nan"), None]),
            "d": pa.array([Decimal("1.25"), Decimal("-3.00"), None], pa.decimal128(10, 2)),
            "w": pa.array(wide, pa.decimal128(38, 3)),
            "s": pa.array(["ä", "", None]),
            "x": pa.array([b"\x00", b"", None], pa.binary()),
            "day": pa.array([datetime.date(2020, 1, 1), datetime.date(1950, 6, 7), None]),
            "at": pa.array([datetime.datetime(2020, 1, 1, 12), datetime.datetime(1950, 1, 1), None], pa.timestamp("ns")),
            "zoned": pa.array([datetime.datetime(2020, 1, 1), None, None], pa.timestamp("us", "UTC")),
            "clock": pa.array([datetime.time(12, 30), datetime.time(0), None], pa.time64("us")),
        }
    )


class TestPlaces:
    def test_a_small_table_is_its_own_sample(self) -> None:
        places = sample_places(snapshot("t", [], WHOLE_ROWS))
        assert [(place.first_row, place.rows) for place in places] == [(0, WHOLE_ROWS)]

    def test_runs_lie_in_all_parts_of_a_large_table(self) -> None:
        rows = 10_000_000
        places = sample_places(snapshot("t", [], rows))
        assert sum(place.rows for place in places) == SAMPLE_ROWS
        parts = [place.first_row * len(places) // rows for place in places]
        assert parts == list(range(len(places)))
        offsets = {round(place.first_row * len(places) / rows % 1.0, 3) for place in places}
        assert len(offsets) == len(places), "at a place of its own in each"

    def test_runs_stay_in_their_files(self, tmp_path: Path) -> None:
        for number in range(40):
            pq.write_table(pa.table({"a": pa.array(range(1_500))}), tmp_path / f"{number:02}.parquet")
        table = describe(str(tmp_path), "t")
        places = sample_places(table)
        assert all(place.first_row >= 0 and place.first_row + place.rows <= 1_500 for place in places)
        assert len({place.split.path for place in places}) > 25
        assert 15_000 <= sum(place.rows for place in places) <= SAMPLE_ROWS

    def test_no_rows(self) -> None:
        assert sample_places(snapshot("t", [], 0)) == ()


def described(values: Sequence[Any] | pl.Series, rows: int | None = None, runs: int = 8) -> ColumnDistribution:
    series = pl.Series("c0", values)
    lengths = [len(values) // runs] * (runs - 1)
    return distribution(series, [*lengths, len(values) - sum(lengths)], rows or len(values))


class TestDistributions:
    def test_few_values_are_all_kept(self) -> None:
        found = described([*["a", "b", "c", "c"] * 100, *["a"] * 600, None, *["c"] * 800, *["b"] * 199], rows=1_000_000)
        assert found.common == (("c", 0.5), ("a", 0.35), ("b", 0.1495))
        assert (found.distinct, found.null_share, found.bounds) == (3, pytest.approx(0.0005), ())

    def test_zipf(self) -> None:
        """Of a skewed column the frequent values are known one by one, and the rare ones together."""
        generator = np.random.default_rng(5)
        table = generator.zipf(1.5, 400_000) % 100_000
        found = described(generator.choice(table, 20_000, replace=False).tolist(), rows=len(table))
        true = dict(zip(*np.unique(table, return_counts=True), strict=True))
        assert len(found.common) >= 20
        assert found.common[0][0] == 1
        for value, share in found.common[:20]:
            assert share == pytest.approx(true[value] / len(table), rel=0.35)
        rare = 1.0 - sum(share for _, share in found.common)
        assert rare == pytest.approx(sum(c for v, c in true.items() if v not in dict(found.common)) / len(table), rel=0.1)
        assert 1 / 2 <= found.distinct / len(true) <= 2

    def test_even_values_do_not_stand_out(self) -> None:
        """Some of 10,000 values are met ten times by chance, where each is expected twice."""
        generator = random.Random(3)
        found = described([generator.randrange(10_000) for _ in range(20_000)], rows=6_000_000)
        assert found.common == ()
        assert found.distinct == pytest.approx(10_000, rel=0.03)
        assert len(found.bounds) == PARTS + 1
        middle = found.bounds[PARTS // 2]
        assert middle == pytest.approx(5_000, rel=0.05)

    def test_keys(self) -> None:
        generator = random.Random(4)
        found = described(generator.sample(range(10**9), 20_000), rows=5_000_000)
        assert found.distinct == pytest.approx(5_000_000)
        assert not found.clustered

    def test_a_value_that_fills_one_run_alone_is_not_frequent(self) -> None:
        """A user's events lie together: the sample has a few users with many rows each, in no order."""
        users = [user for user in random.Random(1).sample(range(10**6), 80) for _ in range(250)]
        assert described(users, rows=10**7).common == ()

    def test_clustered(self) -> None:
        found = described([run * 1_000_000 + row // 4 for run in range(8) for row in range(2_500)], rows=8_000_000)
        assert found.clustered
        assert found.distinct == pytest.approx(2_000_000, rel=0.01)
        assert found.common == ()

    def test_clustered_with_few_values(self) -> None:
        """A table sorted by country: what fills several runs is frequent, and no new values lie between them."""
        found = described(["a"] * 1100 + ["b"] * 500 + ["c"] * 400, rows=1_000_000)
        assert found.clustered
        assert dict(found.common) == {"a": 0.55, "b": 0.25, "c": 0.2}
        assert found.distinct < 1000

    @pytest.mark.parametrize("values", [[7] * 80, [None] * 80, [*[1] * 79, None], [float("nan")] * 80])
    def test_constant(self, values: list[Any]) -> None:
        found = described(pl.Series(values, dtype=pl.Float64 if isinstance(values[0], float) else pl.Int64), rows=10_000)
        assert not found.clustered
        assert found.distinct <= 1

    def test_long_texts_are_cut(self) -> None:
        found = described(["x" * 1000 + str(number) for number in range(COMMON + 1)])
        assert found.common == ()
        assert all(len(bound) <= 64 for bound in found.bounds)

    @pytest.mark.parametrize(
        ("occurrences", "rows", "estimated"),
        [
            ([(1, 100)], 1000, 1000),  # all different
            ([(10, 10)], 1000, 10),  # none alone: there are no others
            ([(1, 10), (2, 30), (3, 10)], 100, 50),  # the whole table
            ([(1, 60), (2, 20)], 1000, 80 / (1 - 60 * 0.9 / 100)),  # even: the first-order jackknife
            ([(100, 3), (1, 60), (2, 20)], 4000, 3 + 80 / (1 - 60 * 0.9 / 100)),  # beside frequent ones
        ],
    )
    def test_distinct_values(self, occurrences: list[tuple[int, int]], rows: float, estimated: float) -> None:
        assert distinct_values(occurrences, rows) == pytest.approx(estimated)

    @pytest.mark.parametrize(("exponent", "rows"), [(1.1, 400_000), (1.5, 400_000), (2.0, 400_000)])
    def test_distinct_values_of_skewed_columns(self, exponent: float, rows: int) -> None:
        generator = np.random.default_rng(5)
        column = generator.zipf(exponent, rows) % 100_000
        sample = generator.choice(column, 20_000, replace=False)
        true = len(np.unique(column))
        assert 1 / 2 <= described(sample.tolist(), rows=rows).distinct / true <= 2


class TestDraw:
    def test_every_type_from_a_file_and_from_memory(self, types: pa.Table, tmp_path: Path) -> None:
        pq.write_table(types, tmp_path / "t.parquet")
        tables = describe(str(tmp_path / "t.parquet"), "t"), register(types, "t", str(tmp_path))
        one, other = (drawn(table) for table in tables)
        assert sample_frame(one.data).equals(sample_frame(other.data))
        assert one.columns == other.columns
        by_name = dict(zip(types.column_names, one.columns, strict=True))
        assert by_name["x"] is None
        wide = by_name["w"]
        assert wide is not None
        assert sorted(value for value, _ in wide.common) == [-1, 12345678901234567890123]
        for name, column in by_name.items():
            if column is not None and name not in ("f", "zoned"):
                assert (column.distinct, column.null_share) == (2, pytest.approx(1 / 3))

    def test_histograms_of_clustered_columns_are_those_of_row_groups(self, tmp_path: Path) -> None:
        """Days are skewed: half of all rows belong to the last tenth of the time."""
        days = np.sort(np.concatenate([np.arange(200_000) % 900, 900 + np.arange(200_000) % 100]))
        pq.write_table(pa.table({"day": days}), tmp_path / "t.parquet", row_group_size=10_000)
        table = describe(str(tmp_path / "t.parquet"), "t")
        store = StatisticsStore(Direct())
        column = store.take(table).columns[0]
        assert column is not None
        assert column.clustered
        assert 880 <= column.bounds[len(column.bounds) // 2] <= 920

    def test_a_sample_of_long_texts_is_thinned(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"s": ["x" * 4000 + str(n) for n in range(20_000)]}), tmp_path / "t.parquet")
        found = drawn(describe(str(tmp_path / "t.parquet"), "t"))
        assert len(found.data) < 20 << 20
        assert sample_frame(found.data).height >= 3_000


class TestSketches:
    @pytest.mark.parametrize("count", [0, 1, 100, 2_000, 10_000, 300_000])
    def test_parts_are_counted_together(self, count: int) -> None:
        """Each value is in two of three parts; few are counted exactly, many within four standard errors."""
        values = pl.Series(range(count), dtype=pl.Int64) * 7919
        a, b = count // 3, 2 * count // 3
        parts = [
            pl.concat([values[:a], values[a:b]]),
            pl.concat([values[a:b], values[b:]]),
            pl.concat([values[:a], values[b:]]),
        ]
        found = merge([sketch(part.extend_constant(None, 5)) for part in parts])
        assert found.nulls == 15
        assert found.exact is (count <= MOST_HASHES)
        assert found.distinct == (count if found.exact else pytest.approx(count, rel=0.032))

    def test_every_type(self, types: pa.Table, tmp_path: Path) -> None:
        pq.write_table(types, tmp_path / "t.parquet")
        for table in (describe(str(tmp_path / "t.parquet"), "t"), register(types, "t", str(tmp_path))):
            (part,) = row_parts(table)
            found = sketch_rows(part, table.fields, table.format, table.reader)
            assert [(column.distinct, column.nulls) for column in found[:-2]] == [(2, 1)] * 10
            assert [(column.distinct, column.nulls) for column in found[-2:]] == [(1, 2), (2, 1)]

    def test_parts_are_whole_row_groups(self, tmp_path: Path) -> None:
        for number in range(2):
            pq.write_table(pa.table({"a": range(1000)}), tmp_path / f"{number}.parquet", row_group_size=300)
        parts = row_parts(describe(str(tmp_path), "t"))
        assert [(part.first_row, part.rows) for part in parts] == [(0, 1000), (0, 1000)]


class TestTableSample:
    @pytest.mark.parametrize(
        ("where", "count"),
        [
            ("i > 0", 1),
            ("d = 1.25", 1),
            ("d * 2 = 2.50 AND s LIKE 'ä%'", 1),
            ("w > 1", 1),
            ("w * 2 > 1", 1),
            ("day < DATE '1960-01-01' OR at > TIMESTAMP '2000-01-01'", 2),
            ("b", 1),
            ("s IS NULL", 1),
            ("f > 100", 1),  # NaN is greater than all numbers
            ("i // (i - 1) > 0", None),  # divides by zero
            ("CASE WHEN i <> 1 THEN i // (i - 1) ELSE 5 END = 5", 2),
        ],
    )
    def test_counts(self, where: str, count: int | None, types: pa.Table, tmp_path: Path) -> None:
        table = register(types, "t", str(tmp_path))
        sample = TableSample(sample_frame(drawn(table).data))
        assert sample.count(*predicate(where, table)) == count

    def test_columns_of_others_cannot_be_said(self, types: pa.Table, tmp_path: Path) -> None:
        table = register(types, "t", str(tmp_path))
        expr, _ = predicate("i > 0", table)
        assert TableSample(sample_frame(drawn(table).data)).count(expr, {}) is None

    def test_the_same_predicate_is_evaluated_once(self, types: pa.Table, tmp_path: Path) -> None:
        class Counting(TableSample):
            evaluated = 0

            def _evaluate(self, *arguments: Any) -> int | None:
                self.evaluated += 1
                return super()._evaluate(*arguments)

        table = register(types, "t", str(tmp_path))
        sample = Counting(sample_frame(drawn(table).data))
        for where in ("i > 0 AND d > 1", "i > 0 AND d > 1", "i > 0 AND d > 2", "u > 0 AND d > 1", "i > 0 OR d > 1"):
            sample.count(*predicate(where, table))
        assert sample.evaluated == 4

    def test_a_huge_predicate_is_not_evaluated(self, types: pa.Table, tmp_path: Path) -> None:
        table = register(types, "t", str(tmp_path))
        where = " OR ".join(f"i = {n} AND d > {n}" for n in range(600))
        assert TableSample(sample_frame(drawn(table).data)).count(*predicate(where, table)) is None


class Direct:
    """Draws in this process. `busy` until it is set to False."""

    def __init__(self, draw: Callable[[Drawing], Drawn] = draw, busy: bool = False) -> None:
        self.busy = busy
        self.drawings: list[Drawing] = []
        self._draw = draw

    def draw(self, drawing: Drawing, subject: str) -> Drawn:
        self.drawings.append(drawing)
        return self._draw(drawing)

    def idle_seconds(self) -> float:
        return 0.0 if self.busy else 100.0


class TestStore:
    @pytest.fixture
    def tables(self, tmp_path: Path) -> Iterator[list[TableSnapshot]]:
        rows = pa.table({"a": list(range(LEAST_ROWS))})
        yield [register(rows, f"t{number}", str(tmp_path)) for number in range(3)]

    def test_drawn_in_the_background_when_nothing_runs(self, tables: list[TableSnapshot]) -> None:
        workers = Direct(busy=True)
        store = StatisticsStore(workers, delay=0.01)
        store.use(tables[0])
        store.use(tables[0])
        assert not store.wait(0.1)
        assert store.of(tables[0]) is None
        workers.busy = False
        assert store.wait()
        found = store.of(tables[0])
        assert found is not None and found.sample is not None
        assert found.sample.rows == LEAST_ROWS
        store.use(tables[0])
        assert store.wait()
        assert len(workers.drawings) == 1
        assert store.of(tables[0]) is found
        assert store.of(tables[1]) is None
        store.close()

    def test_small_tables_are_left_alone(self, tmp_path: Path) -> None:
        store = StatisticsStore(Direct(), delay=0.0)
        small = register(pa.table({"a": list(range(LEAST_ROWS - 1))}), "t", str(tmp_path))
        store.use(small)
        assert store.wait(0.1)
        assert store.of(small) is None
        assert store.take(small).columns[0] is not None, "unless somebody asks"
        store.close()

    def test_what_cannot_be_read_is_not_tried_again(self, tables: list[TableSnapshot]) -> None:
        def broken(drawing: Drawing) -> Drawn:
            raise error("FILE_CHANGED", path="t")

        workers = Direct(broken)
        store = StatisticsStore(workers, delay=0.0)
        for _ in range(2):
            store.use(tables[0])
            assert store.wait()
        assert len(workers.drawings) == 1
        store.close()

    def test_the_oldest_sample_makes_room(self, tables: list[TableSnapshot]) -> None:
        store = StatisticsStore(Direct(), limit=2 * 8 * LEAST_ROWS + 100)
        for table in tables:
            store.take(table)
            assert store.of(tables[0]) is not None or table is not tables[0]
        assert [store.of(table) is not None for table in tables] == [True, False, True]
        store.close()

    def test_the_thread_ends_with_the_store(self, tables: list[TableSnapshot]) -> None:
        before = threading.active_count()
        store = StatisticsStore(Direct(busy=True), delay=10.0)
        store.use(tables[0])
        store.close()
        until = time.monotonic() + 5
        while threading.active_count() > before and time.monotonic() < until:
            time.sleep(0.01)
        assert threading.active_count() <= before

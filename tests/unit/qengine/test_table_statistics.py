"""Samples and statistics of tables in a session: when plans have them, what people see of them, and that answers never change."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qengine
from exec.engine import Engine
from planner.analysis.cardinality import CardinalityAnalysis
from planner.catalog import TableStatistics
from planner.errors import BindError, DataError, NotSupported

ROWS = 60_000


def people(rows: int = ROWS) -> pa.Table:
    """Cities determine their countries: three of ten rows are of Berlin, and all of these of Germany."""
    cities = [("berlin", "de"), ("berlin", "de"), ("berlin", "de"), ("paris", "fr"), ("lyon", "fr"), *[("rome", "it")] * 5]
    return pa.table(
        {
            "id": [number * 7919 % rows for number in range(rows)],
            "city": [cities[number % 10][0] for number in range(rows)],
            "country": [cities[number % 10][1] for number in range(rows)],
            "price": pa.array(
                [Decimal(number % 100) / 4 if number % 4 else None for number in range(rows)], pa.decimal128(10, 2)
            ),
            "born": [datetime.date(1970, 1, 1) + datetime.timedelta(number % 1000) for number in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine(2) as engine:
        yield engine


@pytest.fixture
def session(engine: Engine) -> Iterator[qengine.Session]:
    with qengine.Session(engine=engine) as session:
        yield session


def estimated(frame: qengine.DataFrame) -> float:
    return CardinalityAnalysis().rows(frame._current_query().optimized)


FILTERED = "SELECT id FROM t WHERE city = 'berlin' AND country = 'de'"


def test_a_query_is_planned_with_the_sample_once_it_is_there(session: qengine.Session, tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "t.parquet")
    session.register("t", session.read_parquet(tmp_path / "t.parquet"))
    first = session.sql(FILTERED)
    assert first.collect().num_rows == ROWS * 3 // 10
    assert estimated(first) != pytest.approx(ROWS * 0.3, rel=0.05), "or this test sees nothing"
    assert session._engine.table_statistics.wait()
    second = session.sql(FILTERED)
    assert estimated(second) == pytest.approx(ROWS * 0.3, rel=0.05)
    assert second._current_query() is not first._query
    assert session.sql(FILTERED)._query is second._query, "a cached plan is used until more is known"
    assert second.collect().num_rows == ROWS * 3 // 10


def test_an_older_frame_is_planned_anew(session: qengine.Session) -> None:
    session.register("t", people())
    frame = session.sql(FILTERED)
    session.analyze("t")
    assert estimated(frame) == pytest.approx(ROWS * 0.3, rel=0.05)


def test_views_learn_as_their_tables_do(session: qengine.Session, tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "v.parquet")
    session.register("t", people())
    session.register("v", session.sql(f"SELECT id, city FROM '{tmp_path / 'v.parquet'}' UNION ALL SELECT id, city FROM t"))
    session.analyze("t")
    session.analyze(str(tmp_path / "v.parquet"))
    text = "SELECT id FROM v WHERE city = 'berlin'"
    frame = session.sql(text)
    assert estimated(frame) == pytest.approx(2 * ROWS * 0.3, rel=0.05)
    assert session.sql(text)._query is frame._query


def test_a_file_that_is_replaced_is_another_table(session: qengine.Session, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(people(), path)
    session.register("t", session.read_parquet(path))
    session.analyze("t")
    assert session.statistics("t").sampled_rows > 0
    pq.write_table(people(2_000), path)
    found = session.statistics("t")
    assert (found.rows, found.sampled_rows) == (2_000, 0)
    assert session.sql(FILTERED).collect().num_rows == 600


def test_no_sampling(engine: Engine) -> None:
    with qengine.Session(engine=engine, sampling="off") as session:
        session.register("t", people())
        session.sql(FILTERED).collect()
        assert engine.table_statistics.wait()
        assert session.statistics("t").sampled_rows == 0
        session.analyze("t")
        assert session.statistics("t").sampled_rows > 0
    with pytest.raises(BindError, match="sampling"):
        qengine.Session(engine=engine, sampling="no")


def test_a_table_in_memory_goes_before_its_sample_was_drawn(session: qengine.Session) -> None:
    session.register("t", people())
    session.sql(FILTERED).collect()
    session.register("t", people(2_000))
    session.sql(FILTERED).collect()
    assert session._engine.table_statistics.wait()
    assert session.sql(FILTERED).collect().num_rows == 600


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_wrong_statistics_never_change_an_answer(session: qengine.Session, factor: float) -> None:
    """Every distinct count, share and bound is off by a thousand, and the sample lies; footers and answers are what they were."""

    class Liar:
        rows = 20_000

        def count(self, *arguments: object) -> int:
            return 20_000 if factor < 1 else 0

    session.register("t", people())
    session.register("u", people(5_000))
    queries = (
        FILTERED,
        "SELECT city, count(*), sum(price), min(born) FROM t WHERE price > 3 OR city LIKE 'p%' GROUP BY city",
        "SELECT count(*) FROM t, u WHERE t.id = u.id AND t.born < DATE '1971-01-01' AND u.city <> 'rome'",
        "SELECT DISTINCT country FROM t WHERE id IN (SELECT id FROM u WHERE country = 'it')",
        "SELECT max(id), min(price) FROM t",
    )
    right = [sorted(session.sql(text).collect().to_pylist(), key=str) for text in queries]
    store = session._engine.table_statistics
    for name in ("t", "u"):
        session.analyze(name)
        table = session._catalog.table(name)
        true = table.statistics
        wrong = tuple(
            replace(
                column,
                distinct=column.distinct * factor,
                common=tuple((value, share / 1000) for value, share in column.common),
                bounds=tuple(bound * 1000 if isinstance(bound, int) else bound for bound in column.bounds),
            )
            for column in true.columns
        )
        store.keep(table, TableStatistics(wrong, Liar()))
    frames = [session.sql(text) for text in queries]
    if factor < 1:
        assert estimated(frames[0]) == ROWS
    assert [sorted(frame.collect().to_pylist(), key=str) for frame in frames] == right


class TestSummaries:
    @pytest.mark.parametrize("in_file", [True, False])
    def test_after_analyze(self, session: qengine.Session, tmp_path: Path, in_file: bool) -> None:
        pq.write_table(people(), tmp_path / "t.parquet", row_group_size=7_000)
        session.register("t", session.read_parquet(tmp_path / "t.parquet") if in_file else people())
        session.analyze("t")
        found = session.statistics("t")
        assert (found.name, found.rows, found.sampled_rows) == ("t", ROWS, 20_000)
        id, city, country, price, born = found.columns
        assert id.distinct == pytest.approx(ROWS, rel=0.03)
        assert (id.certainty, city.certainty, city.distinct) == ("estimated", "exact", 4)
        assert [value for value, _ in city.common[:2]] == ["rome", "berlin"]
        assert country.common[0] == ("it", pytest.approx(0.5, rel=0.05))
        assert (price.null_share, price.null_count, price.distinct) == (pytest.approx(0.25), ROWS // 4, 75)
        assert (price.minimum, price.maximum) == (Decimal("0.25"), Decimal("24.75"))
        assert (born.minimum, born.dtype, born.distinct) == (datetime.date(1970, 1, 1), "DATE", 1000)
        assert all(isinstance(bound, datetime.date) for bound in born.histogram)

    def test_before(self, engine: Engine, tmp_path: Path) -> None:
        pq.write_table(people(500), tmp_path / "t.parquet")
        with qengine.Session(engine=engine) as session:
            found = session.statistics(str(tmp_path / "t.parquet"))
            assert (found.rows, found.sampled_rows) == (500, 0)
            assert found.columns[1].certainty == "unknown"
            assert found.columns[0].certainty == "estimated", "from its range"

    def test_errors(self, session: qengine.Session, tmp_path: Path) -> None:
        session.register("t", people(10))
        session.register("v", session.sql("SELECT id FROM t"))
        for method in (session.analyze, session.statistics):
            with pytest.raises(BindError, match="did you mean 't'"):
                method("tt")
            with pytest.raises(NotSupported, match="view"):
                method("v")
            with pytest.raises(DataError):
                method(str(tmp_path / "none.parquet"))

    def test_empty_tables(self, session: qengine.Session) -> None:
        session.register("t", people(10).slice(0, 0))
        session.analyze("t")
        found = session.statistics("t")
        assert (found.rows, found.sampled_rows) == (0, 0)
        assert session.sql(FILTERED).collect().num_rows == 0

"""Writing a task's output and reading it as a consumer would, without processes."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from exec.attempts import Attempt, TaskOutput
from exec.events import Committed, Input
from exec.exchange.hashing import bucket_ids
from exec.exchange.layout import input_files
from exec.exchange.reader import InputFile, InputLost, read_exchange
from exec.exchange.writer import OutputWriter
from exec.lower.joins import ROW_MARK
from planner.dir import Determinism, Dir, Exchange, Hash, Layout, Pattern, Single, Stage, StageGraph
from planner.dtypes import BIGINT, DATE, NULL, TIMESTAMP, VARCHAR, decimal
from planner.errors import InternalError
from planner.physical.encodings import Encoding
from planner.physical.nodes import ValuesScan
from planner.schema import Column

KEY, TEXT = Column(1, "k", BIGINT), Column(2, "t", VARCHAR)
WIDE, NARROW, DAY, TIME, NOTHING = (
    Column(3, "w", decimal(38, 2)),
    Column(4, "n", decimal(10, 2)),
    Column(5, "d", DATE),
    Column(6, "ts", TIMESTAMP),
    Column(7, "x", NULL),
)
HASH = Hash((KEY.id,), (BIGINT,), 8)
ATTEMPT = Attempt(1, 1, 0, 0, 1)


def output_dir(*columns: Column, encodings: tuple[Encoding, ...] | None = None) -> Dir:
    return Dir(columns, encodings or tuple(Encoding.PLAIN for _ in columns), Single(), ())


def frame(rows: int, first: int = 0) -> pl.DataFrame:
    return pl.DataFrame({"c1": range(first, first + rows), "c2": [f"text {i}" for i in range(first, first + rows)]})


def write(batches: list[pl.DataFrame], output: Dir, written: list[Layout], folder: Path, name: str = "out") -> TaskOutput:
    with OutputWriter(output, written, [folder], name) as writer:
        for batch in batches:
            writer.write(batch)
        return writer.finish()


def read(output: TaskOutput, dir: Dir, layout: int = 0, bucket: int = 0) -> pl.DataFrame:
    batches = tuple(i for i, chunk in enumerate(output.chunks) if (chunk.layout, chunk.bucket) == (layout, bucket))
    files = [InputFile(ATTEMPT, output.path, output.size, batches)] if batches else []
    return read_exchange(files, dir.schema, dir.encodings)


def test_rows_keep_their_order(tmp_path: Path) -> None:
    dir = output_dir(KEY, TEXT)
    output = write([frame(10), frame(0), frame(10, 10)], dir, [None], tmp_path / "q1")
    assert (output.rows, [chunk.rows for chunk in output.chunks]) == (20, [10, 10])
    assert read(output, dir).equals(frame(20))


def test_rows_without_columns_are_counted(tmp_path: Path) -> None:
    dir = output_dir()
    rows = pl.DataFrame({ROW_MARK: [False] * 3})
    output = write([rows, rows], dir, [None], tmp_path / "q1")
    found = read(output, dir)
    assert (output.rows, found.height, found.columns) == (6, 6, [ROW_MARK])
    assert read(write([], dir, [None], tmp_path / "q1", "none"), dir).height == 0


def test_no_rows_are_no_file(tmp_path: Path) -> None:
    dir = output_dir(KEY, TEXT)
    output = write([frame(0)], dir, [None], tmp_path / "q1")
    assert output.path == "" and output.rows == 0
    assert read(output, dir).schema == {"c1": pl.Int64, "c2": pl.String}


@pytest.mark.parametrize("limit", [1 << 20, 7])
def test_scattered_rows_come_back_by_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr("exec.exchange.writer.SCATTER_ROWS", limit)
    dir = output_dir(KEY, TEXT)
    output = write([frame(50), frame(50, 50)], dir, [HASH], tmp_path / "q1")
    everything = frame(100)
    ids = bucket_ids(everything, HASH, dir.schema, dir.encodings)
    for bucket in range(8):
        assert read(output, dir, bucket=bucket).equals(everything.filter(pl.Series(ids == bucket)))


def test_a_scattered_file_is_compact(tmp_path: Path) -> None:
    """Strings travel without the rest of the column's buffer."""
    dir = output_dir(KEY, TEXT)
    big = pl.DataFrame({"c1": range(20_000), "c2": ["x" * 100] * 20_000})
    output = write([big], dir, [HASH], tmp_path / "q1")
    assert output.size < 20_000 * 116 * 1.1
    assert output.bytes < 20_000 * 116 * 1.1


def test_every_encoding_survives(tmp_path: Path) -> None:
    columns = (WIDE, NARROW, DAY, TIME, NOTHING)
    encodings = (Encoding.INT128, Encoding.INT64, Encoding.PLAIN, Encoding.PLAIN, Encoding.PLAIN)
    dir = output_dir(*columns, encodings=encodings)
    made = pl.DataFrame(
        {
            "c3": [Decimal(10**37), None, Decimal(-5)],
            "c4": [1, None, -3],
            "c5": [0, None, 7],
            "c6": [0, 1, None],
            "c7": [None] * 3,
        },
        schema={"c3": pl.Decimal(38, 0), "c4": pl.Int64, "c5": pl.Date, "c6": pl.Datetime("us"), "c7": pl.Null},
    )
    output = write([made], dir, [None], tmp_path / "q1")
    back = read(output, dir)
    assert back.schema["c3"] == pl.Int128 and back["c3"].to_list() == [10**37, None, -5]
    assert back.drop("c3").equals(made.drop("c3"))
    as_decimal = read(output, output_dir(*columns, encodings=(Encoding.DEC38, *encodings[1:])))
    assert as_decimal.equals(made)


def test_two_consumers_two_layouts(tmp_path: Path) -> None:
    dir = output_dir(KEY, TEXT)
    body = ValuesScan((KEY, TEXT), ())
    stages = tuple(Stage(id, tasks, body, dir, Determinism.SET) for id, tasks in ((0, 1), (1, 8), (2, 1)))
    hashed = Exchange(0, 0, 1, Pattern.HASH, Dir(dir.schema, dir.encodings, HASH, ()))
    gathered = Exchange(1, 0, 2, Pattern.GATHER, dir)
    graph = StageGraph(stages, (hashed, gathered), root=2)
    assert graph.layouts(0) == (HASH, None) and graph.layouts(2) == (None,)
    output = write([frame(100)], dir, graph.layouts(0), tmp_path / "q1")
    entry = Committed(ATTEMPT, output, 0, ())
    whole = input_files(graph, Input(gathered, (entry,)), 0)
    assert read_exchange(whole, dir.schema, dir.encodings).equals(frame(100))
    parts = [read_exchange(input_files(graph, Input(hashed, (entry,)), i), dir.schema, dir.encodings) for i in range(8)]
    assert pl.concat(parts).sort("c1").equals(frame(100))


@pytest.mark.parametrize("written", [(HASH,), (None, HASH)], ids=["scattered", "both"])
def test_what_was_written_for_other_consumers_is_read_whole_and_by_coarser_buckets(tmp_path: Path, written) -> None:
    dir = output_dir(KEY, TEXT)
    stages = tuple(Stage(id, 1, ValuesScan((KEY, TEXT), ()), dir, Determinism.SET) for id in (0, 1))
    output = write([frame(100)], dir, list(written), tmp_path / "q1")
    entry = Committed(ATTEMPT, output, 0, ())

    def parts(pattern: Pattern, partitioning, tasks: int) -> list[pl.DataFrame]:
        exchange = Exchange(0, 0, 1, pattern, Dir(dir.schema, dir.encodings, partitioning, ()))
        graph = StageGraph(stages, (exchange,), 1, version=2, written=((0, written),))
        files = [input_files(graph, Input(exchange, (entry,)), i) for i in range(tasks)]
        return [read_exchange(part, dir.schema, dir.encodings) for part in files]

    for pattern in (Pattern.GATHER, Pattern.BROADCAST, Pattern.FORWARD):
        (whole,) = parts(pattern, Single(), 1)
        assert whole.sort("c1").equals(frame(100))
    for buckets in (1, 2, 4, 8):
        coarser = replace(HASH, buckets=buckets)
        found = parts(Pattern.HASH, coarser, buckets)
        for bucket, part in enumerate(found):
            assert set(bucket_ids(part, coarser, dir.schema, dir.encodings).tolist()) <= {bucket}
        assert pl.concat(found).sort("c1").equals(frame(100))
    for other in (replace(HASH, buckets=16), replace(HASH, keys=(TEXT.id,), key_types=(VARCHAR,))):
        with pytest.raises(InternalError):
            parts(Pattern.HASH, other, 1)


def test_a_damaged_file_is_a_loss(tmp_path: Path) -> None:
    dir = output_dir(KEY, TEXT)
    output = write([frame(10)], dir, [None], tmp_path / "q1")
    Path(output.path).write_bytes(Path(output.path).read_bytes()[:-1])
    with pytest.raises(InputLost) as caught:
        read(output, dir)
    assert caught.value.attempts == (ATTEMPT,)
    Path(output.path).write_bytes(b"\0" * output.size)
    with pytest.raises(InputLost):
        read(output, dir)
    Path(output.path).unlink()
    with pytest.raises(InputLost):
        read(output, dir)


def test_a_wrong_type_is_noticed_by_the_writer(tmp_path: Path) -> None:
    with pytest.raises(InternalError):
        write([frame(10)], output_dir(KEY, DAY), [None], tmp_path / "q1")
    assert not (tmp_path / "q1").exists() or not list((tmp_path / "q1").iterdir())

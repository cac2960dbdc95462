"""A folder of data is complete or not there, whatever interrupts the generation; and it is what was asked for."""

from __future__ import annotations

import argparse
import io
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tpch import answers, generate_command, generator
from tpch import generate as module
from tpch.errors import TpchError
from tpch.generate import (
    DEFAULT_STORAGE,
    TABLES,
    data_format,
    expected_rows,
    format_scale_factor,
    generate,
    parse_scale_factor,
    table_files,
    verify,
)
from tpch.generation_display import display, format_bytes
from tpch.generator import COMPRESSIONS, Storage, estimated_bytes

TINY = Decimal("0.01")
PARTS = Storage(compression="zstd", row_group_bytes=10**6, parts=3)
CSV = Storage("csv", compression=None, row_group_bytes=None, parts=2)

Writer = Callable[..., None]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "sf0.01"
    assert generate(folder, TINY, PARTS)
    return folder


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("csv") / "sf0.01"
    assert generate(folder, TINY, CSV)
    return folder


def copying(source: Path, then: Callable[[Path], None] = lambda _: None) -> Writer:
    """A generator that copies the tables it is asked for, and then does something else."""

    def write(tables: Sequence[str], scale_factor: str, storage: Storage, folder: Path, *_: object, **__: object) -> None:
        for table in tables:
            for path in table_files(source, table):
                shutil.copy(path, folder)
        then(folder)

    return write


def main(arguments: list[str]) -> int:
    """The command, on its own."""
    parser = argparse.ArgumentParser()
    generate_command.add_command(parser.add_subparsers())
    options = parser.parse_args(["generate", *arguments])
    return options.command(options)


def never(*_: object, **__: object) -> None:
    pytest.fail("generated again")


def test_all_tables_are_there_and_nothing_else(small_data: Path) -> None:
    expected = [*(f"{table}.parquet" for table in TABLES), "generation.json"]
    assert sorted(path.name for path in small_data.iterdir()) == sorted(expected)
    assert [path.name for path in small_data.parent.iterdir()] == ["sf0.01"]


def test_what_is_there_is_not_generated_again(small_data: Path, parts: Path, csv: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "write_tables", never)
    assert generate(small_data, TINY) is False
    assert generate(parts, TINY, PARTS) is False
    assert generate(csv, TINY, CSV) is False


def test_a_folder_without_a_record_has_the_default_storage(tmp_path: Path, small_data: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "write_tables", never)
    shutil.copytree(small_data, tmp_path / "old", ignore=shutil.ignore_patterns("generation.json"))
    assert generate(tmp_path / "old", TINY) is False
    with pytest.raises(TpchError, match=r"old was generated with --compression snappy .*, not --compression zstd"):
        generate(tmp_path / "old", TINY, PARTS)


@pytest.mark.parametrize(
    ("scale_factor", "storage", "before", "now"),
    [
        (Decimal(1), DEFAULT_STORAGE, "--sf 0.01", "--sf 1"),
        (TINY, Storage(compression="none"), "--compression snappy", "--compression none"),
        (TINY, Storage(row_group_bytes=10**6), "--row-group-bytes 7340032", "--row-group-bytes 1000000"),
        (TINY, CSV, "--format parquet --parts 1", "--format csv --parts 2"),
    ],
)
def test_other_options_are_refused_by_name(small_data: Path, scale_factor, storage, before: str, now: str) -> None:
    with pytest.raises(TpchError, match=f"sf0.01 was generated with {before}, not {now}: choose another folder"):
        generate(small_data, scale_factor, storage)


def test_an_interrupted_generation_without_a_complete_table_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    def interrupted(tables, scale_factor, storage, folder: Path, *_: object, **__: object) -> None:
        (folder / "region.parquet").write_bytes(b"PAR1")
        (folder / "orders.parquet.inprogress").write_bytes(b"PAR1")
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "write_tables", interrupted)
    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path / "sf0.01", TINY)
    assert list(tmp_path.iterdir()) == []


def test_complete_tables_outlive_an_interruption(tmp_path: Path, small_data: Path, monkeypatch) -> None:
    """Half-written ones do not: neither one without an end, nor one with too few rows, nor one under its working name."""

    def interrupted(tables, scale_factor, storage, folder: Path, *_: object, **__: object) -> None:
        for table in ("customer", "part", "partsupp", "region"):
            shutil.copy(small_data / f"{table}.parquet", folder)
        (folder / "part.parquet").write_bytes((folder / "part.parquet").read_bytes()[:-1])
        shutil.copy(small_data / "region.parquet", folder / "orders.parquet")
        shutil.copy(small_data / "lineitem.parquet", folder / "lineitem.parquet.inprogress")
        raise TpchError("the disk became full")

    asked: list[str] = []

    def others(tables: Sequence[str], *arguments, **keywords) -> None:
        asked.extend(tables)
        copying(small_data)(tables, *arguments, **keywords)

    folder = tmp_path / "sf0.01"
    monkeypatch.setattr(module, "write_tables", interrupted)
    with pytest.raises(TpchError, match="full"):
        generate(folder, TINY)
    assert not folder.exists()
    with pytest.raises(TpchError, match=r"partial was started with --compression snappy, not --compression gzip: complete it"):
        generate(folder, TINY, Storage(compression="gzip"))
    monkeypatch.setattr(module, "write_tables", others)
    assert generate(folder, TINY) is True
    assert sorted(asked) == ["lineitem", "nation", "orders", "part", "supplier"]
    verify(folder, TINY)
    assert {path.name for path in folder.iterdir()} == {path.name for path in small_data.iterdir()}
    assert [path.name for path in tmp_path.iterdir()] == ["sf0.01"]


def test_parts_of_a_table_are_not_taken_for_all_of_it(tmp_path: Path, parts: Path, monkeypatch) -> None:
    """At a scale factor without a listed count two thirds of lineitem would pass for all of it."""

    def interrupted(tables, scale_factor, storage, folder: Path, *_: object, **__: object) -> None:
        shutil.copytree(parts / "lineitem", folder / "lineitem")
        shutil.copytree(parts / "orders", folder / "orders")
        (folder / "lineitem" / "lineitem.2.parquet").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_LINEITEM_ROWS", {})
    monkeypatch.setattr(module, "write_tables", interrupted)
    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path / "sf0.01", TINY, PARTS)
    monkeypatch.setattr(module, "write_tables", lambda tables, *_, **__: pytest.fail(" ".join(tables)))
    with pytest.raises(pytest.fail.Exception, match="customer lineitem nation part partsupp region supplier"):
        generate(tmp_path / "sf0.01", TINY, PARTS)


def test_a_generation_that_ended_before_its_last_step_is_taken_over(tmp_path: Path, small_data: Path, monkeypatch) -> None:
    shutil.copytree(small_data, tmp_path / ".sf0.01.partial")
    monkeypatch.setattr(module, "write_tables", never)
    assert generate(tmp_path / "sf0.01", TINY) is True
    assert [path.name for path in tmp_path.iterdir()] == ["sf0.01"]


def test_a_partial_folder_that_says_nothing_is_replaced(tmp_path: Path, small_data: Path, monkeypatch) -> None:
    partial = tmp_path / ".sf0.01.partial"
    partial.mkdir()
    (partial / "rubbish").touch()
    monkeypatch.setattr(module, "write_tables", copying(small_data))
    assert generate(tmp_path / "sf0.01", TINY) is True
    assert not (tmp_path / "sf0.01" / "rubbish").exists()


def test_a_killed_generation_is_completed_by_the_next(tmp_path: Path) -> None:
    """SIGKILL reaches only our process: the next waits until the generator has ended, then goes on."""
    folder, partial = tmp_path / "sf0.1", tmp_path / ".sf0.1.partial"
    command = [sys.executable, "-m", "tpch", "generate", "--sf", "0.1", "--dir", str(folder), "--parts", "4"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(partial.glob("lineitem/*")):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not folder.exists()
    assert generate(folder, Decimal("0.1"), Storage(parts=4)) is True
    verify(folder, Decimal("0.1"))
    assert not list(folder.rglob("*.inprogress"))


def test_a_short_generation_is_not_taken_for_done(tmp_path: Path, small_data: Path, monkeypatch) -> None:
    def shorten(folder: Path) -> None:
        shutil.copy(folder / "nation.parquet", folder / "orders.parquet")

    monkeypatch.setattr(module, "write_tables", copying(small_data, shorten))
    with pytest.raises(TpchError, match="has 25 rows, not the 15000"):
        generate(tmp_path / "sf0.01", TINY)
    assert not (tmp_path / "sf0.01").exists()


def test_no_room_is_told_before_anything_is_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "write_tables", never)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12, 10**9))
    with pytest.raises(TpchError, match=r"no room for the data: it takes about 3\d\.\d GB, and 1\.0 GB are free"):
        generate(tmp_path / "sf100", Decimal(100))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_becomes_full_is_told(tmp_path: Path, monkeypatch) -> None:
    program = tmp_path / "generator"
    program.write_text("#!/bin/sh\necho 'Error: External: No space left on device (os error 28)' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(generator, "_program", lambda: str(program))
    with pytest.raises(TpchError, match="the disk became full while the tables were written: make room"):
        generate(tmp_path / "data" / "sf0.01", TINY)
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize(("name", "told"), [("XFSZ", "raise the limit"), ("SEGV", "it was ended by signal SIGSEGV")])
def test_a_generator_that_a_signal_ends_is_told(tmp_path: Path, monkeypatch, name: str, told: str) -> None:
    program = tmp_path / "generator"
    program.write_text(f"#!/bin/sh\nulimit -c 0\nkill -{name} $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(generator, "_program", lambda: str(program))
    with pytest.raises(TpchError, match=told):
        generate(tmp_path / "data", TINY)


def test_estimates_are_a_little_above_what_is_written(small_data: Path, parts: Path, csv: Path) -> None:
    for folder, storage in ((small_data, DEFAULT_STORAGE), (parts, PARTS), (csv, CSV)):
        written = sum(path.stat().st_size for table in TABLES for path in table_files(folder, table))
        estimate = sum(estimated_bytes(table, TINY, storage) for table in TABLES)
        assert 0.9 * written < estimate < 1.5 * written
    assert all(estimated_bytes(table, TINY, Storage(compression=name)) for name in COMPRESSIONS for table in TABLES)


def test_parts_row_groups_and_compression_are_as_asked(small_data: Path, parts: Path) -> None:
    assert [path.name for path in table_files(parts, "lineitem")] == [f"lineitem.{part}.parquet" for part in (1, 2, 3)]
    assert table_files(small_data, "lineitem") == [small_data / "lineitem.parquet"]
    (group,) = {pq.read_metadata(path).row_group(0).column(0).compression for path in table_files(parts, "lineitem")}
    assert group == "ZSTD"
    groups = [
        sum(pq.read_metadata(path).num_row_groups for path in table_files(data, "lineitem")) for data in (small_data, parts)
    ]
    assert groups[0] < groups[1]
    assert json.loads((parts / "generation.json").read_text()) == {
        "sf": "0.01",
        "format": "parquet",
        "compression": "zstd",
        "row_group_bytes": 1_000_000,
        "parts": 3,
    }


def test_parts_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    for part in range(1, 12):
        (tmp_path / "orders" / f"orders.{part}.csv").touch()
    assert [path.name for path in table_files(tmp_path, "orders")] == [f"orders.{part}.csv" for part in range(1, 12)]


def test_answers_are_the_same_from_parts_and_not_made_from_csv(small_data: Path, parts: Path, csv: Path) -> None:
    counts = [
        answers.connect(data).sql("SELECT count(*), sum(l_quantity) FROM lineitem").fetchall() for data in (small_data, parts)
    ]
    assert counts[0] == counts[1]
    assert (data_format(parts), data_format(csv)) == ("parquet", "csv")
    with pytest.raises(TpchError, match="are CSV files"):
        answers.connect(csv)


def test_csv_is_verified_by_its_lines(tmp_path: Path, csv: Path) -> None:
    verify(csv, TINY)
    shutil.copytree(csv, tmp_path / "data")
    path = table_files(tmp_path / "data", "orders")[1]
    path.write_bytes(path.read_bytes().rsplit(b"\n", 2)[0] + b"\n")
    with pytest.raises(TpchError, match=r"orders has 14999 rows, not the 15000"):
        verify(tmp_path / "data", TINY)


def test_a_missing_part_is_noticed(tmp_path: Path, parts: Path) -> None:
    shutil.copytree(parts, tmp_path / "data")
    table_files(tmp_path / "data", "part")[2].unlink()
    with pytest.raises(TpchError, match=r"part has 1332 rows, not the 2000"):
        verify(tmp_path / "data", TINY)


def test_foreign_folders_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(TpchError, match=r"customer\.parquet is missing"):
        generate(tmp_path, TINY)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    with pytest.raises(TpchError, match="is a file"):
        generate(tmp_path / "thesis.txt", TINY)


def test_other_scale_factors_are_noticed_by_their_rows(small_data: Path) -> None:
    with pytest.raises(TpchError, match="1500 rows, not the 150000 of scale factor 1"):
        verify(small_data, Decimal(1))


def test_lines_per_order_are_checked_where_their_number_is_not_listed(small_data: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "_LINEITEM_ROWS", {})
    verify(small_data, TINY)
    monkeypatch.setattr(
        module, "_count_rows", lambda path: 7 * 15_000 + 1 if path.stem == "lineitem" else pq.read_metadata(path).num_rows
    )
    with pytest.raises(TpchError, match="1 to 7 lines for each order"):
        verify(small_data, TINY)


def test_truncated_files_are_refused(tmp_path: Path, small_data: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(small_data, folder)
    (folder / "part.parquet").write_bytes((folder / "part.parquet").read_bytes()[:1000])
    with pytest.raises(TpchError, match=r"part\.parquet cannot be read") as caught:
        verify(folder, TINY)
    assert "\n" not in str(caught.value)


def test_a_missing_generator_says_how_to_get_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(generator.shutil, "which", lambda *_, **__: None)
    with pytest.raises(TpchError, match=r"pip install 'qengine\[tpch\]'"):
        generate(tmp_path / "sf0.01", TINY)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_reached_through_a_link_is_filled_where_it_is(tmp_path: Path, small_data: Path, monkeypatch) -> None:
    (tmp_path / "disk" / "data").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "data")
    monkeypatch.setattr(module, "write_tables", copying(small_data))
    assert generate(tmp_path / "link", TINY) is True
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["data"]
    verify(tmp_path / "link", TINY)


def test_the_command_generates_what_it_is_asked_for(tmp_path: Path, small_data: Path, monkeypatch, capsys) -> None:
    stored: list[Storage] = []

    def write(tables, scale_factor, storage: Storage, folder: Path, *arguments, **keywords) -> None:
        stored.append(storage)
        copying(small_data)(tables, scale_factor, storage, folder, *arguments, **keywords)

    monkeypatch.setattr(module, "write_tables", write)
    command = ["--sf", "0.01", "--dir", str(tmp_path / "d"), "--row-group-bytes", "64M", "--compression", "lz4"]
    assert main(command) == 0
    assert stored == [Storage(compression="lz4", row_group_bytes=64 * 1024**2)]
    captured = capsys.readouterr()
    assert captured.out == f"TPC-H scale factor 0.01 in {tmp_path / 'd'}: generated\n"
    assert "[8/8]" in captured.err and "lineitem: 60175 rows, 1.9 MB\n" in captured.err
    assert main(command) == 0
    assert capsys.readouterr() == (f"TPC-H scale factor 0.01 in {tmp_path / 'd'}: already there\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--row-group-bytes", "7 apples"], "expected an amount of memory such as"),
        (["--row-group-bytes", "0"], "expected an amount"),
        (["--parts", "0"], "expected a number above 0"),
        (["--compression", "zip"], "invalid choice: 'zip'"),
        (["--format", "orc"], "invalid choice: 'orc'"),
        (["--sf", "zero"], "a scale factor is a number"),
        (["--format", "csv", "--compression", "zstd"], "--compression is an option of Parquet files: csv has no such thing"),
        (["--format", "csv", "--row-group-bytes", "1MB"], "--row-group-bytes is an option of Parquet files"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, arguments: list[str], message: str, capsys) -> None:
    with pytest.raises((TpchError, SystemExit)) as caught:
        main(["--dir", str(tmp_path / "d"), *arguments])
    assert message in capsys.readouterr().err + str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_shows_a_bar_of_the_bytes() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    with display(terminal) as show:
        show.start(2, 8_000_000)
        show.advance(2_000_000)
        show.finish("nation", 25, 4000)
    assert "[1/2] nation: 25 rows, 4 kB" in terminal.getvalue()
    assert "8.0 MB" in terminal.getvalue()


def test_sizes_are_readable() -> None:
    assert [format_bytes(count) for count in (0, 1, 4000, 12_900_000, 3_440_000_000)] == [
        "0 kB",
        "1 kB",
        "4 kB",
        "12.9 MB",
        "3.4 GB",
    ]


def test_row_counts_of_the_specification() -> None:
    assert expected_rows(Decimal(1)) == {
        "customer": 150_000,
        "lineitem": 6_001_215,
        "nation": 25,
        "orders": 1_500_000,
        "part": 200_000,
        "partsupp": 800_000,
        "region": 5,
        "supplier": 10_000,
    }
    assert expected_rows(Decimal("0.10"))["lineitem"] == 600_572
    assert expected_rows(Decimal(3))["lineitem"] is None


@pytest.mark.parametrize(("text", "plain"), [("1", "1"), ("1.0", "1"), ("0.10", "0.1"), ("1e2", "100"), ("10", "10")])
def test_scale_factors(text: str, plain: str) -> None:
    assert format_scale_factor(parse_scale_factor(text)) == plain


@pytest.mark.parametrize("text", ["", "one", "0", "-1", "nan", "inf", "1e9"])
def test_no_scale_factors(text: str) -> None:
    with pytest.raises(ValueError, match="scale factor"):
        parse_scale_factor(text)

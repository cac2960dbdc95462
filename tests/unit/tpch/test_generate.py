"""A folder of data is complete or not there, whatever interrupts the generation."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from tpch import generate as module
from tpch.errors import TpchError
from tpch.generate import TABLES, expected_rows, format_scale_factor, generate, parse_scale_factor, table_path, verify

TINY = Decimal("0.01")


def test_all_tables_are_there_and_nothing_else(small_data: Path) -> None:
    assert sorted(path.name for path in small_data.iterdir()) == [f"{table}.parquet" for table in TABLES]
    assert [path.name for path in small_data.parent.iterdir()] == ["sf0.01"]


def test_what_is_there_is_not_generated_again(small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_run_generator", lambda *_: pytest.fail("generated again"))
    assert generate(small_data, TINY) is False


def test_an_interrupted_generation_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(folder: Path, scale_factor: Decimal) -> None:
        folder.mkdir()
        table_path(folder, "region").write_bytes(b"PAR1")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "_run_generator", interrupted)
        with pytest.raises(KeyboardInterrupt):
            generate(tmp_path / "sf0.01", TINY)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_generation_left_is_replaced(tmp_path: Path, small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partial = tmp_path / ".sf0.01.partial"
    partial.mkdir()
    (partial / "rubbish").touch()
    monkeypatch.setattr(module, "_run_generator", lambda folder, _: shutil.copytree(small_data, folder))
    assert generate(tmp_path / "sf0.01", TINY) is True
    assert [path.name for path in tmp_path.iterdir()] == ["sf0.01"]
    assert not (tmp_path / "sf0.01" / "rubbish").exists()


def test_a_short_generation_is_not_taken_for_done(tmp_path: Path, small_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(folder: Path, scale_factor: Decimal) -> None:
        shutil.copytree(small_data, folder)
        shutil.copy(table_path(folder, "nation"), table_path(folder, "orders"))

    monkeypatch.setattr(module, "_run_generator", short)
    with pytest.raises(TpchError, match="has 25 rows, not the 15000"):
        generate(tmp_path / "sf0.01", TINY)
    assert list(tmp_path.iterdir()) == []


def test_foreign_folders_are_refused_and_left_alone(tmp_path: Path, small_data: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(TpchError, match=r"customer\.parquet is missing"):
        generate(tmp_path, TINY)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    with pytest.raises(TpchError, match="is a file"):
        generate(tmp_path / "thesis.txt", TINY)
    with pytest.raises(TpchError, match="1500 rows, not the 150000 of scale factor 1"):
        generate(small_data, Decimal(1))


def test_truncated_files_are_refused(tmp_path: Path, small_data: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(small_data, folder)
    table_path(folder, "part").write_bytes(table_path(folder, "part").read_bytes()[:1000])
    with pytest.raises(TpchError, match=r"part\.parquet cannot be read") as caught:
        verify(folder, TINY)
    assert "\n" not in str(caught.value)


def test_a_missing_generator_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.shutil, "which", lambda *_, **__: None)
    with pytest.raises(TpchError, match=r"pip install 'qengine\[tpch\]'"):
        generate(tmp_path / "sf0.01", TINY)


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

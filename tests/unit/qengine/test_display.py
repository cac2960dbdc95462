"""Results as text."""

import datetime
import json
from decimal import Decimal

import pyarrow as pa
import pytest

from qengine.display import render, table_text

TABLE = pa.table(
    {
        "n": pa.array([1, None], pa.int64()),
        "price": pa.array([Decimal("1.50"), Decimal("-0.05")], pa.decimal128(10, 2)),
        "text": ["a|b, \"c\"", ""],
        "day": pa.array([datetime.date(1994, 1, 31), None]),
        "ok": [True, None],
    }
)  # fmt: skip


def test_a_table_has_numbers_to_the_right_and_a_count():
    assert table_text(TABLE) == "\n".join(
        [
            "┌──────┬───────┬──────────┬────────────┬──────┐",
            "│ n    │ price │ text     │ day        │ ok   │".replace("n   ", "   n"),
            "├──────┼───────┼──────────┼────────────┼──────┤",
            "│    1 │  1.50 │ a|b, \"c\" │ 1994-01-31 │ true │",
            "│ NULL │ -0.05 │          │ NULL       │ NULL │",
            "└──────┴───────┴──────────┴────────────┴──────┘",
            "2 rows",
        ]
    )  # fmt: skip


def test_a_long_table_says_how_much_is_shown():
    assert table_text(TABLE, 1).endswith("2 rows, the first 1 shown")
    assert table_text(TABLE.slice(0, 1)).endswith("\n1 row")


def test_wide_and_combining_characters_keep_the_frame():
    lines = table_text(pa.table({"c": ["漢字", "e\u0301", "line\nbreak"]})).splitlines()
    assert lines[3] == "│ 漢字        │"
    assert lines[5] == "│ line\\nbreak │"


def test_csv_tells_null_from_empty_text():
    assert render(TABLE, "csv") == 'n,price,text,day,ok\n1,1.50,"a|b, ""c""",1994-01-31,true\n,-0.05,"",,'


def test_json_keeps_all_digits():
    parsed = json.loads(render(TABLE, "json"), parse_float=Decimal)
    assert parsed[0] == {"n": 1, "price": Decimal("1.50"), "text": 'a|b, "c"', "day": "1994-01-31", "ok": True}
    assert parsed[1]["n"] is None
    assert json.loads(render(pa.table({"x": [float("nan"), float("inf"), 1.5]}), "json")) == [
        {"x": None},
        {"x": None},
        {"x": 1.5},
    ]
    assert json.loads(render(TABLE.slice(0, 0), "json")) == []


def test_markdown_escapes_bars():
    lines = render(TABLE, "markdown").splitlines()
    assert lines[0] == "| n | price | text | day | ok |"
    assert lines[1] == "|---:|---:|:---|:---|:---|"
    assert lines[2] == '| 1 | 1.50 | a\\|b, "c" | 1994-01-31 | true |'


@pytest.mark.parametrize("format", ["table", "csv", "json", "markdown"])
def test_a_result_without_rows_has_its_columns(format):
    text = render(TABLE.slice(0, 0), format)
    assert format == "json" or "price" in text

"""The LazyFrames answer the questions of the SQL texts, with the validation parameters and with drawn ones."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from tpch import answers
from tpch.engines.polars_queries import QUERIES
from tpch.generate import TABLES, table_files
from tpch.parameters import parameters
from tpch.queries import NUMBERS, query
from tpch.validation import validate

SMALL = Decimal("0.01")


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_answers(small_data: Path, seed: int | None) -> None:
    tables = {table: pl.scan_parquet(table_files(small_data, table)) for table in TABLES}
    assert tuple(QUERIES) == NUMBERS
    wrong = {}
    with answers.connect(small_data) as connection:
        for number in NUMBERS:
            asked = query(number, SMALL, seed)
            frame = QUERIES[number](tables, parameters(number, SMALL, seed)).collect(engine="streaming")
            difference = validate(frame.to_arrow(), answers.make(connection, asked), asked)
            if difference is not None:
                wrong[number] = difference
    assert wrong == {}

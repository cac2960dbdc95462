"""SQL that is nearly right: a plan or a QEngineError with carets in the text, in time, whatever the text is.

Two thousand texts in every run, fifty thousand in the long suite. Every tenth is also run, over tables of a few rows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import qengine
from exec.lower.column_types import logical_arrow_type
from exec.sources.arrow_types import logical_type
from planner import dtypes as t
from planner.catalog import TableSnapshot
from planner.errors import InternalError, QEngineError
from planner.sql import bind
from qengine.query import Query, Settings
from tests.fuzz.sql_mutations import mutated
from tests.golden.tpch_catalog import tpch_sf1
from tests.harness.tables import worlds
from tests.plans import TestCatalog, snapshot
from tests.unit.sql.small_tables import CATALOG, FIELDS, ROWS

SAMPLE, ALL, BLOCK = 2000, 50_000, 250
SECONDS = 2.0
EXECUTED = 10


def _snapshot(catalog: TestCatalog, name: str) -> TableSnapshot:
    found = catalog.table(name)
    assert found is not None
    return found


def _described(name: str, table: pa.Table) -> TableSnapshot:
    """A table of the harness as the planner sees it; its statistics claim nothing."""
    fields = [(field.name, logical_type(field.type), True) for field in table.schema]
    return snapshot(
        name, [(column, dtype, nullable) for column, dtype, nullable in fields if dtype is not None], table.num_rows
    )


TABLES = TestCatalog(
    {name: _snapshot(catalog, name) for catalog in (CATALOG, tpch_sf1()) for name in catalog.names()}
    | {name: _described(name, table) for name, table in worlds().items()}
)


def _value(dtype: t.DType, row: int) -> Any:
    if t.is_decimal(dtype):
        return Decimal(row) / 4
    if dtype == t.DATE:
        return date(1994, 1, 1) + timedelta(days=97 * row)
    return f"text {row}" if dtype == t.VARCHAR else row


def _rows_of(table: TableSnapshot) -> pa.Table:
    """Five rows of any values."""
    columns = {
        field.name: pa.array([_value(field.dtype, row) for row in range(5)], logical_arrow_type(field.dtype))
        for field in table.fields
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def session() -> Iterator[qengine.Session]:
    with qengine.Session(workers=1) as opened:
        for name in tpch_sf1().names():
            opened.register(name, _rows_of(_snapshot(tpch_sf1(), name)))
        for name, rows in ROWS.items():
            columns = zip(FIELDS[name], zip(*rows, strict=True), strict=True)
            opened.register(name, pa.table({field: pa.array(list(v), logical_arrow_type(d)) for (field, d), v in columns}))
        for name, table in worlds().items():
            opened.register(name, table)
        yield opened


def planned(text: str) -> str:
    """The code of the refusal, or "OK"; in time and with what an error needs."""
    started = time.process_time()
    try:
        Query(bind(text, TABLES), Settings(), workers=2).stages()
    except QEngineError as refused:
        assert not isinstance(refused, InternalError), refused
        position = refused.position
        assert position is None or (0 <= position.start <= position.end <= len(position.text) and "^" in str(refused))
        found = refused.code
    else:
        found = "OK"
    assert time.process_time() - started < SECONDS
    return found


def executed(session: qengine.Session, text: str) -> None:
    try:
        session.sql(text).collect()
    except QEngineError as refused:
        assert not isinstance(refused, InternalError), refused


@pytest.mark.parametrize(
    "first",
    [*range(0, SAMPLE, BLOCK), *(pytest.param(first, marks=pytest.mark.slow) for first in range(SAMPLE, ALL, BLOCK))],
)
def test_fuzzed_sql(session: qengine.Session, first: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(first, first + BLOCK):
        text = mutated(seed)
        try:
            found[planned(text)] += 1
            if seed % EXECUTED == 0:
                executed(session, text)
        except Exception as problem:
            pytest.fail(f"seed {seed}: {problem!r}\n{text!r}")
    # Texts that all fail alike test nothing.
    assert found["OK"] > 0.1 * BLOCK and found["SYNTAX"] > 0.1 * BLOCK and len(found) > 5, found
    assert session.sql("SELECT count(*) AS n FROM t").collect().to_pylist() == [{"n": len(ROWS["t"])}]

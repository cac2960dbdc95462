"""Encoded results to the user's types."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from exec.lower.result import decode
from planner import dtypes as t
from planner.errors import QEngineError
from planner.physical.encodings import Encoding
from planner.schema import Column

D = Decimal


def decoded(array: pa.Array, dtype: t.DType, encoding: Encoding) -> pa.ChunkedArray:
    return decode(pa.table({"c1": array}), (Column(1, "x", dtype),), (encoding,), ("x",)).column(0)


@pytest.mark.parametrize(("first", "rows"), [(0, 5), (1, 3), (2, 2), (3, 0)])
def test_decimals_keep_values_nulls_and_offsets(first, rows):
    numbers = [125, -125, None, 0, 2**63 - 1]
    expected = [None if n is None else D(n).scaleb(-2) for n in numbers][first : first + rows]
    narrow = pa.array(numbers, pa.int64()).slice(first, rows)
    wide = pa.array([None if n is None else D(n) for n in numbers], pa.decimal128(38, 0)).slice(first, rows)
    for array, encoding in ((narrow, Encoding.INT64), (wide, Encoding.INT128), (wide, Encoding.DEC38)):
        found = decoded(array, t.decimal(22, 2), encoding)
        assert found.type == pa.decimal128(22, 2)
        assert found.to_pylist() == expected
        found.validate(full=True)


@pytest.mark.parametrize("encoding", [Encoding.INT64, Encoding.INT128])
def test_a_value_beyond_the_precision_is_an_overflow(encoding):
    kind = pa.int64() if encoding is Encoding.INT64 else pa.decimal128(38, 0)
    assert decoded(pa.array([999, -999, None], kind), t.decimal(3, 1), encoding).to_pylist() == [D("99.9"), D("-99.9"), None]
    for value in (1000, -1000):
        with pytest.raises(QEngineError) as failure:
            decoded(pa.array([value], kind), t.decimal(3, 1), encoding)
        assert failure.value.code == "OVERFLOW"


def test_chunks_and_other_types():
    chunks = pa.chunked_array([pa.array([1], pa.int64()), pa.array([], pa.int64()), pa.array([None, 2], pa.int64())])
    assert decoded(chunks, t.decimal(5, 1), Encoding.INT64).to_pylist() == [D("0.1"), None, D("0.2")]
    views = pa.array(["a", None], pa.string_view())
    assert decoded(views, t.VARCHAR, Encoding.PLAIN).type == pa.large_string()

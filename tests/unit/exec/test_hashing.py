"""The partitioning hash: its values are fixed for ever, and equal values meet whatever their form."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from exec.exchange.hashing import bucket_ids
from planner import dtypes as t
from planner.dir import Hash
from planner.errors import QEngineError
from planner.physical.encodings import Encoding
from planner.schema import Column

FIXED = {
    "bigint": [0, 22162, 46288, 4833],
    "double": [0, 59179, 18075],
    "varchar": [0, 1284, 53820, 22905, 16259],
    "decimal": [23121, 5961],
}


def buckets(values: pl.Series, dtype: t.DType, key_type: t.DType | None = None, count: int = 65536) -> list[int]:
    column = Column(1, "k", dtype)
    partitioning = Hash((1,), (key_type or dtype,), count)
    return bucket_ids(values.alias("c1").to_frame(), partitioning, (column,), (Encoding.PLAIN,)).tolist()


def test_the_values_of_version_1_never_change():
    assert buckets(pl.Series([0, 1, -1, 2**62], dtype=pl.Int64), t.BIGINT) == FIXED["bigint"]
    assert buckets(pl.Series([0.0, 1.5, float("nan")]), t.DOUBLE) == FIXED["double"]
    assert buckets(pl.Series(["", "a", "12345678", "123456789", "ünïcode ☃"]), t.VARCHAR) == FIXED["varchar"]
    assert buckets(pl.Series([250, 10**30], dtype=pl.Int128), t.decimal(38, 2)) == FIXED["decimal"]


@pytest.mark.parametrize("kind", [pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt32, pl.UInt64, pl.Int128])
def test_integers_of_all_widths_meet(kind):
    assert buckets(pl.Series([0, 7, 100], dtype=kind), t.INTEGER) == buckets(pl.Series([0, 7, 100], dtype=pl.Int64), t.BIGINT)


def test_encodings_of_a_decimal_meet():
    dtype = t.decimal(38, 2)
    numbers = [0, 250, -250, 2**63 - 1, -(2**63)]
    narrow = buckets(pl.Series(numbers, dtype=pl.Int64), dtype)
    assert buckets(pl.Series(numbers, dtype=pl.Int128), dtype) == narrow
    assert buckets(pl.Series([Decimal(n) for n in numbers], dtype=pl.Decimal(38, 0)), dtype) == narrow
    wide = [10**30, -(10**30), 5, 2**64 + 5]
    found = buckets(pl.Series(wide, dtype=pl.Int128), dtype)
    assert found == buckets(pl.Series([Decimal(n) for n in wide], dtype=pl.Decimal(38, 0)), dtype)
    assert found[2] == buckets(pl.Series([5], dtype=pl.Int64), dtype)[0]
    assert found[2] != found[3]


def test_decimals_of_different_scales_meet_at_the_scale_of_the_key_type():
    key_type = t.decimal(20, 4)
    one = buckets(pl.Series([25, -5], dtype=pl.Int64), t.decimal(10, 1), key_type)
    two = buckets(pl.Series([250, -50], dtype=pl.Int64), t.decimal(10, 2), key_type)
    integers = buckets(pl.Series([2, 7], dtype=pl.Int32), t.INTEGER, key_type)
    assert one == two
    assert integers == buckets(pl.Series([20000, 70000], dtype=pl.Int64), key_type)


def test_scaling_a_key_never_wraps():
    large = pl.Series([2**62, 3], dtype=pl.Int64)
    key_type = t.decimal(38, 6)
    exact = pl.Series([2**62 * 10**6, 3 * 10**6], dtype=pl.Int128)
    assert buckets(large, t.BIGINT, key_type) == buckets(exact, key_type)


def test_zeros_and_nans_are_one_value_each():
    found = buckets(pl.Series([0.0, -0.0, float("nan"), -float("nan")]), t.DOUBLE)
    assert found[0] == found[1]
    assert found[2] == found[3]
    payload = pl.Series(np.array([0x7FF8000000000001, 0x7FF8000000000000], dtype=np.uint64).view(np.float64))
    first, second = buckets(payload, t.DOUBLE)
    assert first == second


def test_null_in_any_key_goes_to_bucket_zero():
    frame = pl.DataFrame({"c1": [1, None, 3], "c2": ["a", "b", None]})
    columns = (Column(1, "a", t.BIGINT), Column(2, "b", t.VARCHAR))
    found = bucket_ids(frame, Hash((1, 2), (t.BIGINT, t.VARCHAR), 65536), columns, (Encoding.PLAIN,) * 2)
    assert found[0] != 0
    assert found[1:].tolist() == [0, 0]


def test_strings_do_not_depend_on_their_neighbours_or_slices():
    words = ["", "a", "exactly8", "a bit longer than eight", "a", "", "exactly8"]
    together = buckets(pl.Series(words), t.VARCHAR)
    assert [buckets(pl.Series([word]), t.VARCHAR)[0] for word in words] == together
    assert buckets(pl.Series(["pad", *words]).slice(1), t.VARCHAR) == together
    assert buckets(pl.Series(["a", "a\0", "a\0\0"]), t.VARCHAR)[0] != buckets(pl.Series(["a\0"]), t.VARCHAR)[0]


def test_coarser_buckets_are_unions_of_finer_ones():
    values = pl.Series(range(5000), dtype=pl.Int64)
    fine, coarse = np.array(buckets(values, t.BIGINT, count=1024)), np.array(buckets(values, t.BIGINT, count=16))
    assert (fine >> 6 == coarse).all()
    assert np.bincount(coarse, minlength=16).min() > 200


def test_the_width_of_ids_follows_the_number_of_buckets():
    frame, columns = pl.DataFrame({"c1": [1, 2]}), (Column(1, "a", t.BIGINT),)
    kinds = [bucket_ids(frame, Hash((1,), (t.BIGINT,), n), columns, (Encoding.PLAIN,)).dtype for n in (1, 256, 512)]
    assert kinds == [np.uint8, np.uint8, np.uint16]


def test_an_unknown_version_is_refused():
    with pytest.raises(QEngineError):
        bucket_ids(
            pl.DataFrame({"c1": [1]}), Hash((1,), (t.BIGINT,), 4, version=2), (Column(1, "a", t.BIGINT),), (Encoding.PLAIN,)
        )

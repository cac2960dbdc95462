"""The hash that spreads rows over partitions: version 1, fixed for ever by a test.

Every key becomes one 64-bit word per row in its *canonical logical form*, so that equal values meet whatever their encoding:

    integers, booleans, dates, times, timestamps     the value, sign-extended (days, microseconds)
    decimals                                         the scaled integer at the scale of the key type; beyond 64 bits both
                                                     halves, within them the low one alone, so all encodings agree
    floats                                           the bits of the double; −0.0 as 0.0, every NaN as one
    text, blobs                                      the bytes, eight at a time, zero-padded, and then the length

Words are mixed with the finalizer of SplitMix64 (Steele, Lea and Flood 2014). Keys are combined in order by
h = mix(h × 0x9E3779B97F4A7C15 + word). The bucket is the top bits, so that n buckets are unions of 2n finer ones. A row with
NULL in any key goes to bucket 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from planner import dtypes as t
from planner.dir import Hash
from planner.errors import error
from planner.physical.encodings import Encoding
from planner.schema import Schema

VERSION = 1
Words = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_NAN_BITS = np.uint64(0x7FF8000000000000)


def bucket_ids(frame: pl.DataFrame, partitioning: Hash, columns: Schema, encodings: Sequence[Encoding]) -> npt.NDArray[Any]:
    """The bucket of every row: uint8 for up to 256 buckets, else uint16.

    `frame` holds the key columns as c<id>, in the types of a task's frame or of an exchange. Raises INTERNAL for a version
    that is not this one.
    """
    if partitioning.version != VERSION:
        raise error("INTERNAL", detail=f"hash version {partitioning.version} is not known")
    by_id = {column.id: column for column in columns}
    out: type[np.uint8] | type[np.uint16] = np.uint8 if partitioning.buckets <= 256 else np.uint16
    bits = partitioning.buckets.bit_length() - 1
    if bits == 0:
        return np.zeros(frame.height, dtype=out)
    state = np.zeros(frame.height, dtype=np.uint64)
    nulls: npt.NDArray[np.bool_] | None = None
    for key, key_type in zip(partitioning.keys, partitioning.key_types, strict=True):
        values = frame.get_column(f"c{key}")
        if values.null_count():
            missing = values.is_null().to_numpy()
            nulls = missing if nulls is None else nulls | missing
        words = _words(values, by_id[key].dtype, key_type)
        state *= _GOLDEN
        state += words
        _mix(state)
    buckets = (state >> np.uint64(64 - bits)).astype(out)
    if nulls is not None:
        buckets[nulls] = 0
    return buckets


def _mix(state: Words) -> None:
    """The finalizer of SplitMix64, in place."""
    state ^= state >> np.uint64(30)
    state *= _FIRST
    state ^= state >> np.uint64(27)
    state *= _SECOND
    state ^= state >> np.uint64(31)


def _words(values: pl.Series, dtype: t.DType, key_type: t.DType) -> Words:
    """One word per row; rows that are NULL get any."""
    if values.dtype == pl.Null:
        return np.zeros(values.len(), dtype=np.uint64)
    if t.is_exact(key_type):
        return _exact_words(values, t.scale_of(key_type) - t.scale_of(dtype))
    if t.is_float(key_type):
        return _float_words(values)
    if key_type in (t.VARCHAR, t.BLOB):
        return _byte_words(values)
    physical = values.to_physical()
    if values.dtype == pl.Time:
        physical = physical // 1000
    return _integers(physical)


def _integers(values: pl.Series) -> Words:
    """Integers of up to 64 bits, sign-extended."""
    wide = pl.UInt64 if values.dtype == pl.UInt64 else pl.Int64
    numbers = values.cast(wide).fill_null(0).to_numpy()
    return numbers.view(np.uint64).copy() if numbers.dtype == np.int64 else numbers.astype(np.uint64)


def _exact_words(values: pl.Series, digits: int) -> Words:
    """Scaled integers after `digits` more digits; those that leave 64 bits mix their halves."""
    if isinstance(values.dtype, pl.Decimal):
        values = values.to_physical()
    if digits < 0:
        raise error("INTERNAL", detail="a hash key would lose digits")
    narrow = values.dtype != pl.Int128 and values.dtype != pl.UInt64
    if narrow and digits == 0:
        return _integers(values)
    if narrow and digits < 19:
        least, greatest = values.min(), values.max()
        bound = (2**63 - 1) // 10**digits
        if least is None or (isinstance(least, int) and isinstance(greatest, int) and -bound <= least and greatest <= bound):
            return _integers(values.cast(pl.Int64) * 10**digits)
    wide = values.cast(pl.Int128).fill_null(0)
    if digits:
        wide = wide * pl.Series([10**digits], dtype=pl.Int128)
    inside = wide.is_between(-(2**63), 2**63 - 1)
    if inside.all():
        return _integers(wide.cast(pl.Int64))
    halves = _halves(wide)
    words = halves[:, 0].copy()
    outside = ~inside.to_numpy()
    high = halves[outside, 1].copy()
    _mix(high)
    words[outside] ^= high
    return words


def _halves(values: pl.Series) -> Words:
    """Int128 as pairs of words, the low one first."""
    arrow = values.cast(pl.Decimal(38, 0)).to_arrow()
    chunk = arrow.combine_chunks() if isinstance(arrow, pa.ChunkedArray) else arrow
    words = np.frombuffer(chunk.buffers()[1], dtype=np.uint64).reshape(-1, 2)
    return words[chunk.offset : chunk.offset + len(chunk)]


def _float_words(values: pl.Series) -> Words:
    numbers = values.cast(pl.Float64).fill_null(0.0).to_numpy() + 0.0  # turns −0.0 into 0.0
    words = numbers.view(np.uint64)
    words[np.isnan(numbers)] = _NAN_BITS
    return words


def _byte_words(values: pl.Series) -> Words:
    """Bytes of any length, all rows at once: word k of all strings that have one, for k = 0, 1, ..."""
    arrow = values.to_arrow(compat_level=pl.CompatLevel.oldest())
    chunk = arrow.combine_chunks() if isinstance(arrow, pa.ChunkedArray) else arrow
    count = len(chunk)
    _, offsets_buffer, data_buffer = chunk.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[chunk.offset : chunk.offset + count + 1]
    starts, lengths = offsets[:-1], np.diff(offsets)
    total = int(offsets[-1]) if count else 0
    data = np.zeros(total + 8, dtype=np.uint8)
    if total:
        data[:total] = np.frombuffer(data_buffer, dtype=np.uint8)[:total]
    state = lengths.astype(np.uint64)
    longest = int(lengths.max()) if count else 0
    rows: npt.NDArray[np.int64] | None = None
    for position in range(0, longest, 8):
        if position:
            rows = np.flatnonzero(lengths > position) if rows is None else rows[lengths[rows] > position]
        at = starts + position if rows is None else starts[rows] + position
        left = (lengths if rows is None else lengths[rows]) - position
        # Empty strings of the first round read padding or their neighbour's bytes, all of which are masked away.
        words = _unaligned(data, at) & _mask(left)
        mixed = (state if rows is None else state[rows]) * _GOLDEN + words
        _mix(mixed)
        if rows is None:
            state = np.where(lengths > 0, mixed, state)
        else:
            state[rows] = mixed
    return state


def _unaligned(data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64]) -> Words:
    """The little-endian word that begins at each byte position."""
    windows = np.lib.stride_tricks.as_strided(data[:1].view(np.uint8), shape=(data.size - 7, 8), strides=(1, 1))
    return np.ascontiguousarray(windows[at]).view("<u8").reshape(-1).astype(np.uint64, copy=False)


def _mask(left: npt.NDArray[np.int64]) -> Words:
    """Ones over the first `left` bytes of a word (all of it from 8 on)."""
    return _MASKS[np.clip(left, 0, 8)]


_MASKS: Words = np.array([(1 << (8 * size)) - 1 for size in range(9)], dtype=np.uint64)

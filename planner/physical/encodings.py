"""Physical encodings of DIR columns, and the integer tier that exact arithmetic needs.

A decimal is computed as a *scaled integer*. Its interval (`planner.analysis.intervals`) decides the tier once, at planning
time, so that every task of a stage delivers the same form:

    INT64   the interval fits in 64 bits                Polars Int64      Arrow int64
    INT128  it fits in 128 bits                         Polars Int128     Arrow decimal128(38, 0)
    DEC38   nothing narrower is proven                  Polars Decimal(38, 0), whose arithmetic raises
                                                                          Arrow decimal128(38, 0)
    PLAIN   every type that is not a decimal, in its natural form
"""

from __future__ import annotations

from enum import StrEnum

from planner.analysis.intervals import Interval
from planner.dtypes import DType, is_decimal

DECIMAL38_LIMIT = 10**38 - 1


class Encoding(StrEnum):
    PLAIN = "plain"
    INT64 = "int64"
    INT128 = "int128"
    DEC38 = "dec38"


def encoding_for(dtype: DType, interval: Interval | None) -> Encoding:
    """The encoding of a column of this type whose values lie in `interval` (scaled integers; None: unknown)."""
    if not is_decimal(dtype):
        return Encoding.PLAIN
    return tier_for(interval)


def tier_for(interval: Interval | None) -> Encoding:
    """The narrowest tier that represents and computes every scaled integer of `interval`.

    INT128 is used up to the limit of DECIMAL(38) and not to that of 128 bits, since such values have to travel as decimal128.
    """
    if interval is None:
        return Encoding.DEC38
    if interval.within(-(2**63), 2**63 - 1):
        return Encoding.INT64
    if interval.within(-DECIMAL38_LIMIT, DECIMAL38_LIMIT):
        return Encoding.INT128
    return Encoding.DEC38

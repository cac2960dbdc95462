"""Making moments of numbers."""

from __future__ import annotations

import datetime

from exec.kernels.failure import failure

EPOCH = datetime.datetime(1970, 1, 1)
LIMIT = 9_223_372_036_854_775_806
"""Microseconds on either side of the epoch that a timestamp can be away from it."""


def date_of(year: int, month: int, day: int) -> datetime.date:
    try:
        return datetime.date(year, month, day)
    except (ValueError, OverflowError):
        raise failure("INVALID_ARGUMENT", name="make_date", value=f"{year}-{month}-{day}") from None


def timestamp_of(year: int, month: int, day: int, hour: int, minute: int, second: float) -> int:
    """Microseconds since the epoch."""
    try:
        whole = int(second)
        micros = round((second - whole) * 1_000_000)
        moment = datetime.datetime(year, month, day, hour, minute, whole)
    except (ValueError, OverflowError):
        written = f"{year}-{month}-{day} {hour}:{minute}:{second}"
        raise failure("INVALID_ARGUMENT", name="make_timestamp", value=written) from None
    return (moment - EPOCH) // datetime.timedelta(microseconds=1) + micros


def timestamp_of_seconds(seconds: float) -> int:
    """Microseconds since the epoch."""
    if seconds != seconds or abs(seconds) * 1e6 > LIMIT:
        raise failure("INVALID_ARGUMENT", name="to_timestamp", value=seconds)
    return round(seconds * 1_000_000)

"""Python values of literals that the standard library has no type for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A span of time in the three parts that do not convert into each other: a month has no fixed number of days, and a day
    no fixed number of microseconds where clocks are changed. Each part may be negative."""

    months: int = 0
    days: int = 0
    microseconds: int = 0

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.days, -self.microseconds)

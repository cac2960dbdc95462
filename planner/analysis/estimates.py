"""What is estimated of a plan: its rows, and its columns as they were where they came from."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalog import Trust


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """A column as it was where it came from: `ndv` distinct values among `rows` rows; range in physical integers (or text)."""

    ndv: float
    rows: float
    low: int | str | None = None
    high: int | str | None = None
    null_share: float = 0.0
    trust: Trust = Trust.ESTIMATED

    @property
    def is_key(self) -> bool:
        """Whether (nearly) every row had a value of its own."""
        return self.ndv >= 0.9 * self.rows


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rows of a plan, and its columns by id."""

    rows: float
    columns: dict[int, ColumnEstimate]

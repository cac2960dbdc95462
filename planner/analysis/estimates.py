"""What is estimated of a plan: its rows, and its columns as they were where they came from."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalog import Certainty, ColumnDistribution, Trust


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """A column as it was where it came from: `ndv` distinct values among `rows` rows; range in physical integers (or text).

    `certainty` is that of `ndv`, `trust` that of all of it.
    """

    ndv: float
    rows: float
    low: int | str | None = None
    high: int | str | None = None
    null_share: float = 0.0
    trust: Trust = Trust.ESTIMATED
    certainty: Certainty = Certainty.UNKNOWN
    distribution: ColumnDistribution | None = None

    @property
    def is_key(self) -> bool:
        """Whether (nearly) every row had a value of its own."""
        return self.ndv >= 0.9 * self.rows


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rows of a plan, and its columns by id. `certainty` and `trust` are those of the rows."""

    rows: float
    columns: dict[int, ColumnEstimate]
    certainty: Certainty = Certainty.UNKNOWN
    trust: Trust = Trust.ESTIMATED

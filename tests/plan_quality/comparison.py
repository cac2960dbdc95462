"""A workload's plans beside DuckDB's, query by query, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from tests.plan_quality.duckdb_plans import DuckDBPlans, duckdb_plans
from tests.plan_quality.our_plans import Operator, OurPlans, our_plans
from tests.plan_quality.workloads import Workload


@dataclass(frozen=True, slots=True)
class Comparison:
    """One query: the operators of both plans whose rows are intermediate, seconds of planning, and the rows of the best order."""

    query: str
    ours: tuple[Operator, ...]
    duckdb: tuple[tuple[str, int], ...]
    seconds: float
    best: int | None = None

    @property
    def our_rows(self) -> int:
        return sum(operator.rows for operator in self.ours)

    @property
    def duckdb_rows(self) -> int:
        return sum(rows for _, rows in self.duckdb)

    @property
    def ratio(self) -> float:
        """Our rows by DuckDB's; no rows at all count as one."""
        return max(self.our_rows, 1) / max(self.duckdb_rows, 1)

    @property
    def by_best(self) -> float | None:
        """Our rows by those of the best order, if all orders were looked at."""
        return None if self.best is None else self.our_rows / max(self.best, 1)

    @property
    def join_errors(self) -> list[float]:
        return [operator.q_error for operator in self.ours if operator.kind != "aggregate"]


def compare(workload: Workload, queries: Sequence[str] | None = None) -> list[Comparison]:
    """Both plans of all queries of a workload, or of some."""
    with our_plans(workload) as ours, duckdb_plans(workload) as duckdb:
        return [_compared(name, ours, duckdb) for name in queries or workload.queries]


def _compared(name: str, ours: OurPlans, duckdb: DuckDBPlans) -> Comparison:
    own, others = tuple(ours.operators(name)), tuple(duckdb.operators(name))
    return Comparison(name, own, others, ours.plan(name).seconds, duckdb.fewest_rows(name))


def total_ratio(comparisons: Iterable[Comparison]) -> float:
    """The rows of all our plans by those of all of DuckDB's."""
    compared = list(comparisons)
    return sum(one.our_rows for one in compared) / max(1, sum(one.duckdb_rows for one in compared))


def table(comparisons: Sequence[Comparison], details: bool = False) -> str:
    """The comparison as text; with `details` every operator's rows, and what was estimated of ours."""
    rows = [("query", "ours", "DuckDB", "ratio", "by best", "q-error: median", "worst", "planning ms")]
    below: list[list[str]] = [[]]
    for one in comparisons:
        any_rows = bool(one.our_rows or one.duckdb_rows)
        rows.append(
            (
                one.query, f"{one.our_rows:,}", f"{one.duckdb_rows:,}", f"{one.ratio:.2f}" if any_rows else "",
                f"{one.by_best:.2f}" if one.by_best is not None else "", *_errors(one.join_errors), f"{one.seconds * 1e3:.1f}",
            )
        )  # fmt: skip
        below.append(_operators(one) if details else [])
    best = [one.by_best for one in comparisons if one.by_best is not None]
    errors = [error for one in comparisons for error in one.join_errors]
    rows.append(
        (
            "all", f"{sum(one.our_rows for one in comparisons):,}", f"{sum(one.duckdb_rows for one in comparisons):,}",
            f"{total_ratio(comparisons):.2f}", f"{max(best):.2f}" if best else "", *_errors(errors),
            f"{median(one.seconds for one in comparisons) * 1e3:.1f}",
        )
    )  # fmt: skip
    below.append([])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines: list[str] = []
    for row, more in zip(rows, below, strict=True):
        lines.append("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]))
        lines += more
    return "\n".join(lines)


def _errors(errors: Sequence[float]) -> tuple[str, str]:
    return (f"{median(errors):.2f}", f"{max(errors):.1f}") if errors else ("", "")


def _operators(compared: Comparison) -> list[str]:
    ours = [
        f"    ours    {own.rows:>14,}  {own.kind} of {own.relations}, estimated {own.estimated:,.0f} (q-error {own.q_error:.1f})"
        for own in compared.ours
    ]
    return ours + [f"    DuckDB  {rows:>14,}  {kind}" for kind, rows in compared.duckdb]

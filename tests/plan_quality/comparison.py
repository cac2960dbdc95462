"""A workload's plans beside DuckDB's, query by query, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from tests.plan_quality.duckdb_plans import duckdb_plans
from tests.plan_quality.our_plans import Operator, our_plans
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
    def join_errors(self) -> list[float]:
        return [operator.q_error for operator in self.ours if operator.kind != "aggregate"]


def compare(workload: Workload, queries: Sequence[str] | None = None) -> list[Comparison]:
    """Both plans of all queries of a workload, or of some."""
    with our_plans(workload) as ours, duckdb_plans(workload) as duckdb:
        return [
            Comparison(name, tuple(ours.operators(name)), tuple(duckdb.operators(name)), ours.plan(name).seconds)
            for name in queries or workload.queries
        ]


def total_ratio(comparisons: Iterable[Comparison]) -> float:
    """The rows of all our plans by those of all of DuckDB's."""
    compared = list(comparisons)
    return sum(one.our_rows for one in compared) / max(1, sum(one.duckdb_rows for one in compared))


def table(comparisons: Sequence[Comparison], details: bool = False) -> str:
    """The comparison as text; with `details` every operator's rows, and what was estimated of ours."""
    lines = [f"{'query':<24}{'ours':>14}{'DuckDB':>14}{'ratio':>8}{'q-error median':>16}{'worst':>10}{'planning ms':>13}"]
    for one in comparisons:
        errors = one.join_errors
        shown = f"{median(errors):>16.2f}{max(errors):>10.1f}" if errors else f"{'':>26}"
        ratio = f"{one.ratio:>8.2f}" if one.our_rows or one.duckdb_rows else f"{'':>8}"
        lines.append(f"{one.query:<24}{one.our_rows:>14,}{one.duckdb_rows:>14,}{ratio}{shown}{one.seconds * 1e3:>13.1f}")
        if details:
            lines += [
                f"    ours    {own.rows:>14,}  {own.kind}, {own.relations} leaves, estimated {own.estimated:,.0f}"
                f" (q-error {own.q_error:.1f})"
                for own in one.ours
            ]
            lines += [f"    DuckDB  {rows:>14,}  {kind}" for kind, rows in one.duckdb]
    errors = [error for one in comparisons for error in one.join_errors]
    ours, duckdb = (sum(rows) for rows in zip(*((one.our_rows, one.duckdb_rows) for one in comparisons), strict=True))
    milliseconds = [one.seconds * 1e3 for one in comparisons]
    lines.append(
        f"{'sum, or median':<24}{ours:>14,}{duckdb:>14,}{total_ratio(comparisons):>8.2f}"
        f"{median(errors):>16.2f}{max(errors):>10.1f}{median(milliseconds):>13.1f}"
    )
    return "\n".join(lines)

"""Statistics of the rows of the TPC-H tables at scale factor 1, committed in `tpch_sf1_samples.json`: what a session has learned
of these tables after a while, so that golden plans are those of a user.

Of every table: the rows of its sample, the distributions of its columns, and how many rows of the sample satisfy each predicate
that the planner asks for in the golden queries. One that was not recorded cannot be answered, as if it raised.

`python -m tests.golden.tpch_samples` writes the file anew. It needs data/tpch/sf1, and is due when rules make other filters of
the queries, or samples are drawn or described in another way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from planner.catalog import ColumnDistribution, TableSnapshot, TableStatistics
from planner.explain import ColumnNames, expression_text
from planner.expr.nodes import Expr
from planner.ports import Sample

FILE = Path(__file__).with_name("tpch_sf1_samples.json")


class RecordedSample:
    """Counts by the text of a predicate. `missing` are those that were asked for in vain."""

    def __init__(self, rows: int, counts: Mapping[str, int]) -> None:
        self.rows = rows
        self.missing: set[str] = set()
        self._counts = counts

    def count(self, predicate: Expr, positions: Mapping[int, int]) -> int | None:
        text = expression_text(predicate, ColumnNames())
        found = self._counts.get(text)
        if found is None:
            self.missing.add(text)
        return found


def recorded_statistics(table: str) -> TableStatistics:
    """The committed statistics of a table."""
    described = json.loads(FILE.read_text(encoding="utf-8"))[table]
    columns = tuple(
        ColumnDistribution(
            column["distinct"],
            column["null_share"],
            tuple((value, share) for value, share in column["common"]),
            tuple(column["bounds"]),
            described["rows"],
            column["clustered"],
            column["counted"],
        )
        for column in described["columns"].values()
    )
    return TableStatistics(columns, RecordedSample(described["rows"], described["counts"]))


class _RecordingSample:
    """A sample that remembers what it was asked for."""

    def __init__(self, sample: Sample) -> None:
        self.counts: dict[str, int] = {}
        self._sample = sample

    @property
    def rows(self) -> int:
        return self._sample.rows

    def count(self, predicate: Expr, positions: Mapping[int, int]) -> int | None:
        found = self._sample.count(predicate, positions)
        if found is not None:
            self.counts[expression_text(predicate, ColumnNames())] = found
        return found


def _write() -> None:
    from exec.sources.describe import describe
    from tests.golden.tpch_catalog import tpch_sf1
    from tests.plans import TestCatalog
    from tests.sampled import sampled

    folder = Path(__file__).resolve().parents[2] / "data" / "tpch" / "sf1"
    samples: dict[str, _RecordingSample] = {}
    tables: dict[str, TableSnapshot] = {}
    statistics: dict[str, TableStatistics] = {}
    for name in tpch_sf1().names():
        found = sampled(describe(str(folder / f"{name}.parquet"), name)).statistics
        assert found is not None and found.sample is not None
        samples[name] = _RecordingSample(found.sample)
        statistics[name] = replace(found, sample=samples[name])
        committed = tpch_sf1().table(name)
        assert committed is not None
        tables[name] = replace(committed, statistics=statistics[name])
    _plan_all(TestCatalog(tables))
    written = {}
    for name, table in tables.items():
        columns = zip(table.fields, statistics[name].columns, strict=True)
        written[name] = {
            "rows": samples[name].rows,
            "columns": {field.name: _column(column) for field, column in columns if column is not None},
            "counts": dict(sorted(samples[name].counts.items())),
        }
    FILE.write_text(_text(written), encoding="utf-8")


def _plan_all(catalog: Any) -> None:
    """Plan every golden query, so that its predicates are asked for."""
    from exec.lower.evaluate import ConstantEvaluator
    from planner.optimizer import optimize
    from planner.physical.context import PhysicalOptions
    from planner.physical.plan import plan_physical
    from planner.rule import OptimizerContext
    from tests.plans import bound
    from tests.query_shapes import SHAPES
    from tpch.queries import query

    for text in (*(query(number).text for number in range(1, 23)), *SHAPES.values()):
        for evaluator in (None, ConstantEvaluator()):
            plan, allocator = bound(text, catalog)
            optimized = optimize(plan, OptimizerContext(allocator, evaluator))
            plan_physical(optimized, allocator, PhysicalOptions(workers=2))


def _column(found: ColumnDistribution) -> dict[str, Any]:
    return {
        "distinct": round(found.distinct, 1),
        "null_share": found.null_share,
        "clustered": found.clustered,
        "counted": found.counted,
        "common": [[value, round(share, 8)] for value, share in found.common],
        "bounds": found.bounds,
    }


def _text(tables: dict[str, Any]) -> str:
    """JSON with one line for each column and each count."""

    def lines(entries: Mapping[str, Any]) -> str:
        return ",\n".join(f"   {json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items())

    parts = (
        f' {json.dumps(name)}: {{"rows": {table["rows"]},\n  "columns": {{\n{lines(table["columns"])}\n  }},\n'
        f'  "counts": {{\n{lines(table["counts"])}\n  }}\n }}'
        for name, table in tables.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    _write()

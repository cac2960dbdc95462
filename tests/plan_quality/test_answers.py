"""Answers of the join order suite and of the Star Schema Benchmark are DuckDB's: plans of other answers cannot be compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.plan_quality.duckdb_plans import duckdb_plans
from tests.plan_quality.our_plans import our_plans
from tests.plan_quality.workloads import Workload, join_order, star_schema
from tpch.answers import run_in_duckdb
from tpch.same_answer import same_answer


@pytest.mark.slow
@pytest.mark.parametrize("make", [star_schema, join_order], ids=["star schema", "join order"])
def test_answers(make: Callable[[], Workload]) -> None:
    workload = make()
    with our_plans(workload) as ours, duckdb_plans(workload) as duckdb:
        for name, text in workload.queries.items():
            answer = ours.session.sql(text).collect()
            assert answer.num_rows > 0, name
            assert same_answer(answer, run_in_duckdb(duckdb.load(), text)) is None, name

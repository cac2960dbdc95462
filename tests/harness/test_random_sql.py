"""Seeded random queries against DuckDB: 500 in every run, 20,000 in the long suite.

Each runs inline and in one more configuration, another one for each seed. To look for new wrong answers take other seeds with
`python -m tests.harness.hunt`.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from tests.harness.random_queries import random_query
from tests.harness.reduce import reduced
from tests.harness.switchboard import BY_NAME, CONFIGURATIONS, Switchboard
from tests.harness.verdict import Kind, Oracle, judge

SAMPLE, ALL, BLOCK = 500, 20_000, 50
REDUCTION_ATTEMPTS = 400


@pytest.mark.parametrize(
    "first",
    [
        *range(0, SAMPLE, BLOCK),
        *(pytest.param(first, marks=pytest.mark.slow) for first in range(SAMPLE, ALL, BLOCK)),
    ],
)
def test_random_queries(board: Switchboard, oracle: Oracle, first: int) -> None:
    counts: Counter[Kind] = Counter()
    for seed in range(first, first + BLOCK):
        query = random_query(seed)
        for configuration in (BY_NAME["inline"], CONFIGURATIONS[seed % len(CONFIGURATIONS)]):
            run = partial(board.run, configuration=configuration, seed=seed)
            verdict = judge(query, run, oracle)
            counts[verdict.kind] += 1
            if verdict.kind is Kind.WRONG:
                smaller = reduced(query, run, oracle, REDUCTION_ATTEMPTS)
                pytest.fail(
                    f"seed {seed} [{configuration.name}]: {verdict.detail}\n{query.text}\n"
                    f"smaller: {judge(smaller, run, oracle).detail}\n{smaller.text}"
                )
    # Queries of which nothing is known test nothing.
    assert counts[Kind.SAME] >= 0.8 * counts.total(), counts
    assert counts[Kind.UNDECIDED] + counts[Kind.REFUSED] + counts[Kind.UNSUPPORTED] <= 0.05 * counts.total(), counts

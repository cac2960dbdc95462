"""One corpus of queries under every configuration, compared with DuckDB."""

from __future__ import annotations

import pytest

from tests.harness.corpus import EVERY_CONSTRUCT, FOUND, IN_SEQUENCE
from tests.harness.random_queries import RandomQuery
from tests.harness.switchboard import BY_NAME, CONFIGURATIONS, Configuration, Switchboard
from tests.harness.verdict import Kind, Oracle, judge

CORPUS = [
    *(RandomQuery(text) for text in EVERY_CONSTRUCT),
    *(RandomQuery(text, in_sequence=True) for text in IN_SEQUENCE),
    *(RandomQuery(text) for text in FOUND),
]
ALWAYS = ("inline", "two workers", "scattered")
ROTATING = [configuration for configuration in CONFIGURATIONS if configuration.name not in ALWAYS]
KILLS = 20
"""Tries for a kill to hit a running task."""


def check(board: Switchboard, oracle: Oracle, query: RandomQuery, configuration: Configuration) -> None:
    verdict = judge(query, lambda text: board.run(text, configuration), oracle)
    assert verdict.kind is Kind.SAME, f"[{configuration.name}] {verdict.detail}\n{query.text}"


@pytest.mark.parametrize("number", range(len(CORPUS)))
def test_answers_are_those_of_the_oracle(board: Switchboard, oracle: Oracle, number: int) -> None:
    """Three configurations for every query, and two that change from query to query."""
    for name in ALWAYS:
        check(board, oracle, CORPUS[number], BY_NAME[name])
    for configuration in (ROTATING[number % len(ROTATING)], ROTATING[(number + len(ROTATING) // 2) % len(ROTATING)]):
        check(board, oracle, CORPUS[number], configuration)


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda configuration: configuration.name)
def test_every_configuration(board: Switchboard, oracle: Oracle, configuration: Configuration) -> None:
    for query in CORPUS:
        check(board, oracle, query, configuration)


def test_a_kill_that_hits_changes_nothing(board: Switchboard, oracle: Oracle) -> None:
    """The configuration with a kill is only worth something if its kills hit: a short task may end before the signal."""
    query = RandomQuery("SELECT a.g, count(*), sum(a.d), max(b.v) FROM t1 a JOIN s1 b ON a.g = b.g GROUP BY a.g")
    before = board.kills
    for seed in range(KILLS):
        verdict = judge(query, lambda text, seed=seed: board.run(text, BY_NAME["one kill"], seed), oracle)  # type: ignore[misc]
        assert verdict.kind is Kind.SAME, verdict.detail
        if board.kills > before:
            return
    pytest.fail(f"no kill has hit a running task in {KILLS} runs")

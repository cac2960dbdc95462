"""The orders of Appendix A are permutations, all different, and there are no others."""

from __future__ import annotations

import pytest

from tpch.queries import NUMBERS
from tpch.streams import STREAMS, order, seed_of


def test_every_stream_runs_every_query_once_in_an_order_of_its_own() -> None:
    orders = [order(stream) for stream in range(STREAMS + 1)]
    assert all(sorted(numbers) == list(NUMBERS) for numbers in orders)
    assert len(set(orders)) == 41


def test_the_power_run_and_the_ends_of_the_table() -> None:
    assert order(0) == (14, 2, 9, 20, 6, 17, 18, 8, 21, 13, 3, 22, 16, 4, 11, 15, 1, 10, 19, 5, 7, 12)
    assert order(1)[:4] == (21, 3, 18, 5)
    assert order(40)[-4:] == (10, 12, 5, 19)


@pytest.mark.parametrize("stream", [-1, 41])
def test_other_streams_have_no_order(stream: int) -> None:
    with pytest.raises(ValueError, match=f"no stream {stream}"):
        order(stream)


def test_each_stream_has_parameters_of_its_own() -> None:
    assert [seed_of(7, stream) for stream in range(3)] == [7, 8, 9]
    assert seed_of(None, 3) is None

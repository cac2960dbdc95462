"""The tables of all worlds, DuckDB over them, and the switchboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.switchboard import Switchboard
from tests.harness.tables import worlds
from tests.harness.verdict import Oracle


@pytest.fixture(scope="package")
def oracle() -> Iterator[Oracle]:
    opened = Oracle(worlds())
    yield opened
    opened.close()


@pytest.fixture(scope="package")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switchboard]:
    with Switchboard(worlds(), tmp_path_factory.mktemp("worlds")) as opened:
        yield opened

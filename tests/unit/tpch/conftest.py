"""The smallest TPC-H data, generated once for the tests of this folder."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tpch.generate import generate

SCALE_FACTOR = Decimal("0.01")


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tpch") / "sf0.01"
    assert generate(folder, SCALE_FACTOR)
    return folder

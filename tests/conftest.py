"""What every test sees. Fixtures of one theme belong in the conftest of its folder."""

from __future__ import annotations

import signal

import pytest


def pytest_configure() -> None:
    """A shell starts what it puts in the background with SIGINT ignored; Python then raises no KeyboardInterrupt either."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="regenerate golden files instead of comparing with them")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be regenerated."""
    return bool(request.config.getoption("--rewrite"))

"""The waiting thread's view of a query."""

from __future__ import annotations

import threading

import pytest

from exec.engine import _CALL_GRAPH
from exec.progress import Execution
from planner.errors import QEngineError, error


def execution() -> Execution:
    return Execution(1, _CALL_GRAPH)


def test_a_cancel_that_was_set_before_wins_over_a_result() -> None:
    cancelled = threading.Event()
    cancelled.set()
    query = execution()
    query.deliver(())
    assert query.wait(None, cancelled) is None


def test_a_result_is_delivered_once_and_an_error_raised() -> None:
    query = execution()
    query.deliver(())
    assert query.wait(None, threading.Event()) == ()
    query.end(error("CANCELLED"))
    with pytest.raises(QEngineError, match="cancelled"):
        query.wait()

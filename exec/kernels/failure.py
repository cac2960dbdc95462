"""Errors of kernels on their way through Polars.

Polars rebuilds an exception of a Python function from its class and its text, to which it adds words of its own. So a kernel
raises a KernelFailure, whose text holds code and values; `exec.lower.failures.translate` turns it into the error.
"""

from __future__ import annotations

import json
from typing import Any

from planner.errors import QEngineError, error

_END = "\x1e"


class KernelFailure(Exception):
    """Carries the code and the values of a QEngineError as text."""

    @property
    def error(self) -> QEngineError:
        code, values = json.loads(str(self).split(_END, 1)[0])
        return error(code, **values)


def failure(code: str, **values: Any) -> KernelFailure:
    """The exception with which a kernel fails; arguments as those of `planner.errors.error`."""
    return KernelFailure(json.dumps([code, {name: str(value) for name, value in values.items()}]) + _END)

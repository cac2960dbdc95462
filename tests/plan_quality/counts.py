"""Counts that are kept between runs, in one file below `data/`: they say nothing about plans, only about data and queries."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.plan_quality.workloads import DATA


class Counts:
    """What was counted over the files of a workload, by any text that says what it is. A value is whatever JSON has."""

    def __init__(self, name: str, identity: str, folder: Path = DATA / "plan_quality") -> None:
        self._identity = identity
        self._path = folder / f"{name}.counts.json"
        self._known: dict[str, Any] = json.loads(self._path.read_text()) if self._path.exists() else {}

    def of(self, what: str, count: Callable[[], Any]) -> Any:
        """The count of `what`, made by `count` if it is not known."""
        key = hashlib.sha256(f"{self._identity}\n{what}".encode()).hexdigest()[:32]
        if key not in self._known:
            self._known[key] = count()
            self._write()
        return self._known[key]

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(self._known))
        partial.replace(self._path)

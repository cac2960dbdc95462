"""Bound plans as text: binder.txt holds queries, each followed by its plan. `pytest --rewrite` regenerates the plans."""

from __future__ import annotations

from pathlib import Path

from planner.explain import logical_text
from tests.unit.sql.small_tables import query

FILE = Path(__file__).with_name("binder.txt")


def test_plans(rewrite):
    written = FILE.read_text(encoding="utf-8")
    cases = [case.partition("\n----\n")[0].strip() for case in written.split("\n\n") if case.strip()]
    current = "\n\n".join(f"{text}\n----\n{logical_text(query(text).plan).rstrip()}" for text in cases) + "\n"
    if rewrite:
        FILE.write_text(current, encoding="utf-8")
    else:
        assert current == written

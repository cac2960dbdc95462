"""The expected answers of one benchmark, and the verdict on an answer: qengine's exactly, others' by the specification."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from tpch import answers
from tpch.engines import SUBJECT
from tpch.machine import cores
from tpch.queries import query
from tpch.results import Verdict
from tpch.validation import validate


class Expected:
    """Answers by query and seed, all there before anything is measured: committed ones, or DuckDB's over the same files."""

    def __init__(self, folder: Path, scale_factor: Decimal, wanted: Iterable[tuple[int, int | None]], threads: int):
        """`wanted` are (number of the query, seed of its parameters). Raises TpchError: DuckDB is needed and not installed."""
        self._scale_factor = scale_factor
        self._answers: dict[tuple[int, int | None], pa.Table] = {}
        missing = []
        for number, seed in wanted:
            if seed is None and answers.has_committed(scale_factor):
                self._answers[number, seed] = answers.committed(query(number, scale_factor))
            else:
                missing.append((number, seed))
        if missing:
            with answers.connect(folder, min(threads, cores())) as connection:
                for number, seed in missing:
                    self._answers[number, seed] = answers.make(connection, query(number, scale_factor, seed))

    def verdict(self, engine: str, table: pa.Table, number: int, seed: int | None = None) -> tuple[Verdict, str]:
        """CORRECT, or WRONG and the first difference."""
        compare = answers.check if engine == SUBJECT else validate
        asked = query(number, self._scale_factor, seed)
        difference = compare(table, self._answers[number, seed], asked)
        return (Verdict.CORRECT, "") if difference is None else (Verdict.WRONG, difference)

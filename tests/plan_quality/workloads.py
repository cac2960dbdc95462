"""What plans are compared on: tables in Parquet files, and queries over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tpch.generate import TABLES, table_files
from tpch.queries import NUMBERS, query

if TYPE_CHECKING:
    from tests.plan_quality.movie_queries import JoinQuery

DATA = Path(__file__).resolve().parents[2] / "data"


def kept_tables(name: str, generate: Callable[[], Mapping[str, pa.Table]]) -> dict[str, Path]:
    """The files of generated tables, kept under a name that says of which version they are."""
    folder = DATA / "plan_quality" / name
    if not folder.is_dir():
        partial = folder.with_suffix(".partial")
        partial.mkdir(parents=True, exist_ok=True)
        for table_name, table in generate().items():
            pq.write_table(table, partial / f"{table_name}.parquet", row_group_size=1 << 17)
        partial.rename(folder)
    return {path.stem: path for path in sorted(folder.glob("*.parquet"))}


@dataclass(frozen=True, slots=True)
class Workload:
    """Tables by name, each one file, and texts of queries by name; `joins` are those that are nothing but inner joins."""

    name: str
    tables: Mapping[str, Path]
    queries: Mapping[str, str]
    joins: Mapping[str, JoinQuery] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Changes with the files: what was counted in them holds as long as it stays."""
        files = ((table, path.stat()) for table, path in sorted(self.tables.items()))
        return " ".join(f"{table}:{status.st_size}:{status.st_mtime_ns}" for table, status in files)


def tpch(scale_factor: str) -> Workload | None:
    """The 22 queries of TPC-H with their validation parameters, over data that was generated before; None without."""
    folder = DATA / "tpch" / f"sf{scale_factor}"
    files = {table: table_files(folder, table) for table in TABLES} if folder.is_dir() else {}
    if not files or any(len(paths) != 1 for paths in files.values()):
        return None
    texts = {f"Q{number}": query(number, Decimal(scale_factor)).text for number in NUMBERS}
    return Workload(f"tpch-sf{scale_factor}", {table: paths[0] for table, paths in files.items()}, texts)


def join_order() -> Workload:
    """The join order suite; its data is generated if it is not there."""
    from tests.plan_quality.movie_queries import join_queries
    from tests.plan_quality.movies import movie_tables

    queries = {one.name: one for one in join_queries()}
    return Workload("join-order", movie_tables(), {name: one.text for name, one in queries.items()}, queries)


def star_schema() -> Workload:
    """The Star Schema Benchmark; its data is generated if it is not there."""
    from tests.plan_quality.star_schema import QUERIES, star_tables

    return Workload("star-schema", star_tables(), {f"SSB {name}": text for name, text in QUERIES.items()})

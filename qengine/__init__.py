"""qengine: a declarative SQL and DataFrame query engine over partitioned Arrow batches.

    import qengine

    with qengine.Session() as session:
        session.sql("SELECT count(*) FROM 'orders.parquet'").show()

This package is the public API and the only one that users import:

    session     Session: names, settings, and the way to an engine
    dataframe   DataFrame: a lazy result; filter, join, group_by, ..., collect, show, explain, profile
    column      Column: expressions with Python's operators; col, lit, when, outer
    functions   aggregate and scalar functions of Columns
    prepared    PreparedStatement: a text with parameters
    errors      every error, with its stable code
    cli         the `qengine` command
    display     results as text, CSV, JSON and Markdown

and what it is made of: `catalog` (names to table snapshots), `query` (the plans of one query and its run), `plan_cache`
(plans by text), `query_profile` (where the time of a run went), `settings` (of a session, and their names in SQL), `statements`
(SQL that is no query: EXPLAIN, SET, SHOW, DESCRIBE, ANALYZE), `explanation` (what EXPLAIN says),
`engines` (which sessions share an engine).

Decision: `planner` and `exec` are top-level packages beside this one, so a user's own module of that name could take their
place. They are checked here to be our siblings; what shadows them is named.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qengine import errors, functions
    from qengine.column import Column, col, lit, outer, when
    from qengine.dataframe import DataFrame
    from qengine.prepared import PreparedStatement
    from qengine.query_profile import Profile
    from qengine.session import Session

__version__ = "0.1.0"

__all__ = [
    "Column", "DataFrame", "PreparedStatement", "Profile", "Session", "__version__", "col", "errors", "functions", "lit", "outer",
    "when",
]  # fmt: skip


def _check_siblings() -> None:
    home = Path(__file__).resolve().parent.parent
    for name in ("planner", "exec"):
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if origin is None or origin.parent.parent != home:
            raise ImportError(
                f"qengine needs its own package {name!r} from {home}, but Python finds {origin or 'none'}; "
                f"rename or move what shadows it"
            )


_check_siblings()


def __getattr__(name: str) -> Any:
    """Load the public names on first use, so that `import qengine` stays cheap."""
    import importlib

    if name in ("errors", "functions"):
        return importlib.import_module(f"qengine.{name}")
    modules = dict.fromkeys(("Column", "col", "lit", "outer", "when"), "column") | {
        "DataFrame": "dataframe", "PreparedStatement": "prepared", "Profile": "query_profile", "Session": "session",
    }  # fmt: skip
    if name in modules:
        return getattr(importlib.import_module(f"qengine.{modules[name]}"), name)
    raise AttributeError(f"module 'qengine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""Who may import whom (DESIGN.md section 3), read from the sources: nothing is imported, lazy imports count as well.

    tpch -> qengine -> {planner, exec},  exec -> planner for data only

Each rule is tested twice: over the packages, and over a synthetic source that breaks it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("exec", "planner", "qengine", "tpch")

# What each package may import of the others.
ALLOWED = {
    "planner": frozenset({"planner"}),
    "exec": frozenset({"exec", "planner"}),
    "qengine": frozenset({"qengine", "planner", "exec"}),
    "tpch": frozenset({"tpch", "qengine"}),
}
# Plans as data: what of the planner exec may know.
PLANNER_DATA = frozenset(
    {"tree", "dir", "errors", "dtypes", "schema", "catalog", "ports", "expr", "join_kind", "physical", "analysis"}
)
IMPURE = frozenset({"numpy", "pandas", "polars", "pyarrow"})
# Optional or slow to import: only inside of functions, so that they cost nobody who does not use them.
LAZY = {"tpch": frozenset({"chdb", "daft", "datafusion", "duckdb", "polars", "pyspark", "qengine", "rich"})}
# Imported by nobody but an adapter when it opens its engine.
LAZILY_IMPORTED = frozenset({"tpch.engines.polars_queries"})


# The layout of DESIGN.md section 3 names these two itself, below a package, where they hide nothing.
STANDARD_NAMES_BY_DESIGN = frozenset({"planner.analysis.statistics", "planner.physical.encodings"})


@dataclass(frozen=True)
class Import:
    module: str  # absolute; for `from a import b` it is a.b, since b may be a module
    line: int
    lazy: bool  # inside of a function, or for type checkers only
    bare: bool  # `import a`, which binds the top-level name


def imports(source: str, module: str, is_package: bool) -> Iterator[Import]:
    """Every import of a source, with relative ones resolved against the module that contains it."""

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for name in child.names:
                    yield Import(name.name, child.lineno, lazy, bare=name.asname is None)
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                if child.level:
                    package = module.split(".") if is_package else module.split(".")[:-1]
                    package = package[: len(package) - child.level + 1]
                    base = ".".join([*package, *([base] if base else [])])
                for name in child.names:
                    yield Import(f"{base}.{name.name}", child.lineno, lazy, bare=False)
            else:
                inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                typing_only = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
                yield from walk(child, lazy or inside or typing_only)

    yield from walk(ast.parse(source), lazy=False)


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """What is wrong with the imports of one source, as `module:line: why`."""
    own = module.partition(".")[0]
    found = []
    for item in imports(source, module, is_package):
        top, _, rest = item.module.partition(".")
        why = None
        if top in PACKAGES and top not in ALLOWED[own]:
            why = f"{own} may not import {top}"
        elif top == "tests":
            why = "tests are not installed"
        elif own == "exec" and top == "planner" and rest.partition(".")[0] not in PLANNER_DATA:
            why = f"exec knows plans as data only, not {item.module}"
        elif own == "planner" and top in IMPURE:
            why = f"the planner is pure and may not import {top}"
        elif top in ("sqlglot", "sqlglotc") and not _may_import_sqlglot(module):
            why = "sqlglot is imported only under planner/sql/ and by qengine/column.py"
        elif item.bare and top == "exec":
            why = "`import exec` hides the builtin: write `from exec.x import y`"
        elif top in LAZY.get(own, ()) and not item.lazy and module not in LAZILY_IMPORTED:
            why = f"{top} is imported only inside of functions here"
        if why is not None:
            found.append(f"{module}:{item.line}: {why}")
    return found


def name_violation(module: str) -> str | None:
    """Why a module may not bear its name, if so."""
    name = module.rpartition(".")[2]
    if module in STANDARD_NAMES_BY_DESIGN or name.startswith("__"):
        return None
    if name in sys.stdlib_module_names:
        return f"{module} bears the name of a module of the standard library"
    return None


def _may_import_sqlglot(module: str) -> bool:
    return module == "qengine.column" or module == "planner.sql" or module.startswith("planner.sql.")


def sources() -> list[tuple[str, Path]]:
    """(module, file) of everything in the packages that exist."""
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def test_there_is_something_to_check() -> None:
    assert len(sources()) > 20


def test_layers() -> None:
    found = []
    for module, path in sources():
        found += violations(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
    assert found == []


def test_no_module_bears_a_standard_name() -> None:
    assert [why for module, _ in sources() if (why := name_violation(module))] == []


def test_nobody_imports_exec_bare() -> None:
    found = []
    for path in [*(ROOT / "tests").rglob("*.py"), *(path for _, path in sources())]:
        for item in imports(path.read_text(encoding="utf-8"), "tests.x", is_package=False):
            if item.bare and item.module.partition(".")[0] == "exec":
                found.append(f"{path.relative_to(ROOT)}:{item.line}")
    assert found == []


def test_every_folder_with_code_is_a_package_with_a_map() -> None:
    lacking = []
    for folder in sorted({path.parent for _, path in sources()}):
        init = folder / "__init__.py"
        if not init.exists() or not ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))):
            lacking.append(str(folder.relative_to(ROOT)))
    assert lacking == []


@pytest.mark.parametrize(
    ("module", "source", "why"),
    [
        ("planner.schema", "import exec.engine", "planner may not import exec"),
        ("planner.schema", "from qengine import Session", "planner may not import qengine"),
        ("planner.schema", "import pyarrow as pa", "pure"),
        ("planner.schema", "def f():\n    import numpy.linalg", "pure"),
        ("planner.expr.nodes", "if TYPE_CHECKING:\n    from polars import Expr", "pure"),
        ("planner.optimizer.merge_limits", "import sqlglot", "only under planner/sql/"),
        ("exec.worker", "import sqlglot.expressions", "only under planner/sql/"),
        ("qengine.session", "from sqlglot import exp", "only under planner/sql/"),
        ("exec.driver", "from planner.sql import bind", "plans as data only"),
        ("exec.driver", "from planner import optimizer", "plans as data only"),
        ("exec.driver", "from planner.logical.nodes import Scan", "plans as data only"),
        ("exec.driver", "import planner", "plans as data only"),
        ("exec.driver", "try:\n    import qengine\nexcept ImportError:\n    pass", "exec may not import qengine"),
        ("qengine.session", "import exec.engine", "hides the builtin"),
        ("qengine.session", "import exec", "hides the builtin"),
        ("qengine.session", "from tpch import queries", "qengine may not import tpch"),
        ("qengine.session", "from tests.support import x", "not installed"),
        ("tpch.runner", "from planner.errors import QEngineError", "tpch may not import planner"),
        ("tpch.runner", "def f():\n    from exec.engine import Engine", "tpch may not import exec"),
        ("tpch.runner", "import duckdb", "only inside of functions"),
    ],
)
def test_a_violation_is_detected(module: str, source: str, why: str) -> None:
    found = violations(source, module)
    assert len(found) == 1
    assert why in found[0]
    assert found[0].startswith(f"{module}:")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("planner.sql.binder", "from sqlglot import expressions"),
        ("planner.sql", "import sqlglot"),
        ("qengine.column", "import sqlglot"),
        ("planner.optimizer.merge_limits", "from ..logical.nodes import Limit\nfrom . import rule"),
        ("exec.driver", "from planner.physical.nodes import Scan\nfrom planner import dir\nimport polars"),
        ("exec.driver", "from exec.scheduler import Scheduler\nfrom .memory import Budget"),
        ("qengine.session", "from exec.engine import Engine\nfrom planner.sql import bind\nimport exec.engine as e"),
        ("tpch.runner", "import pyarrow\ndef f():\n    import duckdb, qengine\n    from rich.progress import Progress"),
        ("tpch.answers", "if TYPE_CHECKING:\n    import duckdb"),
    ],
)
def test_what_is_allowed_passes(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_relative_imports_are_resolved() -> None:
    assert [item.module for item in imports("from ..sql import x", "planner.optimizer.rule", False)] == ["planner.sql.x"]
    assert [item.module for item in imports("from . import x", "planner.optimizer", True)] == ["planner.optimizer.x"]
    assert [item.module for item in imports("from .sql import x", "planner", True)] == ["planner.sql.x"]


@pytest.mark.parametrize("module", ["planner.ast", "exec.queue", "planner.sql.types", "exec.encodings"])
def test_a_standard_name_is_detected(module: str) -> None:
    assert name_violation(module) is not None


def test_other_names_are_fine() -> None:
    assert [module for module in ("planner.tree", "qengine.__main__", "exec", "planner.dir") if name_violation(module)] == []


def test_a_worker_imports_neither_sqlglot_nor_the_optimizer() -> None:
    program = (
        "import sys, exec.worker as _\n"
        "print([name for name in sys.modules"
        " if name.startswith(('sqlglot', 'planner.sql', 'planner.optimizer', 'qengine'))])"
    )
    completed = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert completed.stdout.strip() == "[]"

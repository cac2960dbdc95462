"""`qengine.__all__` is sorted and complete: it is what users may rely on."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def public_names(source: str) -> set[str]:
    """The names without an underscore that a module binds at its top level, by definition, assignment or import."""
    names: set[str] = set()
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Assign():
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.ImportFrom() if node.module != "__future__":
                names |= {alias.asname or alias.name for alias in node.names}
            case ast.Import():
                names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            case _:
                pass
    return {name for name in names if not name.startswith("_")}


def test_all_is_sorted_and_complete() -> None:
    import qengine

    if not hasattr(qengine, "__all__"):
        pytest.skip("qengine has no public names yet")
    names = list(qengine.__all__)
    assert names == sorted(names)
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(qengine, name)] == []
    source = (ROOT / "qengine" / "__init__.py").read_text(encoding="utf-8")
    bound = public_names(source)
    assert bound - set(names) == set(), "public by their name, and missing in __all__"


def test_everything_public_is_documented() -> None:
    import qengine

    undocumented = [
        name
        for name in getattr(qengine, "__all__", [])
        if (inspect.isclass(value := getattr(qengine, name)) or inspect.isroutine(value) or inspect.ismodule(value))
        and not inspect.getdoc(value)
    ]
    assert undocumented == []


def test_a_missing_name_is_detected() -> None:
    source = (
        "import sys\nimport os as _os\nfrom exec.a import b, _c\nVERSION: str = ''\ndef f(): ...\nclass K: ...\n_x = 1"
    )
    assert public_names(source) == {"sys", "b", "VERSION", "f", "K"}

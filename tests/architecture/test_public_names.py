"""`qengine.__all__` is sorted and complete: it is what users may rely on."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def public_names(source: str) -> set[str]:
    """The public names of a module: without an underscore, defined here or imported from our own packages.

    What it imports from elsewhere are its tools. An import for type checkers counts: it declares a name loaded lazily.
    """
    names: set[str] = set()
    pending = list(ast.parse(source).body)
    while pending:
        match pending.pop():
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.ImportFrom(module=module, level=level, names=aliases) if level or _is_ours(module or ""):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.Import(names=aliases):
                names |= {alias.asname for alias in aliases if alias.asname and _is_ours(alias.name)}
            case ast.If(body=body, orelse=orelse):
                pending += [*body, *orelse]
            case _:
                pass
    return {name for name in names if not name.startswith("_")}


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("qengine", "planner", "exec")


def test_all_is_sorted_and_complete() -> None:
    import qengine

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
    source = """
import sys, os as system
from pathlib import Path
from exec.a import b, _c
import planner.dir as dirs
if TYPE_CHECKING:
    from .session import Session
VERSION: str = ""
first = second = 1
def f(): ...
class K: ...
_x = 1
"""
    assert public_names(source) == {"b", "dirs", "Session", "VERSION", "first", "second", "f", "K"}

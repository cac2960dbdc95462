"""The immutable node core shared by expressions, logical plans and physical plans.

A node class is declared like a dataclass and registered by the one decorator `node`::

    @node
    class Filter(LogicalPlan):
        input: LogicalPlan
        predicate: Expr

Fields whose annotation names a node class (alone, optional, or in a tuple) are *children*; all other fields are values.
Nodes compare by identity, are slotted, and refuse assignment. Every node carries `kinds`, the union of the bits of the
classes below it, so that a rewrite skips whole subtrees in which no rule could fire. All traversals are iterative: depth is
bounded by memory, not by the interpreter's stack.

`flatten` and `unflatten` turn a plan into a flat table and back; plans travel between processes in that form, because a
recursive pickle of a deep plan fails.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

N = TypeVar("N", bound="Node")

_REGISTRY: dict[str, type[Node]] = {}
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


class Node:
    """Base of all tree nodes. Subclasses are declared with `@node` and never mutated."""

    __slots__ = ("__weakref__", "kinds")

    FIELDS: ClassVar[tuple[str, ...]] = ()
    CHILD_FIELDS: ClassVar[tuple[str, ...]] = ()
    KIND: ClassVar[int] = 0
    kinds: int

    @property
    def children(self) -> tuple[Node, ...]:
        """All direct children in field order, expressions and plans alike; an absent optional child is left out."""
        found: list[Node] = []
        for name in self.CHILD_FIELDS:
            value = getattr(self, name)
            if value.__class__ is tuple:
                found.extend(value)
            elif value is not None:
                found.append(value)
        return tuple(found)

    def replace(self: N, **changes: Any) -> N:
        """A copy with some fields changed; the same object if every new value is the old one."""
        if all(getattr(self, name) is value for name, value in changes.items()):
            return self
        return self.__class__(**{name: changes.get(name, getattr(self, name)) for name in self.FIELDS})

    def map_children(self: N, function: Callable[[Node], Node]) -> N:
        """A copy whose direct children went through `function`; the same object if none changed."""
        changes: dict[str, Any] = {}
        for name in self.CHILD_FIELDS:
            value = getattr(self, name)
            if value.__class__ is tuple:
                new = tuple([function(item) for item in value])
                if any(a is not b for a, b in zip(new, value, strict=True)):
                    changes[name] = new
            elif value is not None:
                new_value = function(value)
                if new_value is not value:
                    changes[name] = new_value
        return self.replace(**changes) if changes else self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; use replace()")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[Callable[[Any], Node], tuple[Any]]:
        return unflatten, (flatten(self),)

    def __repr__(self) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name in self.FIELDS if name not in self.CHILD_FIELDS]
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[N]) -> type[N]:
    """Turn an annotated class into a slotted, immutable, registered node class.

    Fields are the annotations of the class and of its node bases, in order. A class attribute gives a default value. A
    method `check(self)` runs at the end of construction and may raise. Zero-argument `super()` does not work in the body,
    because a slotted class has to be built a second time.
    """
    annotations = inspect.get_annotations(cls)
    own = [name for name, text in annotations.items() if "ClassVar" not in str(text)]
    defaults = {name: cls.__dict__[name] for name in own if name in cls.__dict__}
    inherited = tuple(name for base in reversed(cls.__mro__[1:]) for name in getattr(base, "_OWN_FIELDS", ()))
    child_names = []
    for name in own:
        words = _WORD.findall(str(annotations[name]))
        if any(word == "Node" or word == cls.__name__ or word in _REGISTRY for word in words):
            child_names.append(name)

    body = {key: value for key, value in cls.__dict__.items() if key not in defaults}
    body.pop("__dict__", None)
    body.pop("__weakref__", None)
    inherited_children = tuple(name for base in reversed(cls.__mro__[1:]) for name in getattr(base, "_OWN_CHILDREN", ()))
    body |= {
        "__slots__": tuple(own),
        "_OWN_FIELDS": tuple(own),
        "_OWN_CHILDREN": tuple(child_names),
        "FIELDS": inherited + tuple(own),
        "CHILD_FIELDS": inherited_children + tuple(child_names),
        "KIND": 1 << len(_REGISTRY),
    }
    created = cast(type[N], type.__new__(type, cls.__name__, cls.__bases__, body))
    created.__qualname__ = cls.__qualname__
    created.__init__ = _make_init(created, defaults)  # type: ignore[method-assign]
    if cls.__name__ in _REGISTRY:
        raise TypeError(f"two node classes are named {cls.__name__}")
    _REGISTRY[cls.__name__] = created
    return created


def _make_init(cls: type[Node], defaults: dict[str, Any]) -> Callable[..., None]:
    """Generate `__init__`: slot descriptors are twice as fast as object.__setattr__ and bypass the refusal to assign."""
    scope: dict[str, Any] = {"_set_kinds": Node.__dict__["kinds"].__set__, "_kind": cls.KIND}
    known_defaults: dict[str, Any] = {**getattr(cls, "_DEFAULTS", {}), **defaults}
    signature, lines = ["self"], []
    for name in cls.FIELDS:
        default = known_defaults.get(name, ...)
        if default is not ...:
            scope[f"_default_{name}"] = default
            signature.append(f"{name}=_default_{name}")
        else:
            signature.append(name)
        owner = next(base for base in cls.__mro__ if name in base.__dict__.get("_OWN_FIELDS", ()))
        scope[f"_set_{name}"] = owner.__dict__[name].__set__
        lines.append(f"    _set_{name}(self, {name})")
    lines.append("    kinds = _kind")
    for name in cls.CHILD_FIELDS:
        lines += [
            f"    if {name}.__class__ is tuple:",
            f"        for item in {name}: kinds |= item.kinds",
            f"    elif {name} is not None: kinds |= {name}.kinds",
        ]
    lines.append("    _set_kinds(self, kinds)")
    if hasattr(cls, "check"):
        lines.append("    self.check()")
    cls._DEFAULTS = known_defaults  # type: ignore[attr-defined]
    exec(f"def __init__({', '.join(signature)}):\n" + "\n".join(lines), scope)
    return cast(Callable[..., None], scope["__init__"])


def kind_mask(*classes: type[Node]) -> int:
    """The union of the kind bits of some node classes and of all registered subclasses of them."""
    mask = 0
    for registered in _REGISTRY.values():
        if issubclass(registered, classes):
            mask |= registered.KIND
    return mask


def walk(root: Node, mask: int = -1) -> Iterator[Node]:
    """All nodes below and including `root`, parents first; only subtrees that can hold a kind in `mask` are entered."""
    stack = [root]
    while stack:
        current = stack.pop()
        if not current.kinds & mask:
            continue
        if current.KIND & mask:
            yield current
        stack.extend(reversed(current.children))


def size(root: Node, limit: int) -> int:
    """The number of nodes below and including `root`, counted up to `limit`. One that is shared counts wherever it is found."""
    return sum(1 for _ in islice(walk(root), limit))


def rewrite(root: Node, function: Callable[[Node], Node | None], mask: int = -1) -> Node:
    """Rewrite bottom-up: `function` sees each node of a kind in `mask` after its children; None means unchanged.

    A node that occurs several times is rewritten once, so sharing survives. Subtrees without a kind in `mask` are not
    entered and come back as the same objects.
    """
    done: dict[int, Node] = {}
    stack = [root]
    while stack:
        current = stack[-1]
        key = id(current)
        if key in done:
            stack.pop()
            continue
        if not current.kinds & mask:
            done[key] = current
            stack.pop()
            continue
        pending = [child for child in current.children if id(child) not in done]
        if pending:
            stack.extend(reversed(pending))
            continue
        stack.pop()
        new = current.map_children(lambda child: done[id(child)])
        if new.KIND & mask:
            replaced = function(new)
            if replaced is not None:
                new = replaced
        done[key] = new
    return done[id(root)]


class _Child(int):
    """The position of a child in a flat table."""


def flatten(root: Node) -> list[tuple[str, tuple[Any, ...]]]:
    """The nodes below `root` as rows (class name, field values), children before parents, children as positions."""
    position: dict[int, _Child] = {}
    rows: list[tuple[str, tuple[Any, ...]]] = []
    stack = [root]
    while stack:
        current = stack[-1]
        if id(current) in position:
            stack.pop()
            continue
        pending = [child for child in current.children if id(child) not in position]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        values = []
        for name in current.FIELDS:
            value = getattr(current, name)
            if name in current.CHILD_FIELDS and value is not None:
                value = tuple(position[id(item)] for item in value) if value.__class__ is tuple else position[id(value)]
            values.append(value)
        position[id(current)] = _Child(len(rows))
        rows.append((type(current).__name__, tuple(values)))
    return rows


def unflatten(rows: list[tuple[str, tuple[Any, ...]]]) -> Node:
    """The inverse of `flatten`."""
    nodes: list[Node] = []
    for class_name, values in rows:
        cls = _REGISTRY[class_name]
        arguments = []
        for name, value in zip(cls.FIELDS, values, strict=True):
            if name in cls.CHILD_FIELDS and value is not None:
                value = tuple(nodes[item] for item in value) if value.__class__ is tuple else nodes[value]
            arguments.append(value)
        nodes.append(cls(*arguments))
    return nodes[-1]

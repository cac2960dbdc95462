"""Which function binds which class of syntax node, and the refusal of everything else.

Each `bind_*` module registers its functions with `handles`. A registration names the arguments of the node that it understands;
any other argument that is set is a feature we do not have, and is refused by name rather than ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import exp

from planner.errors import QEngineError, nearest
from planner.expr.nodes import Expr
from planner.sql.context import MAX_DEPTH, BindContext
from planner.sql.positions import function_name
from planner.sql.scope import Scope

Handler = Callable[[BindContext, Scope, exp.Expr], Expr]

HANDLERS: dict[type[exp.Expr], tuple[Handler, frozenset[str] | None]] = {}

# The binder lets these through: they change nothing that it reads, or say again what it finds out itself.
_HARMLESS = frozenset({"big_int", "_type"})


def handles(*classes: type[exp.Expr], args: str | None) -> Callable[[Handler], Handler]:
    """Register a binding function for syntax classes.

    `args` are the node arguments it understands, separated by spaces; None if the function refuses the others itself.
    """
    known = None if args is None else frozenset(args.split()) | _HARMLESS

    def register(function: Handler) -> Handler:
        for cls in classes:
            HANDLERS[cls] = (function, known)
        return function

    return register


def bind_expression(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """The typed expression of a syntax node. Raises the errors of `planner.errors` that are the query's fault."""
    while type(node) is exp.Paren:
        node = node.this
    entry = HANDLERS.get(type(node))
    if entry is None:
        raise _refusal(context, node)
    handler, known = entry
    if known is not None:
        for key, value in node.args.items():
            if key not in known and value:
                raise unsupported_argument(context, node, key)
    context.depth += 1
    if context.depth > MAX_DEPTH:
        raise context.error("TOO_DEEP", node)
    bound = handler(context, scope, node)
    context.depth -= 1
    return bound


def refuse_arguments(context: BindContext, node: exp.Expr, known: Collection[str]) -> None:
    """Refuse a node that has other arguments than the known ones. Raises UNSUPPORTED."""
    for key, value in node.args.items():
        if value and key not in known:
            raise unsupported_argument(context, node, key)


_ARGUMENT_NAMES = {
    "cluster": "CLUSTER BY",
    "by_name": "BY NAME",
    "connect": "CONNECT BY",
    "distribute": "DISTRIBUTE BY",
    "hint": "a hint",
    "into": "SELECT INTO",
    "kind": "SELECT AS",
    "laterals": "LATERAL",
    "locks": "FOR UPDATE",
    "match": "MATCH_RECOGNIZE",
    "method": "this kind of join",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "settings": "SETTINGS",
    "sort": "SORT BY",
    "symmetric": "BETWEEN SYMMETRIC",
    "system_time": "FOR SYSTEM_TIME",
    "version": "a table version",
    "when": "a table version",
}

_CLASS_NAMES: dict[type[exp.Expr], str] = {
    exp.Union: "UNION",
    exp.Intersect: "INTERSECT",
    exp.Except: "EXCEPT",
    exp.Lateral: "LATERAL",
    exp.Unnest: "UNNEST",
    exp.Array: "a list",
    exp.Struct: "a struct",
    exp.Bracket: "element access",
    exp.Dot: "field access",
    exp.Tuple: "a row value",
    exp.Lambda: "a lambda",
    exp.Collate: "COLLATE",
    exp.PositionalColumn: "a column by its position",
    exp.JSONExtract: "the operator ->",
    exp.JSONExtractScalar: "the operator ->>",
    exp.BitwiseLeftShift: "the operator <<",
    exp.BitwiseRightShift: "the operator >>",
    exp.SimilarTo: "SIMILAR TO",
    exp.Glob: "GLOB",
    exp.AtTimeZone: "AT TIME ZONE",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.Order: "ORDER BY inside of a function",
    exp.WithinGroup: "WITHIN GROUP",
    exp.Distinct: "DISTINCT inside of this function",
    exp.Star: "* in this place",
    exp.Any: "ANY in this place",
    exp.All: "ALL in this place",
    exp.Grouping: "GROUPING",
    exp.GroupingSets: "GROUPING SETS",
    exp.Pragma: "PRAGMA",
}


def describe(context: BindContext, node: exp.Expr) -> str:
    """What people call a construct."""
    known = _CLASS_NAMES.get(type(node))
    if known is not None:
        return known
    if isinstance(node, exp.Func):
        return f"the function {function_name(context.text, node)}"
    return node.key.upper()


def unsupported_argument(context: BindContext, node: exp.Expr, key: str) -> QEngineError:
    """The refusal of one argument of a node, at the argument's own position where it has one."""
    value = node.args[key]
    part = value[0] if isinstance(value, list) else value
    place = part if isinstance(part, exp.Expr) else node
    name = _ARGUMENT_NAMES.get(key)
    if isinstance(node, (exp.Select, exp.Table, exp.Join)) and name is None:
        name = key.strip("_").upper().replace("_", " ")
    elif isinstance(node, exp.Func) and isinstance(part, exp.Expr) and name is None:
        name = f"this argument of {describe(context, node)}"
    elif isinstance(node, exp.Column):
        name = "a column name with more than two parts"
    elif name is None:
        name = f"{key.strip('_').upper().replace('_', ' ')} of {describe(context, node)}"
    return context.unsupported(name, place)


def _refusal(context: BindContext, node: exp.Expr) -> QEngineError:
    return context.unsupported(describe(context, node), node)


def unknown_function(context: BindContext, node: exp.Expr) -> QEngineError:
    """UNKNOWN_FUNCTION for a call that sqlglot has no class for."""
    name = str(node.this)
    return context.error("UNKNOWN_FUNCTION", node, name=name, nearest=nearest(name, function_names()))


def function_names() -> list[str]:
    """The names of the functions that can be called, for proposals."""
    names = {name.lower() for cls in HANDLERS if issubclass(cls, exp.Func) for name in cls.sql_names()}
    from planner.sql.signatures import SIGNATURES

    return sorted((names - {"case", "anonymous", "cast", "try_cast", "and", "or"}) | {"date_part", "now"} | SIGNATURES.keys())

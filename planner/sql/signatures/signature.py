"""What a signature is, and the conversions of arguments that signatures ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import Call, Expr, Literal
from planner.sql.coercion import cast_to, to_text, unify
from planner.sql.context import BindContext


@dataclass(frozen=True, slots=True)
class Arguments:
    """The converted arguments of one call, and where they stand."""

    context: BindContext
    values: tuple[Expr, ...]
    nodes: tuple[exp.Expr, ...]
    node: exp.Expr

    def constant(self, at: int, kind: type, what: str) -> object:
        """The value of an argument that has to be constant. Raises UNSUPPORTED."""
        value = self.values[at]
        if not isinstance(value, Literal) or not (value.value is None or isinstance(value.value, kind)):
            raise self.context.unsupported(f"{what} that is not constant", self.nodes[at])
        return value.value


Result = t.DType | Callable[[Arguments], t.DType]


@dataclass(frozen=True, slots=True)
class Signature:
    """`parameters` are the kinds of the arguments, see `convert`; the last one repeats if it ends in `...`.

    `required` is how many must be given (None: all). `build` makes the expression; without it that is a call of `function`.
    """

    function: str
    parameters: tuple[str, ...]
    result: Result
    required: int | None = None
    build: Callable[[Arguments], Expr] | None = None

    def bind(self, context: BindContext, name: str, values: Sequence[Expr], nodes: Sequence[exp.Expr], node: exp.Expr) -> Expr:
        """The expression of a call. Raises WRONG_ARGUMENTS and TYPE_MISMATCH."""
        kinds = self.kinds(len(values))
        if kinds is None:
            given = f"{len(values)} argument{'' if len(values) == 1 else 's'}"
            raise context.error("WRONG_ARGUMENTS", node, name=name, expected=self.expected, given=given)
        converted = [convert(context, value, kind, name, part) for value, kind, part in zip(values, kinds, nodes, strict=True)]
        if converted and kinds[-1] == "same":
            converted = unify(context, converted, nodes, name)
        arguments = Arguments(context, tuple(converted), tuple(nodes), node)
        if self.build is not None:
            return self.build(arguments)
        return call(self.function, self.result, arguments)

    def kinds(self, count: int) -> list[str] | None:
        """The kinds of so many arguments; None if it cannot be so many."""
        least = len(self.parameters) if self.required is None else self.required
        repeats = bool(self.parameters) and self.parameters[-1].endswith("...")
        if count < least or (count > len(self.parameters) and not repeats):
            return None
        kinds = [kind.removesuffix("...") for kind in self.parameters]
        return (kinds + kinds[-1:] * count)[:count]

    @property
    def expected(self) -> str:
        most, least = len(self.parameters), len(self.parameters) if self.required is None else self.required
        if self.parameters and self.parameters[-1].endswith("..."):
            return f"at least {least} argument{'' if least == 1 else 's'}"
        numbers = str(most) if most == least else f"{least} to {most}"
        return f"{numbers} argument{'' if numbers == '1' else 's'}" if most else "no arguments"


def call(function: str, result: Result, arguments: Arguments) -> Expr:
    return Call(result if isinstance(result, t.DType) else result(arguments), function, arguments.values)


def convert(context: BindContext, value: Expr, kind: str, name: str, node: exp.Expr) -> Expr:
    """An argument of a kind:

        text      VARCHAR                       double   any number, as DOUBLE
        integer   integers, as BIGINT           number   any number as it is
        moment    DATE, TIMESTAMP, TIMESTAMPTZ  whole    integers as they are
        written   anything, written as text     any      anything as it is
        same      as the others, in their common type

    Raises TYPE_MISMATCH.
    """
    dtype = value.dtype
    fits = True
    match kind:
        case "text":
            return to_text(context, value, name, node)
        case "written":
            return cast_to(context, value, t.VARCHAR, node)
        case "integer":
            fits, value = _number(context, value, t.BIGINT, t.is_integer(dtype), node)
        case "whole":
            fits, value = _number(context, value, t.INTEGER if dtype == t.NULL else dtype, t.is_integer(dtype), node)
        case "double":
            fits, value = _number(context, value, t.DOUBLE, t.is_numeric(dtype), node)
        case "number":
            fits, value = _number(context, value, t.BIGINT if dtype == t.NULL else dtype, t.is_numeric(dtype), node)
        case "moment":
            fits = dtype in (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ, t.NULL)
            value = cast_to(context, value, t.TIMESTAMP, node) if dtype == t.NULL else value
    if not fits:
        raise context.error("TYPE_MISMATCH", node, what=name, types=dtype)
    return value


def _number(context: BindContext, value: Expr, dtype: t.DType, fits: bool, node: exp.Expr) -> tuple[bool, Expr]:
    if fits or value.dtype == t.NULL:
        return True, cast_to(context, value, dtype, node)
    return False, value


def first_type(arguments: Arguments) -> t.DType:
    return arguments.values[0].dtype


def named(*names: str, **entry: Signature) -> dict[str, Signature]:
    """One signature under several names."""
    (signature,) = entry.values()
    return dict.fromkeys(names, signature)

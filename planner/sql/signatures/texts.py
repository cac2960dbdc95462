"""Functions of text."""

from __future__ import annotations

import re
from collections.abc import Callable

from planner import dtypes as t
from planner.expr.nodes import Call, Expr, Literal
from planner.sql.signatures.signature import Arguments, Signature, call

_FLAGS = re.compile(r"[cismlng]*")


def _regular(function: str, result: t.DType, *, pattern: int, flags: int) -> Callable[[Arguments], Expr]:
    """A function of a regular expression: pattern and options are constant, so that both can be checked and translated."""

    def build(arguments: Arguments) -> Expr:
        arguments.constant(pattern, str, "a regular expression")
        for at in range(pattern + 1, len(arguments.values)):
            arguments.constant(at, object, "an option of a regular expression")
        if len(arguments.values) > flags:
            given = arguments.constant(flags, str, "an option of a regular expression")
            if isinstance(given, str) and not _FLAGS.fullmatch(given):
                raise arguments.context.unsupported(f"the option {given!r} of a regular expression", arguments.nodes[flags])
        return Call(result, function, arguments.values)

    return build


def _bit_length(arguments: Arguments) -> Expr:
    return Call(t.BIGINT, "multiply", (call("strlen", t.BIGINT, arguments), Literal(t.BIGINT, 8)))


_START = Signature("starts_with", ("text", "text"), t.BOOLEAN)
_END = Signature("ends_with", ("text", "text"), t.BOOLEAN)
_POSITION = Signature("strpos", ("text", "text"), t.BIGINT)
_LENGTH = Signature("length", ("text",), t.BIGINT)
_UPPER = Signature("upper", ("text",), t.VARCHAR)
_LOWER = Signature("lower", ("text",), t.VARCHAR)
_MATCHES = Signature(
    "regexp_matches", ("text", "text", "text"), t.BOOLEAN, 2, _regular("regexp_matches", t.BOOLEAN, pattern=1, flags=2)
)

TEXTS: dict[str, Signature] = {
    "left": Signature("left", ("text", "integer"), t.VARCHAR),
    "right": Signature("right", ("text", "integer"), t.VARCHAR),
    "replace": Signature("replace", ("text", "text", "text"), t.VARCHAR),
    "translate": Signature("translate", ("text", "text", "text"), t.VARCHAR),
    "lpad": Signature("lpad", ("text", "integer", "text"), t.VARCHAR),
    "rpad": Signature("rpad", ("text", "integer", "text"), t.VARCHAR),
    "trim": Signature("trim", ("text", "text"), t.VARCHAR, 1),
    "ltrim": Signature("ltrim", ("text", "text"), t.VARCHAR, 1),
    "rtrim": Signature("rtrim", ("text", "text"), t.VARCHAR, 1),
    "strpos": _POSITION,
    "instr": _POSITION,
    "position": _POSITION,
    "reverse": Signature("reverse", ("text",), t.VARCHAR),
    "repeat": Signature("repeat", ("text", "integer"), t.VARCHAR),
    "split_part": Signature("split_part", ("text", "text", "integer"), t.VARCHAR),
    "starts_with": _START,
    "prefix": _START,
    "ends_with": _END,
    "suffix": _END,
    "contains": Signature("contains", ("text", "text"), t.BOOLEAN),
    "concat_ws": Signature("concat_ws", ("text", "written..."), t.VARCHAR, 2),
    "ascii": Signature("ascii", ("text",), t.INTEGER),
    "unicode": Signature("unicode", ("text",), t.INTEGER),
    "ord": Signature("unicode", ("text",), t.INTEGER),
    "chr": Signature("chr", ("integer",), t.VARCHAR),
    "length": _LENGTH,
    "len": _LENGTH,
    "char_length": _LENGTH,
    "character_length": _LENGTH,
    "strlen": Signature("strlen", ("text",), t.BIGINT),
    "bit_length": Signature("strlen", ("text",), t.BIGINT, build=_bit_length),
    "upper": _UPPER,
    "ucase": _UPPER,
    "lower": _LOWER,
    "lcase": _LOWER,
    "md5": Signature("md5", ("text",), t.VARCHAR),
    "regexp_matches": _MATCHES,
    "regexp_full_match": Signature(
        "regexp_full_match", ("text", "text", "text"), t.BOOLEAN, 2, _regular("regexp_full_match", t.BOOLEAN, pattern=1, flags=2)
    ),
    "regexp_replace": Signature(
        "regexp_replace", ("text", "text", "text", "text"), t.VARCHAR, 3,
        _regular("regexp_replace", t.VARCHAR, pattern=1, flags=3),
    ),
    "regexp_extract": Signature(
        "regexp_extract", ("text", "text", "integer", "text"), t.VARCHAR, 2,
        _regular("regexp_extract", t.VARCHAR, pattern=1, flags=3),
    ),
}  # fmt: skip

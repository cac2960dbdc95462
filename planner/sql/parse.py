"""Text to sqlglot's syntax tree: one statement, with sqlglot's errors turned into ours."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

from sqlglot import exp
from sqlglot.dialects import DIALECT_MODULE_NAMES
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from planner.errors import Position, QEngineError, error, nearest
from planner.sql.limits import refuse_deep, refuse_trials

# sqlglot warns when it keeps a statement as plain text; such a statement is refused by name in the binder.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

_TOO_MANY = re.compile(r"The number of provided arguments \((\d+)\) is greater than .*\((\d+)\)")
_MISSING = re.compile(r"Required keyword: '(\w+)' missing for <class '[\w.]*?(\w+)'>")


def parse(text: str, dialect: str = "duckdb") -> exp.Expr:
    """The syntax tree of the only statement in `text`.

    Raises UNKNOWN_DIALECT, EMPTY_QUERY, SEVERAL_STATEMENTS, TOO_DEEP, or SYNTAX with the position of the offending token.
    """
    known = dialect_of(dialect)
    parser = known.parser()
    tokens: list[Token] = []
    try:
        tokens = _numbered(text, known.tokenize(_checked(text)))
        refuse_deep(text, tokens)
        refuse_trials(text, tokens)
        statements = [statement for statement in parser.parse(tokens, text) if not _is_empty(statement)]
    except ParseError as raised:
        raise _syntax_error(text, raised, tokens) from None
    except TokenError:
        raise _token_error(text) from None
    except RecursionError:
        raise error("TOO_DEEP") from None
    except QEngineError:
        raise
    except Exception:  # what sqlglot does not notice itself, such as an arrow that nothing follows
        raise _stopped_at(text, parser) from None
    if not statements:
        raise error("EMPTY_QUERY")
    if len(statements) > 1:
        raise error("SEVERAL_STATEMENTS", count=len(statements))
    statement = statements[0]
    assert statement is not None
    return statement


def _checked(text: str) -> str:
    """The text without the mark that some editors put before it. Raises SYNTAX for what is no character of Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        detail = "this is no character, perhaps because the text was not UTF-8"
        raise error("SYNTAX", detail=detail, position=Position(text, problem.start, problem.start + 1)) from None
    return f" {text[1:]}" if text.startswith("\ufeff") else text


_OPERANDS = frozenset((
    TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN, TokenType.R_BRACKET,
))  # fmt: skip


def _numbered(text: str, tokens: list[Token]) -> list[Token]:
    """Tokens with `$1`, `$2`, ... in place of `?`. Raises SYNTAX if a statement has both `?` and numbers or names."""
    signs = (TokenType.PLACEHOLDER, TokenType.QDCOLON)
    if not any(token.token_type in signs for token in tokens):
        return tokens
    result: list[Token] = []
    count = 0
    named: Token | None = None
    for token in tokens:
        kind, place = token.token_type, (token.line, token.col, token.start, token.end)
        # `x?::type` is an operator of some dialects; with no operand before it, it is a parameter and its conversion.
        converted = kind is TokenType.QDCOLON and not (result and result[-1].token_type in _OPERANDS)
        if kind is TokenType.PLACEHOLDER or converted:
            count += 1
            result += (Token(TokenType.PARAMETER, "$", *place), Token(TokenType.NUMBER, str(count), *place))
            if converted:
                result.append(Token(TokenType.DCOLON, "::", *place))
            continue
        if kind is TokenType.PARAMETER:
            named = named or token
        result.append(token)
    if count and named is not None:
        detail = "a statement has either ? or parameters with numbers or names"
        raise error("SYNTAX", detail=detail, position=Position(text, named.start, named.end + 1))
    return result


def dialect_of(name: str) -> Dialect:
    """sqlglot's dialect of a name. Raises UNKNOWN_DIALECT; the empty name, sqlglot's own dialect, is none of ours."""
    folded = name.lower() if isinstance(name, str) else ""
    found = Dialect.get(folded) if folded else None  # loads the modules of this dialect alone
    if found is None:
        raise error("UNKNOWN_DIALECT", name=name, nearest=nearest(str(name), DIALECT_MODULE_NAMES))
    return found()


def _is_empty(statement: exp.Expr | None) -> bool:
    return statement is None or isinstance(statement, exp.Semicolon)


def _syntax_error(text: str, raised: ParseError, tokens: Sequence[Token]) -> QEngineError:
    details: dict[str, Any] = raised.errors[0] if raised.errors else {}
    description = str(details.get("description") or "it cannot be parsed")
    highlight = str(details.get("highlight") or "")
    if "SENTINEL" in description:
        return error("SYNTAX", detail="unexpected end of the statement", position=end_of(text))
    position = _token_position(text, details, tokens)
    at_end = position is not None and not text[position.end :].strip(" \t\r\n;")
    missing = _MISSING.match(description)
    if missing and at_end:
        detail = f"something is missing after {highlight!r}"
    elif missing:
        part, construct = missing.groups()
        written = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", construct).lower()
        if highlight == ")" and position is not None:
            written = _called(text, position.start)
        where = "an operand or argument" if part in ("this", "expression", "expressions") else f"the {part!r} part"
        detail = f"{where} of {written} is missing near {highlight!r}"
    elif counts := _TOO_MANY.match(description):
        given, maximum = counts.groups()
        name = _called(text, position.start if position is not None else len(text))
        expected = f"at most {maximum} argument{'s' if maximum != '1' else ''}"
        return error("WRONG_ARGUMENTS", name=name, expected=expected, given=given, position=position)
    elif description.startswith("Invalid expression"):
        detail = f"unexpected {highlight!r}" if highlight else "unexpected end of the statement"
    elif description.startswith("Expecting "):
        detail = f"{description[len('Expecting ') :].strip()!r} is expected near {highlight!r}"
    else:
        expected, got, _ = description.partition(" but got <Token")
        detail = f"{expected} near {highlight!r}" if got else description
        detail = detail[:1].lower() + detail[1:]
    return error("SYNTAX", detail=detail, position=position)


def _stopped_at(text: str, parser: Parser) -> QEngineError:
    """A syntax error at the token that sqlglot had come to when it failed."""
    token = parser._curr
    if token is None or token.token_type is TokenType.SENTINEL:
        return error("SYNTAX", detail="unexpected end of the statement", position=end_of(text))
    return error("SYNTAX", detail=f"unexpected {token.text!r}", position=Position(text, token.start, token.end + 1))


def _called(text: str, closing: int) -> str:
    """The name of the function whose arguments end at the parenthesis at `closing`."""
    depth, at = 0, closing
    while at >= 0:
        depth += {")": 1, "(": -1}.get(text[at : at + 1], 0)
        if text[at : at + 1] == "(" and depth <= 0:
            break
        at -= 1
    words = re.findall(r"\w+", text[: max(at, 0)])
    return words[-1].lower() if words else "the function"


def end_of(text: str) -> Position:
    """The last character that is not space: where more text is expected."""
    last = max(len(text.rstrip()) - 1, 0)
    return Position(text, last, last + 1)


def _token_position(text: str, details: dict[str, Any], tokens: Sequence[Token]) -> Position | None:
    """sqlglot gives the line and the column of the token's last character as it counts them."""
    place = details.get("line"), details.get("col")
    return next((Position(text, token.start, token.end + 1) for token in tokens if (token.line, token.col) == place), None)


def _token_error(text: str) -> QEngineError:
    """Say which quote or comment was never closed; sqlglot only tells that the text has no end."""
    closers = {"'": "'", '"': '"', "`": "`", "/*": "*/", "--": "\n"}
    at = 0
    while at < len(text):
        opener = text[at : at + 2] if text[at : at + 2] in ("/*", "--") else text[at]
        if opener not in closers:
            at += 1
            continue
        end = text.find(closers[opener], at + len(opener))
        if end < 0 and opener != "--":
            what = "comment" if opener == "/*" else "string" if opener == "'" else "quoted name"
            return error("SYNTAX", detail=f"the {what} is never closed", position=Position(text, at, at + len(opener)))
        at = len(text) if end < 0 else end + len(closers[opener])
    return error("SYNTAX", detail="it cannot be split into words", position=end_of(text) if text else None)

"""Statements that sqlglot's parser would not survive, refused by their tokens before it sees them.

Compiled, the parser recurses on the stack of C, where Python sees no limit: text nested too deeply would crash the process.

And it reads by trial. After `t JOIN a` without ON or USING, whatever follows may belong to the join: it is read, and read again
if no condition comes. After the name of a type, a parenthesis may hold the arguments of a type, then those of a function. Trials
inside of trials double: ten joins without conditions take milliseconds, thirty take hours.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from planner.errors import Position, error

MAX_NESTING = 150

MAX_TRIALS = 1 << 19
"""So many tokens may be read by trial, which takes half a second."""

_OPENING = frozenset((TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE))
_CLOSING = frozenset((TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END))
_PREFIXES = frozenset((TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.FROM))
_NESTED_TYPES = frozenset((TokenType.ARRAY, TokenType.LIST, TokenType.MAP, TokenType.STRUCT, TokenType.NESTED))

_TYPES = frozenset(Parser.TYPE_TOKENS)
_UNCONDITIONAL = frozenset((TokenType.CROSS, TokenType.NATURAL, TokenType.ASOF, TokenType.POSITIONAL))
_SIDES = frozenset((TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.INNER, TokenType.OUTER))
_JOINS = frozenset((TokenType.JOIN, TokenType.STRAIGHT_JOIN))
_CONDITIONS = frozenset((TokenType.ON, TokenType.USING))
_AFTER_JOINS = frozenset((
    TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.UNION, TokenType.EXCEPT,
    TokenType.INTERSECT, TokenType.SEMICOLON,
))  # fmt: skip


def refuse_deep(text: str, tokens: Sequence[Token]) -> None:
    """Refuse text that is nested more than MAX_NESTING levels deep. Raises TOO_DEEP at the first token that is."""
    depth = run = chained = 0
    previous = None
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            depth = max(depth - 1, 0)
        run = run + 1 if kind in _PREFIXES else 0
        if (kind is TokenType.LT and previous in _NESTED_TYPES) or (kind is TokenType.L_BRACKET and previous in _CLOSING):
            chained += 1
        if depth + run + chained > MAX_NESTING:
            raise error("TOO_DEEP", position=Position(text, token.start, token.end + 1))
        previous = kind


def refuse_trials(text: str, tokens: Sequence[Token]) -> None:
    """Refuse text of which more than MAX_TRIALS tokens may be read by trial: a token inside of n trials is read up to 2^n times.

    Raises SYNTAX at the last of the joins that wait for a condition, TOO_DEEP at a parenthesis.
    """
    joins, calls = [0], [0]
    """For each of the open parentheses: joins in it that wait for a condition; 1 if it follows the name of a type."""
    trials = tried = 0
    previous: Token | None = None
    join: Token | None = None
    unconditional = False
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            joins.append(0)
            calls.append(int(previous is not None and kind is TokenType.L_PAREN and previous.token_type in _TYPES))
            tried += calls[-1]
        elif kind in _CLOSING and len(joins) > 1:
            tried -= joins.pop() + calls.pop()
        elif kind in _AFTER_JOINS:
            tried -= joins[-1]
            joins[-1] = 0
        elif kind in _CONDITIONS and joins[-1]:
            tried -= 1
            joins[-1] -= 1
        elif kind in _JOINS and not unconditional:
            tried += 1
            joins[-1] += 1
            join = token
        unconditional = kind in _UNCONDITIONAL or (unconditional and kind in _SIDES)
        previous = token
        if tried:
            trials += 1 << tried
        if trials > MAX_TRIALS:
            if join is None or not any(joins):
                raise error("TOO_DEEP", position=Position(text, token.start, token.end + 1))
            detail = "too many joins wait for a condition (ON or USING); where none is meant, write CROSS JOIN"
            raise error("SYNTAX", detail=detail, position=Position(text, join.start, join.end + 1))

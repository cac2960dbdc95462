"""Statements that are no queries: EXPLAIN, SET, SHOW, DESCRIBE, ANALYZE, PREPARE and others. Text to what they ask for.

    EXPLAIN [ANALYZE] [VERBOSE] query          EXPLAIN (ANALYZE, VERBOSE, FORMAT TEXT | JSON) query
    SET name = value                           RESET name | ALL
    SHOW name | ALL | TABLES                   SHOW STATS FOR table
    DESCRIBE table | query                     ANALYZE [TABLE] table
    PREPARE name AS query                      EXECUTE name [(value, ...)]
    DEALLOCATE [PREPARE] name | ALL

They are the same in every dialect. A query or table inside of one is a `Part` of the text: it is read by what reads all queries,
as the whole text with spaces in place of what does not belong to it, so that a position there is one in the whole text.

Decision: these are few words, which a loop over tokens reads; sqlglot keeps most of them as a text that it does not look into.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from planner.errors import Position, QEngineError, error, nearest


@dataclass(frozen=True, slots=True)
class Part:
    """A part [start, end) of a statement's text, and what it says: for a name or a value without its quotes.

    `before` is what has to stand before it to make it a query of its own; there is place for that in the whole text.
    """

    whole: str
    start: int
    end: int
    said: str
    before: str = ""

    @property
    def position(self) -> Position:
        return Position(self.whole, self.start, self.end)

    @property
    def text(self) -> str:
        """The part alone, at its place: everything before it is blank."""
        blank = re.sub(r"\S", " ", self.whole[: self.start - len(self.before)])
        return blank + self.before + self.whole[self.start : self.end]

    @contextmanager
    def located(self) -> Iterator[None]:
        """Errors of reading the part get their position in the whole text; those without one that of the part."""
        try:
            yield
        except QEngineError as failure:
            if failure.position is None:
                failure.position = self.position
            elif failure.position.text == self.text:
                failure.position = replace(failure.position, text=self.whole)
            raise


@dataclass(frozen=True, slots=True)
class Explain:
    """Show the plan of a query: `analyze` runs it and shows what it did, `verbose` shows how the plan came about."""

    query: Part
    analyze: bool = False
    verbose: bool = False
    json: bool = False


@dataclass(frozen=True, slots=True)
class Set:
    """Change a setting of the session."""

    name: Part
    value: Part


@dataclass(frozen=True, slots=True)
class Reset:
    """Set a setting, or all of them (None), to what it was when the session was opened."""

    name: Part | None


@dataclass(frozen=True, slots=True)
class Show:
    """Show a setting, or all of them (None)."""

    name: Part | None


@dataclass(frozen=True, slots=True)
class ShowTables:
    """Show what is registered."""


@dataclass(frozen=True, slots=True)
class ShowStatistics:
    """Show what is known of the rows of a table."""

    table: Part


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """Show the columns of a table."""

    table: Part


@dataclass(frozen=True, slots=True)
class DescribeQuery:
    """Show the columns of a query's result."""

    query: Part


@dataclass(frozen=True, slots=True)
class Analyze:
    """Look at all rows of a table."""

    table: Part


@dataclass(frozen=True, slots=True)
class Prepare:
    """Keep a query with parameters under a name."""

    name: Part
    query: Part


@dataclass(frozen=True, slots=True)
class Execute:
    """Run a prepared query. `values` are constants without columns, between their commas."""

    name: Part
    values: Part | None


@dataclass(frozen=True, slots=True)
class Deallocate:
    """Forget a prepared query, or all of them (None)."""

    name: Part | None


Statement = (
    Explain | Set | Reset | Show | ShowTables | ShowStatistics | DescribeTable | DescribeQuery | Analyze | Prepare | Execute
    | Deallocate
)  # fmt: skip

_TOKEN = re.compile(
    r"""(?P<space>(?:\s+|--[^\n]*|/\*.*?\*/|\ufeff)+)
      | (?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
      | (?P<string>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")*")
      | (?P<number>\d+(?:\.\d*)?)
      | (?P<sign>\S)""",
    re.VERBOSE | re.DOTALL,
)
_NOTHING = re.compile(r"(?:[\s;]|--[^\n]*|/\*.*?\*/)*\Z", re.DOTALL)
"""What may stand after the end of a statement."""
_QUERY_WORDS = frozenset(("select", "with", "from", "values", "table", "("))
_SWITCHES = {"": True, "true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


def parse_statement(text: str) -> Statement | None:
    """What a text asks for, by its first word; None if that is none of these statements, but perhaps a query.

    Raises SYNTAX, with its position, for a statement that is begun and not continued as above.
    """
    tokens = _Tokens(text)
    read = _STATEMENTS.get(tokens.word())
    if read is None:
        return None
    tokens.advance()
    return read(tokens)


def query_in(statement: Statement) -> Part | None:
    """The query inside of a statement, which may have parameters; None for statements that hold none."""
    return statement.query if isinstance(statement, (Explain, DescribeQuery)) else None


class _Tokens:
    """The text from left to right, one token at a time; comments and space are between tokens."""

    def __init__(self, text: str, start: int = 0) -> None:
        self.text = text
        self._at = start
        self.advance()

    def advance(self) -> None:
        found = _TOKEN.match(self.text, self._at)
        if found is not None and found.lastgroup == "space":
            found = _TOKEN.match(self.text, found.end())
        self.kind = found.lastgroup or "" if found is not None else ""
        self.start, self._at = found.span() if found is not None else (len(self.text), len(self.text))

    @property
    def token(self) -> str:
        return self.text[self.start : self._at]

    @property
    def ended(self) -> bool:
        return self.kind == "" or (self.token == ";" and _NOTHING.match(self.text, self._at) is not None)

    def word(self) -> str:
        """The token in lower case if it is a word or a sign, else nothing: a quoted keyword is a name."""
        return self.token.lower() if self.kind in ("word", "sign") and not self.ended else ""

    def take(self, *words: str) -> bool:
        """Whether the token is one of these words; it is passed then."""
        found = self.word() in words
        if found:
            self.advance()
        return found

    def need(self, *words: str) -> None:
        if not self.take(*words):
            raise self.unexpected(" or ".join(map(str.upper, words)))

    def part(self, what: str, *kinds: str) -> Part:
        """The token as a part; it has to be of one of these kinds."""
        if self.ended or self.kind not in kinds:
            raise self.unexpected(what)
        token = self.token
        quote = token[0] if self.kind in ("string", "quoted") else ""
        said = token[1:-1].replace(quote * 2, quote) if quote else token
        part = Part(self.text, self.start, self._at, said)
        self.advance()
        return part

    def name(self, what: str) -> Part:
        return self.part(what, "word", "quoted", "string")

    def rest(self, what: str) -> Part:
        """Everything that is left."""
        if self.ended:
            raise self.unexpected(what)
        return Part(self.text, self.start, len(self.text), self.text[self.start :])

    def end(self) -> None:
        if not self.ended:
            raise self.unexpected("the end of the statement")

    def unexpected(self, expected: str, hint: str = "") -> QEngineError:
        if self.ended:
            last = max(len(self.text.rstrip("; \t\r\n")) - 1, 0)
            return error("SYNTAX", detail=f"{expected} is expected after this", position=Position(self.text, last, last + 1))
        detail = f"{expected} is expected, not {self.token!r}{hint}"
        return error("SYNTAX", detail=detail, position=Position(self.text, self.start, self._at))


def _explain(tokens: _Tokens) -> Statement:
    options = {"analyze": False, "verbose": False, "json": False}
    if tokens.word() == "(" and not _begins_query(tokens):
        tokens.advance()
        while True:
            _explain_option(tokens, options)
            if tokens.take(")"):
                break
            tokens.need(",", ")")
    while (option := tokens.word()) in ("analyze", "verbose"):
        options[option] = True
        tokens.advance()
    return Explain(tokens.rest("a query"), **options)


def _begins_query(tokens: _Tokens) -> bool:
    """Whether the parenthesis here is that of a query and not that of options."""
    return _Tokens(tokens.text, tokens.start + 1).word() in _QUERY_WORDS


def _explain_option(tokens: _Tokens, options: dict[str, bool]) -> None:
    names = ("analyze", "verbose", "format")
    option = tokens.word()
    if option not in names:
        raise tokens.unexpected("ANALYZE, VERBOSE or FORMAT", nearest(option, names))
    tokens.advance()
    if option == "format":
        if tokens.word() not in ("text", "json"):
            raise tokens.unexpected("TEXT or JSON")
        options["json"] = tokens.word() == "json"
        tokens.advance()
        return
    given = "" if tokens.word() in (",", ")") else tokens.token.lower()
    if given not in _SWITCHES:
        raise tokens.unexpected("ON or OFF")
    options[option] = _SWITCHES[given]
    if given:
        tokens.advance()


def _set(tokens: _Tokens) -> Statement:
    name = tokens.part("the name of a setting", "word", "quoted")
    tokens.need("=", "to")
    value = tokens.part("a value", "word", "string", "number")
    tokens.end()
    return Set(name, value)


def _reset(tokens: _Tokens) -> Statement:
    return Reset(_setting_or_all(tokens))


def _show(tokens: _Tokens) -> Statement:
    if tokens.take("tables"):
        tokens.end()
        return ShowTables()
    if tokens.take("stats"):
        tokens.need("for")
        return ShowStatistics(_only_table(tokens))
    return Show(_setting_or_all(tokens))


def _setting_or_all(tokens: _Tokens) -> Part | None:
    name = None if tokens.take("all") else tokens.part("the name of a setting, or ALL,", "word", "quoted")
    tokens.end()
    return name


def _describe(tokens: _Tokens) -> Statement:
    if tokens.word() in _QUERY_WORDS:
        return DescribeQuery(tokens.rest("a query"))
    return DescribeTable(_only_table(tokens))


def _analyze(tokens: _Tokens) -> Statement:
    tokens.take("table")
    return Analyze(_only_table(tokens))


def _prepare(tokens: _Tokens) -> Statement:
    name = tokens.part("a name for the query", "word", "quoted")
    tokens.need("as")
    return Prepare(name, tokens.rest("a query"))


def _execute(tokens: _Tokens) -> Statement:
    name = tokens.part("the name of a prepared query", "word", "quoted")
    if tokens.ended:
        return Execute(name, None)
    opened = tokens.start
    tokens.need("(")
    start = end = tokens.start
    depth = 1
    while depth:
        if tokens.ended:
            raise error("SYNTAX", detail="the parenthesis is never closed", position=Position(tokens.text, opened, opened + 1))
        depth += {"(": 1, ")": -1}.get(tokens.token, 0)
        end = tokens.start
        tokens.advance()
    tokens.end()
    values = tokens.text[start:end]
    return Execute(name, Part(tokens.text, start, end, values, before="SELECT ") if values.strip() else None)


def _deallocate(tokens: _Tokens) -> Statement:
    tokens.take("prepare")
    name = None if tokens.take("all") else tokens.part("the name of a prepared query, or ALL,", "word", "quoted")
    tokens.end()
    return Deallocate(name)


def _only_table(tokens: _Tokens) -> Part:
    table = tokens.name("the name of a table")
    tokens.end()
    return table


_STATEMENTS: dict[str, Callable[[_Tokens], Statement]] = {
    "explain": _explain, "set": _set, "reset": _reset, "show": _show, "describe": _describe, "desc": _describe,
    "analyze": _analyze, "prepare": _prepare, "execute": _execute, "deallocate": _deallocate,
}  # fmt: skip

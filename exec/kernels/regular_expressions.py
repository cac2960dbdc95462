"""Regular expressions of RE2, which SQL users write, as those of Polars.

Both engines come from one design. They differ in what \\d, \\w, \\s and \\b mean beyond ASCII, in \\Q...\\E, and in operators
inside of brackets, which RE2 does not have.
"""

from __future__ import annotations

import re

from planner.errors import error

_ASCII = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_OPERATORS = ("&&", "--", "~~")


def translated(pattern: str, options: str = "") -> str:
    """The pattern with its options (c, i, s, n, l; g is the caller's affair). Raises UNSUPPORTED."""
    found = _ascii_classes(re.escape(pattern) if "l" in options else pattern)
    flags = ("i" if "i" in options and "c" not in options[options.rindex("i") :] else "") + ("s" if "s" in options else "")
    flags += "m" if "n" in options or "m" in options else ""
    return f"(?{flags}){found}" if flags else found


def whole(pattern: str) -> str:
    """The pattern for texts that it matches from end to end."""
    return rf"\A(?:{pattern})\z"


def _ascii_classes(pattern: str) -> str:
    parts: list[str] = []
    at, inside = 0, False
    while at < len(pattern):
        character = pattern[at]
        if character == "\\" and at + 1 < len(pattern):
            parts.append(_escaped(pattern[at + 1], inside))
            at += 2
            continue
        if inside and pattern[at : at + 2] in _OPERATORS:
            raise error("UNSUPPORTED", what=f"{pattern[at : at + 2]!r} in a class of a regular expression")
        if character == "[" and not inside:
            inside = True
            parts.append(character)
            at += 1
            for first in ("^", "]"):  # a bracket that comes first is one of the characters
                if pattern[at : at + 1] == first:
                    parts.append(first if first == "^" else r"\]")
                    at += 1
            continue
        if character == "[" and inside and pattern[at : at + 2] != "[:":
            parts.append(r"\[")
            at += 1
            continue
        if pattern[at : at + 2] == "[:" and inside:
            end = pattern.find(":]", at)
            if end > 0:
                parts.append(pattern[at : end + 2])
                at = end + 2
                continue
        if character == "]" and inside:
            inside = False
        parts.append(character)
        at += 1
    return "".join(parts)


def _escaped(letter: str, inside: bool) -> str:
    lower = letter.lower()
    if lower in _ASCII:
        negated = "^" if letter.isupper() else ""
        return f"[{negated}{_ASCII[lower]}]"
    if letter == "b" and not inside:
        return r"(?-u:\b)"
    if letter in "BQEC":
        raise error("UNSUPPORTED", what=f"\\{letter} in a regular expression")
    return f"\\{letter}"


def replacement(written: str) -> str:
    """The replacement of RE2, in which \\1 is a group, as that of Polars, in which $1 is one."""
    escaped = written.replace("$", "$$")
    return re.sub(r"\\(\\|\d)", lambda match: "\\" if match[1] == "\\" else f"${{{match[1]}}}", escaped)

"""HTML and SVG as text: everything that is not Markup already is escaped, so nothing of a result can become markup."""

from __future__ import annotations

from html import escape
from typing import TypeAlias


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content: TypeAlias = "str | Markup | None"
"""What may stand in an element; None is nothing, so that a part can be left out."""

EMPTY = Markup("")
_VOID = frozenset({"meta", "link", "br"})


def element(tag: str, *content: Content, **attributes: str | int | float | bool | None) -> Markup:
    """One element. `class_` is the attribute class and `data_value` is data-value; None and False leave an attribute out.

    >>> element("p", "a < b", element("br"), class_="note", hidden=True, title=None)
    '<p class="note" hidden>a &lt; b<br></p>'
    """
    names = "".join(_attribute(name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    return Markup(f"<{tag}{names}>") if tag in _VOID else Markup(f"<{tag}{names}>{join(*content)}</{tag}>")


def join(*content: Content) -> Markup:
    """The parts one after the other."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in content if part is not None))


def figure(pointer: str, value: int | float | None, text: str, **attributes: str | None) -> Markup:
    """A figure that can be traced: `pointer` is its JSON pointer (RFC 6901) into the report as JSON, `text` how it is shown.

    >>> figure("/modes/0/engines/0/total", 1.23456, "1.235")
    '<data value="1.23456" data-pointer="/modes/0/engines/0/total">1.235</data>'
    """
    if value is None:
        return element("span", text, class_="none")
    return element("data", text, value=repr(value), data_pointer=pointer, **attributes)


def _attribute(name: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'

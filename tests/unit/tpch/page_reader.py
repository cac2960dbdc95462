"""Reads a page of the report as a browser would, as far as the tests need it: elements, their texts, and what is not closed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})


@dataclass(eq=False)
class Element:
    tag: str
    attributes: dict[str, str | None]
    content: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        """This element and all below it."""
        yield self
        for item in self.content:
            if isinstance(item, Element):
                yield from item.walk()

    def all(self, tag: str, class_: str | None = None) -> list[Element]:
        return [e for e in self.walk() if e.tag == tag and (class_ is None or class_ in e.classes)]

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def text(self, without: frozenset[str] = frozenset()) -> str:
        """All text in it, but for that of elements with a tag or class in `without`."""
        if self.tag in without or without.intersection(self.classes):
            return " "
        return "".join(item if isinstance(item, str) else item.text(without) for item in self.content)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("document", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attributes]
        assert len(set(names)) == len(names), f"<{tag}> has an attribute twice: {names}"
        element = Element(tag, dict(attributes))
        self.open[-1].content.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> where <{self.open[-1].tag}> is open"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)


def read_page(text: str) -> Element:
    """The document; an AssertionError where elements are not nested properly."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == [reader.root], f"not closed: {[element.tag for element in reader.open[1:]]}"
    return reader.root

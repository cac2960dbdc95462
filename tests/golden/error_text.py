"""How the golden files of bad input write an error."""

from __future__ import annotations

from pathlib import Path

from qengine.errors import InternalError, QEngineError

SEPARATOR = "\n\n"


def error_text(raised: QEngineError, files: Path | None = None) -> str:
    """Code, message and carets; the folder of the test's files is called {files}. An internal error fails the test."""
    assert not isinstance(raised, InternalError), raised
    text = f"{raised.code}: {raised}"
    return text if files is None else text.replace(str(files), "{files}")


def cases(path: Path) -> list[tuple[str, str]]:
    """Pairs of an input and what is expected of it."""
    blocks = (block.partition("\n----\n") for block in path.read_text(encoding="utf-8").strip().split(SEPARATOR))
    return [(text, expected) for text, _, expected in blocks]


def check(path: Path, answers: list[tuple[str, str]], rewrite: bool) -> None:
    """Compare pairs of an input and an answer with the golden file, or write them to it."""
    if rewrite:
        path.write_text(SEPARATOR.join(f"{text}\n----\n{said}" for text, said in answers) + "\n", encoding="utf-8")
        return
    for (text, said), expected in zip(answers, cases(path), strict=True):
        assert (text, said) == expected

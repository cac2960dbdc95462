"""How far a generation has come: a line per table, and on a terminal a bar below."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO


class Display(Protocol):
    """Shows how many tables, and bytes of their files, are there."""

    def start(self, tables: int, estimate: int) -> None:
        """So many tables are going to be written, of about `estimate` bytes."""

    def advance(self, written: int) -> None:
        """`written` bytes are there."""

    def finish(self, table: str, rows: int, size: int) -> None:
        """A table is complete; `size` is in bytes."""

    def note(self, text: str) -> None:
        """Something to know, in one line."""


@contextmanager
def display(stream: TextIO) -> Iterator[Display]:
    """The display that fits a stream, usually standard error."""
    if stream.isatty():
        try:
            with _BarDisplay(stream) as bar:
                yield bar
                return
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "rich":
                raise
    yield _LineDisplay(stream)


def format_bytes(count: int) -> str:
    """`3.4 GB`, `12.9 MB`, `4 kB`: powers of 1000, as disks are sold."""
    if count >= 10**9:
        return f"{count / 10**9:.1f} GB"
    if count >= 10**6:
        return f"{count / 10**6:.1f} MB"
    return f"{-(-count // 1000)} kB"


class _SilentDisplay:
    def start(self, tables: int, estimate: int) -> None:
        pass

    def advance(self, written: int) -> None:
        pass

    def finish(self, table: str, rows: int, size: int) -> None:
        pass

    def note(self, text: str) -> None:
        pass


SILENT = _SilentDisplay()


class _LineDisplay:
    """A line per table, for logs and pipes."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._tables = 0
        self._finished = 0

    def start(self, tables: int, estimate: int) -> None:
        self._tables = tables

    def advance(self, written: int) -> None:
        pass

    def finish(self, table: str, rows: int, size: int) -> None:
        self._finished += 1
        self.note(f"[{self._finished}/{self._tables}] {table}: {rows} rows, {format_bytes(size)}")

    def note(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()


class _BarDisplay(_LineDisplay):
    """A bar over the bytes of all tables below those lines, for terminals."""

    def __init__(self, stream: TextIO):
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

        super().__init__(stream)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeElapsedColumn(),
            console=Console(file=stream),
            transient=True,
        )
        self._task = self._progress.add_task("tables", total=None)

    def __enter__(self) -> _BarDisplay:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def start(self, tables: int, estimate: int) -> None:
        super().start(tables, estimate)
        self._progress.update(self._task, total=estimate)

    def advance(self, written: int) -> None:
        self._progress.update(self._task, completed=written)

    def note(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

"""What the planner needs from the outside. exec implements these protocols, qengine wires them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from planner.catalog import TableSnapshot
from planner.expr.nodes import Expr
from planner.logical.view import View


class Catalog(Protocol):
    """Names to tables."""

    def table(self, name: str) -> TableSnapshot | View | None:
        """A registered view, or the snapshot of a registered table or of the file or glob that `name` spells; None without any.

        Raises DataError if the name spells files that cannot be read.
        """

    def names(self) -> Sequence[str]:
        """The registered names, for proposals in error messages."""


class Evaluator(Protocol):
    """Folds constants that plain Python does not."""

    def evaluate(self, expressions: Sequence[Expr]) -> Sequence[Any]:
        """The values of expressions without columns, or the exception that one raises in its place."""


class Sample(Protocol):
    """Evaluates predicates on a sample of a table."""

    def count(self, table: TableSnapshot, predicate: Expr) -> tuple[int, int]:
        """How many rows of the sample satisfy the predicate, and how many rows it has."""

"""What the planner needs from the outside. exec implements these protocols, qengine wires them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """Rows drawn from a table, on which predicates are evaluated. For costs alone."""

    @property
    def rows(self) -> int:
        """How many rows were drawn."""

    def count(self, predicate: Expr, positions: Mapping[int, int]) -> int | None:
        """How many rows satisfy a predicate over columns of the table; `positions` gives the field of each column by its id.

        None if it cannot be said: the predicate raises on the sample, or is about something that the sample does not have.
        """

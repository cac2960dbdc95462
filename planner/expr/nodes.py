"""Typed expressions. Every expression knows its `dtype` when it is built; nothing infers it again later.

Nullability and `can_raise` are properties of an expression in its place and are computed by `planner.analysis`.
AND, OR and associative calls are n-ary, so that ten thousand terms are one level deep.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from planner.dtypes import BOOLEAN, DType
from planner.schema import Column
from planner.tree import Node, node


class CompareOp(StrEnum):
    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    DISTINCT = "IS DISTINCT FROM"
    NOT_DISTINCT = "IS NOT DISTINCT FROM"


MIRRORED = {
    CompareOp.EQ: CompareOp.EQ, CompareOp.NE: CompareOp.NE, CompareOp.LT: CompareOp.GT, CompareOp.LE: CompareOp.GE,
    CompareOp.GT: CompareOp.LT, CompareOp.GE: CompareOp.LE, CompareOp.DISTINCT: CompareOp.DISTINCT,
    CompareOp.NOT_DISTINCT: CompareOp.NOT_DISTINCT,
}  # fmt: skip
"""The operator with its operands exchanged."""

NEGATED = {
    CompareOp.EQ: CompareOp.NE, CompareOp.NE: CompareOp.EQ, CompareOp.LT: CompareOp.GE, CompareOp.LE: CompareOp.GT,
    CompareOp.GT: CompareOp.LE, CompareOp.GE: CompareOp.LT, CompareOp.DISTINCT: CompareOp.NOT_DISTINCT,
    CompareOp.NOT_DISTINCT: CompareOp.DISTINCT,
}  # fmt: skip
"""The operator that is true where this one is false, and NULL where this one is NULL."""


@node
class Expr(Node):
    """Base of all expressions."""

    dtype: DType


@node
class Literal(Expr):
    """A constant: bool, int, float, decimal.Decimal, str, bytes, date, time, datetime, Interval, or None for NULL."""

    value: Any


@node
class ColumnRef(Expr):
    """The value of a column of the input, or, inside a correlated subquery, of a surrounding query."""

    column: Column


@node
class Call(Expr):
    """A scalar function or operator from `planner.expr.functions.FUNCTIONS`, by its name there."""

    function: str
    arguments: tuple[Expr, ...]


@node
class Compare(Expr):
    """Two operands of one and the same type (the binder casts them)."""

    op: CompareOp
    left: Expr
    right: Expr


@node
class And(Expr):
    """True if all terms are true, false if one is false, else NULL. At least two terms."""

    terms: tuple[Expr, ...]


@node
class Or(Expr):
    """False if all terms are false, true if one is true, else NULL. At least two terms."""

    terms: tuple[Expr, ...]


@node
class Not(Expr):
    operand: Expr


@node
class IsNull(Expr):
    operand: Expr


@node
class InList(Expr):
    """needle IN (options): NULL if no option is equal and the needle or an option is NULL. One type throughout."""

    needle: Expr
    options: tuple[Expr, ...]


@node
class Case(Expr):
    """The result of the first condition that is true, else `otherwise`. Conditions and results have equal length."""

    conditions: tuple[Expr, ...]
    results: tuple[Expr, ...]
    otherwise: Expr


@node
class Cast(Expr):
    """A conversion. A value that does not fit is an error, or NULL if `lenient` (TRY_CAST)."""

    operand: Expr
    lenient: bool = False


@node
class AggregateCall(Expr):
    """An aggregate from `planner.expr.functions.AGGREGATES`; only directly under an Aggregate node.

    `count(*)` has no arguments. Rows where `condition` is not true are left out (FILTER).
    """

    function: str
    arguments: tuple[Expr, ...]
    distinct: bool = False
    condition: Expr | None = None


@node
class Assign(Node):
    """An expression and the column that its value becomes."""

    column: Column
    expr: Expr


@node
class SortKey(Node):
    """An expression to order by; NaN sorts above all numbers."""

    expr: Expr
    descending: bool = False
    nulls_first: bool = False


class FrameUnit(StrEnum):
    """What the bounds of a frame count: rows, or groups of peers (rows with equal keys of the order)."""

    ROWS = "rows"
    GROUPS = "groups"


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of its partition that a window function sees from a row, first and last included.

    A bound is a distance from the row, or from its peers, negative for what is before it; None is the end of the partition on
    that side. Rows without an order are all peers. A frame may be empty.
    """

    unit: FrameUnit
    first: int | None
    last: int | None

    WHOLE: ClassVar[Frame]
    PEERS: ClassVar[Frame]
    """Up to the last peer: the frame of a window with an order that names none."""
    ROWS: ClassVar[Frame]
    """Up to the row."""

    @property
    def by_peers(self) -> bool:
        """Whether peers have the same frame, in whatever order they come."""
        return self.unit is FrameUnit.GROUPS or self == Frame.WHOLE

    def __str__(self) -> str:
        if self in _FRAME_NAMES:
            return _FRAME_NAMES[self]
        return f"{self.unit} from {_bound_text(self.first, 'first')} to {_bound_text(self.last, 'last')}"


def _bound_text(bound: int | None, end: str) -> str:
    if bound is None:
        return f"the {end}"
    return "the current" if bound == 0 else f"{abs(bound)} {'before' if bound < 0 else 'after'}"


Frame.WHOLE = Frame(FrameUnit.ROWS, None, None)
Frame.PEERS = Frame(FrameUnit.GROUPS, None, 0)
Frame.ROWS = Frame(FrameUnit.ROWS, None, 0)
_FRAME_NAMES = {Frame.WHOLE: "whole partition", Frame.PEERS: "up to the last peer", Frame.ROWS: "up to the row"}


@node
class WindowCall(Expr):
    """A function of `planner.expr.functions`, window function or aggregate, over the rows around each row; under a Window.

    `partition` and `order` are columns: the binder computes whatever is more below. Rows where `condition` is not true are left
    out (FILTER).
    """

    function: str
    arguments: tuple[Expr, ...]
    partition: tuple[Expr, ...]
    order: tuple[SortKey, ...]
    frame: Frame
    distinct: bool = False
    condition: Expr | None = None


@node
class ScalarSubquery(Expr):
    """The single value of the first output column of `plan`: NULL if it has no row, an error if it has several.

    `plan` is a logical plan. Columns that it uses but does not produce are those of the surrounding query (correlation).
    """

    plan: Node


@node
class Exists(Expr):
    """True if `plan` has a row. Never NULL."""

    plan: Node


@node
class InSubquery(Expr):
    """needle IN (the first output column of `plan`), three-valued like InList."""

    needle: Expr
    plan: Node


TRUE = Literal(BOOLEAN, True)
FALSE = Literal(BOOLEAN, False)


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """The terms of a conjunction; any other expression is its own only term."""
    return expr.terms if isinstance(expr, And) else (expr,)


def conjunction(terms: tuple[Expr, ...] | list[Expr]) -> Expr:
    """AND of any number of terms, flattened: TRUE for none, the term itself for one."""
    flat: list[Expr] = []
    for term in terms:
        flat.extend(conjuncts(term))
    if not flat:
        return TRUE
    return flat[0] if len(flat) == 1 else And(BOOLEAN, tuple(flat))


def disjunction(terms: tuple[Expr, ...] | list[Expr]) -> Expr:
    """OR of any number of terms, flattened: FALSE for none, the term itself for one."""
    flat: list[Expr] = []
    for term in terms:
        flat.extend(term.terms if isinstance(term, Or) else (term,))
    if not flat:
        return FALSE
    return flat[0] if len(flat) == 1 else Or(BOOLEAN, tuple(flat))

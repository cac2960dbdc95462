"""Typed expressions to Polars expressions.

The *canonical form* of an expression is the one that its checked interval fixes: decimals as scaled integers of the tier of
`encoding_for`, all else in its natural type. `Lowering.lower` always gives that form, so every consumer knows what it gets
without looking.

Raising is kept where SQL has it. A *guard* is a condition under which SQL evaluates an expression at all (inside of CASE,
COALESCE, AND, OR, FILTER). Operations that can raise put NULL in the place of an operand wherever the guard is not true: NULL
never raises. Operations that are proven safe ignore the guard, and it is then never computed.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from exec.lower.column_types import polars_type
from exec.lower.exact import column_encoding, constant, convert, wider
from planner.analysis.can_raise import can_raise
from planner.analysis.intervals import Bounds, Interval, checked_interval, divide_rounding, scaled_value
from planner.dtypes import BOOLEAN, NULL, TIMESTAMPTZ, DecimalType, DType, is_exact, is_float, scale_of, value_range
from planner.errors import error
from planner.expr.nodes import (
    And,
    Call,
    Case,
    Cast,
    ColumnRef,
    Compare,
    CompareOp,
    Expr,
    InList,
    IsNull,
    Literal,
    Not,
    Or,
)
from planner.physical.encodings import Encoding, encoding_for
from planner.tree import kind_mask, walk

Guard = pl.Expr | None
_EVERY_ROW = pl.int_range(pl.len()) >= 0
_COLUMNS = kind_mask(ColumnRef)


def lower(expr: Expr, bounds: Bounds, columns: Mapping[int, pl.Expr] | None = None, guard: Guard = None) -> pl.Expr:
    """An expression over a frame whose columns are called c<id>, in canonical form.

    `bounds` are those of the frame. `columns` replaces columns by other expressions of the same encoding.
    """
    return Lowering(bounds, columns).lower(expr, guard)


class Lowering:
    """Lowers the expressions over one frame."""

    def __init__(self, bounds: Bounds, columns: Mapping[int, pl.Expr] | None = None) -> None:
        self.bounds = bounds
        self.columns = columns or {}

    # ------------------------------------------------------------------------------------------------------- forms

    def interval(self, expr: Expr) -> Interval:
        """The interval of an exact expression."""
        interval = checked_interval(expr, self.bounds)
        assert interval is not None
        return interval

    def encoding(self, expr: Expr) -> Encoding:
        """The encoding of the canonical form."""
        if not isinstance(expr.dtype, DecimalType):
            return Encoding.PLAIN
        return encoding_for(expr.dtype, checked_interval(expr, self.bounds))

    def polars_type(self, expr: Expr) -> pl.DataType:
        """The Polars type of the canonical form."""
        return polars_type(expr.dtype, self.encoding(expr))

    def lower_as(self, expr: Expr, encoding: Encoding, guard: Guard = None) -> pl.Expr:
        """An expression in a given encoding of its type (at least as wide as the canonical one)."""
        if encoding is not Encoding.PLAIN and (value := exact_constant(expr)) is not None:
            return constant(value, encoding)
        return convert(self.lower(expr, guard), self.encoding(expr), encoding)

    def in_tier(self, expr: Expr, tier: Encoding, guard: Guard = None) -> pl.Expr:
        """An exact expression, integers included, as the scaled integer of a tier that holds its interval."""
        if (value := exact_constant(expr)) is not None:
            return constant(value, tier)
        return convert(self.lower(expr, guard), self.encoding(expr), tier)

    def lower_rows(self, expr: Expr) -> pl.Expr:
        """The canonical form of an expression that is evaluated for the rows of a frame, of which there may be none.

        Polars evaluates constants also where there is no row, so one that can raise is tied to the rows.
        """
        return self.lower(expr, every_row(expr))

    # --------------------------------------------------------------------------------------------------- expressions

    def lower(self, expr: Expr, guard: Guard = None) -> pl.Expr:
        """The canonical form of an expression, evaluated only where `guard` is true (None: everywhere)."""
        match expr:
            case ColumnRef():
                return self._column(expr)
            case Literal():
                return literal(expr.value, expr.dtype)
            case Compare():
                return self._compare(expr, guard)
            case And():
                return self._connective(expr.terms, guard, conjunction=True)
            case Or():
                return self._connective(expr.terms, guard, conjunction=False)
            case Not():
                return ~self.lower(expr.operand, guard)
            case IsNull():
                return self.lower(expr.operand, guard).is_null()
            case Case():
                return self._case(expr, guard)
            case InList():
                return self._in_list(expr, guard)
            case Call():
                return self._call(expr, guard)
            case Cast():
                from exec.lower.casts import lower_cast

                if (value := exact_constant(expr)) is not None:
                    return _exact_literal(value, expr.dtype)
                return lower_cast(self, expr, guard)
        raise error("INTERNAL", detail=f"{type(expr).__name__} cannot be evaluated")

    def _column(self, expr: ColumnRef) -> pl.Expr:
        column = expr.column
        found = self.columns.get(column.id)
        if found is None:
            found = pl.col(f"c{column.id}")
        if not isinstance(expr.dtype, DecimalType):
            return found
        # A column may be stored wider than its checked values need (a sum before its check).
        return convert(found, column_encoding(expr.dtype, column.id, self.bounds), self.encoding(expr))

    def _call(self, expr: Call, guard: Guard) -> pl.Expr:
        from exec.lower.functions import KERNELS

        kernel = KERNELS.get(expr.function)
        if kernel is None:
            raise error("INTERNAL", detail=f"function {expr.function} has no kernel")
        return kernel(self, expr, guard)

    def pair(self, left: Expr, right: Expr, guard: Guard) -> tuple[pl.Expr, pl.Expr]:
        """Two expressions of one type in a common encoding."""
        encoding = wider(self.encoding(left), self.encoding(right))
        return self.lower_as(left, encoding, guard), self.lower_as(right, encoding, guard)

    def _compare(self, expr: Compare, guard: Guard) -> pl.Expr:
        left, right = self.pair(expr.left, expr.right, guard)
        match expr.op:
            case CompareOp.EQ:
                return left == right
            case CompareOp.NE:
                return left != right
            case CompareOp.LT:
                return left < right
            case CompareOp.LE:
                return left <= right
            case CompareOp.GT:
                return left > right
            case CompareOp.GE:
                return left >= right
            case CompareOp.DISTINCT:
                return left.ne_missing(right)
            case CompareOp.NOT_DISTINCT:
                return left.eq_missing(right)

    def _connective(self, terms: Sequence[Expr], guard: Guard, conjunction: bool) -> pl.Expr:
        """AND and OR. Terms that can raise come last, and only where the others leave the result open."""
        safe = [self.lower(term, guard) for term in terms if not can_raise(term)]
        raising = [term for term in terms if can_raise(term)]
        done = [balanced(safe, conjunction)] if safe else []
        for term in raising:
            open_rows = guard
            if done:
                decided = balanced(done, conjunction)
                # Kleene logic: NULL leaves the result open as TRUE does in AND, and FALSE in OR.
                undecided = decided.fill_null(True) if conjunction else ~decided.fill_null(False)
                open_rows = both(guard, undecided)
            done = [balanced([*done, self.lower(term, open_rows)], conjunction)]
        return done[0]

    def _case(self, expr: Case, guard: Guard) -> pl.Expr:
        target = self.encoding(expr)
        raising = can_raise(expr)
        open_rows = guard
        branches: list[tuple[pl.Expr, pl.Expr]] = []
        for condition, result in zip(expr.conditions, expr.results, strict=True):
            test = self.lower(condition, open_rows)
            branches.append((test, self.lower_as(result, target, both(open_rows, test) if can_raise(result) else None)))
            if raising:
                open_rows = both(open_rows, ~test.fill_null(False))
        otherwise = self.lower_as(expr.otherwise, target, open_rows)
        typed = self.polars_type(expr)
        building = pl.when(branches[0][0]).then(_typed(branches[0][1], expr.results[0], typed))
        for (test, value), result in zip(branches[1:], expr.results[1:], strict=True):
            building = building.when(test).then(_typed(value, result, typed))  # type: ignore[assignment]
        return building.otherwise(_typed(otherwise, expr.otherwise, typed))

    def _in_list(self, expr: InList, guard: Guard) -> pl.Expr:
        options = [option for option in expr.options if not (isinstance(option, Literal) and option.value is None)]
        has_null = len(options) < len(expr.options)
        if not options:
            return pl.lit(None, dtype=pl.Boolean())
        encoding = self.encoding(expr.needle)
        for option in options:
            encoding = wider(encoding, self.encoding(option))
        needle = self.lower_as(expr.needle, encoding, guard)
        if all(isinstance(option, Literal) for option in options) and len(options) > 2:
            values = [_plain_value(option) for option in options]  # type: ignore[arg-type]
            series = pl.Series(values, dtype=polars_type(expr.needle.dtype, encoding))
            found = needle.is_in(pl.lit(series).implode())
        else:
            found = balanced([needle == self.lower_as(option, encoding, guard) for option in options], conjunction=False)
        return found | pl.lit(None, dtype=pl.Boolean()) if has_null else found


def every_row(expr: Expr) -> Guard:
    """A guard that is true for every row, if the expression needs one: a constant in it that can raise."""
    if not can_raise(expr):
        return None
    parts = (part for part in walk(expr) if isinstance(part, Expr) and not part.kinds & _COLUMNS)
    return _EVERY_ROW if any(can_raise(part) for part in parts) else None


def both(guard: Guard, condition: pl.Expr) -> pl.Expr:
    return condition if guard is None else guard & condition


def guarded(operand: pl.Expr, guard: Guard) -> pl.Expr:
    """The operand of something that raises: NULL where the guard is not true."""
    return operand if guard is None else pl.when(guard).then(operand)


def balanced(terms: Sequence[pl.Expr], conjunction: bool) -> pl.Expr:
    """AND or OR of terms as a tree of logarithmic depth: Polars takes quadratic time over deep chains."""
    return reduce_balanced(terms, (lambda a, b: a & b) if conjunction else (lambda a, b: a | b))


def reduce_balanced(terms: Sequence[pl.Expr], combine: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> pl.Expr:
    """An associative operation over one or more terms as a tree of logarithmic depth; the terms keep their order."""
    level = list(terms)
    while len(level) > 1:
        paired = [combine(level[index], level[index + 1]) for index in range(0, len(level) - 1, 2)]
        level = paired + level[len(paired) * 2 :]
    return level[0]


def exact_constant(expr: Expr) -> int | None:
    """The scaled integer of an exact literal, also under exact casts; None for all else and if it would raise."""
    if isinstance(expr, Cast) and is_exact(expr.dtype) and is_exact(expr.operand.dtype):
        inner = exact_constant(expr.operand)
        if inner is None:
            return None
        shift = scale_of(expr.dtype) - scale_of(expr.operand.dtype)
        value = inner * 10**shift if shift >= 0 else divide_rounding(inner, 10**-shift)
    elif isinstance(expr, Literal) and is_exact(expr.dtype) and expr.value is not None:
        value = scaled_value(expr.value, expr.dtype)
    else:
        return None
    low, high = value_range(expr.dtype)
    return value if low <= value <= high else None


def _exact_literal(value: int, dtype: DType) -> pl.Expr:
    return pl.lit(value, dtype=polars_type(dtype, encoding_for(dtype, Interval(value, value))))


def literal(value: object, dtype: DType) -> pl.Expr:
    """A constant in canonical form."""
    if value is None:
        encoding = encoding_for(dtype, Interval(0, 0)) if isinstance(dtype, DecimalType) else Encoding.PLAIN
        return pl.lit(None, dtype=polars_type(dtype, encoding))
    if is_exact(dtype):
        return _exact_literal(scaled_value(value, dtype), dtype)
    return pl.lit(physical_value(value, dtype), dtype=polars_type(dtype, Encoding.PLAIN))


def physical_value(value: object, dtype: DType) -> object:
    """A Python value that is not exact as Polars takes it for a column of this type."""
    if value is None:
        return None
    if is_float(dtype):
        return float(value)  # type: ignore[arg-type]
    if dtype == TIMESTAMPTZ and isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return value.replace(tzinfo=datetime.UTC)
        return value.astimezone(datetime.UTC)
    if dtype == BOOLEAN:
        return bool(value)
    return value


def _plain_value(option: Literal) -> object:
    if is_exact(option.dtype):
        return scaled_value(option.value, option.dtype)
    return physical_value(option.value, option.dtype)


def _typed(value: pl.Expr, source: Expr, target: pl.DataType) -> pl.Expr:
    """A branch of a CASE; a bare NULL takes the type of the whole."""
    return value.cast(target) if source.dtype == NULL else value

"""Joins of every kind, with and without keys, with and without a residual condition.

Without a residual, keyed joins are Polars joins. With one, SQL's kinds other than INNER ask whether *some* match also
satisfies the residual, which Polars cannot say: the left side is then collected and numbered, the matching pairs are an
inner join, and what has no pair is found by its number. Joins without keys go through pairs in blocks of bounded size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from exec.kernels.failure import failure
from exec.lower.column_types import polars_type
from exec.lower.exact import column_encoding, convert, wider
from exec.lower.expressions import Lowering
from exec.lower.optimizations import OPTIMIZATIONS
from planner.analysis.bounds import BoundsAnalysis
from planner.analysis.can_raise import can_raise
from planner.analysis.intervals import Interval
from planner.dtypes import is_float
from planner.errors import error
from planner.expr.nodes import Expr, conjunction, conjuncts
from planner.join_kind import JoinKind
from planner.physical.encodings import Encoding
from planner.physical.nodes import JoinExec
from planner.schema import Column, Schema

ROW_MARK = "_"
"""The column of a frame that has rows but no columns: its values mean nothing."""
PAIRS = 1 << 20
"""Rows of one block of a nested-loop join."""
_MANY_TERMS = 32
_KEPT = "_kept"
_RIGHT_MARK = "_right"
_LEFT, _RIGHT, _COUNT = "_left_row", "_right_row", "_matches"


def barrier(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The same rows; Polars moves no filter across."""
    return frame.map_batches(lambda rows: rows, streamable=True, projection_pushdown=False, validate_output_schema=False)


def keep(frame: pl.LazyFrame, condition: pl.Expr, terms: int) -> pl.LazyFrame:
    """The rows for which a condition of so many conjuncts is true.

    Polars takes a filter apart and joins its conjuncts again as a chain, in time quadratic in their number: many of them
    become a column that is opaque to it.
    """
    if terms <= _MANY_TERMS:
        return frame.filter(condition)
    return frame.with_columns(condition.alias(_KEPT)).filter(pl.col(_KEPT)).drop(_KEPT)


def apply_filter(frame: pl.LazyFrame, predicate: Expr, low: Lowering) -> pl.LazyFrame:
    """The rows for which a predicate is true. Conjuncts that can raise see only rows that pass all others."""
    terms = conjuncts(predicate)
    safe = [term for term in terms if not can_raise(term)]
    raising = [term for term in terms if can_raise(term)]
    if safe:
        frame = keep(frame, low.lower(conjunction(safe)), len(safe))
    if raising:
        frame = barrier(frame).filter(low.lower_rows(conjunction(raising)))
    return frame


def pick(frame: pl.LazyFrame, columns: Schema, mark: str = ROW_MARK) -> pl.LazyFrame:
    """The frame with these columns alone; its rows without columns as a row mark."""
    if columns:
        return frame.select([f"c{column.id}" for column in columns])
    return frame.select(pl.first().is_null().alias(mark))


def lower_join(
    node: JoinExec, left: pl.LazyFrame, right: pl.LazyFrame, analysis: BoundsAnalysis, needed: Mapping[int, frozenset[int]]
) -> pl.LazyFrame:
    """The join of two lowered inputs. `needed` says by node which of its columns are used above it."""
    wanted = tuple(column for column in node.columns if column.id in needed[id(node)])
    return pick(_Join(node, analysis, needed).lower(left, right), wanted)


class _Join:
    def __init__(self, node: JoinExec, analysis: BoundsAnalysis, needed: Mapping[int, frozenset[int]]) -> None:
        self.node = node
        self.left_columns, self.right_columns = (
            tuple(column for column in side.columns if column.id in needed[id(side)]) for side in (node.left, node.right)
        )
        self.left_bounds, self.right_bounds = analysis.columns(node.left), analysis.columns(node.right)
        self.low = Lowering({**self.left_bounds, **self.right_bounds})
        self.build = f"prefer_{node.build}"

    def lower(self, left: pl.LazyFrame, right: pl.LazyFrame) -> pl.LazyFrame:
        node = self.node
        left, right = pick(left, self.left_columns), pick(right, self.right_columns, _RIGHT_MARK)
        if node.left_keys and (node.residual is None or node.kind is JoinKind.INNER):
            return self._keyed(left, right)
        if not node.left_keys and node.residual is None:
            if node.kind is JoinKind.INNER:
                return left.join(right, how="cross")
            if node.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK):
                right = right.head(1)
        if not node.left_keys and node.kind is JoinKind.SINGLE and node.residual is None:
            return self._single_value(left, right)
        return self._paired(left, right)

    # ------------------------------------------------------------------------------------------------ with keys alone

    def _keyed(self, left: pl.LazyFrame, right: pl.LazyFrame) -> pl.LazyFrame:
        node = self.node
        left, right, left_on, right_on = self._keys(left, right)
        match node.kind:
            case JoinKind.INNER:
                joined = self._inner(left, right, left_on, right_on)
                return joined if node.residual is None else apply_filter(joined, node.residual, self.low)
            case JoinKind.SEMI | JoinKind.ANTI:
                return left.join(right, left_on=left_on, right_on=right_on, how=node.kind.value)  # type: ignore[arg-type]
            case JoinKind.LEFT | JoinKind.FULL:
                return left.join(
                    right,
                    left_on=left_on,
                    right_on=right_on,
                    how=node.kind.value,  # type: ignore[arg-type]
                    coalesce=False,
                    build_side=self.build,  # type: ignore[arg-type]
                )
            case JoinKind.MARK:
                assert node.mark is not None
                mark = f"c{node.mark.id}"
                found = right.select(list(dict.fromkeys(right_on))).unique().with_columns(pl.lit(True).alias(mark))
                joined = left.join(found, left_on=left_on, right_on=right_on, how="left", coalesce=False)
                return joined.with_columns(pl.col(mark).fill_null(False))
            case JoinKind.SINGLE:
                return self._single(left, right, left_on, right_on)

    def _inner(self, left: pl.LazyFrame, right: pl.LazyFrame, left_on: list[str], right_on: list[str]) -> pl.LazyFrame:
        """Where equal keys are identical, the right ones are copies of the left ones and need not be carried along."""
        identical = not any(is_float(key.dtype) for key in self.node.left_keys) and len(set(right_on)) == len(right_on)
        joined = left.join(
            right,
            left_on=left_on,
            right_on=right_on,
            how="inner",
            coalesce=identical,
            build_side=self.build,  # type: ignore[arg-type]
        )
        if not identical:
            return joined
        return joined.with_columns([pl.col(a).alias(b) for a, b in zip(left_on, right_on, strict=True)])

    def _single(self, left: pl.LazyFrame, right: pl.LazyFrame, left_on: list[str], right_on: list[str]) -> pl.LazyFrame:
        """A left join with one row per key; a key that has more is an error as soon as a left row meets it."""
        others = [f"c{column.id}" for column in self.right_columns if f"c{column.id}" not in right_on]
        groups = right.group_by(list(dict.fromkeys(right_on))).agg(
            [pl.col(name).first() for name in others] + [pl.len().alias(_COUNT)]
        )
        joined = left.join(groups, left_on=left_on, right_on=right_on, how="left", coalesce=False)

        def check(rows: pl.DataFrame) -> pl.DataFrame:
            most = rows[_COUNT].max()
            if isinstance(most, int) and most > 1:
                raise failure("SCALAR_SUBQUERY_ROWS")
            return rows

        return joined.map_batches(check, streamable=True, validate_output_schema=False)

    def _keys(self, left: pl.LazyFrame, right: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame, list[str], list[str]]:
        """Both sides with keys of equal types. A key that has to be converted becomes a column of its own."""
        left_on, right_on = [], []
        extra_left: list[pl.Expr] = []
        extra_right: list[pl.Expr] = []
        # Polars refuses to join on the same pair of columns twice.
        pairs = {(a.id, b.id): (a, b) for a, b in zip(self.node.left_keys, self.node.right_keys, strict=True)}
        for index, (a, b) in enumerate(pairs.values()):
            first, second = self._encoding(a, self.left_bounds), self._encoding(b, self.right_bounds)
            common = wider(first, second)
            left_on.append(_key(a, first, common, f"_l{index}", extra_left))
            right_on.append(_key(b, second, common, f"_r{index}", extra_right))
        if extra_left:
            left = left.with_columns(extra_left)
        if extra_right:
            right = right.with_columns(extra_right)
        return left, right, left_on, right_on

    @staticmethod
    def _encoding(column: Column, bounds: Mapping[int, Interval]) -> Encoding:
        return column_encoding(column.dtype, column.id, bounds)

    # ---------------------------------------------------------------------------------------------- with pairs of rows

    def _paired(self, left: pl.LazyFrame, right: pl.LazyFrame) -> pl.LazyFrame:
        """Any kind by its matching pairs; the left side (for FULL both) is collected and numbered."""
        node, kind = self.node, self.node.kind
        if kind is JoinKind.INNER:
            return pl.concat(list(self._blocks(collect(left), collect(right)))).lazy()
        numbered = collect(left).with_row_index(_LEFT)
        full = kind is JoinKind.FULL
        right_rows = collect(right).with_row_index(_RIGHT) if full or not node.left_keys else None
        lazy_right = right if right_rows is None else right_rows.lazy()
        outer = kind in (JoinKind.LEFT, JoinKind.FULL, JoinKind.SINGLE)
        kept = [_LEFT, *(f"c{column.id}" for column in self.left_columns + self.right_columns)] if outer else [_LEFT]
        kept += [_RIGHT] if full else []
        if node.left_keys:
            a, b, left_on, right_on = self._keys(numbered.lazy(), lazy_right)
            assert node.residual is not None
            pairs = collect(apply_filter(self._inner(a, b, left_on, right_on), node.residual, self.low).select(kept))
        else:
            assert right_rows is not None
            pairs = pl.concat([block.select(kept) for block in self._blocks(numbered, right_rows)])
        matched = np.zeros(numbered.height, dtype=bool)
        matched[pairs[_LEFT].to_numpy()] = True
        if kind is JoinKind.SINGLE and pairs[_LEFT].n_unique() < pairs.height:
            raise error("SCALAR_SUBQUERY_ROWS")
        mask = pl.Series(matched)
        match kind:
            case JoinKind.SEMI:
                return numbered.filter(mask).lazy()
            case JoinKind.ANTI:
                return numbered.filter(~mask).lazy()
            case JoinKind.MARK:
                assert node.mark is not None
                return numbered.with_columns(mask.alias(f"c{node.mark.id}")).lazy()
        parts = [pairs, numbered.filter(~mask)]
        if full:
            assert right_rows is not None
            found = np.zeros(right_rows.height, dtype=bool)
            found[pairs[_RIGHT].to_numpy()] = True
            parts.append(right_rows.filter(~pl.Series(found)))
        return pl.concat(parts, how="diagonal").lazy()

    def _blocks(self, left: pl.DataFrame, right: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The pairs that satisfy the residual, from blocks of about PAIRS pairs; at least one block, perhaps empty."""
        step = max(1, PAIRS // max(1, right.height))
        other = right.lazy()
        for start in range(0, max(1, left.height), step):
            crossed = left.slice(start, step).lazy().join(other, how="cross")
            if self.node.residual is not None:
                crossed = apply_filter(crossed, self.node.residual, self.low)
            yield collect(crossed)

    def _single_value(self, left: pl.LazyFrame, right: pl.LazyFrame) -> pl.LazyFrame:
        """A scalar subquery without correlation: its value, or NULL, becomes a constant."""
        columns = self.right_columns
        rows = collect(right.head(2))
        if rows.height > 1:
            if collect(left.head(1)).height:
                raise error("SCALAR_SUBQUERY_ROWS")
            rows = rows.head(1)
        values = []
        for column in columns:
            name = f"c{column.id}"
            value = rows[name][0] if rows.height else None
            typed = polars_type(column.dtype, self._encoding(column, self.right_bounds))
            values.append(pl.lit(value, dtype=typed).alias(name))
        return left.with_columns(values)


def _key(column: Column, encoding: Encoding, common: Encoding, name: str, extra: list[pl.Expr]) -> str:
    if encoding is common:
        return f"c{column.id}"
    extra.append(convert(pl.col(f"c{column.id}"), encoding, common).alias(name))
    return name


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    return frame.collect(engine="streaming", optimizations=OPTIMIZATIONS)

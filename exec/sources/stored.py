"""Scans of columns in stored form: those of tables in memory, and those of files that the column store holds.

Both store decimals as integers, Int64 where the values fit and else decimal128(38, 0), and strings as compact string views, which
Polars maps without a copy. The column store has narrower forms besides (`exec.store.segments`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import polars as pl
import pyarrow as pa

from exec.lower.column_types import DECIMAL38, polars_type
from exec.lower.exact import column_encoding
from exec.lower.expressions import Lowering
from exec.lower.joins import ROW_MARK, apply_filter, pick
from exec.sources.filtered import ScanFilter
from exec.sources.key_ranges import KeyInterval, restrict
from exec.store.segments import Segment
from planner import dtypes as t
from planner.analysis.can_raise import can_raise
from planner.analysis.free_columns import free_columns
from planner.catalog import ColumnStatistics, Trust
from planner.expr.nodes import Expr, conjunction, conjuncts
from planner.physical.nodes import TableScan
from planner.schema import Column


def to_stored(values: pl.Series, dtype: t.DType, wide: bool) -> pl.Series:
    """Natural values (decimals as Int128) in stored form. `wide`: for decimals that do not all fit in 64 bits."""
    if isinstance(dtype, t.DecimalType):
        return values.cast(DECIMAL38 if wide else pl.Int64)
    return values


def to_arrow(frame: pl.DataFrame) -> pa.Table:
    """Stored columns as they are written."""
    return frame.to_arrow(compat_level=pl.CompatLevel.newest())


def bounds_of(values: pl.Series, dtype: t.DType) -> ColumnStatistics:
    """VERIFIED statistics of exact and temporal types and of text; decimals as integers, stored or Int128."""
    null_count = values.null_count()
    if t.is_temporal(dtype):
        values = values.to_physical()
        if dtype == t.TIME:
            values = values // 1000
    elif not (t.is_exact(dtype) or dtype == t.VARCHAR):
        return ColumnStatistics(None, None, null_count, Trust.VERIFIED)
    if values.dtype == DECIMAL38:
        values = values.to_physical()
    return ColumnStatistics(values.min(), values.max(), null_count, Trust.VERIFIED)


def row_marks(rows: int) -> pl.DataFrame:
    """Rows without columns."""
    return pl.DataFrame({ROW_MARK: pl.repeat(False, rows, dtype=pl.Boolean, eager=True)})


class StoredScan:
    """What a task does with the stored rows of one table scan; `columns` are those that it has to be given, with their names."""

    def __init__(self, node: TableScan, needed: frozenset[int]) -> None:
        self._node = node
        self._claims = dict(node.claims)
        self._terms = conjuncts(node.predicate) if node.predicate is not None else ()
        used = needed | (free_columns(node.predicate) if node.predicate is not None else frozenset())
        if node.range_key is not None:
            used |= {node.range_key.id}
        self.columns = [(c, name) for c, name in zip(node.output, node.names, strict=True) if c.id in used]
        self._result = [f"c{column.id}" for column, _ in self.columns if column.id in needed]

    def rows_of(
        self, segments: Sequence[Sequence[Segment]], filters: Sequence[ScanFilter] = ()
    ) -> tuple[pl.DataFrame, tuple[Expr, ...]]:
        """The rows of segments that hold each of `columns`, by name and without codes, and the conjuncts still to be applied.

        A conjunct over one coded column is applied here: it is evaluated once for each string of the dictionary. So are the
        runtime filters, before any other column is touched.
        """
        coded = [term for term in self._terms if self._is_coded(term, segments)]
        rows = pl.concat([self._uncoded(segment, coded, filters) for segment in segments], how="vertical_relaxed")
        return rows, tuple(term for term in self._terms if term not in coded)

    def _is_coded(self, term: Expr, segments: Sequence[Sequence[Segment]]) -> bool:
        """Whether a conjunct cannot raise and only looks at one column, which has codes in all segments."""
        places = [place for place, (column, _) in enumerate(self.columns) if column.id in free_columns(term)]
        if len(places) != 1 or can_raise(term):
            return False
        return all(segment[places[0]].dictionary is not None for segment in segments)

    def _uncoded(self, segment: Sequence[Segment], terms: Sequence[Expr], filters: Sequence[ScanFilter]) -> pl.DataFrame:
        mask: pl.Series | None = None
        for term in terms:
            place = next(place for place, (column, _) in enumerate(self.columns) if column.id in free_columns(term))
            codes, dictionary = segment[place].values, segment[place].dictionary
            assert dictionary is not None
            of_string, of_null = _passing(term, self.columns[place][0].id, dictionary)
            passing = of_string.gather(codes).fill_null(of_null)
            mask = passing if mask is None else mask & passing
        for one in filters:
            if one.active:
                place = next(place for place, (column, _) in enumerate(self.columns) if column.id == one.column)
                passing = one.mask(segment[place].values)
                mask = passing if mask is None else mask & passing
        kept = [piece.values if mask is None else piece.values.filter(mask) for piece in segment]
        strings = [
            values if piece.dictionary is None else _strings(piece.dictionary).gather(values)
            for piece, values in zip(segment, kept, strict=True)
        ]
        return pl.DataFrame([values.alias(name) for (_, name), values in zip(self.columns, strings, strict=True)])

    def frame(
        self,
        rows: pl.DataFrame,
        key_bounds: tuple[int, int] | None,
        interval: KeyInterval,
        terms: tuple[Expr, ...] | None = None,
    ) -> pl.LazyFrame:
        """The rows that belong to the task, as c<id> in the encodings of the scan's claims.

        `rows` holds `columns` by name, in stored form without codes; without columns it is a row mark. `key_bounds` are the
        smallest and the largest range key among them. `terms` are the conjuncts to apply (None: all of the scan's).
        """
        terms = self._terms if terms is None else terms
        frame = rows.lazy()
        if self.columns:
            frame = frame.select([self._decoded(column, name, rows.schema[name]) for column, name in self.columns])
        key = self._node.range_key
        if key is not None and key_bounds is not None:
            frame = restrict(frame, f"c{key.id}", key_bounds, interval)
        if terms:
            frame = apply_filter(frame, conjunction(terms), Lowering(self._claims))
        if not self._result:
            return pick(frame, ())
        return frame.select(self._result) if len(self._result) < len(self.columns) else frame

    def _decoded(self, column: Column, name: str, stored: pl.DataType) -> pl.Expr:
        """A cast that changes nothing is left out: Polars does not, and filters on a cast column take half as long again."""
        value, target = pl.col(name), self._type(column)
        if stored != target:
            value = (value.to_physical() if stored == DECIMAL38 else value).cast(target)
        return value.alias(f"c{column.id}")

    def _type(self, column: Column) -> pl.DataType:
        return polars_type(column.dtype, column_encoding(column.dtype, column.id, self._claims))

    def empty(self) -> pl.LazyFrame:
        """No rows, of the right columns."""
        types = {f"c{column.id}": self._type(column) for column, _ in self.columns if f"c{column.id}" in self._result}
        return pl.LazyFrame(schema=types or {ROW_MARK: pl.Boolean()})


@lru_cache(maxsize=256)
def _strings(dictionary: tuple[str, ...]) -> pl.Series:
    return pl.Series(dictionary, dtype=pl.String)


@lru_cache(maxsize=256)
def _passing(term: Expr, column: int, dictionary: tuple[str, ...]) -> tuple[pl.Series, bool]:
    """For each string of a dictionary, and for NULL, whether it makes a conjunct over one column true."""
    rows = pl.DataFrame({f"c{column}": [*dictionary, None]}, schema={f"c{column}": pl.String})
    passing = rows.select(Lowering({}).lower_rows(term).fill_null(False)).to_series()
    return passing.head(-1), bool(passing[-1])

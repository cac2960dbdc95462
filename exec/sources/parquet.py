"""Scans of Parquet files.

Order of work for one range of rows: verify the file's identity, read the needed columns, drop rows by the conjuncts that only
compare plain columns (they are right whatever the values are), convert decimals to their tier, check the values against
the footer's claims and the types' ranges, then apply the conjuncts that compute with them.

The check runs on batches of the stream: the minimum and maximum of every exact column, 2 × 0.2 ms per million values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from exec.kernels.failure import failure
from exec.kernels.limits import lies_outside
from exec.lower.column_types import polars_type
from exec.lower.exact import column_encoding, convert
from exec.lower.expressions import Lowering, exact_constant
from exec.lower.joins import ROW_MARK, apply_filter, keep, pick
from exec.sources.filtered import ScanFilter, filtered
from exec.sources.identity import verify
from exec.sources.key_ranges import KeyInterval, key_interval, restrict
from exec.sources.stored import StoredScan, row_marks
from exec.store.columns import StoredColumn
from exec.store.segments import Segment, StoredColumns
from planner.analysis.can_raise import can_raise
from planner.analysis.intervals import Interval, clip, type_interval
from planner.dir import ScanRange, Split
from planner.dtypes import DecimalType, is_exact
from planner.errors import error
from planner.expr.nodes import Call, Case, Cast, ColumnRef, Expr, conjunction, conjuncts
from planner.physical.encodings import DECIMAL38_LIMIT, Encoding
from planner.physical.nodes import TableScan
from planner.schema import Column
from planner.tree import kind_mask, walk

_COMPUTING = kind_mask(Call, Case, Cast)
_REFERENCES = kind_mask(ColumnRef)
_ANY_DECIMAL = Interval(-DECIMAL38_LIMIT, DECIMAL38_LIMIT)


def scan(
    node: TableScan,
    partition: int,
    needed: frozenset[int],
    stored: StoredColumns | None = None,
    filters: Sequence[ScanFilter] = (),
) -> pl.LazyFrame:
    """The rows of the ranges of one task, with the `needed` columns, as c<id> in the encodings of the scan's claims.

    Ranges whose columns are all in the column store are taken from there. The `filters` drop rows whose values were
    checked.

    Raises FILE_CHANGED here, and STATISTICS_VIOLATED for a stored value outside of a claim; while it runs
    STATISTICS_VIOLATED for a value of the file outside of a claim, FILE_INVALID for one outside of its type.
    """
    ranges = node.partitions[partition if len(node.partitions) > 1 else 0]
    plans: dict[Split, _Scan] = {}
    kept = _KeptScan(node, needed, stored) if stored is not None else None
    frames = []
    for part in _joined(ranges):
        verify(part.split)
        frame = kept.frame(part, key_interval(node, partition), filters) if kept is not None else None
        if frame is not None:
            frames.append(frame)
            continue
        plan = plans.get(part.split)
        if plan is None:
            types = _stored_types(part.split) if node.reader == "polars" else {}
            plan = plans[part.split] = _Scan(node, needed, types)
        frames.append(filtered(plan.frame(part, key_interval(node, partition)), filters))
    if not frames:
        return _Scan(node, needed, {}).empty()
    return frames[0] if len(frames) == 1 else pl.concat(frames)


def _joined(ranges: tuple[ScanRange, ...]) -> list[ScanRange]:
    """Ranges that follow each other in a file, as one."""
    joined: list[ScanRange] = []
    for part in ranges:
        last = joined[-1] if joined else None
        adjacent = last is not None and last.split == part.split and last.first_row + last.rows == part.first_row
        if last is not None and adjacent and last.claim == part.claim is None:
            joined[-1] = ScanRange(part.split, last.first_row, last.rows + part.rows, last.bytes + part.bytes)
        else:
            joined.append(part)
    return joined


@dataclass(frozen=True, slots=True)
class _Check:
    """The range that the values of a column of a frame must lie in, as integers of statistics."""

    column: str
    field: str
    low: int
    high: int
    claimed: bool
    never_null: bool = False


@lru_cache(maxsize=256)
def _stored_types(split: Split) -> dict[str, pl.DataType]:
    """The types of a file's columns as Polars reads them. Kept, since every task of a scan asks for the same file."""
    return dict(pl.scan_parquet(split.path, glob=False, hive_partitioning=False).collect_schema())


class _Scan:
    """What the ranges of one file have in common. `types` are those of its columns, as far as they are known."""

    def __init__(self, node: TableScan, needed: frozenset[int], types: dict[str, pl.DataType]) -> None:
        self.node = node
        self.types = types
        self.claims = dict(node.claims)
        terms = conjuncts(node.predicate) if node.predicate is not None else ()
        self.early = [term for term in terms if _compares_plain_columns(term)]
        self.late = [term for term in terms if term not in self.early]
        names = dict(zip((column.id for column in node.output), node.names, strict=True))
        self.range_field = names[node.range_key.id] if node.range_key is not None else ""
        wanted, needed = needed, needed | ({node.range_key.id} if node.range_key is not None else set())
        late_ids = _columns_of(self.late)
        kept = [column for column in node.output if column.id in needed | late_ids]
        self.result = [f"c{column.id}" for column in kept if column.id in wanted]
        early_ids = _columns_of(self.early)
        self.read = list(dict.fromkeys(names[c.id] for c in node.output if c.id in needed | late_ids | early_ids))
        self.early_low = Lowering(
            {column.id: _ANY_DECIMAL for column in node.output if isinstance(column.dtype, DecimalType)},
            {column.id: self._plain(column, names[column.id]) for column in node.output},
        )
        self.decoded: list[pl.Expr] = []
        self.narrowed: list[pl.Expr] = []
        self.checks: list[_Check] = []
        for column in kept:
            self._decode(column, names[column.id])

    def _decode(self, column: Column, field: str) -> None:
        """The column in its tier. Claims decide about the tier of wide decimals, which are therefore checked as Int128."""
        name, value = f"c{column.id}", self._plain(column, field)
        claim, limit = self.claims.get(column.id), type_interval(column.dtype)
        if isinstance(column.dtype, DecimalType):
            target = column_encoding(column.dtype, column.id, self.claims)
            if column.dtype.precision <= 18:
                value = convert(value, Encoding.INT128, Encoding.INT64)
                if target is not Encoding.INT64:
                    self.narrowed.append(convert(pl.col(name), Encoding.INT64, target))
            elif target is not Encoding.INT128:
                self.narrowed.append(convert(pl.col(name), Encoding.INT128, target))
        self.decoded.append(value.alias(name))
        if claim is not None and limit is not None:
            checked = clip(claim, limit)
            self.checks.append(_Check(name, field, checked.low, checked.high, claimed=True))
        elif isinstance(column.dtype, DecimalType) and limit is not None:
            self.checks.append(_Check(name, field, limit.low, limit.high, claimed=False))

    def _plain(self, column: Column, field: str) -> pl.Expr:
        """A column of the file in the natural type of its logical type, decimals as Int128.

        A cast that changes nothing is left out: Polars does not, and filters on a cast column take half as long again.
        """
        if isinstance(column.dtype, DecimalType):
            return pl.col(field).to_physical().cast(pl.Int128)
        wanted = polars_type(column.dtype, Encoding.PLAIN)
        return pl.col(field) if self.types.get(field) == wanted else pl.col(field).cast(wanted)

    def frame(self, part: ScanRange, interval: KeyInterval) -> pl.LazyFrame:
        """The rows of one range whose key lies in `interval`."""
        key, checks = self.node.range_key, self.checks
        if key is not None and part.claim is not None:
            checks = [*checks, _Check(f"c{key.id}", self.range_field, *part.claim, claimed=True, never_null=True)]
        raw = read_rows(part, self.read, self.node.reader)
        if self.early:
            raw = keep(raw, self.early_low.lower(conjunction(self.early)), len(self.early))
        frame = raw.select(self.decoded) if self.decoded else raw
        if checks:
            frame = frame.map_batches(_checker(checks, part.split.path), streamable=True, validate_output_schema=False)
        if key is not None and part.claim is not None:
            frame = restrict(frame, f"c{key.id}", part.claim, interval)
        if self.narrowed:
            frame = frame.with_columns(self.narrowed)
        if self.late:
            frame = apply_filter(frame, conjunction(self.late), Lowering(self.claims))
        if not self.result:
            return pick(frame, ())
        return frame.select(self.result) if len(self.result) < len(self.decoded) else frame

    def empty(self) -> pl.LazyFrame:
        """No rows of the right columns."""
        types = {
            f"c{column.id}": polars_type(column.dtype, column_encoding(column.dtype, column.id, self.claims))
            for column in self.node.output
            if f"c{column.id}" in self.result
        }
        return pl.LazyFrame(schema=types or {ROW_MARK: pl.Boolean()})


class _KeptScan:
    """The same scan over columns that the column store holds. Their claims are compared with the bounds of whole segments."""

    def __init__(self, node: TableScan, needed: frozenset[int], store: StoredColumns) -> None:
        self.node = node
        self.store = store
        self.scan = StoredScan(node, needed)
        self.names = [name for _, name in self.scan.columns]
        self.claims = dict(node.claims)

    def frame(self, part: ScanRange, interval: KeyInterval, filters: Sequence[ScanFilter]) -> pl.LazyFrame | None:
        """The rows of a range; None if it has none or the store has not all of its columns."""
        if not self.names or not part.rows:
            return None
        columns = [StoredColumn(part.split, name, column.dtype) for column, name in self.scan.columns]
        segments = self.store.rows(columns, part.first_row, part.rows)
        if segments is None:
            return None
        for segment in segments:
            self._check(segment, part.split.path)
        bounds = self._key_bounds(segments, part)
        rows, terms = self.scan.rows_of(segments, filters)
        return self.scan.frame(rows, bounds, interval, terms)

    def _check(self, segment: tuple[Segment, ...], path: str) -> None:
        for (column, name), piece in zip(self.scan.columns, segment, strict=True):
            claim = self.claims.get(column.id)
            if claim is not None and piece.bounds is not None and not Interval(*piece.bounds).within(claim.low, claim.high):
                raise error("STATISTICS_VIOLATED", column=name, path=path)

    def _key_bounds(self, segments: list[tuple[Segment, ...]], part: ScanRange) -> tuple[int, int] | None:
        """What the range's claim says of the key, checked on all rows: one outside of it may match in another task."""
        key = self.node.range_key
        if key is None or part.claim is None:
            return None
        place, name = next((at, name) for at, (column, name) in enumerate(self.scan.columns) if column.id == key.id)
        check = _checker([_Check(name, name, *part.claim, claimed=True, never_null=True)], part.split.path)
        for segment in segments:
            check(pl.DataFrame([segment[place].values.alias(name)]))
        return part.claim


def read_rows(part: ScanRange, names: list[str], reader: str) -> pl.LazyFrame:
    """The columns of a range of rows as the file has them; without columns a row mark."""
    if not names:
        return row_marks(part.rows).lazy()
    if reader == "pyarrow":
        return _by_pyarrow(part, names)
    rows = pl.scan_parquet(part.split.path, glob=False, hive_partitioning=False, low_memory=False)
    return rows.slice(part.first_row, part.rows).select(names)


def _compares_plain_columns(term: Expr) -> bool:
    """Whether a conjunct is right for any values in the file: exact columns are compared, but not computed with."""
    if can_raise(term):
        return False
    for found in walk(term, _COMPUTING):
        assert isinstance(found, Expr)
        if is_exact(found.dtype) or any(isinstance(child, Expr) and is_exact(child.dtype) for child in found.children):
            constant = isinstance(found, Cast) and exact_constant(found) is not None
            literals = not any(True for _ in walk(found, _REFERENCES))
            if not (constant or literals):
                return False
    return True


def _columns_of(terms: list[Expr]) -> frozenset[int]:
    return frozenset(ref.column.id for term in terms for ref in walk(term, _REFERENCES) if isinstance(ref, ColumnRef))


def _checker(checks: list[_Check], path: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def check(rows: pl.DataFrame) -> pl.DataFrame:
        for item in checks:
            values = rows.get_column(item.column).to_physical()
            if item.never_null and values.null_count():
                raise failure("STATISTICS_VIOLATED", column=item.field, path=path)
            if lies_outside(values, item.low, item.high):
                if item.claimed:
                    raise failure("STATISTICS_VIOLATED", column=item.field, path=path)
                detail = f"column {item.field!r} has a value with more digits than its type"
                raise failure("FILE_INVALID", path=path, format="Parquet", detail=detail)
        return rows

    return check


def _by_pyarrow(part: ScanRange, names: list[str]) -> pl.LazyFrame:
    """Whole row groups through pyarrow, cut to the range. Raises FILE_INVALID."""
    try:
        table = _read_row_groups(part, names)
    except pa.ArrowException as problem:
        if isinstance(problem, MemoryError):
            raise
        detail = str(problem).split("\n")[0][:200]
        raise error("FILE_INVALID", path=part.split.path, format="Parquet", detail=detail) from problem
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy()


def _read_row_groups(part: ScanRange, names: list[str]) -> pa.Table:
    with pq.ParquetFile(part.split.path) as file:
        groups, first, skipped = [], 0, None
        for index in range(file.metadata.num_row_groups):
            rows = file.metadata.row_group(index).num_rows
            if first < part.first_row + part.rows and part.first_row < first + rows:
                skipped = first if skipped is None else skipped
                groups.append(index)
            first += rows
        table = file.read_row_groups(groups, columns=names)
    if skipped is not None:
        table = table.slice(part.first_row - skipped, part.rows)
    return _plain_columns(table)


def _plain_columns(table: pa.Table) -> pa.Table:
    """Dictionaries decoded, and narrow decimals widened: forms that Polars treats unlike the plain ones."""
    fields = []
    for field in table.schema:
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        elif pa.types.is_decimal(kind) and kind.bit_width != 128:
            kind = pa.decimal128(kind.precision, kind.scale)
        fields.append(pa.field(field.name, kind))
    return table.cast(pa.schema(fields))

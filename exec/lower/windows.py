"""Window functions over sorted rows.

The input is collected and sorted by partition and order. Then every frame is a range of row numbers, known from where
partitions and peers begin, and every function is a gather: at the row that LAG or FIRST_VALUE asks for, or at both ends of the
frame in a running total. Only what cannot be taken back from a total (minima, and sums of floats, exact to the last digits) is
looked up in a table of powers of two (`exec.kernels.range_queries`) where a frame does not begin with its partition.
Aggregates over whole partitions are those of GROUP BY (`exec.lower.aggregates`), gathered back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from exec.kernels.range_queries import range_query
from exec.lower.aggregates import lower_aggregate
from exec.lower.column_types import polars_type
from exec.lower.exact import column_encoding, convert, tier_of_magnitude
from exec.lower.expressions import Lowering
from exec.lower.joins import pick
from exec.lower.optimizations import OPTIMIZATIONS
from planner.analysis.bounds import BoundsAnalysis, as_aggregate
from planner.dtypes import BIGINT, BOOLEAN, is_exact, is_float
from planner.errors import error
from planner.expr.functions import WINDOW_FUNCTIONS
from planner.expr.nodes import Assign, ColumnRef, Expr, Frame, FrameUnit, Literal, WindowCall
from planner.physical.encodings import Encoding
from planner.physical.nodes import AggregateExec, AggregateMode, WindowExec
from planner.schema import Column

_PARTITION = Column(-1, "partition", BIGINT)
_NUMBER = f"c{_PARTITION.id}"
Rows = npt.NDArray[np.int64]


def lower_window(node: WindowExec, frame: pl.LazyFrame, analysis: BoundsAnalysis, needed: frozenset[int]) -> pl.LazyFrame:
    """The rows of `frame` by partition and order, with the needed calls."""
    calls = [assign for assign in node.calls if assign.column.id in needed]
    window = _Windows(node, frame, analysis)
    found = window.rows.with_columns([window.column(assign) for assign in calls])
    return pick(found.lazy(), tuple(column for column in node.columns if column.id in needed))


@dataclass(slots=True)
class _Places:
    """Of every row: where its partition begins and ends (exclusively), and where its peers do."""

    row: Rows
    first: Rows
    end: Rows
    first_peer: Rows
    peers_end: Rows
    peer_groups: Rows
    """The number of its group of peers, counted through all partitions."""

    def frame_range(self, frame: Frame) -> tuple[Rows, Rows]:
        """The first row of every row's frame, and the end (exclusively): the same number if it is empty."""
        height = len(self.row)
        first = None if frame.first is None else max(-height, min(height, frame.first))
        last = None if frame.last is None else max(-height, min(height, frame.last))
        if frame.unit is FrameUnit.ROWS:
            start = self.first if first is None else self.row + first
            end = self.end if last is None else self.row + last + 1
        else:
            # What begins before the first group or after the last one is cut to the partition below.
            starts = np.concatenate([np.full(height + 1, 0), np.unique(self.first_peer), np.full(height + 1, height)])
            group = self.peer_groups + height
            start = self.first if first is None else starts[group + first]
            end = self.end if last is None else starts[group + last + 1]
        start = np.clip(start, self.first, self.end)
        return start, np.maximum(np.clip(end, self.first, self.end), start)


class _Windows:
    def __init__(self, node: WindowExec, frame: pl.LazyFrame, analysis: BoundsAnalysis) -> None:
        self.node = node
        self.analysis = analysis
        self.inputs, self.outputs = analysis.columns(node.input), analysis.columns(node)
        self.low = Lowering(self.inputs)
        keys = [self._key(ColumnRef(column.dtype, column)) for column in node.partition]
        order = [self._key(key.expr) for key in node.order]
        names = [f"by{at}" for at in range(len(keys))] + [f"order{at}" for at in range(len(order))]
        data = frame.with_columns([key.alias(name) for key, name in zip(keys + order, names, strict=True)])
        if names:
            data = data.sort(
                names,
                descending=[False] * len(keys) + [key.descending for key in node.order],
                nulls_last=[False] * len(keys) + [not key.nulls_first for key in node.order],
                maintain_order=True,
            )
        collected = data.collect(engine="streaming", optimizations=OPTIMIZATIONS)
        self.places = _places(collected, names[: len(keys)], names[len(keys) :])
        numbers = np.searchsorted(np.unique(self.places.first), self.places.first)
        self.numbers: Rows = numbers.astype(np.int64)
        self.rows = collected.drop(names)

    def _key(self, expr: Expr) -> pl.Expr:
        """A key by whose equality rows belong together: 0.0 and -0.0 are one."""
        value = self.low.lower(expr)
        return (
            pl.when(value == 0).then(pl.lit(0.0, dtype=self.low.polars_type(expr))).otherwise(value)
            if is_float(expr.dtype)
            else value
        )

    def column(self, assign: Assign) -> pl.Series:
        """The values of a call, one for each row."""
        call = assign.expr
        assert isinstance(call, WindowCall)
        name = f"c{assign.column.id}"
        if call.function in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"):
            return self._place(call).alias(name)
        if call.function in WINDOW_FUNCTIONS:
            return self._picked(call, assign.column).alias(name)
        if call.frame == Frame.WHOLE:
            return self._whole(call, assign.column).alias(name)
        return self._framed(call, assign.column).alias(name)

    # ------------------------------------------------------------------------------------------------- places of rows

    def _place(self, call: WindowCall) -> pl.Series:
        at = self.places
        match call.function:
            case "row_number":
                return pl.Series(at.row - at.first + 1)
            case "rank":
                return pl.Series(at.first_peer - at.first + 1)
            case "dense_rank":
                return pl.Series(at.peer_groups - at.peer_groups[at.first] + 1)
            case "percent_rank":
                return pl.Series((at.first_peer - at.first) / np.maximum(at.end - at.first - 1, 1))
            case "cume_dist":
                return pl.Series((at.peers_end - at.first) / (at.end - at.first))
        tiles = _literal(call.arguments[0])
        if tiles is None:
            return pl.Series([None] * len(at.row), dtype=pl.Int64)
        if tiles <= 0:
            if len(at.row) == 0:
                return pl.Series([], dtype=pl.Int64)
            raise error("INVALID_ARGUMENT", name="ntile", value=f"{tiles} tiles")
        size, larger = np.divmod(at.end - at.first, min(tiles, 2**62))
        row = at.row - at.first
        in_larger = row < larger * (size + 1)
        tile = np.where(in_larger, row // (size + 1), larger + (row - larger * (size + 1)) // np.maximum(size, 1))
        return pl.Series(tile + 1)

    # --------------------------------------------------------------------------------------------- values of other rows

    def _picked(self, call: WindowCall, column: Column) -> pl.Series:
        at = self.places
        target = column_encoding(call.dtype, column.id, self.outputs)
        values = self._lowered(call.arguments[0], target)
        match call.function:
            case "first_value" | "last_value":
                start, end = at.frame_range(call.frame)
                return _gathered(values, start if call.function == "first_value" else end - 1, start < end)
            case "nth_value":
                number = _literal(call.arguments[1])
                if number is None or number < 1 or number > len(at.row):
                    return pl.Series([None] * len(at.row), dtype=values.dtype)
                start, end = at.frame_range(call.frame)
                return _gathered(values, start + number - 1, start + number <= end)
        offset = _literal(call.arguments[1])
        if offset is None:
            return pl.Series([None] * len(at.row), dtype=values.dtype)
        offset = max(-len(at.row), min(len(at.row), offset))
        wanted = at.row - offset if call.function == "lag" else at.row + offset
        inside = (wanted >= at.first) & (wanted < at.end)
        found = _gathered(values, wanted, inside)
        if len(call.arguments) < 3:
            return found
        return found.zip_with(pl.Series(inside, dtype=pl.Boolean), self._lowered(call.arguments[2], target))

    def _lowered(self, expr: Expr, target: Encoding) -> pl.Series:
        """An expression for every row, in an encoding."""
        value = self.low.lower_as(expr, target) if target is not Encoding.PLAIN else self.low.lower(expr)
        value = value.cast(polars_type(expr.dtype, target))
        marked = self.rows.with_columns(value.alias("value"))
        return marked["value"] if marked.height == self.rows.height else marked["value"].head(self.rows.height)

    # ------------------------------------------------------------------------------------------------------ aggregates

    def _whole(self, call: WindowCall, column: Column) -> pl.Series:
        """An aggregate of every partition, for each of its rows."""
        aggregate = AggregateExec(self.node.input, AggregateMode.COMPLETE, (_PARTITION,), (Assign(column, as_aggregate(call)),))
        numbered = self.rows.with_columns(pl.Series(_NUMBER, self.numbers, dtype=pl.Int64))
        groups = lower_aggregate(aggregate, numbered.lazy(), self.analysis).sort(_NUMBER).collect(optimizations=OPTIMIZATIONS)
        return groups[f"c{column.id}"].gather(pl.Series(self.numbers))

    def _framed(self, call: WindowCall, column: Column) -> pl.Series:
        """An aggregate over the rows of every row's frame."""
        if call.function == "count_star":
            if call.condition is None:
                start, end = self.places.frame_range(call.frame)
                return pl.Series(end - start)
            return self._total(self.low.lower(call.condition).fill_null(value=False).cast(pl.Int64), call.frame)
        argument = call.arguments[0]
        target = column_encoding(call.dtype, column.id, self.outputs)
        tier = self.low.encoding(argument)
        if call.function == "sum" and is_exact(argument.dtype):
            tier = target
            if tier is Encoding.PLAIN:
                tier = tier_of_magnitude(self.low.interval(argument).magnitude * max(self.rows.height, 1))
            value = self.low.in_tier(argument, tier)
        else:
            value = self.low.lower(argument)
        if call.condition is not None:
            value = pl.when(self.low.lower(call.condition)).then(value)
        if call.function == "any_value":
            return self._any_value(value, call.frame).cast(polars_type(call.dtype, target))
        if call.function not in ("count", "sum"):
            return self._extreme(call, value, target)
        known = self._total(value.is_not_null().cast(pl.Int64), call.frame)
        if call.function == "count":
            return known
        if is_float(argument.dtype) and call.frame.first is not None:
            total = self._combined(self._values(value.fill_null(0)), np.add, 0.0, call.frame)
        else:
            total = self._total(value.fill_null(0), call.frame)
        wanted = polars_type(call.dtype, target)
        total = total.set(known == 0, None)
        return total if total.dtype == wanted else total.cast(wanted)

    def _total(self, value: pl.Expr, frame: Frame) -> pl.Series:
        """The sum of values, none of which is NULL, over every frame: what is added up to its end, less what is before it."""
        start, end = self.places.frame_range(frame)
        running = self._over(value.cum_sum())
        if frame.first is None and frame.last is not None and frame.last >= 0:
            return running.gather(pl.Series(end - 1))
        before = _gathered(running, start - 1, start > self.places.first).fill_null(0)
        up_to = _gathered(running, end - 1, end > self.places.first).fill_null(0)
        return (up_to - before).cast(running.dtype)

    def _values(self, value: pl.Expr) -> pl.Series:
        return self.rows.select(value.alias("value")).to_series()

    def _any_value(self, value: pl.Expr, frame: Frame) -> pl.Series:
        """The first value of every frame that is not NULL."""
        values = self._values(value)
        start, end = self.places.frame_range(frame)
        row = pl.DataFrame({"row": pl.Series(self.places.row), "known": values.is_not_null()})
        following = row.select(pl.when("known").then("row").fill_null(strategy="backward").fill_null(len(values))).to_series()
        wanted = np.append(following.to_numpy(), len(values))[start]
        return _gathered(values, wanted, wanted < end)

    def _combined(self, values: pl.Series, combine: np.ufunc, neutral: float, frame: Frame) -> pl.Series:
        start, end = self.places.frame_range(frame)
        return pl.Series(range_query(values.to_numpy(), combine, neutral, start, end))

    def _extreme(self, call: WindowCall, value: pl.Expr, target: Encoding) -> pl.Series:
        """MIN and MAX (of booleans AND and OR) by the places of values in their order, in which NaN is the greatest."""
        values = self._values(value)
        if call.dtype == BOOLEAN:
            values = values.cast(pl.UInt8)
        order = values.rank("dense").cast(pl.Int64)
        least = call.function in ("min", "bool_and")
        if call.frame.first is None and call.frame.last is not None and call.frame.last >= 0:
            _, end = self.places.frame_range(call.frame)
            running = pl.col("order").cum_min() if least else pl.col("order").cum_max()
            numbered = pl.DataFrame({"order": order, "number": pl.Series(self.numbers, dtype=pl.Int64)})
            found = numbered.select(running.forward_fill().over("number").alias("order")).to_series().gather(pl.Series(end - 1))
        else:
            # A place that no value has stands for NULL: after all others for a minimum, before them for a maximum.
            nothing = len(values) + 1 if least else 0
            combine = np.minimum if least else np.maximum
            found = self._combined(order.fill_null(nothing), combine, nothing, call.frame)
            found = found.set(found == nothing, None)
        kinds = pl.DataFrame({"order": order, "value": values}).drop_nulls("order").unique("order").sort("order")["value"]
        extreme = kinds.gather(found - 1)
        if call.dtype == BOOLEAN:
            return extreme.cast(pl.Boolean)
        source = self.low.encoding(call.arguments[0])
        if source is target:
            return extreme
        return pl.DataFrame({"value": extreme}).select(convert(pl.col("value"), source, target)).to_series()

    def _over(self, value: pl.Expr) -> pl.Series:
        """A running expression that begins anew in every partition."""
        numbered = self.rows.with_columns(pl.Series(_NUMBER, self.numbers, dtype=pl.Int64))
        return numbered.select(value.over(_NUMBER).alias("value")).to_series()


def _places(rows: pl.DataFrame, partition: list[str], order: list[str]) -> _Places:
    height = rows.height
    row = np.arange(height, dtype=np.int64)
    new_partition = _changes(rows, partition)
    new_peers = new_partition | _changes(rows, order)
    first, end = _ranges(new_partition)
    first_peer, peers_end = _ranges(new_peers)
    return _Places(row, first, end, first_peer, peers_end, np.cumsum(new_peers).astype(np.int64))


def _changes(rows: pl.DataFrame, columns: list[str]) -> npt.NDArray[np.bool_]:
    """Where a row differs from the one before it; the first row does."""
    changed = np.zeros(rows.height, dtype=bool)
    for name in columns:
        changed |= rows.select(pl.col(name).ne_missing(pl.col(name).shift(1))).to_series().to_numpy()
    if rows.height:
        changed[0] = True
    return changed


def _ranges(begins: npt.NDArray[np.bool_]) -> tuple[Rows, Rows]:
    """For every row the beginning and the end of its range, given where ranges begin."""
    starts = np.flatnonzero(begins).astype(np.int64)
    lengths = np.diff(np.append(starts, len(begins)))
    return np.repeat(starts, lengths), np.repeat(starts + lengths, lengths)


def _gathered(values: pl.Series, wanted: Rows, inside: npt.NDArray[np.bool_]) -> pl.Series:
    """The values at some rows, NULL where they are not inside."""
    places = pl.Series(np.where(inside, wanted, 0), dtype=pl.Int64)
    return values.gather(places.set(pl.Series(~inside, dtype=pl.Boolean), None))


def _literal(expr: Expr) -> int | None:
    assert isinstance(expr, Literal)
    return None if expr.value is None else int(expr.value)

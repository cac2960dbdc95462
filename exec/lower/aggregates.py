"""Aggregation: groups by Polars, with SQL's answers for empty input, NULL, NaN, DISTINCT and FILTER.

Arguments that are more than a column are computed by a projection of their own below the grouping, finishing steps that
need the whole group's result by one above it; in between stand only what the streaming engine aggregates natively.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from exec.kernels import floats
from exec.kernels.exact_division import divide_decimals
from exec.lower.column_types import polars_type
from exec.lower.exact import column_encoding, convert, tier_of_magnitude
from exec.lower.expressions import Lowering, every_row
from planner.analysis.bounds import BoundsAnalysis
from planner.dtypes import DecimalType, is_exact, is_float, scale_of
from planner.errors import error
from planner.expr.nodes import AggregateCall, ColumnRef
from planner.physical.encodings import Encoding
from planner.physical.nodes import AggregateExec
from planner.schema import Column


def lower_aggregate(node: AggregateExec, frame: pl.LazyFrame, analysis: BoundsAnalysis) -> pl.LazyFrame:
    """The groups of `frame` in any order: the keys, then the aggregates."""
    keys = [f"c{key.id}" for key in node.keys]
    if not node.aggregates:
        return frame.select(keys).unique(maintain_order=False)
    plan = _Aggregation(node, analysis)
    if plan.arguments:
        frame = frame.with_columns(plan.arguments)
    grouped = frame.group_by(keys).agg(plan.aggregates) if keys else frame.select(plan.aggregates)
    if plan.finishing:
        names = [*keys, *(f"c{assign.column.id}" for assign in node.aggregates)]
        grouped = grouped.with_columns(plan.finishing).select(names)
    return grouped


class _Aggregation:
    """The three steps of one aggregation."""

    def __init__(self, node: AggregateExec, analysis: BoundsAnalysis) -> None:
        self.low = Lowering(analysis.columns(node.input))
        self.inputs, self.rows = analysis.columns(node.input), analysis.rows(node.input)
        self.outputs = analysis.columns(node)
        self.arguments: list[pl.Expr] = []
        self.aggregates: list[pl.Expr] = []
        self.finishing: list[pl.Expr] = []
        for assign in node.aggregates:
            call = assign.expr
            assert isinstance(call, AggregateCall)
            self._add(assign.column, call)

    def _add(self, column: Column, call: AggregateCall) -> None:
        name = f"c{column.id}"
        if call.function == "count_star":
            counted = pl.len() if call.condition is None else self._argument(self.low.lower_rows(call.condition), name).sum()
            self.aggregates.append(counted.cast(pl.Int64).alias(name))
            return
        if call.function == "avg" and isinstance(call.dtype, DecimalType):
            self._decimal_average(column, call)
            return
        target = column_encoding(call.dtype, column.id, self.outputs)
        self.aggregates.append(self._simple(call, target, name).alias(name))

    def _simple(self, call: AggregateCall, target: Encoding, name: str) -> pl.Expr:
        match call.function:
            case "count":
                values = self._values(call, None, name)
                return (values.drop_nulls().n_unique() if call.distinct else values.count()).cast(pl.Int64)
            case "sum_counts":
                return self._values(call, None, name).sum().cast(pl.Int64)
            case "sum":
                return self._sum(call, target, name)
            case "min" | "bool_and":
                return self._convert(call, self._values(call, None, name).min(), target)
            case "max" | "bool_or":
                values = self._values(call, None, name)
                if is_float(call.dtype):
                    return values.nan_max()
                return self._convert(call, values.max(), target)
            case "any_value":
                return self._convert(call, self._values(call, None, name).first(ignore_nulls=True), target)
            case "avg" | "stddev_samp" | "var_samp":
                values = self._distinct(call, self._floats(call, name))
                if call.function == "avg":
                    return values.mean()
                return values.std(ddof=1) if call.function == "stddev_samp" else values.var(ddof=1)
        raise error("INTERNAL", detail=f"aggregate {call.function} has no kernel")

    def _sum(self, call: AggregateCall, target: Encoding, name: str) -> pl.Expr:
        """NULL over no values. Exact sums accumulate in the tier that holds the sum of all rows."""
        if not is_exact(call.dtype):
            values = self._distinct(call, self._floats(call, name))
            return pl.when(values.count() > 0).then(values.sum())
        accumulator = target
        if target is Encoding.PLAIN:  # an integer
            accumulator = tier_of_magnitude(self.low.interval(call.arguments[0]).magnitude * self.rows)
        values = self._distinct(call, self._values(call, accumulator, name))
        total = values.sum()
        if target is Encoding.PLAIN:
            total = (total.to_physical() if accumulator is Encoding.DEC38 else total).cast(polars_type(call.dtype, target))
        return pl.when(values.count() > 0).then(total)

    def _decimal_average(self, column: Column, call: AggregateCall) -> None:
        """Exact sum and count, divided above the grouping."""
        argument, name, dtype = call.arguments[0], f"c{column.id}", call.dtype
        tier = tier_of_magnitude(self.low.interval(argument).magnitude * self.rows)
        values = self._distinct(call, self._values(call, tier, name))
        total = values.sum()
        self.aggregates += [
            (total.to_physical() if tier is Encoding.DEC38 else total.cast(pl.Int128)).alias(name),
            pl.when(values.count() > 0).then(values.count().cast(pl.Int128)).alias(f"{name}_n"),
        ]
        digits = scale_of(dtype) - scale_of(argument.dtype)
        quotient = pl.map_batches(
            [pl.col(name), pl.col(f"{name}_n")],
            lambda pair: divide_decimals(pair[0], pair[1], digits, dtype),
            return_dtype=pl.Int128(),
            is_elementwise=True,
        )
        target = column_encoding(dtype, column.id, self.outputs)
        self.finishing.append(convert(quotient, Encoding.INT128, target).alias(name))

    def _floats(self, call: AggregateCall, name: str) -> pl.Expr:
        """The argument as floats of the result's type."""
        argument = call.arguments[0]
        target = polars_type(call.dtype, Encoding.PLAIN)
        if argument.dtype == call.dtype:
            return self._values(call, None, name)
        if not isinstance(argument.dtype, DecimalType):
            return self._values(call, None, name, lambda values: values.cast(target))
        power = 10.0**argument.dtype.scale
        return self._values(
            call, Encoding.INT128, name, lambda values: floats.divide(values.cast(pl.Float64), power, pl.Float64()).cast(target)
        )

    @staticmethod
    def _distinct(call: AggregateCall, values: pl.Expr) -> pl.Expr:
        return values.drop_nulls().unique() if call.distinct else values

    def _values(
        self, call: AggregateCall, tier: Encoding | None, name: str, transform: Callable[[pl.Expr], pl.Expr] | None = None
    ) -> pl.Expr:
        """The argument, in a tier or in canonical form, then transformed; NULL where the FILTER condition is not true."""
        argument = call.arguments[0]
        condition = None if call.condition is None else self.low.lower_rows(call.condition)
        rows = condition if condition is not None else every_row(argument)
        lowered = self.low.lower(argument, rows) if tier is None else self.low.in_tier(argument, tier, rows)
        if transform is not None:
            lowered = transform(lowered)
        if condition is not None:
            lowered = pl.when(condition).then(lowered)
        same = tier is None or tier is self.low.encoding(argument)
        if isinstance(argument, ColumnRef) and condition is None and transform is None and same:
            return lowered
        return self._argument(lowered, name)

    def _argument(self, lowered: pl.Expr, name: str) -> pl.Expr:
        """A column below the grouping, so that a constant has a value for every row and none where there is no row."""
        self.arguments.append(lowered.alias(f"{name}_a"))
        return pl.col(f"{name}_a")

    def _convert(self, call: AggregateCall, value: pl.Expr, target: Encoding) -> pl.Expr:
        return convert(value, self.low.encoding(call.arguments[0]), target)

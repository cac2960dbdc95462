"""Constants by the executor's own kernels, so that folding cannot differ from running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from exec.kernels.parse_text import decimal_of
from exec.lower.expressions import Lowering
from exec.lower.failures import translate
from planner.dtypes import DecimalType
from planner.expr.nodes import Expr
from planner.physical.encodings import Encoding


class ConstantEvaluator:
    """Implements `planner.ports.Evaluator`."""

    def evaluate(self, expressions: Sequence[Expr]) -> Sequence[Any]:
        """The values of expressions without columns, or the QEngineError that one raises in its place."""
        low = Lowering({})
        try:
            columns = [low.lower(expr).alias(str(index)) for index, expr in enumerate(expressions)]
            row = pl.DataFrame({"": [0]}).lazy().select(columns).collect()
            return [_value(row.to_series(index), expr, low) for index, expr in enumerate(expressions)]
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as problem:  # a panic of Polars is no Exception
            if len(expressions) == 1:
                return [translate(problem)]
        return [self.evaluate([expr])[0] for expr in expressions]


def _value(series: pl.Series, expr: Expr, low: Lowering) -> Any:
    """The only value, as a literal of its type has it."""
    if isinstance(expr.dtype, DecimalType):
        if low.encoding(expr) is Encoding.DEC38:
            series = series.to_physical()
        value = series.cast(pl.Int128)[0]
        return None if value is None else decimal_of(value, expr.dtype.scale)
    return series[0]

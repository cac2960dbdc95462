"""Operands of kernels over several columns, of which a constant one comes as a single value."""

from __future__ import annotations

import polars as pl


def aligned(*operands: pl.Series) -> tuple[pl.Series, ...]:
    """The operands in one length: a single value is repeated."""
    length = next((operand.len() for operand in operands if operand.len() != 1), 1)
    return tuple(operand.new_from_index(0, length) if operand.len() != length else operand for operand in operands)

"""Values to text, as DuckDB's casts write it."""

from __future__ import annotations

import numpy as np
import polars as pl


def format_floats(values: pl.Series) -> pl.Series:
    """The shortest text that reads back as the same float: 1.0, 1e+20, 1e-07, nan, inf."""
    if values.dtype == pl.Float32:
        texts = [None if value is None else _short(np.float32(value)) for value in values]
    else:
        texts = [None if value is None else repr(value) for value in values]
    return pl.Series(values.name, texts, dtype=pl.String)


def _short(value: np.float32) -> str:
    text = np.format_float_positional(value, unique=True, trim="0")
    if not np.isfinite(value) or value == 0:
        return str(float(value))
    if not 1e-4 <= abs(value) < 1e16:
        mantissa, exponent = np.format_float_scientific(value, unique=True, trim="-").split("e")
        return f"{mantissa}e{exponent[0]}{exponent[1:].zfill(2)}"
    return text


def format_decimal(scaled: pl.Expr, scale: int, leading_zero: bool) -> pl.Expr:
    """Scaled integers as text with exactly `scale` digits after the point; `leading_zero`: 0.5 rather than .5."""
    if scale == 0:
        return scaled.cast(pl.String)
    digits = scaled.abs().cast(pl.String).str.zfill(scale + (1 if leading_zero else 0))
    whole = digits.str.head(pl.max_horizontal(digits.str.len_bytes().cast(pl.Int64) - scale, pl.lit(0, dtype=pl.Int64)))
    sign = pl.when(scaled < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    return pl.concat_str(sign, whole, pl.lit("."), digits.str.tail(scale))


def format_dates(values: pl.Expr) -> pl.Expr:
    """YYYY-MM-DD with more digits for later years, and (BC) after the years before 1, which have no year 0 among them."""
    year = values.dt.year()
    written = pl.when(year > 0).then(year).otherwise(1 - year).cast(pl.String).str.zfill(4)
    era = pl.when(year > 0).then(pl.lit("")).otherwise(pl.lit(" (BC)"))
    return written + values.dt.strftime("-%m-%d") + era


def format_timestamps(values: pl.Expr) -> pl.Expr:
    """The date, HH:MM:SS, and a fraction of a second without trailing zeros where there is one."""
    return format_dates(values) + pl.lit(" ") + _trimmed(values.dt.strftime("%H:%M:%S"), values.dt.strftime(".%6f"))


def format_times(values: pl.Expr) -> pl.Expr:
    """HH:MM:SS, and a fraction of a second without trailing zeros where there is one."""
    return _trimmed(values.dt.strftime("%H:%M:%S"), values.dt.strftime(".%6f"))


def _trimmed(whole: pl.Expr, fraction: pl.Expr) -> pl.Expr:
    return whole + fraction.str.strip_chars_end("0").str.strip_chars_end(".")


def format_blobs(values: pl.Series) -> pl.Series:
    r"""Printable ASCII as it is, every other byte as \xHH."""
    return pl.Series(values.name, [None if value is None else _escaped(value) for value in values], dtype=pl.String)


def _escaped(value: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in (34, 39, 92) else f"\\x{byte:02X}" for byte in value)

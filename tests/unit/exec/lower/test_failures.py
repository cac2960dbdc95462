"""Every exception becomes one of ours."""

from __future__ import annotations

import errno

import polars as pl
import pytest

from exec.kernels.failure import failure
from exec.lower.failures import translate
from planner.errors import CODES, error


def raised(expr: pl.Expr, **columns: list) -> BaseException:
    with pytest.raises(BaseException) as caught:
        pl.DataFrame(columns).lazy().select(expr).collect(engine="streaming")
    return caught.value


def _fail(values: pl.Series) -> pl.Series:
    raise failure("OVERFLOW", dtype="DECIMAL(4,2)")


def test_a_failing_kernel_keeps_its_code_through_polars():
    found = translate(raised(pl.col("x").map_batches(_fail, pl.Int64, is_elementwise=True), x=[1]))
    assert (found.code, found.message) == ("OVERFLOW", CODES["OVERFLOW"][1].format(dtype="DECIMAL(4,2)"))


def test_casts_and_decimal_arithmetic():
    narrow = translate(raised(pl.col("x").cast(pl.Int8), x=[1000]))
    assert (narrow.code, "TINYINT" in narrow.message) == ("OVERFLOW", True)
    text = translate(raised(pl.col("x").cast(pl.Int64), x=["abc"]))
    assert (text.code, "abc" in text.message) == ("CAST_FAILED", True)
    large = pl.col("x").cast(pl.Decimal(38, 0))
    assert translate(raised(large * large * large, x=[10**18])).code == "OVERFLOW"


@pytest.mark.parametrize(
    ("exception", "code"),
    [
        (MemoryError(), "OUT_OF_MEMORY"),
        (pl.exceptions.ComputeError("memory allocation of 8 bytes failed"), "OUT_OF_MEMORY"),
        (FileNotFoundError(errno.ENOENT, "No such file", "/x"), "FILE_NOT_FOUND"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "FILE_UNREADABLE"),
        (OSError(errno.ENOSPC, "No space left on device", "/x"), "DISK_FULL"),
        (pl.exceptions.ComputeError("parquet: File out of specification: bad page"), "FILE_INVALID"),
        (pl.exceptions.PanicException("thrift: unexpected end"), "FILE_INVALID"),
        (pl.exceptions.PanicException("index out of bounds"), "INTERNAL"),
        (pl.exceptions.InvalidOperationError("no such join\n\nResolved plan until failure:\n\nParquet SCAN [/x]"), "INTERNAL"),
        (ZeroDivisionError("division by zero"), "INTERNAL"),
        (error("CANCELLED"), "CANCELLED"),
    ],
)
def test_other_exceptions(exception, code):
    found = translate(exception)
    assert found.code == code
    assert "\n" not in found.message

"""Parquet files that are nearly right: seeded mutations of small files of many kinds, and files that are no Parquet at all."""

from __future__ import annotations

import io
import random
import struct
from datetime import date, datetime
from decimal import Decimal
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 300


def _table() -> pa.Table:
    numbers = [None if row % 7 == 3 else row * 37 % 101 - 50 for row in range(ROWS)]

    def of(kind: pa.DataType, make: object) -> pa.Array:
        return pa.array([None if number is None else make(number) for number in numbers], kind)  # type: ignore[operator]

    return pa.table({
        "k": pa.array(range(ROWS), pa.int64()),
        "i": of(pa.int32(), int),
        "s": of(pa.string(), lambda n: f"text {n % 5}"),
        "u": of(pa.string(), lambda n: f"{n} is a longer text that is nearly unique"),
        "d": of(pa.decimal128(15, 2), lambda n: Decimal(n) / 4),
        "w": of(pa.decimal128(38, 3), lambda n: Decimal(n) * 10**30),
        "f": of(pa.float64(), lambda n: n / 3),
        "b": of(pa.bool_(), lambda n: n % 2 == 0),
        "t": of(pa.date32(), lambda n: date(2000 + n % 20, 1, 1)),
        "m": of(pa.timestamp("us"), lambda n: datetime(2000, 1, 1 + n % 28)),
    })  # fmt: skip


_OPTIONS = (
    {},
    {"compression": "none", "use_dictionary": False},
    {"compression": "zstd", "data_page_version": "2.0"},
    {"compression": "gzip", "row_group_size": 64, "write_page_index": True},
    {"compression": "none", "data_page_size": 256, "write_batch_size": 16},
    {"compression": "lz4", "use_dictionary": False, "version": "1.0", "write_statistics": False},
    {
        "use_dictionary": False,
        "column_encoding": {"k": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "u": "DELTA_LENGTH_BYTE_ARRAY",
                            "f": "BYTE_STREAM_SPLIT", "b": "RLE"},
    },
)  # fmt: skip


@cache
def originals() -> tuple[bytes, ...]:
    """The files that are mutated, as bytes."""
    written = []
    for options in _OPTIONS:
        sink = io.BytesIO()
        pq.write_table(_table(), sink, **options)
        written.append(sink.getvalue())
    return tuple(written)


def footer_start(data: bytes) -> int:
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def mutated(seed: int) -> bytes:
    """A file with one to eight mutations, most of them in one of its parts: footer, page headers, pages, tail."""
    dice = random.Random(seed)
    original = dice.choice(originals())
    data = bytearray(original)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        if len(data) < 16:
            break
        data = dice.choices((_flipped, _overwritten, _cut, _tail, _spliced), (8, 3, 1, 1, 1))[0](data, dice)
    return bytes(data)


def _place(data: bytearray, dice: random.Random) -> int:
    """A position in the file, mostly where its structure is: the footer, and the headers that begin the column chunks."""
    footer = max(min(footer_start(bytes(data)), len(data) - 9), 0)
    match dice.randrange(4):
        case 0 | 1:
            return dice.randrange(footer, len(data) - 8)
        case 2:
            headers = [at for at in range(4, max(footer, 5)) if data[at] == 0x15]  # a field of an i32, as headers begin with
            return min(dice.choice(headers or [4]) + dice.randrange(12), len(data) - 1)
        case _:
            return dice.randrange(len(data))


def _flipped(data: bytearray, dice: random.Random) -> bytearray:
    data[_place(data, dice)] ^= 1 << dice.randrange(8)
    return data


def _overwritten(data: bytearray, dice: random.Random) -> bytearray:
    at, size = _place(data, dice), dice.choice((1, 1, 2, 4, 8, 64))
    byte = dice.choice((b"\x00", b"\xff", b"\x7f", b"\x80", bytes([dice.randrange(256)])))
    data[at : at + size] = byte * len(data[at : at + size])
    return data


def _cut(data: bytearray, dice: random.Random) -> bytearray:
    at = _place(data, dice)
    if dice.random() < 0.5:
        return data[:at]
    return data[:at] + data[at + dice.choice((1, 4, 100)) :]


def _tail(data: bytearray, dice: random.Random) -> bytearray:
    """The footer's length or the magic numbers."""
    match dice.randrange(4):
        case 0:
            length = dice.choice((0, 1, len(data), len(data) - 12, 2**31 - 1, 2**31, 2**32 - 1, dice.randrange(len(data))))
            data[-8:-4] = struct.pack("<I", length)
        case 1:
            data[-4:] = dice.choice((b"PARE", b"1RAP", b"\0\0\0\0", b"PAR2"))
        case 2:
            data[:4] = dice.choice((b"PARE", b"\0\0\0\0", b"PK\x03\x04", b"ORC\0"))
        case _:
            data += dice.choice((b"\n", b"\0" * 100, b"PAR1"))
    return data


def _spliced(data: bytearray, dice: random.Random) -> bytearray:
    """A part of another file, or of another place in this one."""
    donor = dice.choice(originals())
    start, size = dice.randrange(len(donor)), dice.choice((4, 32, 500))
    at = _place(data, dice)
    data[at : at + size] = donor[start : start + size]
    return data


FOREIGN = {
    "empty": b"",
    "one byte": b"P",
    "magic": b"PAR1",
    "two magics": b"PAR1PAR1",
    "no footer": b"PAR1\0\0\0\0PAR1",
    "csv": b"a,b\n1,2\n" * 50,
    "json": b'{"a": 1}\n' * 50,
    "zip": b"PK\x03\x04" + b"\0" * 200,
    "orc": b"ORC" + b"\0" * 200,
    "zeros": b"\0" * 5000,
    "encrypted": b"PARE" + b"\x5a" * 500 + struct.pack("<I", 100) + b"PARE",
    "junk": b"PAR1" + b"\xff" * 100 + struct.pack("<I", 90) + b"PAR1",
    "arrow": b"ARROW1\0\0" + b"\0" * 100 + b"ARROW1",
    "sqlite": b"SQLite format 3\0" + b"\0" * 500,
}
"""Content of files of other kinds that bear the name of a Parquet file."""

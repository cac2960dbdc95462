"""Whether two results are the same answer: the one comparison of the project (DESIGN.md section 7).

- Without ORDER BY: equal multisets of rows.
- With ORDER BY: equal sequences of sort keys; rows that tie are compared as multisets.
- With LIMIT: the rows outside of the tie that the limit cuts are equal, and those inside of it are drawn from it.
- Every type compares exactly, except floats: relative 1e-12. Where the oracle gives a float and we give a decimal, the
  decimal is right within half a unit of its last place plus 1e-12 relative. NaN equals NaN, and -0.0 equals 0.0.
- Types compare by family, since engines choose other widths for the same thing: integers and decimals are one family of
  exact numbers; Arrow's layouts of strings and the units of timestamps are not part of an answer. A float where the
  oracle is exact is a difference, and so is an integer where the oracle gives a float.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

RELATIVE_TOLERANCE = 1e-12

SortKey = tuple[int, bool, bool]
"""(column index, descending, nulls last)"""

Row = tuple[Any, ...]
ValueTest = Callable[[Any, Any], bool]

# Exact for the difference of any two decimals of 76 digits and of any two doubles close enough to be compared.
_CONTEXT = Context(prec=400, Emax=10_000, Emin=-10_000)
_RELATIVE = Decimal("1e-12")
# Above this many rows that agree in all exact columns, pairing by sorted order is the only attempt.
_MATCHING_LIMIT = 500


def same_answer(
    actual: pa.Table,
    expected: pa.Table,
    order_by: Sequence[SortKey] = (),
    *,
    limit: int | None = None,
    offset: int = 0,
    uncut: pa.Table | None = None,
    in_sequence: bool = False,
) -> str | None:
    """None if `actual` is the same answer as `expected`, else the first difference in one line for a human.

    `order_by` are the sort keys of the query in order; `limit` and `offset` are those of the query, whose `expected`
    answer has them applied. `uncut` is the expected answer without them, or at least through the tie that the limit
    cuts: without it, rows inside of a cut tie are compared by their sort keys only. `in_sequence` demands the very
    sequence of `expected`, for queries without ORDER BY that keep the order of their input. Names are not compared.

    Raises ValueError: a sort key names no column, or the expected rows are not sorted: the caller's mistake.
    """
    width = expected.num_columns
    for key, _, _ in order_by:
        if not 0 <= key < width:
            raise ValueError(f"sort key column {key} is not among the {width} columns of the expected answer")
    if actual.num_columns != width:
        return f"expected {width} columns, got {actual.num_columns}"
    columns: list[_Column] = []
    for index in range(width):
        column = _compare_types(actual.schema.field(index), expected.schema.field(index))
        if isinstance(column, str):
            return f"column {index} ({expected.schema.field(index).name}): {column}"
        columns.append(column)
    if actual.num_rows != expected.num_rows:
        return f"expected {expected.num_rows} rows, got {actual.num_rows}" + _first_surplus(actual, expected, columns)
    comparison = _Comparison(columns, _rows(actual, columns), _rows(expected, columns), tuple(order_by))
    comparison.demand_sorted(comparison.expected)
    if in_sequence:
        return comparison.sequence()
    pool = comparison.expected
    if uncut is not None and (limit is not None or offset):
        pool = _rows(uncut, columns)
        comparison.demand_sorted(pool)
    cut_below = limit is not None and expected.num_rows == limit and (uncut is None or len(pool) > offset + limit)
    if not (cut_below or offset):
        return comparison.whole()
    return comparison.limited(pool if uncut is not None else None, offset, cut_below)


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    convert: Callable[[Any], Any]
    equal: ValueTest
    show: Callable[[Any], str]
    exact: bool  # equal values are equal and hash alike in Python


class _Comparison:
    def __init__(self, columns: list[_Column], actual: list[Row], expected: list[Row], order_by: tuple[SortKey, ...]):
        self.columns = columns
        self.actual = actual
        self.expected = expected
        self.order_by = order_by
        self.keys = tuple(column for column, _, _ in order_by)

    def sequence(self) -> str | None:
        for index, (mine, theirs) in enumerate(zip(self.actual, self.expected, strict=True)):
            if (difference := self._row_difference(index, mine, theirs)) is not None:
                return difference
        return None

    def whole(self) -> str | None:
        if (difference := self._key_difference()) is not None:
            return difference
        for start, stop in self._ties():
            if (difference := self._multiset_difference(start, stop, self.expected[start:stop])) is not None:
                return difference
        return None

    def limited(self, pool: list[Row] | None, offset: int, cut_below: bool) -> str | None:
        if (difference := self._key_difference()) is not None:
            return difference
        count = len(self.expected)
        for start, stop in self._ties():
            is_cut = (stop == count and cut_below) or (start == 0 and offset > 0)
            if not is_cut:
                candidates: list[Row] | None = self.expected[start:stop]
            elif pool is None:
                candidates = None
            else:
                candidates = self._tie_of(self.expected[start], pool, offset + start, offset + stop)
            if candidates is not None:
                difference = self._multiset_difference(start, stop, candidates)
                if difference is not None:
                    return difference
        return None

    def demand_sorted(self, rows: list[Row]) -> None:
        """Raise ValueError if `rows`, from the oracle, contradict the sort keys that the caller states."""
        for index in range(1, len(rows)):
            for column, descending, nulls_last in self.order_by:
                before, after = rows[index - 1][column], rows[index][column]
                if self.columns[column].equal(before, after):
                    continue
                if not _precedes(before, after, descending, nulls_last):
                    name, show = self.columns[column].name, self.columns[column].show
                    raise ValueError(
                        f"the expected rows are not sorted by the stated keys: {show(before)} before {show(after)} "
                        f"in column {column} ({name}), row {index}"
                    )
                break

    def _key_difference(self) -> str | None:
        for index, (mine, theirs) in enumerate(zip(self.actual, self.expected, strict=True)):
            for column in self.keys:
                if not self.columns[column].equal(mine[column], theirs[column]):
                    return self._value_difference(index, column, mine, theirs)
        return None

    def _ties(self) -> list[tuple[int, int]]:
        """The runs [start, stop) of rows that tie. Without sort keys all rows do.

        Keys that only rounding keeps apart on one side tie as well, since there either order is right.
        """
        runs = []
        start = 0
        for index in range(1, len(self.expected)):
            if not (self._tied(self.expected, index) or self._tied(self.actual, index)):
                runs.append((start, index))
                start = index
        if self.expected:
            runs.append((start, len(self.expected)))
        return runs

    def _tied(self, rows: list[Row], index: int) -> bool:
        return all(_same_number(rows[index - 1][column], rows[index][column]) for column in self.keys)

    def _tie_of(self, row: Row, pool: list[Row], start: int, stop: int) -> list[Row]:
        """All rows of the uncut answer that tie with rows [start, stop) of it."""
        start, stop = min(start, len(pool)), min(stop, len(pool))
        while 0 < start < len(pool) and self._tied(pool, start):
            start -= 1
        while 0 < stop < len(pool) and self._tied(pool, stop):
            stop += 1
        return pool[start:stop]

    def _multiset_difference(self, start: int, stop: int, candidates: list[Row]) -> str | None:
        """The first row of actual [start, stop) that cannot be drawn from `candidates`."""
        offered: dict[Row, list[Row]] = defaultdict(list)
        for row in candidates:
            offered[self._exact_part(row)].append(row)
        wanted: dict[Row, list[int]] = defaultdict(list)
        for index in range(start, stop):
            wanted[self._exact_part(self.actual[index])].append(index)
        for key, indexes in wanted.items():
            unpaired = self._unpaired(indexes, offered.get(key, []))
            if unpaired is None:
                continue
            if stop - start == 1 and len(candidates) == 1:
                return self._row_difference(unpaired, self.actual[unpaired], candidates[0])
            return f"row {unpaired} is not in the expected answer, or too often: {self._show(self.actual[unpaired])}" + (
                self._nearest(self.actual[unpaired], candidates)
            )
        return None

    def _exact_part(self, row: Row) -> Row:
        return tuple(value for value, column in zip(row, self.columns, strict=True) if column.exact)

    def _unpaired(self, indexes: list[int], candidates: list[Row]) -> int | None:
        """An actual row that finds no partner of its own, the rows being equal in all exact columns already."""
        if self._all_exact() or not candidates:
            return indexes[len(candidates)] if len(indexes) > len(candidates) else None
        ordered = sorted(indexes, key=lambda index: [_sortable(value) for value in self.actual[index]])
        partners = sorted(candidates, key=lambda row: [_sortable(value) for value in row])
        if len(ordered) == len(partners):
            failed = [i for i, row in zip(ordered, partners, strict=True) if not self._rows_equal(self.actual[i], row)]
            if not failed:
                return None
            if len(ordered) > _MATCHING_LIMIT:
                return failed[0]
        return self._match(ordered, partners)

    def _match(self, indexes: list[int], candidates: list[Row]) -> int | None:
        """Bipartite matching by alternating paths, since tolerances are not transitive and sorting may cross pairs."""
        partner: dict[int, int] = {}  # candidate -> actual row
        neighbours = {
            index: [place for place, row in enumerate(candidates) if self._rows_equal(self.actual[index], row)]
            for index in indexes
        }
        for root in indexes:
            parent: dict[int, int] = {}  # candidate -> actual row that reached it
            queue = [root]
            free = None
            while queue and free is None:
                index = queue.pop()
                for place in neighbours[index]:
                    if place in parent:
                        continue
                    parent[place] = index
                    if place not in partner:
                        free = place
                        break
                    queue.append(partner[place])
            if free is None:
                return root
            previous = {index: place for place, index in partner.items()}
            # Flip the path: every actual row on it moves to the candidate through which it was left.
            flipped: int | None = free
            while flipped is not None:
                index = parent[flipped]
                partner[flipped] = index
                flipped = previous.get(index)
        return None

    def _all_exact(self) -> bool:
        return all(column.exact for column in self.columns)

    def _rows_equal(self, mine: Row, theirs: Row) -> bool:
        return all(column.equal(m, t) for column, m, t in zip(self.columns, mine, theirs, strict=True))

    def _row_difference(self, index: int, mine: Row, theirs: Row) -> str | None:
        for place, column in enumerate(self.columns):
            if not column.equal(mine[place], theirs[place]):
                return self._value_difference(index, place, mine, theirs)
        return None

    def _value_difference(self, index: int, column: int, mine: Row, theirs: Row) -> str:
        name, show = self.columns[column].name, self.columns[column].show
        return f"row {index}, column {column} ({name}): expected {show(theirs[column])}, got {show(mine[column])}"

    def _nearest(self, row: Row, candidates: list[Row]) -> str:
        """The expected row that shares most columns with `row`, which usually tells what went wrong."""
        best, best_score = None, 0
        for candidate in candidates[:1000]:
            score = sum(column.equal(m, t) for column, m, t in zip(self.columns, row, candidate, strict=True))
            if best_score < score < len(self.columns):
                best, best_score = candidate, score
        return "" if best is None else f"; the nearest expected row is {self._show(best)}"

    def _show(self, row: Row) -> str:
        return _show_row(row, self.columns)


def _first_surplus(actual: pa.Table, expected: pa.Table, columns: list[_Column]) -> str:
    """One example of a row that only one side has, where the columns allow to tell."""
    if not columns or not all(column.exact for column in columns):
        return ""
    mine, theirs = _rows(actual, columns), _rows(expected, columns)
    longer, shorter, word = (mine, theirs, "unexpected") if len(mine) > len(theirs) else (theirs, mine, "missing")
    remaining: dict[Row, int] = defaultdict(int)
    for row in shorter:
        remaining[row] += 1
    for row in longer:
        remaining[row] -= 1
        if remaining[row] < 0:
            return f"; {word}: {_show_row(row, columns)}"
    return ""


def _rows(table: pa.Table, columns: list[_Column]) -> list[Row]:
    if not columns:
        return [()] * table.num_rows
    values = [
        [None if value is None else column.convert(value) for value in _python_values(array)]
        for column, array in zip(columns, table.columns, strict=True)
    ]
    return list(zip(*values, strict=True))


def _python_values(array: pa.ChunkedArray) -> list[Any]:
    # As integers, because Python's date, time and timedelta hold neither nanoseconds nor years above 9999.
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _python_values(array.cast(kind.value_type))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
        integers = array.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()).to_pylist()
        return [None if value is None else value * factor for value in integers]
    if pa.types.is_date64(kind):
        return [None if value is None else value // 86_400_000 for value in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(kind):
        return array.cast(pa.int32()).to_pylist()
    return array.to_pylist()


def _compare_types(actual: pa.Field, expected: pa.Field) -> _Column | str:
    """How two columns are compared, or why they cannot be."""
    name = expected.name
    mine, theirs = _value_type(actual.type), _value_type(expected.type)
    my_family, their_family = _family(mine), _family(theirs)
    if my_family == "null" or their_family == "null":
        # A column of nothing but NULL has no type of its own in some engines.
        return _Column(name, _identity, lambda m, t: m is None and t is None, _show, exact=False)
    if my_family == "exact number" and their_family == "float":
        half_unit = Decimal(5).scaleb(-_scale(mine) - 1, _CONTEXT) if pa.types.is_decimal(mine) else None
        if half_unit is None:
            return f"expected type {expected.type}, got {actual.type}"
        return _Column(name, _identity, lambda m, t: _decimal_near_float(m, t, half_unit), _show, exact=False)
    if my_family != their_family:
        return f"expected type {expected.type}, got {actual.type}"
    if my_family in ("nested", "float"):
        return _Column(name, _plain, _near, _show, exact=False)
    return _Column(name, _plain, _identical, _SHOW.get(my_family, _show), exact=True)


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _family(kind: pa.DataType) -> str:
    types = pa.types
    tests: tuple[tuple[str, tuple[Callable[[pa.DataType], bool], ...]], ...] = (
        ("null", (types.is_null,)),
        ("boolean", (types.is_boolean,)),
        ("exact number", (types.is_integer, types.is_decimal)),
        ("float", (types.is_floating,)),
        ("string", (types.is_string, types.is_large_string, types.is_string_view)),
        ("binary", (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)),
        ("date", (types.is_date,)),
        ("time", (types.is_time,)),
        ("duration", (types.is_duration,)),
        ("nested", (types.is_nested,)),
    )
    if types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamp with time zone"
    for family, members in tests:
        if any(test(kind) for test in members):
            return family
    return str(kind)


def _scale(kind: pa.DataType) -> int:
    return int(kind.scale)


def _identity(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """Lists, structs and maps as tuples, so that rows are hashable."""
    if isinstance(value, dict):
        return tuple((key, _plain(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    return value


def _identical(mine: Any, theirs: Any) -> bool:
    return bool(mine == theirs)


def _near(mine: Any, theirs: Any) -> bool:
    """Equal, floats within the relative tolerance, also inside of lists and structs."""
    if isinstance(mine, tuple) and isinstance(theirs, tuple):
        return len(mine) == len(theirs) and all(_near(m, t) for m, t in zip(mine, theirs, strict=True))
    if isinstance(mine, float) and isinstance(theirs, float):
        if math.isnan(mine) or math.isnan(theirs):
            return math.isnan(mine) and math.isnan(theirs)
        return math.isclose(mine, theirs, rel_tol=RELATIVE_TOLERANCE, abs_tol=0.0)
    return bool(mine == theirs)


def _same_number(before: Any, after: Any) -> bool:
    if isinstance(before, float | tuple):
        return _near(before, after)
    return bool(before == after)


def _decimal_near_float(mine: Decimal | float | None, theirs: Decimal | float | None, half_unit: Decimal) -> bool:
    if mine is None or theirs is None:
        return mine is None and theirs is None
    if isinstance(mine, Decimal) == isinstance(theirs, Decimal):  # two values of one side: do they tie?
        return _same_number(mine, theirs)
    exact, inexact = (mine, theirs) if isinstance(mine, Decimal) else (theirs, mine)
    if not math.isfinite(inexact):
        return False
    reference = _CONTEXT.create_decimal_from_float(float(inexact))
    distance = _CONTEXT.abs(_CONTEXT.subtract(Decimal(exact), reference))
    tolerance = _CONTEXT.add(half_unit, _CONTEXT.multiply(_CONTEXT.abs(reference), _RELATIVE))
    return distance <= tolerance


def _precedes(before: Any, after: Any, descending: bool, nulls_last: bool) -> bool:
    if before is None or after is None:
        return (after is None) == nulls_last
    low, high = _sortable(before), _sortable(after)
    return low > high if descending else low < high


def _sortable(value: Any) -> tuple[int, Any]:
    """A total order over the values of one column: NULL, then numbers or texts, then NaN."""
    if value is None:
        return (0, 0)
    if isinstance(value, float) and math.isnan(value):
        return (2, 0)
    if isinstance(value, tuple):
        return (1, tuple(_sortable(item) for item in value))
    return (1, value)


def _show(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    return "NULL" if value is None else repr(value)


def _show_as(kind: pa.DataType, nanoseconds: int) -> Callable[[Any], str]:
    def show(value: Any) -> str:
        if value is None:
            return "NULL"
        text = pa.scalar(value // nanoseconds, kind).cast(pa.string()).as_py()
        rest = value % nanoseconds
        return f"{text} + {rest} ns" if rest else str(text)

    return show


_SHOW = {
    "date": _show_as(pa.date32(), 1),
    "time": _show_as(pa.time64("us"), 1000),
    "timestamp": _show_as(pa.timestamp("us"), 1000),
    "timestamp with time zone": _show_as(pa.timestamp("us", "UTC"), 1000),
}


def _show_row(row: Row, columns: list[_Column]) -> str:
    return "(" + ", ".join(column.show(value) for column, value in zip(columns, row, strict=True)) + ")"

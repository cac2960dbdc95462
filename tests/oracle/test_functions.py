"""Every scalar function against DuckDB: NULL, empty and extreme values, every type, and constants beside columns.

`EXAMPLES` has at least one call of every name in `SIGNATURES`; a test looks after that, and after a kernel for every function.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from exec.lower.functions import KERNELS
from planner.errors import QEngineError
from planner.expr.functions import FUNCTIONS
from planner.sql import bind
from planner.sql.signatures import SIGNATURES
from tests.lowered import run, run_duckdb, snapshots
from tests.plans import TestCatalog
from tpch.same_answer import same_answer

D = Decimal
DT = datetime.datetime
DAY = datetime.date

TABLES = {
    "s": pa.table(
        {
            "s": ["hello", "", None, "héllo wörld", "  a,b,,c ", "x", "12ab", "日本語", "A-b_C%", "aaa", "e\u0301a", "l\nm"],
            "u": ["l", "", "a", None, ",", "x", "2", "本", "_", "aa", "e", "\n"],
            "n": pa.array([2, 0, 1, 3, -1, -2, None, 5, 9223372036854775807, -9223372036854775808, 1, 4], pa.int64()),
            "m": pa.array([3, 1, 0, 2, -2, 7, 4, None, 6, 1, 2, 0], pa.int32()),
        }
    ),
    "n": pa.table(
        {
            "i": pa.array([1, -7, None, 0, 2147483647, -2147483648, 12, 100], pa.int32()),
            "b": pa.array([10, 3, -5, None, 9223372036854775807, -9223372036854775807, 18, 0], pa.int64()),
            "y": pa.array([1, -1, None, 127, -128, 0, 5, 2], pa.int8()),
            "g": pa.array([1, 255, None, 0, 7, 8, 9, 3], pa.uint8()),
            "d": pa.array(
                [D("1.25"), D("-2.50"), None, D("0.00"), D("12345678901.99"), D("-0.01"), D("0.49"), D("-99.99")],
                pa.decimal128(15, 2),
            ),
            "w": pa.array(
                [D("1.250"), D("-" + "9" * 31 + ".125"), None, D("0"), D("9" * 34 + ".999"), D("-0.001"), D("2.5"), D("1")],
                pa.decimal128(38, 3),
            ),
            "f": pa.array([1.5, float("nan"), None, -0.0, 1e300, -2.5, 0.25, float("-inf")]),
            "r": pa.array([0.5, float("nan"), None, -0.0, 1e30, -2.5, 3.0, float("inf")], pa.float32()),
        }
    ),
    "d": pa.table(
        {
            "d": [
                DAY(2024, 1, 31),
                DAY(1969, 12, 31),
                None,
                DAY(2000, 2, 29),
                DAY(1996, 12, 1),
                DAY(1, 1, 1),
                DAY(9999, 12, 31),
                DAY(2021, 1, 3),
            ],
            "e": [
                DAY(2024, 2, 1),
                DAY(1970, 1, 1),
                DAY(2000, 1, 1),
                None,
                DAY(1995, 12, 31),
                DAY(2000, 12, 31),
                DAY(2001, 1, 1),
                DAY(2021, 1, 4),
            ],
            "t": pa.array(
                [
                    DT(2024, 1, 31, 10, 11, 12, 345678),
                    DT(1969, 12, 31, 23, 59, 59, 999999),
                    None,
                    DT(2000, 2, 29),
                    DT(1996, 12, 1, 1),
                    DT(1, 1, 1, 0, 0, 1),
                    DT(9999, 12, 31, 23, 59, 59, 999500),
                    DT(2021, 1, 3, 12, 0, 0, 500),
                ],
                pa.timestamp("us"),
            ),
            "v": pa.array(
                [
                    DT(2024, 2, 1),
                    DT(1970, 1, 1),
                    DT(2000, 1, 1),
                    None,
                    DT(1995, 12, 31, 23),
                    DT(2000, 12, 31),
                    DT(2001, 1, 1),
                    DT(2021, 1, 3, 13),
                ],
                pa.timestamp("us"),
            ),
        }
    ),
}

EXAMPLES = {
    "s": [
        "left(s, 2)",
        "left(s, -2)",
        "left(s, 0)",
        "left(s, NULL)",
        "right(s, 2)",
        "right(s, -2)",
        "right(s, m)",
        "left(s, m)",
        "right(s, 0)",
        "replace(s, 'l', 'LL')",
        "replace(s, '', 'x')",
        "replace(s, u, '<>')",
        "replace(s, 'a', u)",
        "replace(s, 'a', '')",
        "translate(s, 'elo', 'ip')",
        "translate(s, u, 'z')",
        "lpad(s, 7, 'xy')",
        "lpad(s, m, 'ab')",
        "rpad(s, 7, 'xy')",
        "rpad(s, m, 'é')",
        "lpad(s, 6, 'é')",
        "rpad(s, 6, '-')",
        "lpad(s, 0, 'x')",
        "strpos(s, 'ö')",
        "strpos(s, '本')",
        "split_part(s, ',', 1)",
        "split_part(s, ',', 4)",
        "split_part(s, 'l', 40)",
        "lpad(s, 0, '')",
        "trim(s)",
        "ltrim(s)",
        "rtrim(s)",
        "trim(s, ' a')",
        "ltrim(s, 'hx ')",
        "rtrim(s, u)",
        "trim(s, u)",
        "ltrim(s, u)",
        "trim(s, '')",
        "trim(BOTH 'a' FROM s)",
        "trim(LEADING FROM s)",
        "strpos(s, u)",
        "strpos(s, 'l')",
        "instr(s, '')",
        "position('b' IN s)",
        "position(u IN s)",
        "reverse(s)",
        "repeat(s, 3)",
        "repeat(s, m)",
        "repeat(s, -1)",
        "split_part(s, ',', 2)",
        "split_part(s, ',', -1)",
        "split_part(s, u, m)",
        "split_part(s, '', 2)",
        "split_part(s, ',', 0)",
        "starts_with(s, u)",
        "starts_with(s, 'h')",
        "starts_with(s, '')",
        "prefix(s, u)",
        "s ^@ 'h'",
        "ends_with(s, u)",
        "suffix(s, 'c ')",
        "ends_with(s, 'o')",
        "contains(s, u)",
        "contains(s, 'll')",
        "contains(s, '')",
        "concat(s, u, n, m)",
        "concat(s)",
        "concat_ws('-', s, u, n)",
        "concat_ws(u, s, s)",
        "concat_ws(NULL, s)",
        "concat_ws(u, s, u, m)",
        "ascii(s)",
        "unicode(s)",
        "ord(s)",
        "chr(abs(m) + 100)",
        "chr(128512)",
        "length(s)",
        "len(s)",
        "char_length(s)",
        "character_length(s)",
        "strlen(s)",
        "bit_length(s)",
        "upper(s)",
        "ucase(s)",
        "lower(s)",
        "lcase(s)",
        "md5(s)",
        "hex(s)",
        "to_hex(u)",
        "hex(n)",
        "regexp_matches(s, 'l+')",
        "regexp_matches(s, '^H', 'i')",
        "regexp_matches(s, '\\w\\d')",
        "regexp_matches(s, 'l.m')",
        "regexp_matches(s, 'l.m', 's')",
        "regexp_matches(s, '[^\\w]')",
        "regexp_matches(s, '\\bw')",
        "regexp_matches(s, '[[:alpha:]][]-]')",
        "regexp_matches(s, NULL)",
        "regexp_matches(s, '')",
        "regexp_full_match(s, 'a+')",
        "regexp_full_match(s, 'a|aa|aaa')",
        "regexp_full_match(s, 'HELLO', 'i')",
        "s ~ 'h.*'",
        "s !~ 'h'",
        "regexp_replace(s, 'l', 'L')",
        "regexp_replace(s, '(l+)', '<\\1>', 'g')",
        "regexp_replace(s, '[a-c]', '$0', 'gi')",
        "regexp_replace(s, '(.)(.)', '\\2\\1')",
        "regexp_extract(s, '[a-z]+')",
        "regexp_extract(s, '([0-9])([0-9])', 2)",
        "regexp_extract(s, 'H(.)', 1, 'i')",
        "typeof(s)",
        "greatest(s, u)",
        "least(s, u, 'k')",
        "greatest(s, NULL)",
        "if(s > 'h', 1, 2)",
        "ifnull(s, 'none')",
        "nullif(s, u)",
        "s || left(s, 1)",
        "substr(s, 2, 2)",
    ],
    "n": [
        *[
            f"{name}({x})"
            for name in ("sign", "trunc", "typeof")
            for x in ("i", "b", "y", "g", "d", "w", "f", "r", "NULL::INTEGER")
        ],
        *[f"{name}({x})" for name in ("isnan", "isinf", "isfinite") for x in ("f", "r", "d", "i")],
        *[
            f"{name}(a.x)"
            for name in ("sqrt", "cbrt", "exp", "degrees", "radians", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh")
        ],
        "ln(f)",
        "log10(f)",
        "log2(f)",
        "log(f)",
        "log(2, f)",
        "log(10, f)",
        "log(3, i)",
        "sqrt(f)",
        "cbrt(f)",
        "exp(f)",
        "asin(i)",
        "acos(f)",
        "asin(f / 3)",
        "acos(0.25)",
        "atan2(f, i)",
        "atan2(i, -0.0::DOUBLE)",
        "power(f, 2)",
        "pow(i, 0.5)",
        "i ^ 2",
        "y ** 3",
        "power(d, y)",
        "pow(0, f)",
        "pi()",
        "even(f)",
        "even(d)",
        "even(i)",
        "sqrt(d)",
        "exp(r)",
        "degrees(f)",
        "radians(f)",
        "sin(f)",
        "cos(f)",
        "tan(f)",
        "atan(f)",
        "sinh(f)",
        "cosh(f)",
        "tanh(f)",
        "trunc(d, 1)",
        "trunc(w, 2)",
        "trunc(i, -2)",
        "trunc(d, -3)",
        "trunc(d, 5)",
        "trunc(b, -1)",
        "round(d, 1)",
        "ceiling(d)",
        "gcd(i, b)",
        "gcd(y, 6)",
        "greatest_common_divisor(i, y)",
        "lcm(y, 6)",
        "least_common_multiple(y, g)",
        "fmod(f, 2)",
        "fmod(i, 3)",
        "mod(i, 5)",
        "mod(d, 0.7)",
        "bit_count(i)",
        "bit_count(b)",
        "bit_count(g)",
        "bit_count(y)",
        "i & b",
        "i | y",
        "xor(i, b)",
        "~i",
        "~g",
        "y & 3",
        "g | 256",
        "i & NULL",
        "hex(i)",
        "to_hex(b)",
        "hex(y)",
        "hex(g)",
        "greatest(i, b)",
        "least(i, b, y)",
        "greatest(d, i)",
        "least(d, w)",
        "greatest(f, r, i)",
        "least(f, 0)",
        "greatest(i, 1.5)",
        "greatest(NULL, i)",
        "least(NULL, NULL)",
        "greatest(d, 0.125)",
        "least(w, f)",
        "if(i > 0, d, w)",
        "abs(y::INTEGER)",
        "nullif(i, 12)",
        "ifnull(i, b)",
        "typeof(i + b)",
        "typeof(d * w)",
        "coalesce(i, g)",
    ],
    "d": [
        *[
            f"{name}({x})"
            for name in (
                "year",
                "quarter",
                "month",
                "week",
                "weekofyear",
                "day",
                "dayofmonth",
                "dayofweek",
                "weekday",
                "isodow",
                "dayofyear",
                "isoyear",
                "yearweek",
                "decade",
                "century",
                "millennium",
                "epoch",
                "last_day",
                "dayname",
                "monthname",
                "epoch_ms",
                "epoch_us",
            )
            for x in ("d", "t")
        ],
        *[f"{name}(t)" for name in ("hour", "minute", "second", "millisecond", "microsecond")],
        *[f"date_part('{part}', t)" for part in ("year", "dow", "week", "hour", "century", "millisecond")],
        *[
            f"date_trunc('{part}', {x})"
            for part in (
                "millennium",
                "century",
                "decade",
                "year",
                "quarter",
                "month",
                "week",
                "day",
                "hour",
                "minute",
                "second",
                "millisecond",
                "microsecond",
            )
            for x in ("t", "d")
        ],
        "datetrunc('month', d)",
        "date_trunc('days', t)",
        "date_trunc('mon', t::TIMESTAMPTZ)",
        *[
            f"date_diff('{part}', {x}, {y})"
            for part in (
                "millennium",
                "century",
                "decade",
                "year",
                "quarter",
                "month",
                "week",
                "day",
                "hour",
                "minute",
                "second",
                "millisecond",
            )
            for x, y in (("d", "e"), ("t", "v"), ("e", "t"))
        ],
        "datediff('month', e, d)",
        "date_diff('microsecond', v, t)",
        "date_add(d, INTERVAL 1 MONTH)",
        "date_add(t, INTERVAL 1 DAY)",
        "make_date(2020, month(d), 1)",
        "make_date(year(d), 2, 28)",
        "make_timestamp(2020, month(t), 3, 4, 5, 6.789)",
        "make_timestamp(epoch_us(t))",
        "epoch_ms(1000 * day(d))",
        "to_timestamp(epoch(t))",
        "to_timestamp(1.5)",
        "to_timestamp(NULL)",
        "strftime(t, '%Y-%m-%d %H:%M:%S.%f')",
        "strftime(d, '%d/%m/%y %a %A %b %B %j')",
        "strftime(t, '%-d.%-m. %I %p %-H %-I %-M %-S %%')",
        "strftime('%Y', d)",
        "strftime(t, '%w %u %V %U %W %G %g')",
        "strftime(t, NULL)",
        "strftime(t, '%c|%x|%X|%n|%Z|%z')",
        "greatest(d, e)",
        "least(d, t)",
        "greatest(d, '2000-01-01')",
        "typeof(d)",
        "typeof(t)",
        "typeof(t::TIMESTAMPTZ)",
        "typeof(now())",
        "typeof(current_date)",
        "typeof(current_timestamp)",
        "typeof(localtimestamp)",
        "typeof(today())",
    ],
}

TRANSCENDENTAL = {
    "cbrt", "exp", "ln", "log10", "log2", "log", "power", "pow", "degrees", "radians", "sin", "cos", "tan", "asin", "acos",
    "atan", "atan2", "sinh", "cosh", "tanh",
}  # fmt: skip
"""Functions whose last bits are those of the mathematical library at hand."""

FAILING = {
    "lpad('x', 5, '')": "INVALID_ARGUMENT",
    "rpad(s, 50, '')": "INVALID_ARGUMENT",
    "chr(-1)": "INVALID_ARGUMENT",
    "chr(1114112)": "INVALID_ARGUMENT",
    "repeat(s || 'x', 9000000000)": "INVALID_ARGUMENT",
    "lcm(9223372036854775807, 2)": "OVERFLOW",
    "make_date(2021, 2, 29)": "INVALID_ARGUMENT",
    "make_date(2021, 13, 1)": "INVALID_ARGUMENT",
    "make_timestamp(2021, 1, 1, 25, 0, 0)": "INVALID_ARGUMENT",
    "to_timestamp(1e300)": "INVALID_ARGUMENT",
    "regexp_matches(s, '(')": "INVALID_ARGUMENT",
    "left(n, 2)": "TYPE_MISMATCH",
    "sqrt(s)": "TYPE_MISMATCH",
    "year(s)": "TYPE_MISMATCH",
    "left(s)": "SYNTAX",
    "prefix(s)": "WRONG_ARGUMENTS",
    "date_trunc('eon', DATE '2020-01-01')": "UNSUPPORTED",
    "regexp_matches(s, u)": "UNSUPPORTED",
    "strftime(DATE '2020-01-01', '%Q')": "UNSUPPORTED",
    "lefty(s, 1)": "UNKNOWN_FUNCTION",
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return snapshots(TABLES, str(tmp_path_factory.mktemp("tables")))


def _query(expression: str, table: str) -> str:
    if "a.x" in expression:
        return f"SELECT {expression} AS v FROM (VALUES (0.5), (0), (-0.75), (1), (NULL), (2.25)) a(x)"
    return f"SELECT {expression} AS v FROM {table}"


@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize(("table", "expression"), [(table, e) for table, group in EXAMPLES.items() for e in group])
def test_same_as_duckdb(table: str, expression: str, optimized: bool, tables) -> None:
    sql = _query(expression, table)
    actual, expected = run(sql, tables, optimized), run_duckdb(sql, TABLES)
    if expression.split("(", maxsplit=1)[0] in TRANSCENDENTAL or "^" in expression or "**" in expression:
        assert actual.schema.field(0).type == expected.schema.field(0).type
        for ours, theirs in zip(actual.column(0).to_pylist(), expected.column(0).to_pylist(), strict=True):
            assert _close(ours, theirs), (ours, theirs)
        return
    difference = same_answer(actual, expected, in_sequence=True)
    assert difference is None, difference


def _close(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return (math.isnan(ours) and math.isnan(theirs)) or math.isclose(ours, theirs, rel_tol=4e-15)


@pytest.mark.parametrize("expression", FAILING)
def test_failures(expression: str, tables) -> None:
    with pytest.raises(QEngineError) as failure:
        run(f"SELECT {expression} FROM s", tables)
    assert failure.value.code == FAILING[expression]
    with pytest.raises(QEngineError):
        run(f"SELECT {expression} FROM s WHERE n = 2", tables)


@pytest.mark.parametrize(
    "expression",
    [
        "lpad(s, 50, u)",
        "chr(n)",
        "make_date(2020, 2, n)",
        "repeat('x', n)",
        "lcm(n, 9223372036854775806)",
        "to_timestamp(n * 1.0)",
    ],
)
def test_what_is_not_evaluated_cannot_fail(expression: str, tables) -> None:
    guarded = (
        f"SELECT CASE WHEN n = 2 THEN {expression} END AS v, coalesce(s, {expression}::VARCHAR) FROM s WHERE n = 2 OR n < -9"
    )
    assert run(guarded, tables).num_rows == 2
    assert run(f"SELECT {expression} FROM s WHERE n = 2", tables).num_rows == 1


def test_the_time_is_that_of_the_statement(tables) -> None:
    first, again, day = (
        column[0].as_py() for column in run("SELECT now(), current_timestamp, current_date FROM s", tables).columns
    )
    assert first == again
    assert abs((first - datetime.datetime.now(datetime.UTC)).total_seconds()) < 60
    assert abs((day - datetime.date.today()).days) <= 1


def test_every_signature_has_an_example() -> None:
    text = " ".join(expression for group in EXAMPLES.values() for expression in group)
    operators = {"bit_and": " & ", "bit_or": " | ", "bit_not": "~", "iff": "if("}
    called = {name for name in SIGNATURES if f"{name}(" in text or operators.get(name, "\0") in text}
    assert called >= SIGNATURES.keys() - {"position", "nvl2"}


def test_every_function_has_a_kernel_and_is_called(tables) -> None:
    from planner.expr.nodes import Call
    from planner.tree import kind_mask, walk

    assert FUNCTIONS.keys() == KERNELS.keys()
    catalog = TestCatalog(tables)
    called = set()
    for table, group in EXAMPLES.items():
        for expression in group:
            for found in walk(bind(_query(expression, table), catalog).plan, kind_mask(Call)):
                assert isinstance(found, Call)
                called.add(found.function)
    elsewhere = {
        "add", "subtract", "negate", "integer_divide", "like", "round", "floor", "subtract_interval", "date_difference",
    }  # fmt: skip
    assert called | elsewhere >= FUNCTIONS.keys(), FUNCTIONS.keys() - called - elsewhere


def test_what_duckdb_does_not_have(tables) -> None:
    sql = "SELECT nvl2(s, u, 'none'), nvl(u, s), iff(s > 'h', 1, 2) FROM s WHERE s = 'héllo wörld' OR s = 'x' ORDER BY s"
    assert [column.to_pylist() for column in run(sql, tables).columns] == [[None, "x"], ["héllo wörld", "x"], [1, 1]]


def test_duckdb_has_no_initcap() -> None:
    with pytest.raises(duckdb.Error):
        run_duckdb("SELECT initcap('a')", {})

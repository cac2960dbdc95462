"""The table of scalar functions and aggregates: what every layer needs to know of each by its name.

The binder gives argument and result types (`planner.sql.signatures`), the executor the kernels (`exec.lower.functions`);
a test holds the three tables together.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function.

    `can_raise`: some arguments make it an error (apart from overflow of exact arithmetic, which analysis decides by type
    and interval). `strict`: NULL in any argument gives NULL, and only then.
    """

    name: str
    can_raise: bool = False
    strict: bool = True


FUNCTIONS = {
    function.name: function
    for function in (
        # Exact arithmetic raises on overflow unless intervals prove that it cannot.
        Function("add", can_raise=True),  # n-ary, one type
        Function("subtract", can_raise=True),
        Function("multiply", can_raise=True),  # two arguments; decimal result scale s1 + s2
        Function("divide", can_raise=True),  # DOUBLE / DOUBLE (by zero: NULL-free IEEE as in DuckDB), or DECIMAL / DECIMAL
        Function("integer_divide", can_raise=True),  # truncates toward zero; by zero is an error
        Function("modulo", can_raise=True),  # sign of the dividend; by zero is an error
        Function("negate", can_raise=True),
        Function("abs", can_raise=True),
        Function("concat"),  # n-ary ||
        Function("like"),  # text, pattern, escape character or empty string
        Function("extract"),  # part (lower-case text literal), date or timestamp
        Function("substring"),  # text, start (from 1, negative from the end), length (optional)
        Function("upper"),
        Function("lower"),
        Function("length"),
        Function("trim"),  # text, characters (optional, as for the next two)
        Function("ltrim"),
        Function("rtrim"),
        Function("left"),  # text, number of characters (negative: all but so many at the end)
        Function("right"),
        Function("replace"),
        Function("translate"),
        Function("lpad", can_raise=True),  # text, length, what is filled in: nothing is an error if something is needed
        Function("rpad", can_raise=True),
        Function("strpos"),  # from 1; 0 if it is not there
        Function("reverse"),
        Function("repeat", can_raise=True),  # too long a text is an error
        Function("split_part"),  # text, delimiter, number from 1, or from the end if negative
        Function("starts_with"),
        Function("ends_with"),
        Function("contains"),
        Function("concat_ws", strict=False),  # separator, texts: NULL only if the separator is
        Function("ascii"),  # the code of the first character; 0 of nothing
        Function("unicode"),  # the same; -1 of nothing
        Function("chr", can_raise=True),
        Function("strlen"),  # bytes
        Function("md5"),
        Function("hex"),
        Function("regexp_matches"),  # text, pattern (literal), options (optional literal)
        Function("regexp_full_match"),
        Function("regexp_replace"),  # text, pattern, replacement, options
        Function("regexp_extract"),  # text, pattern, group (optional), options
        Function("sqrt"),  # these give NaN where there is no result, as DuckDB does
        Function("cbrt"),
        Function("exp"),
        Function("ln"),
        Function("log10"),
        Function("log2"),
        Function("power"),
        Function("degrees"),
        Function("radians"),
        Function("sin"),
        Function("cos"),
        Function("tan"),
        Function("asin"),
        Function("acos"),
        Function("atan"),
        Function("atan2"),
        Function("sinh"),
        Function("cosh"),
        Function("tanh"),
        Function("even"),
        Function("fmod"),  # of floats, with the sign of the divisor
        Function("sign"),
        Function("trunc"),  # toward zero; digits (integer literal)
        Function("gcd", can_raise=True),
        Function("lcm", can_raise=True),
        Function("isnan"),
        Function("isinf"),
        Function("isfinite"),
        Function("bit_count"),
        Function("bit_and"),
        Function("bit_or"),
        Function("bit_xor"),
        Function("bit_not"),
        Function("greatest", strict=False),  # of the arguments that are not NULL
        Function("least", strict=False),
        Function("round"),  # half away from zero; digits (optional integer literal)
        Function("floor"),
        Function("ceil"),
        Function("coalesce", strict=False),
        Function("nullif", strict=False),
        Function("add_interval", can_raise=True),  # date or timestamp, interval: gives TIMESTAMP
        Function("subtract_interval", can_raise=True),
        Function("date_trunc"),  # part (literal), timestamp
        Function("date_diff"),  # part (literal), first, last
        Function("last_day"),
        Function("dayname"),
        Function("monthname"),
        Function("make_date", can_raise=True),
        Function("make_timestamp", can_raise=True),  # microseconds, or year to second
        Function("epoch_ms"),
        Function("epoch_us"),
        Function("strftime"),  # timestamp, format (literal)
        Function("to_timestamp", can_raise=True),  # seconds
        Function("date_difference"),  # DATE - DATE in days: BIGINT
    )
}


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """A function of a row's place among the rows of its partition. `never_null`: it gives no NULL.

    `by_peers`: rows that tie get equal results, so the order among them does not matter.
    """

    name: str
    never_null: bool = False
    by_peers: bool = False


WINDOW_FUNCTIONS = {
    function.name: function
    for function in (
        WindowFunction("row_number", never_null=True),
        WindowFunction("rank", never_null=True, by_peers=True),
        WindowFunction("dense_rank", never_null=True, by_peers=True),
        WindowFunction("percent_rank", never_null=True, by_peers=True),
        WindowFunction("cume_dist", never_null=True, by_peers=True),
        WindowFunction("ntile"),  # number of tiles (literal)
        WindowFunction("lag"),  # value, offset (literal), value where there is no such row
        WindowFunction("lead"),
        WindowFunction("first_value"),
        WindowFunction("last_value"),
        WindowFunction("nth_value"),  # value, number from 1 (literal)
    )
}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate function.

    `merge` names the aggregate that combines its partial results, or is None if it has to see all rows of a group at once.
    `empty_is_null`: no rows give NULL (else zero). `order_sensitive`: the result depends on the order of the rows.
    """

    name: str
    merge: str | None
    empty_is_null: bool = True
    order_sensitive: bool = False


AGGREGATES = {
    aggregate.name: aggregate
    for aggregate in (
        Aggregate("count_star", merge="sum_counts", empty_is_null=False),
        Aggregate("count", merge="sum_counts", empty_is_null=False),
        Aggregate("sum_counts", merge="sum_counts", empty_is_null=False),  # merges counts: BIGINT, no rows give 0
        Aggregate("sum", merge="sum"),
        Aggregate("min", merge="min"),
        Aggregate("max", merge="max"),
        Aggregate("avg", merge=None),  # split into sum and count by the physical planner
        Aggregate("any_value", merge="any_value", order_sensitive=True),
        Aggregate("bool_and", merge="bool_and"),
        Aggregate("bool_or", merge="bool_or"),
        Aggregate("stddev_samp", merge=None),
        Aggregate("var_samp", merge=None),
    )
}

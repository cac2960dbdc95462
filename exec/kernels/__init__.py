"""Functions over whole columns that Polars does not have, or has with other semantics than SQL.

    exact_division   decimals divided exactly, rounded half away from zero
    floats           division and rounding to the last bit
    parse_text       text to values, as DuckDB's casts read it
    format_text      values to text, as DuckDB's casts write it
    like             LIKE patterns to the cheapest test that decides them
    letter_case      upper and lower case, character by character
    key_filter       which values may be among a set of integers
    limits           whether integers keep within limits
    range_queries    a function of the values from one row to another, for many ranges of rows
    failure          how a kernel's error gets through Polars

They know no plans. All of them take and give whole batches; a loop over rows is the exception for the rare spelling.
"""

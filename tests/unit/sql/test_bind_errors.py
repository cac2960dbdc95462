"""Every error that the query itself can be at fault for: its code, what the carets mark, and the words that help."""

from __future__ import annotations

import pytest

from planner.errors import CODES, QueryError
from planner.sql import bind
from tests.unit.sql.small_tables import CATALOG, query

# code, query, the text under the carets (None: no position), part of the message
CASES = [
    ("SYNTAX", "SELECT i FROM t WHERE", "WHERE", "something is missing after 'WHERE'"),
    ("SYNTAX", "SELECT * FROM", "M", "unexpected end"),
    ("SYNTAX", "SELECT i i i FROM t", "i", "unexpected 'i'"),
    ("SYNTAX", "SELECT (i FROM t", "FROM", "')' is expected near 'FROM'"),
    ("SYNTAX", "SELECT i FROM t WHERE v = 'abc", "'", "the string is never closed"),
    ("SYNTAX", 'SELECT "i FROM t', '"', "the quoted name is never closed"),
    ("SYNTAX", "SELECT 1 /* why", "/*", "the comment is never closed"),
    ("SYNTAX", "SELECT upper() FROM t", ")", "of upper is missing"),
    ("SYNTAX", "SELECT", "T", "SELECT needs at least one expression"),
    ("SYNTAX", "SELECT *", "*", "* needs a FROM clause"),
    ("SYNTAX", "SELECT i FROM t GROUP", "GROUP", "something is missing after 'GROUP'"),
    ("SYNTAX", "SELECT i FROM t ORDER ; ", "ORDER", "something is missing after 'ORDER'"),
    ("SYNTAX", "SELECT i FROM t HAVING", "HAVING", "something is missing after 'HAVING'"),
    ("SYNTAX", "SELECT i FROM t ORDER LIMIT 3", "ORDER", "unexpected 'ORDER'"),
    ("SYNTAX", "SELECT i FROM t AS group", "group", "something is missing after 'group'"),
    ("SYNTAX", "SELECT i FROM (SELECT 1) AS select WHERE true", "select", "unexpected 'select'"),
    ("SYNTAX", "SELECT i desc FROM t", "desc", "unexpected 'desc'"),
    ("SYNTAX", "SELECT sum(i) OVER (ORDER BY b ROWS 1 FOLLOWING) FROM t", ..., "frame ends before it begins"),
    ("SYNTAX", "SELECT sum(i) OVER (ROWS BETWEEN CURRENT ROW AND 0 PRECEDING) FROM t", ..., "frame ends before it begins"),
    (
        "SYNTAX",
        "SELECT sum(i) OVER (ROWS BETWEEN UNBOUNDED FOLLOWING AND UNBOUNDED FOLLOWING) FROM t",
        ...,
        "frame ends before it begins",
    ),
    ("SYNTAX", "SELECT sum(i) OVER (w ORDER BY i) FROM t WINDOW w AS (ORDER BY b)", "w", "cannot have ORDER BY"),
    ("SYNTAX", "SELECT sum(i) OVER (w PARTITION BY i) FROM t WINDOW w AS (ORDER BY b)", "w", "cannot have PARTITION BY"),
    ("SYNTAX", "SELECT sum(i) OVER (w ROWS 1 PRECEDING) FROM t WINDOW w AS (ROWS 2 PRECEDING)", "w", "cannot be extended"),
    ("SYNTAX", "SELECT sum(i) OVER w FROM t WINDOW w AS (w)", "w", "made of itself"),
    ("SYNTAX", "SELECT i left FROM t", "left", "unexpected 'left'"),
    ("SYNTAX", "SELECT (SELECT 1 AS x, 2 end) FROM t", "end", "unexpected 'end'"),
    ("SYNTAX", "SELECT 1 FROM t LEFT JOIN u", "u", "needs a condition"),
    ("SYNTAX", "SELECT 1 FROM t JOIN u", "u", "needs a condition"),
    ("SYNTAX", "SELECT 1 FROM t, w JOIN (SELECT i FROM u) AS q", "i FROM u) AS q", "needs a condition"),
    ("EMPTY_QUERY", "", None, "no statement"),
    ("EMPTY_QUERY", " ; -- nothing\n", None, "no statement"),
    ("SEVERAL_STATEMENTS", "SELECT 1; SELECT 2", None, "2 were given"),
    ("TOO_DEEP", "SELECT " + "upper(" * 200 + "'a'" + ")" * 200, ..., "nested too deeply"),
    ("UNKNOWN_TABLE", "SELECT * FROM lineitems", "lineitems", "'lineitems' does not exist"),
    ("UNKNOWN_TABLE", "SELECT 1 FROM s.t", "s.t", "'s.t'"),
    ("UNKNOWN_TABLE", "SELECT tt.i FROM t", "tt", "did you mean 't'?"),
    ("UNKNOWN_TABLE", "SELECT u.* FROM t", "u.*", "'u'"),
    ("UNKNOWN_TABLE", "SELECT 1 FROM t AS other WHERE t.i = 1", "t", "'t'"),
    ("UNKNOWN_COLUMN", "SELECT i, amount FROM t", "amount", "'amount'"),
    ("UNKNOWN_COLUMN", "SELECT * EXCLUDE (tss) FROM t", "tss", "did you mean 'ts'?"),
    ("UNKNOWN_COLUMN", "SELECT * REPLACE (1 AS tss) FROM t", "1 AS tss", "did you mean 'ts'?"),
    ("UNKNOWN_COLUMN", "SELECT * RENAME (tss AS j) FROM t", "tss AS j", "did you mean 'ts'?"),
    ("UNKNOWN_TABLE", "SELECT * EXCLUDE (q.i) FROM t", "q", "'q'"),
    ("SYNTAX", "SELECT * EXCLUDE (i) REPLACE (1 AS i) FROM t", "1 AS i", "excluded from the star already"),
    ("SYNTAX", "SELECT * EXCLUDE (i) FROM (SELECT 1 AS i)", ..., "every column is excluded"),
    ("AMBIGUOUS_COLUMN", "SELECT i, i FROM t UNION BY NAME SELECT 1 AS i", ..., "one side of BY NAME"),
    ("COLUMN_COUNT", "SELECT 1 FROM t WHERE (i, b) < (1, 2, 3)", ..., "a row value"),
    ("WRONG_ARGUMENTS", "SELECT * FROM range(0, 5, 0)", "0", "a step that is not 0"),
    ("UNKNOWN_COLUMN", "SELECT tss FROM t", "tss", "did you mean 'ts'?"),
    ("UNKNOWN_COLUMN", "SELECT t.amount FROM t", "t.amount", "'t.amount'"),
    ("UNKNOWN_COLUMN", "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = kk)", "kk", "did you mean 'k'?"),
    ("UNKNOWN_COLUMN", "SELECT b FROM (SELECT i FROM t) AS q", "b", "'b'"),
    ("UNKNOWN_COLUMN", "SELECT 1 FROM t JOIN u USING (v)", "v", "'v'"),
    ("UNKNOWN_COLUMN", "SELECT 1 FROM t, u JOIN w ON w.i = d", "d", "'d'"),
    ("AMBIGUOUS_COLUMN", "SELECT i FROM t, u", "i", "'t.i' or 'u.i'"),
    ("AMBIGUOUS_COLUMN", "SELECT i FROM t JOIN u USING (i), w", "i", "'w.i'"),
    ("DUPLICATE_ALIAS", "SELECT 1 FROM t, u AS T", "u AS T", "'T' is used twice"),
    ("UNKNOWN_FUNCTION", "SELECT lenght(v) FROM t", "lenght(v)", "did you mean 'length'?"),
    ("WRONG_ARGUMENTS", "SELECT upper(v, v) FROM t", ")", "upper takes at most 1 argument, not 2"),
    ("WRONG_ARGUMENTS", "SELECT substring(v) FROM t", "v", "substring takes a text, a start"),
    ("WRONG_ARGUMENTS", "SELECT count(i, b) FROM t", "count(i, b)", "count takes at most one argument"),
    ("WRONG_ARGUMENTS", "SELECT date_part(v, dt) FROM t", "date_part(v, dt)", "a constant part"),
    ("TYPE_MISMATCH", "SELECT v + 1 FROM t", "v + 1", "operator + cannot be applied to VARCHAR and INTEGER"),
    ("TYPE_MISMATCH", "SELECT 1 FROM t WHERE v < i", "v < i", "VARCHAR and INTEGER"),
    ("TYPE_MISMATCH", "SELECT 1 FROM t WHERE dt = i", "dt = i", "DATE and INTEGER"),
    ("TYPE_MISMATCH", "SELECT 1 FROM t WHERE v", "v", "WHERE cannot be applied to VARCHAR"),
    ("TYPE_MISMATCH", "SELECT sum(v) FROM t", "sum(v)", "sum cannot be applied to VARCHAR"),
    ("TYPE_MISMATCH", "SELECT upper(i) FROM t", "i", "upper cannot be applied to INTEGER"),
    ("TYPE_MISMATCH", "SELECT CAST(i AS DATE) FROM t", "i", "CAST to DATE cannot be applied to INTEGER"),
    ("TYPE_MISMATCH", "SELECT CASE WHEN bo THEN v ELSE i END FROM t", "v ELSE i", "VARCHAR and INTEGER"),
    ("TYPE_MISMATCH", "SELECT 1 FROM t WHERE i IN (SELECT k FROM u)", "i IN (SELECT k FROM u)", "INTEGER and VARCHAR"),
    ("TYPE_MISMATCH", "SELECT i LIKE 'a' FROM t", "i", "operator LIKE cannot be applied to INTEGER"),
    ("TYPE_MISMATCH", "SELECT -v FROM t", "v", "operator -"),
    ("TYPE_MISMATCH", "SELECT year(i) FROM t", "i", "extract(year) cannot be applied to INTEGER"),
    ("TYPE_MISMATCH", "SELECT i FROM t WHERE d // 2 > 1", "d // 2", "operator //"),
    ("UNKNOWN_TYPE", "SELECT CAST(i AS intger) FROM t", "i", "did you mean 'INTEGER'?"),
    ("INVALID_LITERAL", "SELECT CAST('x' AS INTEGER)", "'x'", "'x' is not a valid INTEGER"),
    ("INVALID_LITERAL", "SELECT DATE '2020-02-30'", "'2020-02-30'", "is not a valid DATE"),
    ("INVALID_LITERAL", "SELECT 1 FROM t WHERE dt >= '1994-13-01'", "'1994-13-01'", "is not a valid DATE"),
    ("INVALID_LITERAL", "SELECT i IN (1, 'two') FROM t", "'two'", "is not a valid INTEGER"),
    ("INVALID_LITERAL", "SELECT CAST(300 AS TINYINT)", "300", "is not a valid TINYINT"),
    ("INVALID_LITERAL", "SELECT INTERVAL '3' fortnight", "'3'", "'3 FORTNIGHT' is not a valid INTERVAL"),
    ("INVALID_LITERAL", "SELECT INTERVAL '3 fortnights'", "INTERVAL", "is not a valid INTERVAL"),
    ("DECIMAL_TOO_WIDE", "SELECT CAST(i AS DECIMAL(39, 2)) FROM t", "i AS DECIMAL(39, 2)", "DECIMAL(39,2)"),
    ("DECIMAL_TOO_WIDE", "SELECT e*e*e*e*e*e*e*e*e*e FROM t", "e*e*e*e*e*e*e*e*e*e", "DECIMAL(38,36) * DECIMAL(10,4)"),
    ("NOT_GROUPED", "SELECT b FROM t GROUP BY ROLLUP (i)", "b", "'b'"),
    ("NOT_GROUPED", "SELECT grouping(b) FROM t GROUP BY ROLLUP (i)", "b", "'b'"),
    ("NOT_GROUPED", "SELECT b FROM t GROUP BY ()", "b", "'b'"),
    ("NOT_GROUPED", "SELECT i, b + 1 FROM t GROUP BY i", "b", "column 'b' must be in GROUP BY"),
    ("NOT_GROUPED", "SELECT * FROM t GROUP BY i", "*", "column 'b'"),
    ("NOT_GROUPED", "SELECT i, sum(b) FROM t", "i", "column 'i'"),
    ("NOT_GROUPED", "SELECT i FROM t GROUP BY i HAVING b > 1", "b", "column 'b'"),
    ("NOT_GROUPED", "SELECT i FROM t GROUP BY i ORDER BY t.b", "t.b", "column 'b'"),
    ("NOT_GROUPED", "SELECT i, (SELECT max(x) FROM u WHERE u.i = t.b) FROM t GROUP BY i", "t.b", "column 'b'"),
    ("MISPLACED_AGGREGATE", "SELECT i FROM t WHERE sum(i) > 1", "sum(i)", "not allowed in WHERE"),
    ("MISPLACED_AGGREGATE", "SELECT sum(max(i)) FROM t", "max(i)", "not allowed in an aggregate function"),
    ("MISPLACED_AGGREGATE", "SELECT 1 FROM t GROUP BY count(*)", "count(*)", "not allowed in GROUP BY"),
    ("MISPLACED_AGGREGATE", "SELECT sum(i) FROM t GROUP BY 1", "sum(i)", "not allowed in GROUP BY"),
    ("MISPLACED_AGGREGATE", "SELECT sum(i) AS total FROM t GROUP BY total", "sum(i)", "not allowed in GROUP BY"),
    ("MISPLACED_AGGREGATE", "SELECT 1 FROM t JOIN u ON max(t.i) = 1", "max(t.i)", "not allowed in a join condition"),
    ("MISPLACED_AGGREGATE", "VALUES (count(*))", "count(*)", "not allowed in VALUES"),
    ("MISPLACED_AGGREGATE", "SELECT 1 FROM t WHERE EXISTS (SELECT sum(t.i) FROM u)", "sum(t.i)", "not allowed in WHERE"),
    (
        "MISPLACED_WINDOW",
        "SELECT rank() OVER (ORDER BY i) AS r, count(*) FROM t GROUP BY r",
        "rank() OVER (ORDER BY i)",
        "not allowed in GROUP BY",
    ),
    (
        "MISPLACED_WINDOW",
        "SELECT rank() OVER (ORDER BY i) AS r, count(*) FROM t GROUP BY ALL",
        "rank() OVER (ORDER BY i)",
        "not allowed in GROUP BY",
    ),
    (
        "MISPLACED_WINDOW",
        "SELECT 1 FROM t WHERE row_number() OVER (ORDER BY i) = 1",
        "row_number() OVER (ORDER BY i)",
        "not allowed in WHERE",
    ),
    (
        "MISPLACED_WINDOW",
        "SELECT sum(rank() OVER (ORDER BY i)) FROM t",
        "rank() OVER (ORDER BY i)",
        "not allowed in an aggregate function",
    ),
    (
        "MISPLACED_WINDOW",
        "SELECT i FROM t GROUP BY i HAVING rank() OVER (ORDER BY i) = 1",
        "rank() OVER (ORDER BY i)",
        "not allowed in HAVING",
    ),
    (
        "MISPLACED_WINDOW",
        "SELECT sum(rank() OVER (ORDER BY i)) OVER () FROM t",
        "rank() OVER (ORDER BY i)",
        "not allowed in a window function",
    ),
    ("INVALID_ORDINAL", "SELECT i, b FROM t ORDER BY 3", "3", "ORDER BY position 3 is not between 1 and 2"),
    ("INVALID_ORDINAL", "SELECT i FROM t GROUP BY 0", "0", "GROUP BY position 0 is not between 1 and 1"),
    ("COLUMN_COUNT", "SELECT (SELECT i, b FROM t)", "i, b FROM t", "is 2, not 1"),
    ("COLUMN_COUNT", "SELECT 1 FROM t WHERE i IN (SELECT i, b FROM t)", "i, b FROM t", "is 2, not 1"),
    ("COLUMN_COUNT", "SELECT 1 FROM (SELECT 1) AS q(a, b)", "q(a, b)", "the number of columns of table 'q' is 1, not 2"),
    ("COLUMN_COUNT", "WITH c(a, b) AS (SELECT 1) SELECT * FROM c", "c(a, b)", "table 'c'"),
    ("COLUMN_COUNT", "VALUES (1, 2), (3)", "3", "of a row of VALUES is 1"),
    ("INVALID_LIMIT", "SELECT i FROM t LIMIT -1", "1", "LIMIT must be a constant integer"),
    ("INVALID_LIMIT", "SELECT i FROM t LIMIT i", "i", "LIMIT"),
    ("INVALID_LIMIT", "SELECT i FROM t OFFSET 1.5", "1.5", "OFFSET"),
    ("MISSING_PARAMETER", "SELECT i FROM t WHERE i = $low", "$low", "parameter $low has no value"),
]


@pytest.mark.parametrize(("code", "text", "marked", "words"), CASES)
def test_error(code, text, marked, words):
    with pytest.raises(QueryError) as raised:
        query(text)
    assert raised.value.code == code
    assert words in raised.value.message
    position = raised.value.position
    if marked is None:
        assert position is None
    elif marked is not ...:
        assert position is not None
        assert text[position.start : position.end] == marked


def test_unknown_dialect_proposes_the_nearest():
    with pytest.raises(QueryError) as raised:
        bind("SELECT 1", CATALOG, "postgress")
    assert raised.value.code == "UNKNOWN_DIALECT"
    assert "did you mean 'postgres'?" in str(raised.value)


def test_the_caret_stands_under_the_culprit():
    with pytest.raises(QueryError) as raised:
        query("SELECT i,\n       amuont\nFROM t")
    assert str(raised.value).splitlines()[1:] == ["LINE 2:        amuont", "               ^^^^^^"]


def test_every_code_of_the_binder_is_here():
    """The codes of QueryError that no SQL text can cause are raised by the session."""
    elsewhere = {
        "UNKNOWN_DIALECT",
        "UNKNOWN_PARAMETER",
        "UNKNOWN_PREPARED",
        "UNSUPPORTED",
        "INVALID_SETTING",
        "UNSUPPORTED_VALUE",
    }
    elsewhere |= {"UNKNOWN_SETTING", "UNKNOWN_RULE"}
    codes = {code for code, (cls, _) in CODES.items() if issubclass(cls, QueryError)}
    assert codes == {code for code, *_ in CASES} | elsewhere

"""How many rows of a table a filter keeps: what statistics of single columns can say, and what only a sample of rows can.

A filter over one column is answered by its distribution, apart from a rare value of a skewed column: rare values are not equally
rare. Everything else (LIKE, expressions, comparisons of columns, disjunctions, and any conjunction, whose parts may depend on
each other) is evaluated on the sample, the whole filter at once. Only columns whose values ascend through the table are left out
of that: a sample of a few places of the table has none of most of their values, but the row groups tell where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.analysis.column_shares import UNSEEN, value_share
from planner.analysis.estimates import ColumnEstimate
from planner.analysis.free_columns import free_columns
from planner.analysis.selectivity import Predicates, statistic_value
from planner.catalog import Certainty
from planner.expr.nodes import ColumnRef, Compare, CompareOp, Expr, InList, IsNull, Literal, Not, conjunction, conjuncts
from planner.logical.nodes import Scan


def filter_share(scan: Scan, predicate: Expr, columns: Mapping[int, ColumnEstimate]) -> tuple[float, Certainty]:
    """The share of the table's rows for which a predicate is true."""
    terms = conjuncts(predicate)
    statistics = scan.table.statistics
    predicates = Predicates(columns)
    if statistics is None or statistics.sample is None or _about_one_column(terms, columns):
        return predicates.selectivity_of_all(terms), _certainty(predicates)
    placed = [term for term in terms if _is_simple(term) and _is_clustered(term, columns)]
    others = [term for term in terms if term not in placed] if placed else terms
    share = predicates.selectivity_of_all(placed)
    if not others:
        return share, _certainty(predicates)
    sample = statistics.sample
    matching = sample.count(conjunction(others), {column.id: position for column, position in scan.output})
    if matching is None:
        return share * predicates.selectivity_of_all(others), _certainty(predicates)
    if matching or sample.rows >= scan.table.rows:
        return share * matching / max(sample.rows, 1), _certainty(predicates)
    unseen = min(Predicates(columns).selectivity_of_all(others), UNSEEN / max(sample.rows, 1))
    return share * unseen, _certainty(predicates)


def _certainty(predicates: Predicates) -> Certainty:
    return Certainty.UNKNOWN if predicates.guessed else Certainty.ESTIMATED


def _about_one_column(terms: Sequence[Expr], columns: Mapping[int, ColumnEstimate]) -> bool:
    """Whether statistics of one column answer all of it."""
    if not all(map(_is_simple, terms)) or len({_column(term) for term in terms}) > 1:
        return False
    return not any(_is_rare_value(term, columns) for term in terms)


def _is_rare_value(term: Expr, columns: Mapping[int, ColumnEstimate]) -> bool:
    """Whether a column that has frequent values and others is compared with one of the others."""
    known = columns.get(_column(term))
    if known is None or known.distribution is None or known.distribution.clustered:
        return False
    if not (isinstance(term, Compare) and term.op is CompareOp.EQ and isinstance(term.right, Literal)):
        return False
    found = known.distribution
    value = statistic_value(term.right)
    if value is None or value_share(known, value) == 0.0:  # then it lies outside of the column's range
        return False
    return bool(found.common and found.bounds) and all(common != value for common, _ in found.common)


def _is_simple(term: Expr) -> bool:
    match term:
        case (
            Compare(left=ColumnRef(), right=Literal()) | IsNull(operand=ColumnRef()) | Not(operand=IsNull(operand=ColumnRef()))
        ):
            return True
        case InList(needle=ColumnRef()):
            return all(isinstance(option, Literal) for option in term.options)
    return False


def _column(term: Expr) -> int:
    return next(iter(free_columns(term)))


def _is_clustered(term: Expr, columns: Mapping[int, ColumnEstimate]) -> bool:
    known = columns.get(_column(term))
    return known is not None and known.distribution is not None and known.distribution.clustered

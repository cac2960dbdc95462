"""Random SQL over the tables of `tests.harness.tables`: a seed gives a query, always the same one.

The queries are typed, so that nearly all of them bind, and calm columns outnumber extreme ones, so that most of them succeed.
Left out is what has no single answer: LIMIT without a total order below the outermost query, sums of floats that depend on
their order, and results that the documented differences to DuckDB make other values (`/` and `avg` of decimals) anywhere but
in the select list of the outermost query, where the comparison knows them.

Failing queries are not reduced by choosing other random numbers, which would give unrelated queries, but on their syntax tree
(`tests.harness.reduce`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.harness.tables import BLOB, BOOLEAN, DATE, DECIMAL, FLOAT, INTEGER, TEXT, TIME, TIMESTAMP, WORLDS, ZONED, columns_of
from tpch.same_answer import SortKey

_COMPARABLE = (INTEGER, INTEGER, DECIMAL, FLOAT, TEXT, DATE, TIMESTAMP)
_ALL = (*_COMPARABLE, BOOLEAN)


@dataclass(frozen=True, slots=True)
class RandomQuery:
    """A query and what has to be known to compare its answers.

    `uncut` is the same query without LIMIT and OFFSET. `flat` queries evaluate each of their expressions for each row of one
    table, whatever the order of evaluation, so that all engines have to raise for the same rows.
    """

    text: str
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0
    uncut: str | None = None
    in_sequence: bool = False
    flat: bool = False
    table: str = ""


@dataclass(frozen=True, slots=True)
class _Column:
    text: str
    family: str
    calm: bool


_Scope = Sequence[_Column]


@dataclass(frozen=True, slots=True)
class _Relation:
    """An item of a FROM clause; `name` is what USING may call its columns by."""

    text: str
    columns: tuple[_Column, ...]


def random_query(seed: int) -> RandomQuery:
    return _Generator(random.Random(seed)).query()


class _Generator:
    def __init__(self, generator: random.Random) -> None:
        self.random = generator
        self.world = generator.choices(range(len(WORLDS)), [6, 3, 1, 1])[0]
        self.names = 0
        self.ctes: list[tuple[str, tuple[_Column, ...]]] = []

    # ---------------------------------------------------------------------------------------------------------- choices

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def small(self) -> int:
        return self.random.choice([0, 1, 1, 2, 3, -1, 7])

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    # ---------------------------------------------------------------------------------------------------------- queries

    def query(self) -> RandomQuery:
        if self.chance(0.25):
            return self.flat_query()
        prefix = self.with_clause() if self.chance(0.2) else ""
        source, scope = self.source(2)
        families: list[str] = []
        grouped = self.chance(0.4)
        distinct = not grouped and self.chance(0.12)
        if grouped:
            items, body, families = self.grouped(source, scope, depth=2, outermost=True)
        else:
            families = [self.random.choice(_ALL) for _ in range(self.random.randint(1, 4))]
            items = [self.value(family, scope, 3) for family in families]
            if not distinct and self.chance(0.15):
                items.append(self.quotient(scope))
                families.append("quotient")
            body = f" FROM {source}{self.where(scope, 2)}"
        listed = ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))
        text = f"{prefix}SELECT {'DISTINCT ' if distinct else ''}{listed}{body}"
        if "quotient" not in families and not _wide(text) and self.chance(0.12):
            text += self.further_arms(families)
        return self.ordered(text, families)

    def further_arms(self, families: Sequence[str]) -> str:
        """Set operations with further queries of the same families of columns."""
        text = ""
        for _ in range(self.random.choice([1, 1, 2])):
            source, scope = self.source(0)
            items = ", ".join(self.value(family, scope, 1) for family in families)
            operator = self.pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT")
            text += f" {operator} SELECT {items} FROM {source}{self.where(scope, 1)}"
        return text

    def flat_query(self) -> RandomQuery:
        table = self.table_name()
        scope = tuple(_Column(c.name, c.family, c.calm) for c in columns_of(table[0]))
        items = ["id"]
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            items.append(
                self.quotient(scope) if kind < 0.1 else self.odd_value(scope) if kind < 0.35 else self.flat_value(scope)
            )
        listed = ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))
        return RandomQuery(f"SELECT {listed} FROM {table}", in_sequence=True, flat=True, table=table)

    def flat_value(self, scope: _Scope) -> str:
        return self.value(self.random.choice(_ALL), scope, 2, conditional=False)

    def ordered(self, text: str, families: list[str]) -> RandomQuery:
        kind = self.random.random()
        sortable = [number for number, family in enumerate(families) if family != "quotient"]
        if kind < 0.55 or not sortable:
            return RandomQuery(text)
        keys, order_by = [], []
        for number in self.random.sample(sortable, self.random.randint(1, len(sortable))):
            descending, nulls = self.chance(0.4), self.pick("", " NULLS FIRST", " NULLS LAST")
            name = self.pick(f"c{number}", f"c{number}", str(number + 1))
            keys.append(f"{name}{' DESC' if descending else self.pick('', ' ASC')}{nulls}")
            order_by.append((number, descending, nulls != " NULLS FIRST"))
        uncut = f"{text} ORDER BY {', '.join(keys)}"
        if kind < 0.75:
            return RandomQuery(uncut, tuple(order_by))
        limit, offset = self.random.choice([0, 1, 3, 5, 10, 1000]), self.random.choice([0, 0, 0, 1, 4])
        cut = f"{uncut} LIMIT {limit}{f' OFFSET {offset}' if offset else ''}"
        return RandomQuery(cut, tuple(order_by), limit, offset, uncut)

    def with_clause(self) -> str:
        parts = []
        for _ in range(self.random.randint(1, 2)):
            text, columns = self.derived(1)
            name = self.name("w")
            parts.append(f"{name} AS ({text})")
            self.ctes.append((name, columns))
        return f"WITH {', '.join(parts)} "

    # ------------------------------------------------------------------------------------------------------------- FROM

    def table_name(self) -> str:
        return f"{self.random.choices('tsu', [5, 3, 2])[0]}{self.world}"

    def source(self, depth: int) -> tuple[str, tuple[_Column, ...]]:
        """A FROM clause of one to three items."""
        first = self.relation(depth)
        text, columns = first.text, first.columns
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 1, 2])):
            other = self.relation(depth)
            kind = self.pick(
                "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "CROSS JOIN", ","
            )
            if kind in ("CROSS JOIN", ","):
                if self.world == 1:
                    kind = "JOIN"  # the cross product of the large tables would only cost time
                else:
                    text += f"{'' if kind == ',' else ' '}{kind} {other.text}"
                    columns += other.columns
                    if kind == ",":
                        return text, columns  # what follows would see nothing of the items before the comma
                    continue
            shared = self.shared_name(columns, other.columns) if self.chance(0.1) else None
            text += f" {kind} {other.text} "
            text += f"USING ({shared})" if shared else f"ON {self.join_condition(columns, other.columns)}"
            if kind not in ("SEMI JOIN", "ANTI JOIN"):
                columns += other.columns
        return text, columns

    def shared_name(self, left: _Scope, right: _Scope) -> str | None:
        """A name that one column on each side has, so that USING may say it."""
        mine = [column.text.split(".")[1] for column in left]
        names = [column.text.split(".")[1] for column in right if column.family in _ALL]
        fit = [name for name in names if mine.count(name) == 1 and self.family_of(left, name) == self.family_of(right, name)]
        return self.random.choice(fit) if fit else None

    def family_of(self, scope: _Scope, name: str) -> str:
        return next(column.family for column in scope if column.text.split(".")[1] == name)

    def join_condition(self, left: _Scope, right: _Scope) -> str:
        if self.world != 1 and self.chance(0.15):
            return self.comparison_of(left, right)
        terms = [self.equality_of(left, right)]
        if self.chance(0.2):
            terms.append(self.equality_of(left, right))
        if self.chance(0.35):
            both = [*left, *right]
            terms.append(self.pick(self.comparison_of(left, right), self.predicate(both, 0), self.predicate(both, 1)))
        return " AND ".join(terms)

    def equality_of(self, left: _Scope, right: _Scope) -> str:
        pairs = [(a, b) for a in left for b in right if _alike(a.family, b.family)]
        narrow = [
            pair for pair in pairs if pair[0].text.endswith((".g", ".i", ".k")) and pair[1].text.endswith((".g", ".i", ".k"))
        ]
        if not pairs:
            return "1 = 1"
        a, b = self.random.choice(narrow if narrow and self.chance(0.5) else pairs)
        if self.chance(0.1) and a.family == INTEGER:
            return f"{a.text} = {b.text} + {self.small()}" if b.calm else f"{a.text} = {b.text}"
        return f"{a.text} {'IS NOT DISTINCT FROM' if self.chance(0.05) else '='} {b.text}"

    def comparison_of(self, left: _Scope, right: _Scope) -> str:
        pairs = [(a, b) for a in left for b in right if _alike(a.family, b.family)]
        if not pairs:
            return "TRUE"
        a, b = self.random.choice(pairs)
        return f"{a.text} {self.pick('<', '<=', '>', '>=', '<>')} {b.text}"

    def relation(self, depth: int) -> _Relation:
        kind = self.random.random()
        alias = self.name("r")
        if self.ctes and kind < 0.4:
            name, columns = self.random.choice(self.ctes)
            return _Relation(f"{name} AS {alias}", _renamed(columns, alias))
        if kind < 0.2 and depth > 0:
            text, columns = self.derived(depth - 1)
            return _Relation(f"({text}) AS {alias}", _renamed(columns, alias))
        if kind < 0.23:
            rows = ", ".join(f"({self.pick('1', '2', 'NULL')}, {self.literal(TEXT)})" for _ in range(self.random.randint(1, 3)))
            return _Relation(
                f"(VALUES {rows}, (3, 'x')) AS {alias}(k, p)",
                (_Column(f"{alias}.k", INTEGER, True), _Column(f"{alias}.p", TEXT, True)),
            )
        table = self.table_name()
        return _Relation(
            f"{table} AS {alias}", tuple(_Column(f"{alias}.{c.name}", c.family, c.calm) for c in columns_of(table[0]))
        )

    def derived(self, depth: int) -> tuple[str, tuple[_Column, ...]]:
        """A query as a table: its columns are k, p and so on."""
        source, scope = self.source(depth)
        names = ["k", "p", "q"]
        kind = self.random.random()
        if kind < 0.35:
            items, body, families = self.grouped(source, scope, depth, outermost=False)
        else:
            families = [INTEGER, *(self.random.choice(_ALL) for _ in range(self.random.randint(0, 2)))]
            items = [self.value(family, scope, 1) for family in families]
            body = f" FROM {source}{self.where(scope, depth)}"
        items, families = items[:3], families[:3]
        distinct = "DISTINCT " if kind > 0.85 else ""
        listed = ", ".join(f"{item} AS {name}" for item, name in zip(items, names, strict=False))
        text = f"SELECT {distinct}{listed}{body}"
        if 0.35 < kind < 0.5:
            # The rows are those of one table, so that its key makes the order total and the cut certain.
            table, alias = self.table_name(), self.name("r")
            own = tuple(_Column(f"{alias}.{c.name}", c.family, c.calm) for c in columns_of(table[0]))
            items = [self.value(family, own, 1) for family in families]
            listed = ", ".join(f"{item} AS {name}" for item, name in zip(items, names, strict=False))
            text = (
                f"SELECT {listed} FROM {table} AS {alias}{self.where(own, 0)} ORDER BY {self.pick('', f'{alias}.g DESC, ')}"
                f"{alias}.id LIMIT {self.random.choice([0, 1, 4, 10])}"
            )
        elif not _wide(text) and self.chance(0.12):
            text += self.further_arms(families)
        return text, tuple(_Column(name, family, True) for name, family in zip(names, families, strict=False))

    # --------------------------------------------------------------------------------------------------------- grouping

    def grouped(self, source: str, scope: _Scope, depth: int, outermost: bool) -> tuple[list[str], str, list[str]]:
        """Items, the rest of the query, and the families of the items of a query with aggregates."""
        families = [self.random.choice((*_ALL, INTEGER)) for _ in range(self.random.choice([0, 1, 1, 2]))]
        keys = [_no_ordinal(self.column_or_value(family, scope)) for family in families]
        items, kinds = list(keys), list(families)
        for _ in range(self.random.randint(1, 3)):
            if outermost and self.chance(0.12):
                items.append(f"avg({self.column(DECIMAL, scope, calm=True)})")
                kinds.append("quotient")
                continue
            family = self.random.choice((INTEGER, INTEGER, DECIMAL, FLOAT, TEXT, DATE, BOOLEAN))
            aggregate = self.aggregate(family, scope)
            items.append(aggregate if outermost or family != DECIMAL else f"CAST({aggregate} AS DECIMAL(25, 4))")
            kinds.append(family)
        body = f" FROM {source}{self.where(scope, depth)}"
        if keys:
            positions = [str(number + 1) for number in range(len(keys))]
            body += f" GROUP BY {', '.join(positions if self.chance(0.15) else keys)}"
        grouped = [column for column in scope if column.text in keys]
        if grouped and depth > 0 and self.chance(0.12):
            body += f" HAVING {self.predicate(grouped, depth - 1)}"
        elif self.chance(0.25):
            family = self.random.choice((INTEGER, INTEGER, DECIMAL, DATE, TEXT))
            body += f" HAVING {self.aggregate(family, scope)} {self.pick('>', '<', '<>', '>=')} {self.literal(family)}"
        return items, body, kinds

    def aggregate(self, family: str, scope: _Scope) -> str:
        """An aggregate function whose result is of a family and does not depend on the order of the rows."""
        condition = f" FILTER (WHERE {self.predicate(scope, 0)})" if self.chance(0.15) else ""
        distinct = "DISTINCT " if self.chance(0.15) else ""
        match family:
            case "integer":
                kind = self.random.random()
                if kind < 0.25:
                    call = "count(*)"
                elif kind < 0.5:
                    call = f"count({distinct}{self.column_or_value(self.random.choice(_ALL), scope)})"
                elif kind < 0.8:
                    call = f"sum({distinct}{self.calm_integer(scope)})"
                else:
                    call = f"{self.pick('min', 'max')}({distinct}{self.column_or_value(INTEGER, scope)})"
            case "decimal":
                argument = self.column(DECIMAL, scope, calm=True)
                if self.chance(0.3):
                    argument = f"{argument} * {self.pick('2', '1.5', '(1 - 0.05)')}"
                call = f"{self.pick('sum', 'sum', 'min', 'max')}({distinct}{argument})"
            case "float":
                function = self.pick("sum", "avg", "min", "max", "avg", "stddev", "var_samp")
                if function in ("stddev", "var_samp"):
                    call = f"{function}({self.column(INTEGER, scope, calm=True)})"
                elif function in ("min", "max"):
                    call = f"{function}({distinct}{self.column_or_value(FLOAT, scope)})"
                else:
                    argument = (
                        self.column(FLOAT, scope, calm=True) if self.chance(0.5) else self.column(INTEGER, scope, calm=True)
                    )
                    call = f"avg({distinct}{argument})" if function == "avg" else f"sum({self.column(FLOAT, scope, calm=True)})"
            case "boolean":
                call = f"{self.pick('bool_and', 'bool_or')}({self.predicate(scope, 0)})"
            case _:
                call = f"{self.pick('min', 'max')}({distinct}{self.column_or_value(family, scope)})"
        return call + condition

    def calm_integer(self, scope: _Scope) -> str:
        column = self.column(INTEGER, scope, calm=True)
        kind = self.random.random()
        if kind < 0.6:
            return column
        if kind < 0.75:
            return f"CASE WHEN {self.predicate(scope, 0)} THEN {column} ELSE {self.small()} END"
        return f"{column} {self.pick('+', '-', '*')} {self.pick('1', '2', '3')}"

    # ------------------------------------------------------------------------------------------------------- conditions

    def where(self, scope: _Scope, depth: int) -> str:
        if self.chance(0.35):
            return ""
        return " WHERE " + " AND ".join(self.predicate(scope, depth) for _ in range(self.random.choice([1, 1, 2])))

    def predicate(self, scope: _Scope, depth: int) -> str:
        """A condition; with `depth` it may hold others and subqueries."""
        kind = self.random.random()
        if depth <= 0 or kind < 0.45:
            return self.simple_predicate(scope)
        if kind < 0.6:
            return f"({self.predicate(scope, depth - 1)} {self.pick('OR', 'OR', 'AND')} {self.predicate(scope, depth - 1)})"
        if kind < 0.68:
            return f"NOT ({self.predicate(scope, depth - 1)})"
        if kind < 0.8:
            return f"{self.pick('', 'NOT ')}EXISTS ({self.subquery(scope, depth - 1, self.random.choice(_ALL))})"
        if kind < 0.92:
            family = self.random.choice(_COMPARABLE)
            operator = self.pick("IN", "IN", "NOT IN", "NOT IN", "= ANY", "<> ALL", "> ANY", "<= ALL", "<> ANY", "= ALL")
            return f"{self.column_or_value(family, scope)} {operator} ({self.subquery(scope, depth - 1, family)})"
        family = self.random.choice((INTEGER, INTEGER, DECIMAL, FLOAT, TEXT, DATE))
        operator = self.pick("=", "<", ">", "<>", ">=")
        return f"{self.column_or_value(family, scope)} {operator} ({self.scalar_subquery(scope, depth - 1, family)})"

    def simple_predicate(self, scope: _Scope) -> str:
        kind = self.random.random()
        family = self.random.choice(_COMPARABLE)
        left = self.column_or_value(family, scope)
        if kind < 0.4:
            operator = self.pick("=", "=", "<>", "<", "<=", ">", ">=")
            return f"{left} {operator} {self.literal(family) if self.chance(0.6) else self.column_or_value(family, scope)}"
        if kind < 0.5:
            return f"{left} IS {self.pick('', 'NOT ')}NULL"
        if kind < 0.6:
            options = ", ".join(self.literal(family) for _ in range(self.random.randint(1, 3)))
            return f"{left} {self.pick('', 'NOT ')}IN ({options}{', NULL' if self.chance(0.15) else ''})"
        if kind < 0.68:
            return f"{left} {self.pick('', 'NOT ')}BETWEEN {self.literal(family)} AND {self.literal(family)}"
        if kind < 0.76:
            other = self.literal(family) if self.chance(0.5) else self.column_or_value(family, scope)
            return f"{left} IS {self.pick('', 'NOT ')}DISTINCT FROM {other}"
        if kind < 0.88:
            like = f"{self.pick('', 'NOT ')}{self.pick('LIKE', 'LIKE', 'ILIKE')}"
            pattern = self.pick("'a%'", "'%b'", "'%b%'", "'_'", "'%'", "''", "'a_c'", "'%a%b%'", "'ä%'", r"'a\%b\_c'", "'%__'")
            escape = r" ESCAPE '\'" if "\\" in pattern else ""
            return f"{self.column(TEXT, scope)} {like} {pattern}{escape}"
        if kind < 0.95:
            booleans = [c.text for c in scope if c.family == BOOLEAN]
            if booleans:
                return f"{self.random.choice(booleans)}{self.pick('', ' IS TRUE', ' IS NOT FALSE', ' IS NOT TRUE', ' = TRUE')}"
        if self.chance(0.3):
            extreme = [c for c in scope if c.family in (TIME, ZONED, BLOB)]
            if extreme:
                chosen = self.random.choice(extreme)
                same = [c.text for c in extreme if c.family == chosen.family]
                return f"{chosen.text} {self.pick('=', '<', '>=', 'IS DISTINCT FROM')} {self.random.choice(same)}"
        return self.pick("TRUE", "FALSE", "NULL IS NULL", "1 = 2", "NULL = 1")

    # ------------------------------------------------------------------------------------------------------- subqueries

    def correlation(self, inner: _Scope, outer: _Scope) -> str:
        return self.equality_of(inner, outer) if self.chance(0.75) else self.comparison_of(inner, outer)

    def subquery(self, outer: _Scope, depth: int, family: str) -> str:
        """A query of one column, correlated more often than not."""
        source, scope = self.source(0)
        terms = [self.correlation(scope, outer)] if self.chance(0.6) else []
        if self.chance(0.4):
            terms.append(self.predicate([*scope, *outer] if self.chance(0.2) else scope, depth))
        where = f" WHERE {' AND '.join(terms)}" if terms else ""
        if self.chance(0.15):
            key = self.column(family, scope)
            return f"SELECT {key} FROM {source}{where} GROUP BY {key} HAVING count(*) > {self.random.randint(0, 2)}"
        return f"SELECT {self.column_or_value(family, scope)} FROM {source}{where}"

    def scalar_subquery(self, outer: _Scope, depth: int, family: str) -> str:
        """A query of one value: an aggregate without GROUP BY, or a row found by its key."""
        source, scope = self.source(0)
        if self.chance(0.15):
            table, alias = self.table_name(), self.name("r")
            own = tuple(_Column(f"{alias}.{c.name}", c.family, c.calm) for c in columns_of(table[0]))
            item, key = self.column_or_value(family, own), self.column(INTEGER, outer)
            return f"SELECT {item} FROM {table} AS {alias} WHERE {alias}.id = {key}"
        terms = [self.correlation(scope, outer)] if self.chance(0.7) else []
        if self.chance(0.3):
            terms.append(self.predicate([*scope, *outer] if self.chance(0.2) else scope, depth))
        where = f" WHERE {' AND '.join(terms)}" if terms else ""
        having = f" HAVING count(*) > {self.random.randint(0, 2)}" if self.chance(0.1) else ""
        aggregate = self.aggregate(family, scope)
        item = f"CAST({aggregate} AS DECIMAL(25, 4))" if family == DECIMAL else aggregate
        return f"SELECT {item} FROM {source}{where}{having}"

    # ----------------------------------------------------------------------------------------------------------- values

    def column(self, family: str, scope: _Scope, calm: bool | None = None) -> str:
        """A column of a family, or a constant if the scope has none."""
        wanted = [c.text for c in scope if c.family == family and (calm is None or c.calm == calm)]
        return self.random.choice(wanted) if wanted else self.literal(family)

    def any_column(self, family: str, scope: _Scope) -> str:
        # Decimals that need more than 38 digits together lose digits in DuckDB and are errors in our engine.
        return self.column(family, scope, calm=True if family == DECIMAL or self.chance(0.7) else None)

    def column_or_value(self, family: str, scope: _Scope) -> str:
        if self.chance(0.75):
            return self.column(family, scope, calm=True if self.chance(0.7) else None)
        return self.value(family, scope, 1)

    def literal(self, family: str) -> str:
        match family:
            case "integer":
                return str(self.random.choice([0, 1, 1, 2, 3, -1, 7, 19, 300, -129, 2**31, -(2**63), 2**63 - 1]))
            case "decimal":
                return self.pick("0.00", "1.5", "2.50", "-0.005", "99.99", "0.1", "1234567890123456.123")
            case "float":
                return self.pick("1e0", "2.5e0", "-3e-1", "'nan'::DOUBLE", "0e0", "1e300", "'inf'::DOUBLE", "'-0.0'::DOUBLE")
            case "text":
                return self.pick("''", "'a'", "'ab'", "'B a'", "'ä'", "'it''s'", "'12'", "'☃'")
            case "boolean":
                return self.pick("TRUE", "FALSE")
            case "date":
                return self.pick(
                    "DATE '2020-01-01'", "DATE '2020-12-31'", "DATE '2000-02-29'", "DATE '9999-12-31'", "DATE '0001-01-01'"
                )
            case "timestamp":
                return self.pick("TIMESTAMP '2020-01-02 12:30:15'", "TIMESTAMP '1969-12-31 23:59:59.999999'")
        return "NULL"

    def value(self, family: str, scope: _Scope, depth: int, conditional: bool = True) -> str:
        """An expression of a family. Without `conditional` no part of it may be left unevaluated."""
        if depth <= 0 or self.chance(0.3):
            return self.any_column(family, scope) if self.chance(0.85) else self.literal(family)
        kind = self.random.random()
        if kind < 0.25 and conditional:
            return self.choice_of(family, scope, depth)
        if kind < 0.33 and conditional and depth > 1:
            wanted = family if family != TIMESTAMP else DATE
            return f"({self.scalar_subquery(scope, depth - 2, wanted)})"
        return self.operation(family, scope, depth - 1, conditional)

    def choice_of(self, family: str, scope: _Scope, depth: int) -> str:
        first, second = self.value(family, scope, depth - 1), self.value(family, scope, depth - 1)
        kind = self.random.random()
        if kind < 0.4:
            otherwise = f" ELSE {second}" if self.chance(0.7) else ""
            return f"CASE WHEN {self.predicate(scope, 0)} THEN {first}{otherwise} END"
        if kind < 0.5:
            key = self.column(INTEGER, scope, calm=True)
            return f"CASE {key} WHEN {self.small()} THEN {first} WHEN {self.small()} THEN {second} END"
        if kind < 0.8:
            return f"coalesce({first}, {second})"
        return f"nullif({first}, {second})"

    def operation(self, family: str, scope: _Scope, depth: int, conditional: bool) -> str:
        def sub(wanted: str) -> str:
            return self.value(wanted, scope, depth, conditional)

        match family:
            case "integer":
                form = self.random.randrange(12)
                if form < 4:
                    return f"({sub(INTEGER)} {self.pick('+', '-', '*')} {sub(INTEGER)})"
                if form < 6:
                    operator = self.pick("//", "%")
                    divisor = self.pick("2", "3", "-7", f"nullif({sub(INTEGER)}, 0)" if conditional else "10")
                    return f"({sub(INTEGER)} {operator} {divisor})"
                if form == 6:
                    return self.pick(f"length({sub(TEXT)})", f"abs({sub(INTEGER)})", f"(- {self.column(INTEGER, scope)})")
                if form == 7:
                    part = self.pick("year", "month", "day", "quarter", "week", "dow", "isodow", "doy")
                    return f"extract({part} FROM {sub(self.pick(DATE, TIMESTAMP))})"
                if form == 8:
                    part = self.pick("hour", "minute", "second", "millisecond", "microsecond")
                    return f"extract({part} FROM {sub(TIMESTAMP)})"
                if form == 9:
                    return f"CAST({self.pick(sub(DECIMAL), self.any_column(FLOAT, scope))} AS {self.pick('INTEGER', 'BIGINT')})"
                if form == 10:
                    kind = self.pick("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "UBIGINT")
                    return f"TRY_CAST({sub(self.pick(TEXT, INTEGER, DECIMAL, FLOAT, BOOLEAN))} AS {kind})"
                return f"({self.any_column(DATE, scope)} - {self.any_column(DATE, scope)})"
            case "decimal":
                form = self.random.randrange(9)
                if form < 3:
                    return f"({sub(DECIMAL)} {self.pick('+', '-')} {sub(self.pick(DECIMAL, INTEGER))})"
                if form < 5:
                    factor = self.pick("2", "1.5", "(1 - 0.25)", self.any_column(DECIMAL, scope))
                    return f"({self.any_column(DECIMAL, scope)} * {factor})"
                if form == 5:
                    return f"round({sub(DECIMAL)}, {self.pick('0', '1', '2')})"
                if form == 6:
                    return self.pick(f"abs({sub(DECIMAL)})", f"(- {sub(DECIMAL)})", f"({sub(DECIMAL)} % 0.7)")
                if form == 7:
                    return (
                        f"CAST({sub(self.pick(DECIMAL, INTEGER, DECIMAL))} AS DECIMAL({self.pick('25, 2', '18, 1', '25, 6')}))"
                    )
                return f"TRY_CAST({sub(self.pick(TEXT, FLOAT, DECIMAL))} AS DECIMAL({self.pick('10, 2', '20, 5', '3, 1')}))"
            case "float":
                form = self.random.randrange(8)
                if form < 3:
                    return f"({sub(FLOAT)} {self.pick('+', '-', '*', '/')} {sub(self.pick(FLOAT, INTEGER))})"
                if form == 3:
                    return f"({sub(INTEGER)} / {sub(INTEGER)})"
                if form == 4:
                    return f"{self.pick('floor', 'ceil', 'abs', 'round')}({sub(FLOAT)})"
                if form == 5:
                    return f"CAST({sub(self.pick(INTEGER, DECIMAL))} AS DOUBLE)"
                if form == 6:
                    return f"TRY_CAST({sub(TEXT)} AS DOUBLE)"
                return self.pick(f"(- {sub(FLOAT)})", f"({sub(FLOAT)} % 2)", f"extract(epoch FROM {sub(TIMESTAMP)})")
            case "text":
                form = self.random.randrange(7)
                if form < 2:
                    return f"({sub(TEXT)} || {sub(self.pick(TEXT, INTEGER, BOOLEAN, DECIMAL, DATE))})"
                if form == 2:
                    return f"{self.pick('upper', 'lower', 'trim')}({sub(TEXT)})"
                if form == 3:
                    start = self.pick("1", "2", "-1", "0", "-3", self.column(INTEGER, scope, calm=True))
                    return f"substring({sub(TEXT)}, {start}{self.pick('', ', 1', ', 2', ', 0', ', -1')})"
                if form == 4:
                    return f"concat({sub(TEXT)}, {sub(self.pick(TEXT, INTEGER))}, '-')"
                if self.chance(0.15):  # no computed ones: DuckDB writes the sign of NaN
                    return f"CAST({self.any_column(FLOAT, scope)} AS VARCHAR)"
                return f"CAST({sub(self.pick(INTEGER, DECIMAL, DATE, TIMESTAMP, BOOLEAN))} AS VARCHAR)"
            case "boolean":
                form = self.random.randrange(4)
                if form == 0:
                    return (
                        f"({sub(BOOLEAN)} {self.pick('AND', 'OR')} {sub(BOOLEAN)})" if conditional else f"(NOT {sub(BOOLEAN)})"
                    )
                if form == 1:
                    wanted = self.random.choice(_COMPARABLE)
                    return f"({sub(wanted)} {self.pick('=', '<', '>=', '<>')} {sub(wanted)})"
                return f"({self.simple_predicate(scope)})"
            case "date":
                form = self.random.randrange(4)
                if form < 2:
                    return f"({self.column(DATE, scope, calm=True)} {self.pick('+', '-')} {self.pick('1', '31', '365')})"
                if form == 2:
                    return f"CAST({sub(TIMESTAMP)} AS DATE)"
                return f"TRY_CAST({sub(TEXT)} AS DATE)"
            case _:
                if self.chance(0.25):
                    return f"CAST({self.any_column(DATE, scope)} AS TIMESTAMP)"
                moment = self.column(self.pick(DATE, TIMESTAMP), scope, calm=True)
                span = self.pick("1 MONTH", "'1' DAY", "13 MONTH", "5 YEAR", "36 HOUR", "90 SECOND", "'2 day 02:00:00'")
                return f"({moment} {self.pick('+', '-')} INTERVAL {span})"

    def quotient(self, scope: _Scope) -> str:
        """A decimal division, for the outermost select list only: DuckDB's is a double."""
        divisor = self.pick("3", "0.7", "nullif(0.00, 0.00)", f"nullif({self.column(DECIMAL, scope, calm=True)}, 0)")
        return f"{self.column(DECIMAL, scope, calm=True)} / {divisor}"

    def odd_value(self, scope: _Scope) -> str:
        """An operation on extreme values that may raise."""
        extreme = [c for c in scope if not c.calm]
        if not extreme:
            return self.flat_value(scope)
        column = self.random.choice(extreme)
        x = column.text
        match column.family:
            case "integer":
                y = self.column(INTEGER, scope)
                forms = [
                    f"{x} + {y}",
                    f"{x} - {y}",
                    f"{x} * {y}",
                    f"{x} // {y}",
                    f"{x} % {y}",
                    f"abs({x})",
                    f"{x} + 1",
                    f"{x} * 2",
                ]
                forms += [
                    f"CAST({x} AS {k})"
                    for k in ("TINYINT", "INTEGER", "BIGINT", "UBIGINT", "DECIMAL(18, 2)", "DOUBLE", "VARCHAR")
                ]
                forms += [
                    f"{x} = {y}",
                    f"{x} < {y}",
                    f"{x} / {y}",
                    f"- {x}",
                    f"coalesce({x}, {y})",
                    f"{x} = {self.column(FLOAT, scope)}",
                ]
            case "decimal":
                y = self.column(DECIMAL, scope)
                forms = [
                    f"{x} + {y}",
                    f"{x} - {y}",
                    f"{x} * 2",
                    f"{x} * 0.5",
                    f"abs({x})",
                    f"round({x}, 1)",
                    f"- {x}",
                ]
                forms += [
                    f"CAST({x} AS {k})" for k in ("INTEGER", "BIGINT", "DECIMAL(38, 1)", "DECIMAL(38, 10)", "DOUBLE", "VARCHAR")
                ]
                forms += [
                    f"{x} = {y}",
                    f"{x} > {self.column(INTEGER, scope)}",
                    f"{x} < {self.column(FLOAT, scope)}",
                    f"floor({x})",
                    f"ceil({x})",
                    f"round({x})",
                ]
            case "float":
                y = self.column(FLOAT, scope)
                forms = [
                    f"{x} + {y}",
                    f"{x} * {y}",
                    f"{x} / {y}",
                    f"{x} - {y}",
                    f"{x} % {y}",
                    f"{x} = {y}",
                    f"{x} > {y}",
                    f"- {x}",
                ]
                forms += [f"{f}({x})" for f in ("abs", "floor", "ceil", "round")] + [f"round({x}, 2)"]
                forms += [
                    f"CAST({x} AS {k})" for k in ("INTEGER", "BIGINT", "DECIMAL(18, 2)", "DECIMAL(38, 5)", "REAL", "VARCHAR")
                ]
                forms += [f"TRY_CAST({x} AS {k})" for k in ("TINYINT", "UBIGINT", "DECIMAL(38, 0)", "REAL")]
            case "text":
                forms = [f"CAST({x} AS {k})" for k in ("INTEGER", "DOUBLE", "DATE", "BOOLEAN", "DECIMAL(5, 1)", "TIMESTAMP")]
                forms += [
                    f"TRY_CAST({x} AS {k})"
                    for k in ("INTEGER", "DOUBLE", "DATE", "BOOLEAN", "DECIMAL(5, 1)", "TIMESTAMP", "UTINYINT")
                ]
                forms += [f"{f}({x})" for f in ("upper", "lower", "length", "trim")] + [
                    f"substring({x}, 2, 2)",
                    f"{x} LIKE '%a%'",
                    f"{x} < 'b'",
                ]
            case "date":
                forms = [
                    f"{x} + INTERVAL 1 MONTH",
                    f"{x} - INTERVAL 1 DAY",
                    f"{x} + 1",
                    f"CAST({x} AS TIMESTAMP)",
                    f"CAST({x} AS VARCHAR)",
                ]
                forms += [f"extract({p} FROM {x})" for p in ("year", "week", "dow", "doy", "epoch", "quarter")] + [
                    f"{x} - DATE '2000-01-01'"
                ]
            case _:
                forms = [
                    f"{x} + INTERVAL 1 MONTH",
                    f"{x} - INTERVAL 1 DAY",
                    f"CAST({x} AS DATE)",
                    f"CAST({x} AS VARCHAR)",
                    f"CAST({x} AS TIME)",
                ]
                forms += [
                    f"extract({p} FROM {x})" for p in ("year", "week", "hour", "microsecond", "epoch", "second", "millisecond")
                ]
        return self.random.choice(forms)


def _alike(a: str, b: str) -> bool:
    """Whether columns of two families may be compared."""
    numbers = (INTEGER, DECIMAL, FLOAT)
    moments = (DATE, TIMESTAMP)
    return a == b or (a in numbers and b in numbers) or (a in moments and b in moments)


def _renamed(columns: tuple[_Column, ...], alias: str) -> tuple[_Column, ...]:
    return tuple(_Column(f"{alias}.{column.text}", column.family, column.calm) for column in columns)


def _no_ordinal(key: str) -> str:
    """A whole number in GROUP BY would name a select item."""
    return f"coalesce({key}, 0)" if key.lstrip("-").isdigit() else key


def _wide(text: str) -> bool:
    """Whether a query may give a decimal of 38 digits, which has no exact type in common with one of more decimal places."""
    return re.search(r"\.[hw]\b|\bsum\(", text) is not None

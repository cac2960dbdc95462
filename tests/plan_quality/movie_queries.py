"""Queries over the tables of `movies`, drawn by a seed: inner joins of 5 to 17 relations about a movie, or two linked ones.

A query is put together from *parts* that each say something of a movie: a company, a fact, a rating, a keyword, somebody in its
cast, another movie. A part is one to four relations with predicates of every sort. Where several tables refer to the same movie,
the equality that follows is sometimes written out as well, which makes the graph of the query cyclic. `SEEDS` are those whose
answers are neither empty nor too large.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Relation:
    """A table under an alias, with the predicates on it alone."""

    alias: str
    table: str
    predicates: tuple[str, ...] = ()


@dataclass(slots=True)
class JoinQuery:
    """Inner joins on equal columns: each of `joins` is two columns, `alias.column`."""

    name: str
    relations: list[Relation] = field(default_factory=list)
    joins: list[tuple[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The query in SQL."""
        tables = ", ".join(f"{relation.table} AS {relation.alias}" for relation in self.relations)
        terms = [f"{a} = {b}" for a, b in self.joins] + [term for one in self.relations for term in one.predicates]
        return f"SELECT count(*) AS n, min(m1.title) AS first, max(m1.production_year) AS latest\nFROM {tables}\nWHERE " + (
            "\n  AND ".join(terms)
        )

    def add(self, prefix: str, table: str, *predicates: str) -> str:
        """Another relation; its alias, by which `{}` in the predicates is replaced."""
        alias = f"{prefix}{sum(one.alias.rstrip('0123456789') == prefix for one in self.relations) + 1}"
        self.relations.append(Relation(alias, table, tuple(term.replace("{}", alias) for term in predicates)))
        return alias

    def join(self, a: str, b: str) -> None:
        self.joins.append((a, b))


MOVIES = (
    "{}.production_year BETWEEN 2000 AND 2010", "{}.production_year > 2005", "{}.title LIKE '%Ghost%'",
    "{}.production_year < 1990",
    "{}.title LIKE 'Blood of%'", "{}.production_year BETWEEN 1950 AND 2000 AND {}.title LIKE '%War%'",
)  # fmt: skip
COMPANIES = (
    "{}.country = 'us'", "{}.country <> 'us'", "{}.country IN ('de', 'fr', 'it')", "{}.name LIKE '%Film%'", "{}.country IS NULL",
    "{}.country = 'jp'", "({}.name LIKE 'War%' OR {}.country = 'se')",
)  # fmt: skip
NOTES = ("{}.note LIKE '%(co-production)%'", "{}.note IS NULL", "{}.note IS NOT NULL", "{}.note NOT LIKE '%(DVD)%'")
FACTS = (
    ("genre", "{}.fact IN ('Drama', 'Horror')"), ("genre", "{}.fact = 'Animation'"), ("country", "{}.fact = 'us'"),
    ("country", "{}.fact IN ('se', 'dk', 'is')"), ("language", "{}.fact = 'English'"), ("release", "{}.fact LIKE 'us:200%'"),
    ("release", "{}.fact LIKE '%:199%'"), ("budget", "{}.fact LIKE '$1%'"), ("color", "{}.fact = 'Black and White'"),
    ("language", "{}.fact LIKE 'I%'"),
)  # fmt: skip
RATINGS = (
    ("votes", "{}.value > 500"),
    ("rating", "{}.value > 7.5"),
    ("rating", "{}.value BETWEEN 3 AND 5"),
    ("votes", "{}.value < 20"),
)
KEYWORDS = (
    "{}.keyword LIKE '%murder%'", "{}.keyword IN ('blood-night-0', 'love-night-0', 'war-night-0')",
    "{}.keyword = 'night-night-0'",
    "{}.keyword LIKE 'ghost%'", "{}.keyword BETWEEN 'h' AND 'l'",
)  # fmt: skip
PEOPLE = (
    "{}.gender = 'f'", "{}.gender = 'm' AND {}.name LIKE '%King%'", "{}.birth_year BETWEEN 1940 AND 1960", "{}.gender IS NULL",
    "{}.name LIKE 'B%'",
)  # fmt: skip
CAST = (
    "{}.note IN ('(voice)', '(uncredited)')",
    "{}.note = '(voice)'",
    "{}.position < 5",
    "{}.note IS NULL",
    "{}.character_id > 100",
)
ROLES = ("{}.role = 'actress'", "{}.role IN ('director', 'producer')", "{}.role = 'actor'", "{}.role LIKE '%or'")
LINKS = ("{}.kind LIKE '%follow%'", "{}.kind = 'remake of'", "{}.kind IN ('references', 'spoofs')")


class _Composer:
    def __init__(self, name: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._query = JoinQuery(name)
        self._references: dict[str, list[str]] = {}
        """By a movie's alias the columns that refer to it."""
        self._castings: list[str] = []

    def compose(self, relations: int) -> JoinQuery:
        """A query of so many relations, or, as the last part may be a large one, a few more."""
        movie = self._movie()
        parts: list[Callable[[str], None]] = [
            self._company, self._fact, self._rating, self._keyword, self._cast, self._cast, self._kind, self._linked
        ]  # fmt: skip
        used: set[object] = set()
        while len(self._query.relations) < relations:
            part = self._random.choice(parts)
            if part == self._linked and (part in used or relations < 8):
                continue
            if part == self._kind and part in used:
                continue
            used.add(part)
            part(self._random.choice(list(self._references)) if self._random.random() < 0.4 else movie)
        return self._query

    def _some(self, terms: tuple[str, ...], probability: float) -> list[str]:
        return [self._random.choice(terms)] if self._random.random() < probability else []

    def _movie(self) -> str:
        alias = self._query.add("m", "movie", *self._some(MOVIES, 0.5))
        self._references[alias] = []
        return alias

    def _refers(self, column: str, movie: str) -> None:
        """A row about a movie: joined with it, now and then with another row about it, or with both."""
        others, choice = self._references[movie], self._random.random()
        if others and choice < 0.35:
            self._query.join(column, self._random.choice(others))
        if not others or choice > 0.1:
            self._query.join(column, f"{movie}.id")
        others.append(column)

    def _company(self, movie: str) -> None:
        link = self._query.add("mc", "movie_company", *self._some(NOTES, 0.4))
        self._refers(f"{link}.movie_id", movie)
        company = self._query.add("c", "company", *self._some(COMPANIES, 0.8))
        self._query.join(f"{link}.company_id", f"{company}.id")
        if self._random.random() < 0.5:
            kind = self._query.add("ck", "company_kind", "{}.kind IN ('production', 'distribution')")
            self._query.join(f"{link}.kind_id", f"{kind}.id")

    def _fact(self, movie: str) -> None:
        kind, term = self._random.choice(FACTS)
        fact = self._query.add("f", "movie_fact", term)
        self._refers(f"{fact}.movie_id", movie)
        kinds = self._query.add("fk", "fact_kind", f"{{}}.kind = '{kind}'")
        self._query.join(f"{fact}.kind_id", f"{kinds}.id")

    def _rating(self, movie: str) -> None:
        kind, term = self._random.choice(RATINGS)
        rating = self._query.add("r", "movie_rating", term)
        self._refers(f"{rating}.movie_id", movie)
        kinds = self._query.add("rk", "fact_kind", f"{{}}.kind = '{kind}'")
        self._query.join(f"{kinds}.id", f"{rating}.kind_id")

    def _keyword(self, movie: str) -> None:
        link = self._query.add("mk", "movie_keyword")
        self._refers(f"{link}.movie_id", movie)
        keyword = self._query.add("k", "keyword", *self._some(KEYWORDS, 0.9))
        self._query.join(f"{keyword}.id", f"{link}.keyword_id")

    def _cast(self, movie: str) -> None:
        cast = self._query.add("mp", "movie_cast", *self._some(CAST, 0.7))
        self._refers(f"{cast}.movie_id", movie)
        if self._castings and self._random.random() < 0.5:
            self._query.join(f"{cast}.person_id", f"{self._random.choice(self._castings)}.person_id")
        else:
            self._person(cast)
        self._castings.append(cast)
        if self._random.random() < 0.6:
            role = self._query.add("ro", "role", self._random.choice(ROLES))
            self._query.join(f"{cast}.role_id", f"{role}.id")
        if self._random.random() < 0.3:
            character = self._query.add("ch", "character", *self._some(("{}.name LIKE '%Dog%'", "{}.name LIKE 'King%'"), 0.6))
            self._query.join(f"{cast}.character_id", f"{character}.id")

    def _person(self, cast: str) -> None:
        person = self._query.add("p", "person", *self._some(PEOPLE, 0.7))
        self._query.join(f"{cast}.person_id", f"{person}.id")
        if self._random.random() < 0.25:
            alias = self._query.add("pa", "person_alias", *self._some(("{}.alias LIKE '%A%'", "{}.alias LIKE 'Star%'"), 0.7))
            self._query.join(f"{alias}.person_id", f"{self._random.choice((cast + '.person_id', person + '.id'))}")
        if self._random.random() < 0.2:
            fact = self._query.add("pf", "person_fact", "{}.fact LIKE '1_5 cm'")
            self._query.join(f"{fact}.person_id", f"{person}.id")

    def _kind(self, movie: str) -> None:
        kind = self._query.add(
            "t", "movie_kind", self._random.choice(("{}.kind = 'movie'", "{}.kind IN ('episode', 'tv series')"))
        )
        self._query.join(f"{movie}.kind_id", f"{kind}.id")

    def _linked(self, movie: str) -> None:
        link = self._query.add("ml", "movie_link")
        self._refers(f"{link}.movie_id", movie)
        other = self._movie()
        self._refers(f"{link}.linked_id", other)
        if self._random.random() < 0.6:
            kind = self._query.add("lk", "link_kind", self._random.choice(LINKS))
            self._query.join(f"{link}.kind_id", f"{kind}.id")


SEEDS: dict[int, tuple[int, ...]] = {
    5: (2, 4, 5), 6: (1, 4, 5, 7), 7: (1, 5, 10, 15), 8: (2, 3, 4, 11), 9: (4, 8, 13, 17), 10: (2, 8, 10, 18),
    11: (9, 11, 12, 25), 12: (8, 14, 18, 21), 13: (12, 21, 29, 36), 14: (28, 30, 33), 15: (25, 28, 42, 46), 16: (2, 9, 25),
    17: (3, 4, 26, 39),
}  # fmt: skip
"""By the number of relations the seeds of queries."""


def join_query(relations: int, seed: int) -> JoinQuery:
    """The query of a seed."""
    return _Composer(f"j{relations:02}-{seed}", seed * 100 + relations).compose(relations)


def join_queries() -> list[JoinQuery]:
    """The queries of the suite."""
    return [join_query(relations, seed) for relations, seeds in SEEDS.items() for seed in seeds]

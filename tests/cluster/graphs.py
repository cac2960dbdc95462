"""Stage graphs made by hand, for tests of the runtime without a planner."""

from __future__ import annotations

from planner.dir import (
    Determinism,
    Dir,
    Exchange,
    Hash,
    Partitioning,
    Pattern,
    Replicated,
    Single,
    Spread,
    Stage,
    StageGraph,
)
from planner.dtypes import BIGINT, BOOLEAN, VARCHAR
from planner.expr.nodes import AggregateCall, Assign, Call, ColumnRef, Compare, CompareOp, Literal
from planner.join_kind import JoinKind
from planner.physical.encodings import Encoding
from planner.physical.nodes import AggregateExec, AggregateMode, ExchangeSource, FilterExec, JoinExec, PhysicalPlan, ValuesScan
from planner.schema import Column, Schema

NUMBER, TEXT, OTHER, COUNT = (
    Column(1, "number", BIGINT),
    Column(2, "text", VARCHAR),
    Column(3, "other", BIGINT),
    Column(4, "count", BIGINT),
)


def dir_of(columns: Schema, partitioning: Partitioning) -> Dir:
    return Dir(columns, tuple(Encoding.PLAIN for _ in columns), partitioning, ())


def source(exchange: int, pattern: Pattern, columns: Schema) -> ExchangeSource:
    return ExchangeSource(exchange, pattern, columns, tuple(Encoding.PLAIN for _ in columns), ())


def values(rows: int, columns: Schema = (NUMBER, TEXT)) -> ValuesScan:
    """Rows (i, 'value i'), or (i,) for a single column."""
    return ValuesScan(columns, tuple((i, f"value {i}")[: len(columns)] for i in range(rows)))


def constants(rows: int = 100) -> StageGraph:
    """One stage with one task."""
    stage = Stage(0, 1, values(rows), dir_of((NUMBER, TEXT), Single()), Determinism.ORDERED)
    return StageGraph((stage,), (), root=0)


def shuffle(rows: int = 1000, buckets: int = 4) -> StageGraph:
    """Constants, scattered by hash, gathered again."""
    columns = (NUMBER, TEXT)
    scattered = dir_of(columns, Hash((NUMBER.id,), (BIGINT,), buckets))
    gathered = dir_of(columns, Single())
    stages = (
        Stage(0, 1, values(rows), scattered, Determinism.ORDERED),
        Stage(1, buckets, source(0, Pattern.HASH, columns), dir_of(columns, Spread(buckets)), Determinism.SET),
        Stage(2, 1, source(1, Pattern.GATHER, columns), gathered, Determinism.SET),
    )
    exchanges = (
        Exchange(0, 0, 1, Pattern.HASH, scattered),
        Exchange(1, 1, 2, Pattern.GATHER, dir_of(columns, Spread(buckets))),
    )
    return StageGraph(stages, exchanges, root=2)


def forwarded(rows: int = 1000) -> StageGraph:
    """Constants, forwarded twice."""
    columns = (NUMBER, TEXT)
    out = dir_of(columns, Spread(1))
    stages = (
        Stage(0, 1, values(rows), out, Determinism.ORDERED),
        Stage(1, 1, source(0, Pattern.FORWARD, columns), out, Determinism.ORDERED),
        Stage(2, 1, source(1, Pattern.FORWARD, columns), out, Determinism.ORDERED),
    )
    exchanges = (Exchange(0, 0, 1, Pattern.FORWARD, out), Exchange(1, 1, 2, Pattern.FORWARD, out))
    return StageGraph(stages, exchanges, root=2)


def count_pairs(rows: int, tasks: int = 4) -> StageGraph:
    """Every one of `tasks` tasks counts rows × rows pairs, which takes as long as one likes; one result partition each."""
    left, right = dir_of((NUMBER,), Replicated()), dir_of((OTHER,), Replicated())
    pairs = JoinExec(
        source(0, Pattern.BROADCAST, (NUMBER,)), source(1, Pattern.BROADCAST, (OTHER,)), JoinKind.INNER, (), (), None
    )
    total = Call(BIGINT, "add", (ColumnRef(BIGINT, NUMBER), ColumnRef(BIGINT, OTHER)))
    body: PhysicalPlan = FilterExec(pairs, Compare(BOOLEAN, CompareOp.NE, total, Literal(BIGINT, -1)))
    count = Assign(COUNT, AggregateCall(BIGINT, "count_star", ()))
    body = AggregateExec(body, AggregateMode.COMPLETE, (), (count,))
    stages = (
        Stage(0, 1, values(rows, (NUMBER,)), left, Determinism.ORDERED),
        Stage(1, 1, values(rows, (OTHER,)), right, Determinism.ORDERED),
        Stage(2, tasks, body, dir_of((COUNT,), Spread(tasks)), Determinism.ORDERED),
    )
    exchanges = (Exchange(0, 0, 2, Pattern.BROADCAST, left), Exchange(1, 1, 2, Pattern.BROADCAST, right))
    return StageGraph(stages, exchanges, root=2)

"""Which inputs of exchanges are computed once, and that what reads them stays right."""

from __future__ import annotations

import pytest

from planner.dir import Determinism, Hash, Pattern, Range, StageGraph
from planner.optimizer import optimize
from planner.physical.context import PhysicalOptions
from planner.physical.cut_stages import cut_stages
from planner.physical.explain import physical_text, stages_text
from planner.physical.nodes import JoinExec, PhysicalPlan, exchange_sources, table_scans
from planner.physical.plan import plan_physical
from planner.rule import OptimizerContext
from planner.sql import bind
from planner.tree import kind_mask, walk
from tests.golden.tpch_catalog import tpch_sf1
from tpch.queries import query

OFF = PhysicalOptions(disabled=frozenset(("reuse_exchanges",)))


def physical(sql: str, options: PhysicalOptions) -> PhysicalPlan:
    bound = bind(sql, tpch_sf1())
    return plan_physical(optimize(bound.plan, OptimizerContext(bound.allocator)), bound.allocator, options)


def graph_of(sql: str, options: PhysicalOptions | None = None) -> StageGraph:
    return cut_stages(physical(sql, options or PhysicalOptions()))


def patterns(graph: StageGraph) -> list[list[str]]:
    """For each stage with several consumers the patterns of its edges."""
    edges = [graph.outputs(stage.id) for stage in graph.stages]
    return [sorted(exchange.pattern.value for exchange in outputs) for outputs in edges if len(outputs) > 1]


def scans(graph: StageGraph, table: str) -> int:
    return sum(scan.table_name == table for stage in graph.stages for scan in table_scans(stage.body))


def joined(first: str, second: str) -> StageGraph:
    """Both queries joined by their column k, which both are scattered by."""
    return graph_of(f"SELECT * FROM ({first}) x JOIN ({second}) y ON x.k = y.k")


LARGE = "SELECT l_suppkey AS k, l_quantity AS q FROM lineitem WHERE l_tax > 0.01"


def test_a_cte_that_is_used_twice_is_read_once() -> None:
    grouped = [f"(SELECT k, {call}(DISTINCT q) AS v FROM r GROUP BY k)" for call in ("count", "sum")]
    sql = f"WITH r AS ({LARGE}) SELECT * FROM {grouped[0]} a JOIN {grouped[1]} b ON a.k = b.k"
    graph = graph_of(sql)
    assert scans(graph, "lineitem") == 1
    assert patterns(graph) == [["hash", "hash"]]
    assert scans(graph_of(sql, OFF), "lineitem") == 2


MIXED = """
    WITH r AS (SELECT o_orderkey AS k, o_custkey AS c FROM orders WHERE o_clerk = 'Clerk#000000100')
    SELECT c, rank() OVER (PARTITION BY c ORDER BY k) AS n FROM r UNION ALL
    SELECT r.c, l_suppkey FROM lineitem JOIN r ON l_partkey = r.k"""


@pytest.mark.parametrize(
    ("sql", "expected"),
    [(query(11).text, ["broadcast", "broadcast"]), (query(15).text, ["hash", "hash"]), (MIXED, ["broadcast", "hash"])],
    ids=["Q11", "Q15", "mixed"],
)
def test_consumers_may_differ_in_pattern_and_layout(sql: str, expected: list[str]) -> None:
    graph = graph_of(sql)
    assert patterns(graph) == [expected]
    assert patterns(graph_of(sql, OFF)) == []
    for stage in graph.stages:
        assert {exchange.dir.schema for exchange in graph.outputs(stage.id)} <= {stage.output.schema}


def test_names_alone_make_no_difference() -> None:
    graph = joined(LARGE, "SELECT b.l_suppkey AS k, b.l_quantity AS other FROM lineitem AS b WHERE b.l_tax > 0.01")
    assert patterns(graph) == [["hash", "hash"]]


@pytest.mark.parametrize(
    "other",
    [
        "SELECT l_suppkey AS k, l_quantity AS q FROM lineitem WHERE l_tax > 0.02",
        "SELECT l_suppkey AS k, l_quantity AS q FROM lineitem WHERE l_tax >= 0.01",
        "SELECT l_suppkey AS k, l_quantity AS q FROM lineitem WHERE l_discount > 0.01",
        "SELECT l_suppkey AS k, l_quantity AS q FROM lineitem WHERE l_tax > 0.01 AND l_orderkey < 3000000",
        "SELECT l_suppkey AS k, l_quantity AS q FROM lineitem",
        "SELECT DISTINCT l_suppkey AS k, l_quantity AS q FROM lineitem WHERE l_tax > 0.01 GROUP BY ALL HAVING count(*) > 1",
        "SELECT ps_suppkey AS k, ps_supplycost AS q FROM partsupp WHERE ps_supplycost > 0.01",
    ],
)
def test_what_differs_is_not_shared(other: str) -> None:
    """Predicates, literals, ranges and tables."""
    assert patterns(joined(LARGE, LARGE)) == [["hash", "hash"]]
    assert patterns(joined(LARGE, other)) == []
    assert patterns(joined(other, LARGE)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("VALUES (1), (2)", "VALUES (1), (3)"),
        ("VALUES (1), (2)", "VALUES (1.0), (2.0)"),
        ("VALUES (0e0), (1e0)", "VALUES (-0e0), (1e0)"),
        ("VALUES (TRUE), (FALSE)", "VALUES (1), (0)"),
    ],
)
def test_constants_are_compared_with_their_types(first: str, second: str) -> None:
    def pairs(a: str, b: str) -> StageGraph:
        arms = (f"SELECT l_linenumber FROM lineitem, ({values}) v(a) WHERE a IS DISTINCT FROM l_tax" for values in (a, b))
        return graph_of(" UNION ALL ".join(arms))

    assert patterns(pairs(first, first)) == [["broadcast", "broadcast"]]
    assert patterns(pairs(first, second)) == []


@pytest.mark.parametrize("kind", ["LEFT", "SEMI", "ANTI", "FULL"])
def test_joins_differ_in_kind_and_sides(kind: str) -> None:
    def pair(a: str, b: str, join: str) -> str:
        return f"SELECT a.l_suppkey AS k FROM {a} AS a {join} JOIN {b} AS b ON a.l_partkey = b.l_partkey AND a.l_tax < b.l_tax"

    def joins(graph: StageGraph) -> int:
        return sum(1 for stage in graph.stages for _ in walk(stage.body, kind_mask(JoinExec)))

    one, two = "lineitem", "(SELECT * FROM lineitem WHERE l_quantity < 10)"
    assert joins(joined(pair(one, two, kind), pair(one, two, kind))) == 2
    assert joins(joined(pair(one, two, kind), pair(one, two, "INNER"))) == 3
    assert joins(joined(pair(one, two, kind), pair(two, one, kind))) == 3


@pytest.mark.parametrize("swapped", [False, True])
def test_fewer_columns_are_read_from_the_twin_with_more(swapped: bool) -> None:
    narrow = "SELECT l_suppkey AS k FROM lineitem WHERE l_tax > 0.01"
    graph = joined(narrow, LARGE) if swapped else joined(LARGE, narrow)
    assert scans(graph, "lineitem") == 1
    (stage,) = (stage for stage in graph.stages if len(graph.outputs(stage.id)) > 1)
    assert [column.name for column in stage.output.schema] == ["l_suppkey", "l_quantity"]


@pytest.mark.parametrize(
    ("columns", "shared"),
    [
        ("l_suppkey AS k, l_shipdate", "l_suppkey, l_quantity, l_shipdate"),
        ("l_suppkey AS k, l_tax", "l_suppkey, l_quantity, l_tax"),
        ("l_partkey AS k, l_quantity", "l_suppkey, l_quantity, l_partkey"),
        ("l_suppkey AS k, l_quantity + 1 AS q", None),
    ],
)
def test_a_scan_is_widened_if_each_has_columns_that_the_other_lacks(columns: str, shared: str | None) -> None:
    graph = joined(LARGE, f"SELECT {columns} FROM lineitem WHERE l_tax > 0.01")
    if shared is None:
        assert scans(graph, "lineitem") == 2
        return
    (stage,) = (stage for stage in graph.stages if len(graph.outputs(stage.id)) > 1)
    assert [column.name for column in stage.output.schema] == shared.split(", ")
    assert scans(graph, "lineitem") == 1


def test_computed_columns_and_other_operators_are_not_widened() -> None:
    computed = [f"SELECT l_suppkey AS k, l_quantity + {number} AS q FROM lineitem" for number in (1, 2)]
    assert patterns(joined(computed[0], computed[0])) == [["hash", "hash"]]
    assert patterns(joined(*computed)) == []
    all_of = "(SELECT *, l_suppkey AS k FROM lineitem LIMIT 100000) t"
    limited = [f"SELECT k, {column} FROM {all_of}" for column in ("l_tax", "l_discount")]
    assert patterns(joined(*limited)) == []


def test_wide_columns_do_not_travel_for_narrow_ones() -> None:
    wide = "SELECT l_suppkey AS k, l_comment, l_shipmode, l_shipinstruct FROM lineitem WHERE l_tax > 0.01"
    assert patterns(joined(wide, "SELECT l_suppkey AS k FROM lineitem WHERE l_tax > 0.01")) == []


def test_ranges_of_one_key_may_be_cut_at_other_boundaries() -> None:
    """Q20: fewer columns are fewer bytes, so the twins have other numbers of tasks, and all the same equal rows."""
    kept = "FROM partsupp SEMI JOIN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%') p ON ps_partkey = p_partkey"
    sql = (
        f"SELECT * FROM (SELECT ps_suppkey AS k, ps_partkey, ps_availqty {kept}) x"
        " JOIN lineitem ON l_partkey = ps_partkey AND l_suppkey = k"
        f" SEMI JOIN (SELECT ps_suppkey AS k {kept}) y ON y.k = l_suppkey"
    )
    counts = {stage.tasks for stage in graph_of(sql, OFF).stages if any(s.range_key for s in table_scans(stage.body))}
    assert len(counts) > 1
    graph = graph_of(sql)
    assert scans(graph, "partsupp") == scans(graph, "part") == 1


def test_twins_below_plans_that_differ_are_found() -> None:
    arms = [f"SELECT k, {call}() OVER (PARTITION BY k ORDER BY q) AS v FROM ({LARGE}) t" for call in ("rank", "cume_dist")]
    graph = joined(*arms)
    assert scans(graph, "lineitem") == 1
    arms = [
        f"SELECT s_nationkey AS k, count(*) AS n FROM ({arm}) t JOIN supplier ON t.k = s_suppkey GROUP BY 1" for arm in arms
    ]
    assert scans(joined(*arms), "lineitem") == 1


def test_a_limit_without_order_is_shared() -> None:
    limited = "SELECT l_suppkey AS k, l_quantity AS q FROM lineitem LIMIT 100000"
    graph = joined(limited, limited)
    (stage,) = (stage for stage in graph.stages if len(graph.outputs(stage.id)) > 1)
    assert scans(graph, "lineitem") == 1
    assert patterns(joined(limited, limited.replace("100000", "100001"))) == []
    assert patterns(joined(limited, f"{limited} OFFSET 1")) == []
    assert stage.determinism in (Determinism.ORDERED, Determinism.INDETERMINATE)


def test_layouts_are_by_columns_of_the_shared_stage() -> None:
    """Both sides of a join read one stage: one of them under other ids, so their partitionings are told apart."""
    graph = joined(LARGE, LARGE)
    (stage,) = (stage for stage in graph.stages if len(graph.outputs(stage.id)) > 1)
    own = {column.id for column in stage.output.schema}
    layouts = {exchange.dir.partitioning for exchange in graph.outputs(stage.id)}
    assert len(layouts) == 1 and own.issuperset(next(iter(layouts)).keys)
    consumer = graph.stage(graph.outputs(stage.id)[0].consumer)
    spread = consumer.output.partitioning
    assert isinstance(spread, (Hash, Range)) and {column.id for column in consumer.body.columns}.issuperset(spread.keys)


def test_a_broadcast_is_not_taken_for_the_partitioning_of_its_twin() -> None:
    """x is read whole by every task, y by its hash: the join's rows lie by the key of y and not by that of x."""
    few = "SELECT s_suppkey AS k, s_nationkey AS n FROM supplier WHERE s_acctbal > 0"
    sql = f"SELECT x.k AS a FROM ({few}) x, ({few}) y JOIN ({LARGE}) z ON y.k = z.k WHERE x.n < z.q"
    for stage in graph_of(sql).stages:
        whole = {
            column.id
            for source in exchange_sources(stage.body)
            if source.pattern is Pattern.BROADCAST
            for column in source.columns
        }
        assert not whole.intersection(getattr(stage.output.partitioning, "keys", ()))


def test_bounds_of_a_shared_stage_serve_all_its_consumers() -> None:
    """Only the second consumer computes with l_linenumber; the scan claims its bounds all the same."""
    plain = "SELECT l_suppkey AS k, l_linenumber AS n FROM lineitem WHERE l_tax > 0.01"
    graph = graph_of(f"SELECT y.n * 2 FROM ({plain}) x JOIN ({plain}) y ON x.k = y.k AND x.n < y.n")
    assert scans(graph, "lineitem") == 1
    sources = [source for stage in graph.stages for source in exchange_sources(stage.body) if len(source.columns) == 2]
    shared = [source for source in sources if [column.name for column in source.columns] == ["l_suppkey", "l_linenumber"]]
    assert len(shared) == 2
    assert all(dict(source.bounds).get(source.columns[1].id) for source in shared)


def test_explain_shows_every_consumer() -> None:
    plan = physical(f"SELECT * FROM ({LARGE}) x JOIN ({LARGE}) y ON x.k = y.k", PhysicalOptions())
    text = physical_text(plan)
    assert text.count("TableScan lineitem") == 1
    assert text.count("Shared input 1") == 2 and "Shared input 1: Project l_suppkey, l_quantity" in text
    assert stages_text(cut_stages(plan)).count("  → stage 2: hash, [l_suppkey, l_quantity:int64], hash") == 2


def test_operators_of_a_shared_plan_are_numbered_once() -> None:
    graph = joined(LARGE, LARGE)
    numbers = [source.number for stage in graph.stages for source in exchange_sources(stage.body)]
    assert len(numbers) == len(set(numbers)) == len(graph.exchanges)

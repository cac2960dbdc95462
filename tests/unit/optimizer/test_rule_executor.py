"""Batches, switches, and what verification catches; each broken rule is caught and named."""

from __future__ import annotations

import pytest

from planner.dtypes import BOOLEAN, INTEGER
from planner.errors import InternalError
from planner.explain import logical_text
from planner.expr.nodes import TRUE, And, Assign, Compare, CompareOp, Literal, conjuncts
from planner.expr.substitute import reference
from planner.join_kind import JoinKind
from planner.logical.nodes import Filter, Join, Limit, LogicalPlan, Project, Scan, pass_through
from planner.logical.reallocate import fresh_copy
from planner.logical.same_plan import same_plan
from planner.rule import OptimizerContext, Rule, RuleFault, fixed_point, once, rule, run_batches
from planner.schema import Column, ColumnAllocator
from planner.verify import check_plan
from tests.plans import SMALL_CATALOG, bound, snapshot


@pytest.fixture
def allocator() -> ColumnAllocator:
    return ColumnAllocator()


@pytest.fixture
def scan(allocator: ColumnAllocator) -> Scan:
    a, b = allocator.new("a", INTEGER), allocator.new("b", INTEGER)
    return Scan(snapshot("t", [("a", INTEGER, False), ("b", INTEGER, True)], 10), ((a, 0), (b, 1)))


def above(plan: LogicalPlan, value: int) -> Filter:
    return Filter(plan, Compare(BOOLEAN, CompareOp.GT, reference(plan.columns[0]), Literal(INTEGER, value)))


@rule(Limit)
def shrink(limit: Limit, context: OptimizerContext) -> LogicalPlan | None:
    """One row less, down to three."""
    assert limit.limit is not None
    return limit.replace(limit=limit.limit - 1) if limit.limit > 3 else None


@rule(Limit)
def grow(limit: Limit, context: OptimizerContext) -> LogicalPlan | None:
    """The opposite of shrink."""
    assert limit.limit is not None
    return limit.replace(limit=limit.limit + 1) if limit.limit < 9 else None


def test_a_fixed_point_is_reached_in_one_run(scan: Scan, allocator: ColumnAllocator) -> None:
    context = OptimizerContext(allocator, verify=True)
    result = run_batches(Limit(scan, 9), (fixed_point("b", shrink),), context)
    assert logical_text(result).startswith("Limit 3\n")
    assert context.counts["shrink"].fired == 6
    assert context.counts["shrink"].tried >= 7
    assert context.counts["shrink"].seconds >= 0


def test_once_applies_a_rule_once(scan: Scan, allocator: ColumnAllocator) -> None:
    context = OptimizerContext(allocator, verify=False)
    assert logical_text(run_batches(Limit(scan, 9), (once("b", shrink),), context)).startswith("Limit 8\n")


def test_no_change_returns_the_same_object(scan: Scan, allocator: ColumnAllocator) -> None:
    plan = Limit(above(scan, 1), 2)
    assert run_batches(plan, (fixed_point("b", shrink),), OptimizerContext(allocator, verify=True)) is plan


def test_a_disabled_rule_does_not_run(scan: Scan, allocator: ColumnAllocator) -> None:
    plan = Limit(scan, 9)
    context = OptimizerContext(allocator, disabled=frozenset({"shrink"}), verify=True)
    assert run_batches(plan, (fixed_point("b", shrink),), context) is plan


def test_trace_sees_every_application(scan: Scan, allocator: ColumnAllocator) -> None:
    seen: list[str] = []
    context = OptimizerContext(allocator, verify=True, trace=lambda name, before, after: seen.append(name))
    run_batches(Limit(scan, 5), (fixed_point("b", shrink),), context)
    assert seen == ["shrink", "shrink"]


def test_rules_that_undo_each_other_are_named(scan: Scan, allocator: ColumnAllocator) -> None:
    batch = fixed_point("b", shrink, grow)
    with pytest.raises(RuleFault, match="grow, shrink") as fault:
        run_batches(Limit(scan, 5), (batch,), OptimizerContext(allocator, verify=True))
    assert "does not settle" in str(fault.value)
    assert isinstance(fault.value, InternalError)


def test_without_verification_such_a_batch_stops(scan: Scan, allocator: ColumnAllocator) -> None:
    result = run_batches(Limit(scan, 5), (fixed_point("b", shrink, grow),), OptimizerContext(allocator, verify=False))
    assert isinstance(result, Limit)


def test_a_once_batch_that_changes_its_own_result_is_named(scan: Scan, allocator: ColumnAllocator) -> None:
    with pytest.raises(RuleFault, match="changes its own result") as fault:
        run_batches(Limit(scan, 9), (once("b", shrink),), OptimizerContext(allocator, verify=True))
    assert fault.value.rule == "shrink"


def broken(node: type, replace) -> Rule:  # type: ignore[no-untyped-def, type-arg]
    @rule(node)
    def faulty(plan, context):  # type: ignore[no-untyped-def]
        return replace(plan, context)

    return faulty


NEW = Column(999, "new", INTEGER)
FAULTS = {
    "drops a column": (Filter, lambda f, c: Project(f, pass_through(f.columns[:1])), "columns changed"),
    "reorders columns": (Filter, lambda f, c: Project(f, pass_through(f.columns[::-1])), "columns changed"),
    "uses an unknown column": (
        Filter,
        lambda f, c: f.replace(predicate=Compare(BOOLEAN, CompareOp.GT, reference(NEW), reference(NEW))),
        "nothing gives them",
    ),
    "changes a type": (Compare, lambda e, c: Literal(INTEGER, 1), "type changed"),
    "widens nullability": (
        Filter,
        lambda f, c: Project(f.input, tuple(Assign(k, Literal(k.dtype, None)) for k in f.columns)),
        "can be NULL now",
    ),
    "compares different types": (
        Filter,
        lambda f, c: f.replace(predicate=Compare(BOOLEAN, CompareOp.EQ, f.predicate, reference(f.columns[0]))),
        "is compared with",
    ),
    "a predicate that is no truth value": (Filter, lambda f, c: f.replace(predicate=reference(f.columns[0])), "not BOOLEAN"),
    "one term": (Filter, lambda f, c: f.replace(predicate=And(BOOLEAN, (f.predicate,))), "less than two terms"),
    "duplicates a subtree": (
        Filter,
        lambda f, c: Project(Join(f, f.input, JoinKind.SEMI, TRUE), pass_through(f.columns)),
        "deliver the same column",
    ),
    "loses what is used above": (
        Filter,
        lambda f, c: Filter(Project(f.input, (Assign(NEW, reference(f.columns[0])),)), f.predicate),
        "columns changed",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_rule_is_named(name: str, scan: Scan, allocator: ColumnAllocator) -> None:
    node, replace, message = FAULTS[name]
    with pytest.raises(RuleFault, match=message) as fault:
        run_batches(above(scan, 1), (once("b", broken(node, replace)),), OptimizerContext(allocator, verify=True))
    assert fault.value.rule == "faulty"


def test_a_broken_plan_of_the_binder_is_found(scan: Scan) -> None:
    bad = Filter(Project(scan, pass_through(scan.columns[:1])), conjuncts(above(scan, 1).predicate)[0])
    check_plan(bad, "test")
    missing = Filter(bad, Compare(BOOLEAN, CompareOp.GT, reference(scan.columns[1]), Literal(INTEGER, 1)))
    with pytest.raises(RuleFault, match="does not give"):
        check_plan(missing, "test")


def test_a_copy_has_columns_of_its_own() -> None:
    sql = "SELECT o.k, (SELECT count(*) FROM i WHERE i.a = o.a) AS n FROM o WHERE o.a IN (SELECT c FROM j)"
    plan, allocator = bound(sql, SMALL_CATALOG)
    copy, fresh = fresh_copy(plan, allocator)
    assert same_plan(plan, copy)
    assert not {c.id for c in copy.columns} & {c.id for c in plan.columns}
    assert [fresh[c.id] for c in plan.columns] == list(copy.columns)
    check_plan(Join(plan, copy, JoinKind.INNER, TRUE), "test")


def test_plans_that_differ_are_not_the_same() -> None:
    def plan(sql: str) -> LogicalPlan:
        return bound(sql, SMALL_CATALOG)[0]

    assert same_plan(plan("SELECT a FROM o WHERE b > 1"), plan("SELECT a FROM o WHERE b > 1"))
    assert not same_plan(plan("SELECT a FROM o WHERE b > 1"), plan("SELECT a FROM o WHERE a > 1"))
    assert not same_plan(plan("SELECT a FROM o WHERE b > 1"), plan("SELECT a FROM o WHERE b > 2"))
    assert not same_plan(plan("SELECT a FROM o"), plan("SELECT a FROM i"))


def test_text_of_expressions_is_sql() -> None:
    plan, _ = bound(
        "SELECT (a + 1) * 2 AS x, a - (b - 1) AS y, NOT (a = 1 OR b = 2) AND s IS NOT NULL AS z, CAST(a AS BIGINT) AS c,"
        " CASE WHEN a = 1 THEN 'it''s' ELSE s END AS t FROM o",
        SMALL_CATALOG,
    )
    assert logical_text(plan).splitlines()[0] == (
        "Project (a + 1) * 2 AS x, a - (b - 1) AS y, NOT (a = 1 OR b = 2) AND s IS NOT NULL AS z, CAST(a AS BIGINT) AS c,"
        " CASE WHEN a = 1 THEN 'it''s' ELSE s END AS t"
    )

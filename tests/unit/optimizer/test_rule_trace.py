"""The trace of rules: complete, in order, and with texts of what each one changed."""

from __future__ import annotations

from typing import Any

from planner.explain import logical_text
from planner.optimizer import optimize
from planner.rule import OptimizerContext
from planner.rule_trace import RuleTrace
from tests.plans import SMALL_CATALOG, bound


def traced(sql: str, **options: Any) -> tuple[RuleTrace, OptimizerContext]:
    plan, allocator = bound(sql, SMALL_CATALOG)
    trace = RuleTrace()
    context = OptimizerContext(allocator, trace=trace, **options)
    optimize(plan, context)
    return trace, context


def test_every_firing_is_there() -> None:
    trace, context = traced("SELECT a FROM (SELECT a, b AS c FROM o WHERE k > 1 + 1) WHERE c > 1 LIMIT 3")
    fired = {name: count.fired for name, count in context.counts.items() if count.fired}
    assert len(fired) > 3
    names = [firing.rule for firing in trace.firings]
    assert {name: names.count(name) for name in names} == fired
    assert names.index("push_filter_through_project") < names.index("prune_columns")


def test_a_rule_that_is_off_does_not_fire() -> None:
    text = "SELECT a FROM (SELECT a, b AS c FROM o) WHERE c > 1"
    for off, expected in ((frozenset[str](), True), (frozenset({"push_filter_through_project"}), False)):
        trace, _ = traced(text, disabled=off)
        assert any(firing.rule == "push_filter_through_project" for firing in trace.firings) is expected


def test_what_a_rule_left_alone_is_short() -> None:
    trace, _ = traced("SELECT x.a FROM (SELECT o.a FROM o JOIN i ON o.k = i.k WHERE o.b = i.c LIMIT 5) x LIMIT 3")
    (before, after), *_ = [firing.texts() for firing in trace.firings if firing.rule == "merge_limits"]
    assert before.splitlines() == ["Limit 3", "  Limit 5", "    Join inner on k = k.2 AND b = c …"]
    assert after.splitlines() == ["Limit 3", "  Join inner on k = k.2 AND b = c …"]


def test_expressions_are_texts_with_common_names() -> None:
    trace, _ = traced("SELECT o.a FROM o JOIN i ON o.a = i.a WHERE NOT (o.b > i.a OR o.b IS NULL)")
    texts = [firing.texts() for firing in trace.firings if firing.rule == "simplify_booleans"]
    assert texts
    before, after = texts[0]
    assert before == "NOT (b > a OR b IS NULL)"
    assert after == "NOT b > a AND b IS NOT NULL"


def test_a_trace_changes_no_plan() -> None:
    text = "SELECT a, count(*) FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.k = o.k) GROUP BY a"
    plan, allocator = bound(text, SMALL_CATALOG)
    plain = logical_text(optimize(plan, OptimizerContext(allocator)))
    plan, allocator = bound(text, SMALL_CATALOG)
    assert logical_text(optimize(plan, OptimizerContext(allocator, trace=RuleTrace()))) == plain

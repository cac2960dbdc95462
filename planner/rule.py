"""Rules, batches, and the executor that applies them.

A *rule* is a function of one node and the context; it returns the node's replacement, or None where it does not apply::

    @rule(Limit)
    def merge_limits(outer: Limit, context: OptimizerContext) -> LogicalPlan | None: ...

A *batch* is a named list of rules. Its rules are indexed by node type and tried together in one sweep, bottom-up. In a
`fixed_point` batch a replacement is visited again before the sweep goes on. What a rule does depends on the node's own subtree
only, so a node where no rule fired stays as it is, and one sweep reaches the fixed point. In a `once` batch replacements
are not visited again. A rule with `whole_plan=True` gets the root of the plan, once per sweep, before the others. One with
`top_down=True` is tried on the way down as well, so that it meets a long chain of operators at its top.

In verify mode every replacement is checked against the node that it replaces (`planner.verify`), a batch has to leave its own
result alone, and rules that undo each other are named. Without it a fixed-point batch that does not settle simply stops: every
intermediate plan is a right one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, cast

from planner.analysis.cardinality import CardinalityAnalysis
from planner.errors import InternalError, error
from planner.expr.fingerprint import Fingerprints
from planner.logical.nodes import LogicalPlan
from planner.ports import Evaluator
from planner.schema import ColumnAllocator
from planner.tree import Node, kind_mask

Trace = Callable[[str, Node, Node], None]
"""Called with the name of a rule that fired, the node before and the node after."""


@dataclass(slots=True)
class RuleCount:
    """How often a rule was tried and fired, and for how many seconds it ran."""

    tried: int = 0
    fired: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class JoinSearch:
    """One search for a join order: `method` is dphyp or greedy, `pairs` of sets were looked at, costs are in rows."""

    relations: int
    method: str
    pairs: int
    changed: bool
    written_cost: float
    cost: float
    seconds: float


def _verify_by_default() -> bool:
    return os.environ.get("QENGINE_VERIFY") == "1"


@dataclass(slots=True)
class OptimizerContext:
    """What rules share while one query is optimized. `disabled` names rules that are left out.

    `ordered_joins` are joins, by their ids, over whose order has been decided.
    """

    allocator: ColumnAllocator
    evaluator: Evaluator | None = None
    disabled: frozenset[str] = frozenset()
    verify: bool = field(default_factory=_verify_by_default)
    trace: Trace | None = None
    counts: dict[str, RuleCount] = field(default_factory=dict)
    join_searches: list[JoinSearch] = field(default_factory=list)
    ordered_joins: dict[int, LogicalPlan] = field(default_factory=dict)
    cardinality: CardinalityAnalysis = field(default_factory=CardinalityAnalysis)
    fingerprints: Fingerprints = field(default_factory=Fingerprints)


RuleFunction = Callable[[Any, OptimizerContext], Node | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A named rewrite. Calling it calls the function. `mandatory` rules cannot be switched off: later layers rely on them."""

    name: str
    function: RuleFunction
    mask: int
    whole_plan: bool
    mandatory: bool
    top_down: bool

    def __call__(self, node: Node, context: OptimizerContext) -> Node | None:
        return self.function(node, context)

    @property
    def documentation(self) -> str:
        return self.function.__doc__ or ""


def rule(
    *classes: type[Node], whole_plan: bool = False, mandatory: bool = False, top_down: bool = False
) -> Callable[[RuleFunction], Rule]:
    """Declare a rule for nodes of some classes (and their subclasses), or for the root of the whole plan."""

    def declare(function: RuleFunction) -> Rule:
        return Rule(function.__name__, function, kind_mask(*classes) if classes else 0, whole_plan, mandatory, top_down)

    return declare


@dataclass(frozen=True, slots=True)
class Batch:
    """Rules that are applied together. `bound` limits how often one place of a plan is rewritten; 0 means `once`."""

    name: str
    rules: tuple[Rule, ...]
    bound: int


def once(name: str, *rules: Rule) -> Batch:
    return Batch(name, rules, 0)


def fixed_point(name: str, *rules: Rule, bound: int = 100) -> Batch:
    return Batch(name, rules, bound)


class RuleFault(InternalError):
    """A rule broke an invariant; `rule` (or several, joined) is named."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"internal error, please report it: rule {rule}: {message}")
        self.rule = rule


def check_switches(disabled: frozenset[str], batches: Sequence[Batch]) -> None:
    """Raises INVALID_SETTING if a name is not that of a rule that can be switched off."""
    optional = {r.name for batch in batches for r in batch.rules if not r.mandatory}
    for name in sorted(disabled - optional):
        raise error("INVALID_SETTING", name="a disabled rule", expected="the name of an optional rule", given=name)


def run_batches(plan: LogicalPlan, batches: Sequence[Batch], context: OptimizerContext) -> LogicalPlan:
    """Apply batches one after the other. Raises RuleFault in verify mode, and whatever the rules raise."""
    for batch in batches:
        rules = tuple(r for r in batch.rules if r.name not in context.disabled)
        if not rules:
            continue
        if context.verify:
            plan = _run_verified(plan, batch, rules, context)
        else:
            plan = _Sweep(batch, rules, context).run(plan)
    return plan


def _run_verified(plan: LogicalPlan, batch: Batch, rules: tuple[Rule, ...], context: OptimizerContext) -> LogicalPlan:
    from planner.logical.same_plan import same_plan
    from planner.verify import check_plan, check_rewrite

    result = _Sweep(batch, rules, context, check_rewrite).run(plan)
    check_plan(result, batch.name)
    fired: list[str] = []
    quiet = OptimizerContext(context.allocator, context.evaluator, context.disabled, True, lambda n, _a, _b: fired.append(n))
    quiet.ordered_joins = context.ordered_joins
    again = _Sweep(batch, rules, quiet, check_rewrite).run(result)
    if again is not result and not same_plan(again, result):
        raise RuleFault(", ".join(dict.fromkeys(fired)), f"batch {batch.name} changes its own result")
    return result


@dataclass(frozen=True, slots=True)
class _Link:
    """On the stack below a replacement: what became of it is also what became of `key`."""

    key: int
    replacement: Node


class _Sweep:
    """One bottom-up pass over a plan."""

    def __init__(
        self,
        batch: Batch,
        rules: tuple[Rule, ...],
        context: OptimizerContext,
        check: Callable[[str, Node, Node], None] | None = None,
    ) -> None:
        self._batch = batch
        self._context = context
        self._check = check
        self._whole = [r for r in rules if r.whole_plan]
        self._rules = [r for r in rules if not r.whole_plan]
        self._mask = self._down_mask = 0
        for r in self._rules:
            self._mask |= r.mask
            if r.top_down:
                self._down_mask |= r.mask
        self._by_class: dict[type[Node], list[tuple[Rule, RuleCount]]] = {}

    def run(self, plan: LogicalPlan) -> LogicalPlan:
        for r in self._whole:
            replaced = self._try(r, self._count(r), plan)
            if replaced is not None:
                plan = cast(LogicalPlan, replaced)
        return cast(LogicalPlan, self._visit(plan)) if self._rules else plan

    def _visit(self, root: Node) -> Node:
        mask, bound = self._mask, self._batch.bound
        done: dict[int, Node] = {}
        kept: list[Node] = []  # an id is only unique while its object lives
        chains: dict[int, tuple[str, ...]] = {}
        entered: set[int] = set()
        stack: list[Node | _Link] = [root]
        while stack:
            current = stack[-1]
            if isinstance(current, _Link):
                stack.pop()
                done[current.key] = done[id(current.replacement)]
                continue
            key = id(current)
            if key in done:
                stack.pop()
                continue
            if not current.kinds & mask:
                done[key] = current
                kept.append(current)
                stack.pop()
                continue
            if type(current).KIND & self._down_mask and key not in entered:
                entered.add(key)
                fired = self._apply(current, top_down=True)
                if fired is not None:
                    kept += (current, fired[1])
                    stack.pop()
                    stack += (_Link(key, fired[1]), fired[1])
                    continue
            children = current.children
            pending = [child for child in children if id(child) not in done]
            if pending:
                pending.reverse()
                stack.extend(pending)
                continue
            stack.pop()
            new = current
            if any(done[id(child)] is not child for child in children):
                new = current.map_children(lambda child: done[id(child)])
            kept += (current, new)
            fired = self._apply(new)
            if fired is None:
                done[key] = done[id(new)] = new
                continue
            name, replacement = fired
            kept.append(replacement)
            chain = (*chains.pop(key, ()), name)
            if bound == 0 or len(chain) > bound:
                if bound and self._check is not None:
                    raise RuleFault(", ".join(sorted(set(chain[-8:]))), f"batch {self._batch.name} does not settle")
                done[key] = done[id(replacement)] = replacement
                continue
            chains[id(replacement)] = chain
            stack += (_Link(key, replacement), replacement)
        return done[id(root)]

    def _apply(self, node: Node, top_down: bool = False) -> tuple[str, Node] | None:
        """The first rule that fires on this node, and its replacement; in a `once` batch all rules, one after the other."""
        if not type(node).KIND & self._mask:
            return None
        fired: str | None = None
        current = node
        for r, count in self._rules_for(type(node)):
            if top_down and not r.top_down:
                continue
            replaced = self._try(r, count, current)
            if replaced is not None:
                if self._batch.bound:
                    return r.name, replaced
                fired, current = r.name, replaced
                if type(current) is not type(node):
                    break
        return None if fired is None else (fired, current)

    def _rules_for(self, cls: type[Node]) -> list[tuple[Rule, RuleCount]]:
        found = self._by_class.get(cls)
        if found is None:
            found = self._by_class[cls] = [(r, self._count(r)) for r in self._rules if r.mask & cls.KIND]
        return found

    def _count(self, r: Rule) -> RuleCount:
        return self._context.counts.setdefault(r.name, RuleCount())

    def _try(self, r: Rule, count: RuleCount, node: Node) -> Node | None:
        started = perf_counter()
        replaced = r.function(node, self._context)
        count.seconds += perf_counter() - started
        count.tried += 1
        if replaced is None or replaced is node:
            return None
        count.fired += 1
        if self._check is not None:
            self._check(r.name, node, replaced)
        if self._context.trace is not None:
            self._context.trace(r.name, node, replaced)
        return replaced

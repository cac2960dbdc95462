"""What the optimizer did to one plan: every rule that fired, in order, with the part of the plan before and after.

A `RuleTrace` is given to the optimizer as its `trace`. Its texts are short: a subtree that a rule left as it was is one line,
with an ellipsis in place of its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.explain import ColumnNames, expression_text, logical_text
from planner.expr.nodes import Expr
from planner.logical.nodes import LogicalPlan
from planner.tree import Node, kind_mask, walk

_PLANS = kind_mask(LogicalPlan)


@dataclass(frozen=True, slots=True)
class Firing:
    """A rule that fired, and what it replaced: operators with their inputs, or expressions."""

    rule: str
    before: Node
    after: Node

    def texts(self) -> tuple[str, str]:
        """Both as text, in which a column has the same name on both sides."""
        names = ColumnNames()
        if isinstance(self.before, LogicalPlan) and isinstance(self.after, LogicalPlan):
            kept = _nodes(self.before) & _nodes(self.after)
            return logical_text(self.before, names, kept), logical_text(self.after, names, kept)
        assert isinstance(self.before, Expr) and isinstance(self.after, Expr)
        return expression_text(self.before, names), expression_text(self.after, names)


@dataclass(slots=True)
class RuleTrace:
    """Called by the optimizer for each rule that fires (`planner.rule.Trace`)."""

    firings: list[Firing] = field(default_factory=list)

    def __call__(self, rule: str, before: Node, after: Node) -> None:
        self.firings.append(Firing(rule, before, after))


def _nodes(plan: LogicalPlan) -> frozenset[int]:
    """The operators of a plan by identity. The root is none of them: what a rule replaced is shown."""
    return frozenset(id(node) for node in walk(plan, _PLANS) if node is not plan)

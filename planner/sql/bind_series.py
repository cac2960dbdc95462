"""range(...) and generate_series(...) in FROM: constant numbers as rows."""

from __future__ import annotations

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import Literal
from planner.logical.nodes import Values
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression, refuse_arguments
from planner.sql.literals import folded
from planner.sql.scope import BoundRelation, Scope

MAX_SERIES = 100_000
"""The rows are part of the plan, so a series cannot be of any length."""


def bind_series(context: BindContext, node: exp.Expr) -> BoundRelation:
    """The numbers from a start to an end, which range() leaves out, as one BIGINT column.

    Raises UNSUPPORTED, and WRONG_ARGUMENTS for a step of 0.
    """
    refuse_arguments(context, node, ("start", "end", "step", "is_end_exclusive"))
    exclusive = bool(node.args.get("is_end_exclusive"))
    name = "range" if exclusive else "generate_series"
    bounds = [_number(context, name, node.args.get(key)) for key in ("start", "end", "step")]
    column = context.allocator.new(name, t.BIGINT)
    start, end, step = bounds
    if start is None or end is None or step is None:
        return BoundRelation(Values((column,), ()), (name,))
    if step == 0:
        raise context.error("WRONG_ARGUMENTS", node.args["step"], name=name, expected="a step that is not 0", given=0)
    last = end if exclusive else end + (1 if step > 0 else -1)
    numbers = range(start, last, step)
    if len(numbers) > MAX_SERIES:
        raise context.unsupported(f"{name} of more than {MAX_SERIES} numbers", node)
    return BoundRelation(Values((column,), tuple((number,) for number in numbers)), (name,))


def _number(context: BindContext, name: str, node: exp.Expr | None) -> int | None:
    """A constant integer, by default 1 (the step; sqlglot fills in a start); None for NULL."""
    if node is None:
        return 1
    constant = node.find(exp.Column, exp.Query) is None
    bound = folded(bind_expression(context, Scope(None, {}), node)) if constant else None
    if not isinstance(bound, Literal) or not (bound.value is None or t.is_integer(bound.dtype)):
        raise context.unsupported(f"an argument of {name} that is not a constant integer", node)
    return None if bound.value is None else int(bound.value)

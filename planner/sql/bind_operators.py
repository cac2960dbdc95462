"""Columns, constants and operators."""

from __future__ import annotations

from typing import TypeGuard

from sqlglot import exp

from planner import dtypes as t
from planner.expr.nodes import (
    FALSE,
    TRUE,
    Call,
    ColumnRef,
    Compare,
    CompareOp,
    Expr,
    InList,
    IsNull,
    Literal,
    Not,
    conjunction,
    disjunction,
)
from planner.sql.arithmetic import arithmetic, negated
from planner.sql.coercion import cast_to, to_boolean, to_text, unify
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression, handles
from planner.sql.literals import number_literal
from planner.sql.scope import Scope, find_column, find_relation, unknown_alias, unknown_column

MAX_ORDERED_CHAIN = 64
"""Additions of floats keep the order in which they are written up to this length, as the peers compute them; a longer chain is
one n-ary call, whose operands may be added in any order."""


@handles(exp.Column, args="this table")
def bind_column(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    identifier = node.this
    if isinstance(identifier, exp.Star):
        raise context.unsupported("* in this place", node)
    name = identifier.name
    found = _resolve(context, scope, node, name)
    if isinstance(found, ColumnRef):
        context.origins[id(found)] = (found, node)
    return found


def _resolve(context: BindContext, scope: Scope, node: exp.Expr, name: str) -> Expr:
    """A column of the scope, an output name of it, or the same of a scope around it."""
    folded = name.lower()
    qualifier = node.args.get("table")
    if qualifier is not None:
        found = find_relation(scope, qualifier.name.lower())
        if found is None:
            raise unknown_alias(context, scope, qualifier, qualifier.name)
        owner, relation = found
        column = relation.index.get(folded)
        if column is None:
            local = Scope(None, {})
            local.relations.append(relation)
            raise unknown_column(context, local, node, f"{relation.alias}.{name}")
        context.level = max(context.level, owner.depth)
        return ColumnRef(column.dtype, column)
    current: Scope | None = scope
    while current is not None:
        expr = find_column(context, current, folded, node)
        if expr is not None and not (current is scope and scope.prefers_alias(folded, expr)):
            context.level = max(context.level, current.depth)
            return expr
        if folded in current.aliases:
            return _expand_alias(context, current, folded)
        current = current.parent
    raise unknown_column(context, scope, node, name)


def _expand_alias(context: BindContext, scope: Scope, name: str) -> Expr:
    """An output name stands for its expression, bound again; inside of itself it is not visible."""
    context.count_reference(scope.aliases[name])
    visible = scope.aliases
    scope.aliases = {other: node for other, node in visible.items() if other != name}
    expr = bind_expression(context, scope, visible[name])
    scope.aliases = visible
    return expr


@handles(exp.Literal, args="this is_string")
def bind_literal(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    text = node.this
    if node.args["is_string"]:
        return Literal(t.VARCHAR, text)
    try:
        return number_literal(text)
    except (ValueError, ArithmeticError):
        raise context.error("INVALID_LITERAL", node, text=text, dtype="number") from None


@handles(exp.RawString, args="this")
def bind_raw_string(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """Text between dollar signs."""
    return Literal(t.VARCHAR, node.this)


@handles(exp.ByteString, args="this is_bytes")
def bind_escape_string(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """E'text', whose escapes sqlglot has replaced. In other dialects this is a literal of bytes."""
    if context.dialect not in ("duckdb", "postgres"):
        raise context.unsupported("a literal of bytes", node)
    return Literal(t.VARCHAR, node.this)


@handles(exp.Boolean, args="this")
def bind_boolean(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return TRUE if node.this else FALSE


@handles(exp.Null, args="")
def bind_null(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return Literal(t.NULL, None)


# ---------------------------------------------------------------------------------------------------------- conditions


def _chain(node: exp.Expr, cls: type[exp.Expr]) -> list[exp.Expr]:
    """The operands of a left-deep chain of one operator, first to last."""
    operands: list[exp.Expr] = []
    stack = [node]
    while stack:
        current = stack.pop()
        while type(current) is exp.Paren:
            current = current.this
        if type(current) is cls:
            stack.append(current.args["expression"])
            stack.append(current.this)
        else:
            operands.append(current)
    return operands


@handles(exp.And, args="this expression")
def bind_and(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return conjunction(_conditions(context, scope, _chain(node, exp.And), "AND"))


@handles(exp.Or, args="this expression")
def bind_or(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return disjunction(_conditions(context, scope, _chain(node, exp.Or), "OR"))


def _conditions(context: BindContext, scope: Scope, nodes: list[exp.Expr], what: str) -> list[Expr]:
    return [to_boolean(context, bind_expression(context, scope, node), f"operator {what}", node) for node in nodes]


@handles(exp.Not, args="this")
def bind_not(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return Not(t.BOOLEAN, to_boolean(context, bind_expression(context, scope, node.this), "operator NOT", node.this))


_COMPARISONS: dict[type[exp.Expr], CompareOp] = {
    exp.EQ: CompareOp.EQ,
    exp.NEQ: CompareOp.NE,
    exp.LT: CompareOp.LT,
    exp.LTE: CompareOp.LE,
    exp.GT: CompareOp.GT,
    exp.GTE: CompareOp.GE,
    exp.NullSafeEQ: CompareOp.NOT_DISTINCT,
    exp.NullSafeNEQ: CompareOp.DISTINCT,
}


@handles(exp.NullSafeEQ, exp.NullSafeNEQ, args="this expression")
def bind_null_safe_comparison(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    left, right = node.this, node.args["expression"]
    op = _COMPARISONS[type(node)]
    return compare(context, op, bind_expression(context, scope, left), bind_expression(context, scope, right), left, right)


def compare(context: BindContext, op: CompareOp, left: Expr, right: Expr, left_node: exp.Expr, right_node: exp.Expr) -> Expr:
    """The comparison of two expressions in their common type. Raises TYPE_MISMATCH or INVALID_LITERAL."""
    left, right = unify(context, (left, right), (left_node, right_node), f"operator {op}", comparing=True)
    return Compare(t.BOOLEAN, op, left, right)


def comparison_operator(node: exp.Expr) -> CompareOp:
    return _COMPARISONS[type(node)]


@handles(exp.Between, args="this low high")
def bind_between(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    low, high = node.args["low"], node.args["high"]
    needle = bind_expression(context, scope, node.this)
    context.count_copies(needle, node.this)
    first = compare(context, CompareOp.GE, needle, bind_expression(context, scope, low), node.this, low)
    last = compare(context, CompareOp.LE, needle, bind_expression(context, scope, high), node.this, high)
    return conjunction((first, last))


def bind_in_list(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """needle IN (a, b, ...); all of them are compared in one type."""
    nodes = [node.this, *node.expressions]
    bound = [bind_expression(context, scope, part) for part in nodes]
    needle, *options = unify(context, bound, nodes, "operator IN", comparing=True)
    return InList(t.BOOLEAN, needle, tuple(options))


@handles(exp.Is, args="this expression")
def bind_is(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    what = node.args["expression"]
    operand = bind_expression(context, scope, node.this)
    if isinstance(what, exp.Null):
        return IsNull(t.BOOLEAN, operand)
    if isinstance(what, exp.Boolean):
        value = to_boolean(context, operand, "IS", node.this)
        return Compare(t.BOOLEAN, CompareOp.NOT_DISTINCT, value, TRUE if what.this else FALSE)
    raise context.unsupported(f"IS {what.key.upper()}", node)


@handles(exp.Like, exp.ILike, args="this expression negate")
def bind_like(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return _like(context, scope, node, context.like_escape)


@handles(exp.Escape, args="this expression")
def bind_escape(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    inner, escape = node.this, node.args["expression"]
    if not isinstance(inner, (exp.Like, exp.ILike)):
        raise context.unsupported("ESCAPE of this operator", node)
    if not (isinstance(escape, exp.Literal) and escape.args["is_string"] and len(escape.this) <= 1):
        raise context.unsupported("an ESCAPE that is not a constant character", escape)
    return _like(context, scope, inner, escape.this)


def _like(context: BindContext, scope: Scope, node: exp.Expr, escape: str) -> Expr:
    insensitive = isinstance(node, exp.ILike)
    what = "operator ILIKE" if insensitive else "operator LIKE"
    parts = (node.this, node.args["expression"])
    text, pattern = (to_text(context, bind_expression(context, scope, part), what, part) for part in parts)
    if insensitive:
        text, pattern = Call(t.VARCHAR, "lower", (text,)), Call(t.VARCHAR, "lower", (pattern,))
        escape = escape.lower()
    found = Call(t.BOOLEAN, "like", (text, pattern, Literal(t.VARCHAR, escape)))
    return Not(t.BOOLEAN, found) if node.args.get("negate") else found


# ---------------------------------------------------------------------------------------------------------- arithmetic

_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "integer_divide",
    exp.Mod: "modulo",
}


@handles(*_ARITHMETIC, args="this expression typed safe")
def bind_arithmetic(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    """A left-deep chain of binary operators, without recursion along the chain; additions in a row become one n-ary call."""
    spine: list[exp.Expr] = []
    current = node
    while type(current) in _ARITHMETIC:
        spine.append(current)
        current = current.this
        while type(current) is exp.Paren:
            current = current.this
    levels = sum(type(operator) is not exp.Add for operator in spine)
    context.descend(node, levels)
    bound = bind_expression(context, scope, current)
    context.depth -= levels

    reorder = len(spine) > MAX_ORDERED_CHAIN
    terms: list[Expr] = []  # the operands of the addition so far, for whose type and place `bound` stands
    for operator in reversed(spine):
        right = bind_expression(context, scope, operator.args["expression"])
        combined = _operate(context, operator, bound, right, current) if type(operator) is exp.Add or not terms else None
        if combined is not None and terms and _extends(combined, bound):
            terms.append(combined.arguments[1])
            bound = Call(combined.dtype, "add", combined.arguments)
            continue
        if terms:
            bound = Call(bound.dtype, "add", tuple(terms))
            combined = _operate(context, operator, bound, right, current)
        assert combined is not None
        terms = list(combined.arguments) if _is_addition(combined, reorder) else []
        bound = combined
    return Call(bound.dtype, "add", tuple(terms)) if terms else bound


def _is_addition(expr: Expr, reorder: bool) -> TypeGuard[Call]:
    return isinstance(expr, Call) and expr.function == "add" and (reorder or not t.is_float(expr.dtype))


def _extends(combined: Expr, left: Expr) -> TypeGuard[Call]:
    """Whether `combined` adds to `left` as it is, so that its operands can simply be one more."""
    return isinstance(combined, Call) and combined.function == "add" and combined.arguments[0] is left


def _operate(context: BindContext, operator: exp.Expr, left: Expr, right: Expr, first: exp.Expr) -> Expr:
    """One operator of a chain that begins with the node `first`."""
    function = _ARITHMETIC[type(operator)]
    right_node = operator.args["expression"]
    if function == "divide":
        # The dialect decides what dividing two integers means, and whether dividing by zero is NULL.
        integers = t.is_integer(left.dtype) and t.is_integer(right.dtype)
        if operator.args.get("typed") and integers:
            function = "integer_divide"
        constant = isinstance(right, Literal) and right.value
        if operator.args.get("safe") and t.is_numeric(right.dtype) and not constant:
            zero = cast_to(context, Literal(t.INTEGER, 0), right.dtype, right_node)
            right = Call(right.dtype, "nullif", (right, zero))
    return arithmetic(context, function, left, right, first, right_node)


@handles(exp.Neg, args="this")
def bind_negation(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    return negated(context, bind_expression(context, scope, node.this), node)


@handles(exp.DPipe, args="this expression safe")
def bind_concatenation(context: BindContext, scope: Scope, node: exp.Expr) -> Expr:
    nodes = _chain(node, exp.DPipe)
    return concatenation(context, [bind_expression(context, scope, part) for part in nodes], nodes)


def concatenation(context: BindContext, operands: list[Expr], nodes: list[exp.Expr]) -> Expr:
    """Text of several operands joined; other types are written as text."""
    texts = tuple(cast_to(context, operand, t.VARCHAR, node) for operand, node in zip(operands, nodes, strict=True))
    return texts[0] if len(texts) == 1 else Call(t.VARCHAR, "concat", texts)

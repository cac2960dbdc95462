"""Queries: SELECT with all its clauses, VALUES, set operations, parentheses around queries, and WITH.

The plan of a SELECT, from the bottom: FROM, Filter (WHERE), Aggregate and Filter (HAVING), Window and
Filter (QUALIFY), Project to the output columns and
whatever else ORDER BY needs, Aggregate without functions (DISTINCT) or Window and Filter (DISTINCT ON), Sort, Limit, and a last
Project if columns were added.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from planner import dtypes as t
from planner.errors import error
from planner.expr.equality import same_expression
from planner.expr.nodes import (
    Assign,
    ColumnRef,
    Compare,
    CompareOp,
    Expr,
    Frame,
    Literal,
    SortKey,
    WindowCall,
    conjunction,
)
from planner.expr.substitute import reference
from planner.logical.nodes import Aggregate, Filter, Limit, LogicalPlan, Project, Sort, Window, pass_through
from planner.sql.bind_aggregate import Grouping, aggregate_in
from planner.sql.bind_from import bind_from
from planner.sql.bind_set_operations import bind_set_operation
from planner.sql.bind_star import bind_star
from planner.sql.bind_values import bind_values
from planner.sql.bind_window import Windowing, window_in
from planner.sql.coercion import to_boolean
from planner.sql.context import BindContext
from planner.sql.dispatch import bind_expression, describe, refuse_arguments
from planner.sql.grouping_sets import GroupingSets, bind_sets, has_sets
from planner.sql.literals import folded
from planner.sql.output_names import output_name
from planner.sql.parse import end_of
from planner.sql.reserved_words import refuse_reserved_alias
from planner.sql.scope import BoundRelation, Cte, Relation, Scope, find_column

_SELECT_ARGUMENTS = frozenset(
    {
        "with_",
        "expressions",
        "distinct",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "qualify",
        "windows",
        "order",
        "limit",
        "offset",
    }
)


def bind_query(context: BindContext, node: exp.Expr, parent: Scope) -> BoundRelation:
    """A query below a scope, whose CTEs and columns it may use. Raises UNSUPPORTED for anything that is not one of these."""
    levels = 0 if isinstance(node, exp.Subquery) else 1
    context.descend(node, levels)
    if isinstance(node, exp.Select):
        bound = _bind_select(context, node, parent)
    elif isinstance(node, exp.Subquery) and not isinstance(node.this, exp.Table):
        bound = _bind_parenthesized(context, node, parent)
    elif isinstance(node, exp.Values):
        refuse_arguments(context, node, ("with_", "expressions", "alias", "joins", "order", "limit", "offset"))
        scope = Scope(parent, _bind_ctes(context, node, parent))
        bound = _finish(context, scope, bind_values(context, scope, node), node)
    elif isinstance(node, exp.SetOperation):
        scope = Scope(parent, _bind_ctes(context, node, parent))
        bound = _finish(context, scope, bind_set_operation(context, scope, node), node)
    else:
        raise context.unsupported(describe(context, node), node)
    context.depth -= levels
    return bound


def _bind_ctes(context: BindContext, node: exp.Expr, parent: Scope) -> dict[str, Cte]:
    """The CTEs that a query sees: those around it and its own, of which each sees the earlier ones."""
    clause = node.args.get("with_")
    if clause is None:
        return parent.ctes
    if clause.args.get("recursive"):
        raise context.unsupported("WITH RECURSIVE", clause.expressions[0].args["alias"])
    refuse_arguments(context, clause, ("expressions",))
    ctes, own = dict(parent.ctes), set[str]()
    for cte in clause.expressions:
        refuse_arguments(context, cte, ("this", "alias", "materialized"))
        name = cte.alias
        if name.lower() in own:
            raise context.error("DUPLICATE_ALIAS", cte.args["alias"], name=name, clause="WITH")
        own.add(name.lower())
        ctes[name.lower()] = Cte(name, cte, Scope(parent, dict(ctes)))
    return ctes


def _bind_parenthesized(context: BindContext, node: exp.Expr, parent: Scope) -> BoundRelation:
    """(query), which may have an ORDER BY and a LIMIT of its own. Its alias and joins are the FROM clause's affair."""
    refuse_arguments(context, node, ("this", "alias", "joins", "with_", "order", "limit", "offset"))
    scope = Scope(parent, _bind_ctes(context, node, parent))
    return _finish(context, scope, bind_query(context, node.this, scope), node)


def _finish(context: BindContext, scope: Scope, bound: BoundRelation, node: exp.Expr) -> BoundRelation:
    """ORDER BY and LIMIT on a query that is bound already: keys are its output columns and expressions over them."""
    columns = bound.plan.columns
    scope.relations = [Relation("", bound.names, columns)]
    items = [_Item(name, ColumnRef(column.dtype, column), None) for name, column in zip(bound.names, columns, strict=True)]
    order = _bind_order(context, scope, node.args.get("order"), items)
    assigns = list(pass_through(columns))
    keys = _sort_keys(context, order, assigns, bound.plan, distinct=False)
    plan = Project(bound.plan, tuple(assigns)) if len(assigns) > len(columns) else bound.plan
    return BoundRelation(_sorted(context, plan, keys, node, len(columns)), bound.names)


# ------------------------------------------------------------------------------------------------------------------- SELECT


@dataclass(slots=True)
class _Item:
    """An output column of a SELECT: its name, its expression, and the syntax of that (None for one that `*` stands for)."""

    name: str
    expr: Expr
    node: exp.Expr | None


@dataclass(slots=True)
class _OrderKey:
    """A key of ORDER BY: an output column by position, or else an expression."""

    item: int | None
    expr: Expr
    descending: bool
    nulls_first: bool
    node: exp.Expr


def _bind_select(context: BindContext, node: exp.Expr, parent: Scope) -> BoundRelation:
    refuse_arguments(context, node, _SELECT_ARGUMENTS)
    if not node.expressions:
        raise error("SYNTAX", detail="SELECT needs at least one expression", position=end_of(context.text))
    scope = Scope(parent, _bind_ctes(context, node, parent))
    plan = bind_from(context, scope, node)
    aliases = {item.alias.lower(): item.this for item in node.expressions if isinstance(item, exp.Alias)}
    scope.aliases = aliases
    where = node.args.get("where")
    if where is not None:
        plan = Filter(plan, _condition(context, scope, where.this, "WHERE"))
    context.selects.append(scope)
    scope.windows = {window.name.lower(): window for window in node.args.get("windows") or ()}
    scope.grouping_sets = GroupingSets() if has_sets(node.args.get("group")) else None
    items = _bind_items(context, scope, node.expressions)
    scope.aliases = aliases
    group = _bind_group(context, scope, node.args.get("group"), items)
    having = node.args.get("having")
    having_expr = None
    if having is not None:
        scope.no_windows = "HAVING"
        scope.having_keys = frozenset(key.column.id for key, _ in group or () if isinstance(key, ColumnRef))
        having_expr = to_boolean(context, bind_expression(context, scope, having.this), "HAVING", having.this)
        scope.no_windows = scope.having_keys = None
    qualify = node.args.get("qualify")
    qualify_expr = None
    if qualify is not None:
        qualify_expr = to_boolean(context, bind_expression(context, scope, qualify.this), "QUALIFY", qualify.this)
    order = _bind_order(context, scope, node.args.get("order"), items)
    distinct = node.args.get("distinct")
    on = _bind_keys(context, scope, distinct.args["on"], items) if distinct is not None and distinct.args.get("on") else []
    context.selects.pop()

    if group is not None or having is not None or scope.has_aggregates:
        grouping = Grouping(context, scope, plan, group or [])
        for item in items:
            item.expr = grouping.over_groups(item.expr)
        for order_key in order + on:
            order_key.expr = grouping.over_groups(order_key.expr) if order_key.item is None else order_key.expr
        if having_expr is not None:
            having_expr = grouping.over_groups(having_expr)
        if qualify_expr is not None:
            qualify_expr = grouping.over_groups(qualify_expr)
        plan = grouping.plan()
        if having_expr is not None:
            plan = Filter(plan, having_expr)
    if qualify is not None and not scope.has_windows:
        raise context.error("SYNTAX", qualify.this, detail="QUALIFY needs a window function in the query")
    if scope.has_windows:
        windowing = Windowing(context, plan)
        for item in items:
            item.expr = windowing.replace(item.expr)
        for order_key in order + on:
            order_key.expr = windowing.replace(order_key.expr)
        if qualify_expr is not None:
            qualify_expr = windowing.replace(qualify_expr)
        plan = windowing.plan()
        if qualify_expr is not None:
            plan = Filter(plan, conjunction((qualify_expr,)))
    assigns = _output_assigns(context, items, plan)
    keys = _sort_keys(context, order, assigns, plan, distinct=distinct is not None and not on)
    on_keys = [key.expr for key in _sort_keys(context, on, assigns, plan, distinct=False)]
    plan = Project(plan, tuple(assigns))
    if on:
        plan = _first_of_each(context, plan, on_keys, keys)
    elif distinct is not None:
        plan = Aggregate(plan, pass_through(plan.columns), ())
    plan = _sorted(context, plan, keys, node, len(items))
    return BoundRelation(plan, tuple(item.name for item in items))


def _first_of_each(context: BindContext, plan: LogicalPlan, keys: list[Expr], order: list[SortKey]) -> LogicalPlan:
    """DISTINCT ON: of the rows with equal keys the first one in an order."""
    number = context.allocator.new("number", t.BIGINT)
    numbered = Window(plan, (Assign(number, WindowCall(t.BIGINT, "row_number", (), tuple(keys), tuple(order), Frame.WHOLE)),))
    first = Filter(numbered, Compare(t.BOOLEAN, CompareOp.EQ, reference(number), Literal(t.BIGINT, 1)))
    return Project(first, pass_through(plan.columns))


def _condition(context: BindContext, scope: Scope, node: exp.Expr, clause: str) -> Expr:
    scope.clause = clause
    condition = to_boolean(context, bind_expression(context, scope, node), clause, node)
    scope.clause = None
    return conjunction((condition,))


def _bind_items(context: BindContext, scope: Scope, nodes: list[exp.Expr]) -> list[_Item]:
    """The select list with its stars expanded. An item sees the names of those before it."""
    items: list[_Item] = []
    scope.aliases = {}
    for node in nodes:
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            items += [_Item(item.name, item.expr, item.node) for item in bind_star(context, scope, node)]
        elif isinstance(node, exp.Alias):
            refuse_reserved_alias(context, node.args["alias"], even_after_as=False)
            items.append(_Item(node.alias, bind_expression(context, scope, node.this), node.this))
            scope.aliases = {**scope.aliases, node.alias.lower(): node.this}
        else:
            expr = bind_expression(context, scope, node)
            items.append(_Item(output_name(context, node, expr), expr, node))
    return items


# ----------------------------------------------------------------------------------------------------------------- GROUP BY


def _bind_group(
    context: BindContext, scope: Scope, group: exp.Expr | None, items: list[_Item]
) -> list[tuple[Expr, str]] | None:
    """The grouping keys with names for their columns; None without GROUP BY."""
    if group is None:
        return None
    refuse_arguments(context, group, ("expressions", "all", "rollup", "cube"))
    if group.args.get("all"):
        if group.expressions:
            raise context.unsupported("GROUP BY ALL with further keys", group)
        plain = [item for item in items if aggregate_in(context, scope, item.expr) is None]
        for item in plain:
            _refuse_window(context, item.expr, item.node or group)
        return [(item.expr, item.name) for item in plain]
    if scope.grouping_sets is None:
        return [_grouping_key(context, scope, items, node) for node in group.expressions]
    bind_sets(context, group, scope.grouping_sets, lambda node: _grouping_key(context, scope, items, node))
    return scope.grouping_sets.keys


def _grouping_key(context: BindContext, scope: Scope, items: list[_Item], node: exp.Expr) -> tuple[Expr, str]:
    item = _grouped_item(context, scope, items, node)
    if item is None:
        scope.clause = "GROUP BY"
        expr = bind_expression(context, scope, node)
        scope.clause = None
        return expr, output_name(context, node, expr)
    aggregate = aggregate_in(context, scope, item.expr)
    if aggregate is not None:
        raise context.error("MISPLACED_AGGREGATE", aggregate, where="GROUP BY")
    _refuse_window(context, item.expr, item.node or node)
    return item.expr, item.name


def _refuse_window(context: BindContext, key: Expr, node: exp.Expr) -> None:
    if window_in(key):
        raise context.error("MISPLACED_WINDOW", node, where="GROUP BY")


def _grouped_item(context: BindContext, scope: Scope, items: list[_Item], node: exp.Expr) -> _Item | None:
    """The select item that a key stands for: by its position, or by its alias where that is no column."""
    position = _ordinal(node)
    if position is not None:
        return items[_checked(context, "GROUP BY", position, len(items), node)]
    if not isinstance(node, exp.Column) or node.args.get("table") or not isinstance(node.this, exp.Identifier):
        return None
    folded = node.name.lower()
    if folded not in scope.aliases or find_column(context, scope, folded, node) is not None:
        return None
    return next(item for item in items if item.node is scope.aliases[folded])


def _ordinal(node: exp.Expr) -> int | None:
    """The number that a key of GROUP BY or ORDER BY is, if it is one."""
    if isinstance(node, exp.Literal) and not node.args["is_string"] and node.this.isdigit():
        return int(node.this)
    return None


def _checked(context: BindContext, clause: str, ordinal: int, count: int, node: exp.Expr) -> int:
    if not 1 <= ordinal <= count:
        raise context.error("INVALID_ORDINAL", node, clause=clause, ordinal=ordinal, count=count)
    return ordinal - 1


# ------------------------------------------------------------------------------------------------------- ORDER BY and LIMIT


def _bind_order(context: BindContext, scope: Scope, order: exp.Expr | None, items: list[_Item]) -> list[_OrderKey]:
    if order is None:
        return []
    refuse_arguments(context, order, ("expressions",))
    keys: list[_OrderKey] = []
    for ordered in order.expressions:
        refuse_arguments(context, ordered, ("this", "desc", "nulls_first"))
        node = ordered.this
        descending, nulls_first = bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first"))
        if isinstance(node, exp.Var) and node.name.upper() == "ALL":
            keys += [_OrderKey(at, item.expr, descending, nulls_first, node) for at, item in enumerate(items)]
            continue
        keys.append(_bind_key(context, scope, node, items, descending, nulls_first))
    return keys


def _bind_keys(context: BindContext, scope: Scope, on: exp.Expr, items: list[_Item]) -> list[_OrderKey]:
    """The keys of DISTINCT ON, which name output columns as those of ORDER BY do."""
    return [_bind_key(context, scope, node, items) for node in on.expressions]


def _bind_key(
    context: BindContext,
    scope: Scope,
    node: exp.Expr,
    items: list[_Item],
    descending: bool = False,
    nulls_first: bool = False,
) -> _OrderKey:
    at = _item_named(context, items, node)
    expr = items[at].expr if at is not None else bind_expression(context, scope, node)
    return _OrderKey(at, expr, descending, nulls_first, node)


def _item_named(context: BindContext, items: list[_Item], node: exp.Expr) -> int | None:
    """The output column that a key of ORDER BY names by its position or its alias."""
    position = _ordinal(node)
    if position is not None:
        return _checked(context, "ORDER BY", position, len(items), node)
    if isinstance(node, exp.Column) and not node.args.get("table") and isinstance(node.this, exp.Identifier):
        folded = node.name.lower()
        return next((at for at, item in enumerate(items) if item.name.lower() == folded), None)
    return None


def _output_assigns(context: BindContext, items: list[_Item], plan: LogicalPlan) -> list[Assign]:
    """The output columns of a SELECT: a column of `plan` is passed through at its first place, all else gets a new column."""
    available = {column.id for column in plan.columns}
    assigns = []
    for item in items:
        expr = item.expr
        if isinstance(expr, ColumnRef) and expr.column.id in available:
            available.remove(expr.column.id)
            column = expr.column
        else:
            column = context.allocator.new(item.name, expr.dtype)
        assigns.append(Assign(column, expr))
    return assigns


def _sort_keys(
    context: BindContext, order: list[_OrderKey], assigns: list[Assign], plan: LogicalPlan, *, distinct: bool
) -> list[SortKey]:
    """The keys as columns. What is not among `assigns` is added to them, as a column of `plan` or computed from its columns."""
    keys = []
    for key in order:
        if key.item is not None:
            found = assigns[key.item]
        else:
            expr = key.expr
            known = next((assign for assign in assigns if same_expression(assign.expr, expr)), None)
            if known is None and distinct:
                raise context.unsupported("ORDER BY an expression that SELECT DISTINCT does not list", key.node)
            if known is None:
                if isinstance(expr, ColumnRef) and expr.column in plan.columns:
                    column = expr.column
                else:
                    column = context.allocator.new("order", expr.dtype)
                known = Assign(column, expr)
                assigns.append(known)
            found = known
        keys.append(SortKey(ColumnRef(found.column.dtype, found.column), key.descending, key.nulls_first))
    return keys


def _sorted(context: BindContext, plan: LogicalPlan, keys: list[SortKey], node: exp.Expr, width: int) -> LogicalPlan:
    """ORDER BY and LIMIT on top of `plan`, and then only its first `width` columns."""
    if keys:
        plan = Sort(plan, tuple(keys))
    plan = _limited(context, plan, node)
    return Project(plan, pass_through(plan.columns[:width])) if len(plan.columns) > width else plan


def _limited(context: BindContext, plan: LogicalPlan, node: exp.Expr) -> LogicalPlan:
    limit_node, offset_node = node.args.get("limit"), node.args.get("offset")
    if limit_node is None and offset_node is None:
        return plan
    limit = offset = None
    if isinstance(limit_node, exp.Fetch):
        refuse_arguments(context, limit_node, ("direction", "count", "limit_options"))
        _refuse_limit_options(context, limit_node)
        limit = _row_count(context, "FETCH", limit_node.args.get("count"), limit_node)
    elif limit_node is not None:
        refuse_arguments(context, limit_node, ("expression", "limit_options"))
        _refuse_limit_options(context, limit_node)
        limit = _row_count(context, "LIMIT", limit_node.args["expression"], limit_node)
    if offset_node is not None:
        refuse_arguments(context, offset_node, ("expression",))
        offset = _row_count(context, "OFFSET", offset_node.args["expression"], offset_node)
    return Limit(plan, limit, offset or 0) if limit is not None or offset else plan


def _refuse_limit_options(context: BindContext, node: exp.Expr) -> None:
    options = node.args.get("limit_options")
    if options is None:
        return
    for key, what in (("percent", "LIMIT with a percentage"), ("with_ties", "WITH TIES")):
        if options.args.get(key):
            raise context.unsupported(what, node)


def _row_count(context: BindContext, clause: str, node: exp.Expr | None, around: exp.Expr) -> int | None:
    """A constant number of rows; None for ALL and NULL. Raises INVALID_LIMIT."""
    if node is None:
        return 1
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Null) or (isinstance(node, exp.Var) and node.name.upper() == "ALL"):
        return None
    if node.find(exp.Column, exp.Query) is None:
        bound = folded(bind_expression(context, Scope(None, {}), node))
        if isinstance(bound, Literal) and t.is_integer(bound.dtype) and bound.value is not None and bound.value >= 0:
            return int(bound.value)
    raise context.error("INVALID_LIMIT", node, clause=clause)

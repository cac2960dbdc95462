"""Rule: inner joins are made in the order that is estimated to be cheapest."""

from __future__ import annotations

from planner.expr.nodes import Assign
from planner.expr.predicates import all_of
from planner.expr.substitute import reference
from planner.logical.nodes import Filter, Join, LogicalPlan, Project, pass_through
from planner.optimizer.join_order.graph import Sizes, extract, is_region
from planner.optimizer.join_order.greedy import build, cost_of, greedy_shape
from planner.rule import OptimizerContext, rule


@rule(whole_plan=True)
def order_joins(plan: LogicalPlan, context: OptimizerContext) -> LogicalPlan | None:
    """Every maximal region of inner joins gets a new tree, if that has smaller intermediate results.

        Join inner on b.y = c.y         Join inner on a.x = b.x
          Join inner on a.x = b.x         a
            a                       ⇒     Join inner on b.y = c.y
            b                               b
          c                                 c

    Any order of inner joins gives the same rows. Conjuncts that can raise are evaluated after all joins of the region, where
    they see the fewest rows. Other joins, aggregates and limits are borders: they are relations of the region above them.
    """
    done: dict[int, LogicalPlan] = {}
    stack: list[tuple[LogicalPlan, bool]] = [(plan, False)]
    while stack:
        current, ready = stack.pop()
        if id(current) in done:
            continue
        region = extract(current) if isinstance(current, Join) and is_region(current) else None
        inputs = current.inputs if region is None else tuple(region.relations)
        if not ready:
            stack.append((current, True))
            stack.extend((child, False) for child in reversed(inputs))
        elif region is None:
            new = current.map_children(lambda child: done.get(id(child), child))
            assert isinstance(new, LogicalPlan)
            done[id(current)] = new
        else:
            assert isinstance(current, Join)
            done[id(current)] = _ordered(current, done, context)
    result = done[id(plan)]
    return None if result is plan else result


def _ordered(root: Join, done: dict[int, LogicalPlan], context: OptimizerContext) -> LogicalPlan:
    graph = extract(root)
    unchanged = all(done[id(relation)] is relation for relation in graph.relations)
    graph.relations = [done[id(relation)] for relation in graph.relations]
    sizes = Sizes(graph, context.cardinality)
    _, written = cost_of(graph.shape, sizes)
    shape = greedy_shape(graph, sizes)
    better = cost_of(shape, sizes)[1] < written * 0.999
    if not better:
        if unchanged:
            return root
        shape = graph.shape
    result: LogicalPlan = build(shape, graph)
    if graph.raising:
        result = Filter(result, all_of(graph.raising))
    if graph.renamed:
        assigns = tuple(Assign(column, reference(graph.renamed.get(column.id, column))) for column in root.columns)
        return Project(result, assigns)
    return result if result.columns == root.columns else Project(result, pass_through(root.columns))

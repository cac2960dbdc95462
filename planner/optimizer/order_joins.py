"""Rule: joins are made in the order that is estimated to be cheapest."""

from __future__ import annotations

from planner.expr.nodes import Assign
from planner.expr.substitute import reference
from planner.logical.nodes import Join, LogicalPlan, Project, pass_through
from planner.optimizer.join_order.build import build
from planner.optimizer.join_order.graph import JoinGraph, extract, is_region
from planner.optimizer.join_order.search import Search
from planner.rule import OptimizerContext, rule


@rule(whole_plan=True)
def order_joins(plan: LogicalPlan, context: OptimizerContext) -> LogicalPlan | None:
    """Every maximal region of joins gets a new tree, if that has smaller intermediate results.

        Join inner on b.y = c.y         Join inner on a.x = b.x
          Join inner on a.x = b.x         a
            a                       ⇒     Join inner on b.y = c.y
            b                               b
          c                                 c

    Inner joins may be made in any order, outer, semi and anti joins where their conflict rules allow it. Equalities that follow
    from others count as written. Conjuncts that can raise are evaluated after all joins of the region, where they see the fewest
    rows. Aggregates, limits, computed columns and mark and single joins are borders: they are relations of the region above them.
    Sizes of outer and semi joins are estimated from the tree as it was written: a region with such joins is ordered only once.
    """
    done: dict[int, LogicalPlan] = {}
    stack: list[tuple[LogicalPlan, JoinGraph | None, bool]] = [(plan, None, False)]
    while stack:
        current, graph, ready = stack.pop()
        if id(current) in done:
            continue
        if not ready:
            if isinstance(current, Join) and is_region(current):
                graph = extract(current)
            stack.append((current, graph, True))
            inputs = current.inputs if graph is None else graph.relations
            stack.extend((child, None, False) for child in reversed(inputs))
        elif graph is None:
            new = current.map_children(lambda child: done.get(id(child), child))
            assert isinstance(new, LogicalPlan)
            done[id(current)] = new
        else:
            assert isinstance(current, Join)
            done[id(current)] = _ordered(current, graph, done, context)
    result = done[id(plan)]
    return None if result is plan else result


def _ordered(root: Join, graph: JoinGraph, done: dict[int, LogicalPlan], context: OptimizerContext) -> LogicalPlan:
    unchanged = all(done[id(relation)] is relation for relation in graph.relations)
    graph.relations = [done[id(relation)] for relation in graph.relations]
    if unchanged and (len(graph.relations) == 2 or id(root) in context.ordered_joins):
        return root
    search = Search(graph, context.cardinality)
    found = search.run()
    context.join_searches.append(found)
    if unchanged and not found.changed:
        return root
    result = build(search)
    if isinstance(result, Join) and not graph.only_inner:
        context.ordered_joins[id(result)] = result
    if graph.renamed:
        assigns = tuple(Assign(column, reference(graph.renamed.get(column.id, column))) for column in root.columns)
        return Project(result, assigns)
    return result if result.columns == root.columns else Project(result, pass_through(root.columns))

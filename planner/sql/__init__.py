"""The SQL front end: text to a typed logical plan. The only part of the planner that knows sqlglot.

Map, in the order of the data:

    parse, limits   text to sqlglot's tree; its errors become ours; what its parser would not survive
    binder          `bind`, the public entry, and `BoundQuery`
    context, scope  what binding carries along; which names mean which columns
    dispatch        which function binds which syntax node; refusal of everything that has none
    bind_query      SELECT and its clauses, WITH, parentheses          bind_values     VALUES
    bind_star       * with EXCLUDE, REPLACE and RENAME                 grouping_sets   ROLLUP, CUBE, GROUPING SETS
    bind_from       FROM and joins                                     bind_aggregate  aggregates and grouping
    bind_series     range and generate_series in FROM
    bind_set_operations  UNION, INTERSECT, EXCEPT                      bind_window     window functions
    bind_operators  columns, constants, operators                      bind_functions  CASE, casts, intervals, irregular functions
    bind_calls, signatures  all other functions, by tables
    bind_subquery   subqueries as expressions
    bind_frame      the DataFrame API's calls                          frame           what a DataFrame is for the binder
    statements      EXPLAIN, SET, SHOW and the like, which are no queries
    fragments       SQL text beside the DataFrame API                   parameters      values of ? and $name
    placeholders, bind_placeholder      nodes for parameters, and for the DataFrame API's constants, columns and frames
    arithmetic, coercion, literals, type_names                          the rules of types
    positions, output_names, reserved_words                carets under the text; names of unnamed columns; what is no name

Decisions:

- Every expression is typed when it is built, and both sides of an operator get one type here: beyond the binder nothing is
  converted implicitly. Constants are converted here, so that a cast which cannot fail does not look as if it could.
- A node is bound by the function registered for its exact class, and a node argument that this function does not name is
  refused. sqlglot accepts much more SQL than we run; what is not understood must never be ignored.
- What a dialect means is read from the flags that sqlglot's parser sets (division, null order, CONCAT of NULL) and becomes
  explicit operators. The only dialect name that is looked at decides the default ESCAPE character of LIKE.
- Grouped queries are bound over the rows first and rewritten to groups afterwards by structural equality of typed expressions.
  Matching syntax instead would tell `t.a` and `a` apart.
- CTEs are inlined, bound anew per reference; the optimizer may find them again as common subplans.
- A correlated subquery is an expression whose plan uses outer columns. No shape of correlation is special here.
- A DataFrame call binds one operator over a frame, a plan with names, and is never bound again: chains of thousands of calls are
  flat for the binder, and a frame is bound to the columns that its tables had then. When a file changed, its scans are renewed
  and nothing else (`planner.logical.view`). Rejected: nesting syntax trees (too deep), and replaying the calls (names would
  mean something else by then, and a view over itself would never end).
- sqlglot's own optimizer and `qualify` are not used: they work on names, and lose positions.
"""

from planner.sql.binder import BoundQuery, bind

__all__ = ["BoundQuery", "bind"]

"""The planner: from SQL text to a stage graph. Pure: no processes, no files, no data.

In the order of a query's way:

    sql         text to a typed logical plan (the only place that knows sqlglot)
    logical     logical operators
    expr        typed expressions and the table of functions
    optimizer   rules that rewrite logical plans, in named batches
    analysis    facts about plans that rules and strategies ask for
    physical    operators, required and offered properties, costs, encodings, the cut into stages
    adaptive    a new plan for what has not started, when a stage turns out otherwise than expected
    dir         the value between stages, and its laws
    explain     plans as text, and in `rule_trace` how rules changed them

and below all of them `tree` (the node core), `dtypes`, `schema`, `catalog` (table snapshots), `errors`, `rule`, `verify`, and
`ports`, the protocols through which the planner asks the outside. It imports neither exec nor qengine, nor any library that
holds data; a test over the imports keeps it so.
"""

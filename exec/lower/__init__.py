"""Physical operators and expressions to Polars: the only place where a plan becomes a query of the kernel engine.

    column_types   logical type and encoding to Polars and Arrow types
    exact          tiers of exact arithmetic, their conversion and their checks
    expressions    typed expressions; guards, which keep errors where SQL has them
    arithmetic, mathematics, texts, patterns, dates, calendar_functions, casts, functions
                                                   the kernels of expressions, by theme, and the table of them
    aggregates, joins, sorts, windows, plan        operators, and the body of a stage as one query per task
    observe        what operators deliver, counted
    received       what an exchange delivers, in the tiers of a task
    optimizations  what Polars may still change about our plans
    failures       exceptions of all kinds to our errors
    result         the encoded result to the user's types
    evaluate       constants, for the planner

Decisions: one encoding per expression, fixed by its checked interval (`planner.physical.encodings`), so nobody has to look at
data to know a type. Checks are Python functions over batches of the stream: one call per 100,000 rows raises our own
error with its own code, where a failing Polars cast would only say that something failed. Whether something can raise
is asked by type (`planner.analysis.can_raise`), whether it has to be checked by interval. Where Polars has no operator
(outer, semi and mark joins with residual conditions), the left side is collected while lowering, not simulated by windows.
"""

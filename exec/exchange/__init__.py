"""How rows leave one stage and enter the next.

    schema    the columns of an exchange as Arrow and as Polars types
    hashing   the canonical partitioning hash
    ranging   the partitions of a range partitioning
    runs      sorted runs: samples of them, and where a range of their order begins
    writer    a task's output: one Arrow IPC file, its batches grouped by layout and bucket
    layout    which batches of its producers' files a consumer reads
    reader    mapping those batches

Decisions: one file for each task and not one for each pair of tasks, since m × n small files cost more than an index; the
index travels with the report of the task, so readers look at no footer but Arrow's; a stage with several consumers writes each
layout once; an output without rows is no file at all.
"""

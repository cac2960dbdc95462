"""TPC-H for qengine: make the data, run the 22 queries in several engines side by side, check every answer, show the times.

In the order of use:

    generate     the eight tables as files, complete or not there; generator runs tpchgen-cli
    parameters   what the texts leave open: the validation values, or values drawn by seed
    queries      the 22 texts (queries/*.sql) with their sort keys and limits
    streams      the order of the queries in the power run and in the streams of a throughput run
    answers      the expected answers: made by DuckDB, committed for scale factor 1 (answers/sf1/*.csv)
    same_answer  the one comparison of two results, used by all tests of the project
    validation   what the specification tolerates in the answers of other engines; expected gives the verdicts
    engines      one adapter for each engine
    runner       which engine runs which query when; the verdict of every run
      engine_client, engine_process, engine_messages
                 an engine in a process of its own: the runner's end, the engine's end, what they say
      process_tree, machine
                 memory and processor time of processes; the machine and its page cache
    results      the Result, a JSON file: what run writes and all that follow read
    summary      the table that ends in `22/22 correct`; run_display is the one while it runs
    report       a result as an HTML page, CSV, JSON, Markdown or text
    compare      what became faster or slower between two results, beyond noise
    explain      plan and profile of one query
    __main__     the command line, python -m tpch: what reads its options is in *_command

It uses the public API of qengine like any user, and nothing of it imports this package. DuckDB, rich and tpchgen-cli
come with the extra `tpch`, other engines with `bench`; they are imported only where they are needed, so that `same_answer` costs
nothing but pyarrow.

Decisions: answers are made with DuckDB over the very files that are queried, because published answers belong to
another generator's texts; they are CSV with types in the header rather than Parquet, because a change of an answer must
be readable in a diff; they go on to the end of the tie that a limit cuts, because which of the tied rows come is free.
"""

"""TPC-H for qengine: make the data, run the 22 queries, check every answer, compare the times with DuckDB.

In the order of use:

    generate     the eight tables as files, complete or not there; generator runs tpchgen-cli
    parameters   what the texts leave open: the validation values, or values drawn by seed
    queries      the 22 texts (queries/*.sql) with their sort keys and limits
    streams      the order of the queries in the power run and in the streams of a throughput run
    answers      the expected answers: made by DuckDB, committed for scale factor 1 (answers/sf1/*.csv)
    same_answer  the one comparison of two results, used by all tests of the project
    run          run, time, check; the table that ends in `22/22 correct`
    report       a result as an HTML page, CSV, JSON, Markdown or text
    __main__     the command line: python -m tpch generate | run | answers

It uses the public API of qengine like any user, and nothing of it imports this package. DuckDB, rich and tpchgen-cli
come with the extra `tpch` and are imported only where they are needed, so that `same_answer` costs nothing but pyarrow.

Decisions: answers are made with DuckDB over the very files that are queried, because published answers belong to
another generator's texts; they are CSV with types in the header rather than Parquet, because a change of an answer must
be readable in a diff; they go on to the end of the tie that a limit cuts, because which of the tied rows come is free.
"""

"""Stage graph to data. Knows plans as data; knows no SQL. Always `from exec.x import y`: `import exec` hides the builtin.

From the outside in:

    engine      what sessions use: execute a stage graph, execute inline, call a function in a worker
    progress    one query from the point of view of the thread that waits for it
    driver      the event loop: messages and deaths become events, commands become messages and signals
    scheduler   the pure transition (state, event) to (state, commands); `events` are its words, `queries` its state,
                `surprises` says when the session is asked for a new plan
    recovery/   what has to run again after a loss (pure as well)
    backends/   worker processes; inline execution in the driver
    messages    what passes between driver and worker
    worker      the process: pipe, watch thread; `worker_loop` is what it does, `task` how it runs one attempt
    lower/      physical operators and expressions to Polars; kernels/ the few in numpy; sources/ the scans
    exchange/   how rows leave one stage and enter the next
    store/      the engine's folder and its files; the column store
    sampling/   statistics of the rows of tables, for plans
    metrics     counters

Decisions:

* There is no thread pool and no shared state in a worker: one attempt at a time, one Polars thread. Parallelism is processes,
  so Python functions run in parallel too, and a crash costs one attempt.
* The spare worker has no role of its own: there is one process more than tasks run at once. Calls (opening files) may use
  it, so they do not wait behind long tasks.
* Outputs belong to the engine's folder and not to the worker that wrote them, so a dead worker loses nothing it had finished.
* Decoding Parquet was half of the work of TPC-H, so columns of files that are scanned again are kept in shared memory, filled
  in the background by calls like any other. A task looks for a segment by its name and reads the file if there is none:
  nothing ever waits for the column store, and losing it loses no answer.
* A query ends, for its caller too, only when none of its attempts runs any more and its files are deleted.
* Results are mapped by the thread that asked for them, and deleted at once: a mapped file stays readable.
"""
